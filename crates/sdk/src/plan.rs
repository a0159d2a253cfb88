//! Default plan: fills in defaults, marks values that the provider will set as unknown, and
//! requires replacement if a `replaces` attribute changes.

use cty::{Path, Value};

use crate::provider::{Planned, Planning};
use crate::schema::{Attr, AttrType, Block, Nested, Nesting, Schema};
use crate::values::elements;

/// Prior, proposed and configured value of one attribute.
struct Sides<'a> {
    prior: Option<&'a Value>,
    proposed: &'a Value,
    config: &'a Value,
}

/// Returns a new value for an attribute, or `None` to keep it (and visit its nested attributes).
type Rule = fn(&Attr, &Sides<'_>) -> Option<Value>;

/// Returns a configuration with the defaults of its arguments, and unknown values in computed
/// attributes. Hosts plan resource types only, so a provider sets the defaults of all others.
pub(crate) fn with_defaults(schema: &Schema, config: Value) -> Value {
    let request = Planning {
        schema,
        // With a null prior object, as in a create, no computed value is kept.
        prior: Value::null(config.ty().clone()),
        proposed: config.clone(),
        config,
        private: Vec::new(),
    };
    by_default(request).value
}

pub(crate) fn by_default(request: Planning<'_>) -> Planned {
    let Planning {
        schema,
        prior,
        proposed,
        config,
        private,
    } = request;
    let before = prior.is_given().then_some(&prior);
    let mut value = rewrite(
        &schema.block,
        &Sides {
            prior: before,
            proposed: &proposed,
            config: &config,
        },
        defaults,
    );
    // Without a difference there is nothing to apply, so computed values stay known.
    if before != Some(&value) {
        value = rewrite(
            &schema.block,
            &Sides {
                prior: before,
                proposed: &value,
                config: &config,
            },
            unknowns,
        );
    }
    Planned {
        // Compared after the unknowns were set: a change to an unknown value can replace as well.
        replace: replacing(schema, &prior, &value),
        value,
        private,
    }
}

/// Returns the `replaces` attributes that differ from those of the prior object.
pub(crate) fn replacing(schema: &Schema, prior: &Value, value: &Value) -> Vec<Path> {
    let mut found = Vec::new();
    if prior.is_given() {
        replacements(&schema.block, prior, value, &Path::root(), &mut found);
    }
    found
}

impl Block {
    /// Returns true if an attribute of the block is write-only, at any depth.
    pub(crate) fn has_write_only(&self) -> bool {
        fn any(attrs: &[Attr]) -> bool {
            attrs.iter().any(|attr| {
                attr.write_only || matches!(&attr.ty, AttrType::Nested(_, inner) if any(inner))
            })
        }
        any(&self.attributes)
            || self
                .blocks
                .iter()
                .any(|nested| nested.block.has_write_only())
    }

    /// Sets write-only attributes to null: they must reach neither plan nor state.
    pub(crate) fn without_write_only(&self, object: &Value) -> Value {
        self.with_write_only_of(object, &Value::null(object.ty().clone()))
    }

    /// Sets write-only attributes to their values in the configuration.
    pub(crate) fn with_write_only_of(&self, object: &Value, config: &Value) -> Value {
        let sides = Sides {
            prior: None,
            proposed: object,
            config,
        };
        rewrite(self, &sides, |attr, sides| {
            let value = || match sides.config.is_null() {
                // A null from a missing counterpart can have another type than the attribute.
                true => Value::null(attr.ty()),
                false => sides.config.clone(),
            };
            attr.write_only.then(value)
        })
    }

    /// Removes the values of an object that only the provider sets, which leaves its configuration.
    pub(crate) fn without_computed(&self, object: &Value) -> Value {
        let sides = Sides {
            prior: None,
            proposed: object,
            config: object,
        };
        rewrite(self, &sides, |attr, _| {
            // Operators can set an attribute that is optional and computed, so its value is kept.
            (attr.computed && !attr.optional).then(|| Value::null(attr.ty()))
        })
    }
}

fn defaults(attr: &Attr, sides: &Sides<'_>) -> Option<Value> {
    // Write-only values must never reach the plan.
    if attr.write_only {
        return Some(Value::null(attr.ty()));
    }
    // A default applies to each plan, so removing an argument restores it.
    attr.default.clone().filter(|_| sides.config.is_null())
}

fn unknowns(attr: &Attr, sides: &Sides<'_>) -> Option<Value> {
    // Only computed attributes that are not configured are the provider's to set.
    if !attr.computed || !sides.config.is_null() || attr.default.is_some() {
        return None;
    }
    // Stable attributes keep their value, so that dependent resources do not become unknown.
    match sides.prior {
        Some(prior) if attr.stable && !prior.is_null() => Some(prior.clone()),
        _ => Some(Value::unknown(attr.ty())),
    }
}

fn rewrite(block: &Block, sides: &Sides<'_>, rule: Rule) -> Value {
    let mut members = attributes(&block.attributes, sides, rule);
    for nested in &block.blocks {
        let value = map_attribute(sides, &nested.name, |sides| collection(nested, sides, rule));
        members.push((nested.name.clone(), value));
    }
    Value::object(members)
}

fn attributes(attrs: &[Attr], sides: &Sides<'_>, rule: Rule) -> Vec<(String, Value)> {
    let rewrite_one = |attr: &Attr| {
        let value = map_attribute(sides, &attr.name, |sides| {
            match (rule(attr, &sides), &attr.ty) {
                (Some(value), _) => value,
                (None, AttrType::Plain(_)) => sides.proposed.clone(),
                (None, AttrType::Nested(nesting, inner)) => each(*nesting, &sides, |sides| {
                    Value::object(attributes(inner, sides, rule))
                }),
            }
        });
        (attr.name.clone(), value)
    };
    attrs.iter().map(rewrite_one).collect()
}

fn collection(nested: &Nested, sides: Sides<'_>, rule: Rule) -> Value {
    each(nested.nesting, &sides, |sides| {
        rewrite(&nested.block, sides, rule)
    })
}

/// Calls `then` with the values of one attribute on all sides.
fn map_attribute(sides: &Sides<'_>, name: &str, then: impl FnOnce(Sides<'_>) -> Value) -> Value {
    let missing = || Value::null(cty::Type::Dynamic);
    let proposed = sides.proposed.get_attr(name).unwrap_or_else(missing);
    // Inside a block that is not configured, no attribute is configured.
    let config = sides
        .config
        .get_attr(name)
        .unwrap_or_else(|| Value::null(proposed.ty().clone()));
    let prior = sides.prior.and_then(|prior| prior.get_attr(name));
    then(Sides {
        prior: prior.as_ref(),
        proposed: &proposed,
        config: &config,
    })
}

/// Calls `one` for the objects of a block or nested attribute. Lists and maps are matched by index
/// and key. Elements of a set have no counterpart, so null elements count as not configured.
fn each(nesting: Nesting, sides: &Sides<'_>, one: impl Fn(&Sides<'_>) -> Value) -> Value {
    // A null or unknown value has no objects to which the rule could apply.
    if !sides.proposed.is_given() {
        return sides.proposed.clone();
    }
    let partner = |of: &Value, key: &Value| of.index(key);
    let rewritten = |(key, proposed): (Value, &Value)| {
        let config =
            partner(sides.config, &key).unwrap_or_else(|| Value::null(proposed.ty().clone()));
        let prior = sides.prior.and_then(|prior| partner(prior, &key));
        let value = one(&Sides {
            prior: prior.as_ref(),
            proposed,
            config: &config,
        });
        (key, value)
    };
    // An empty collection has no element from which its type could be derived.
    let element = sides
        .proposed
        .ty()
        .element_type()
        .cloned()
        .unwrap_or(cty::Type::Dynamic);
    match nesting {
        Nesting::Single | Nesting::Group => one(sides),
        Nesting::List => Value::list(
            element,
            sides
                .proposed
                .elements()
                .map(|pair| rewritten(pair).1)
                .collect(),
        ),
        Nesting::Map => {
            let members = sides.proposed.elements().map(rewritten);
            Value::map(
                element,
                members.map(|(key, value)| (key.as_str().unwrap_or_default().to_owned(), value)),
            )
        }
        Nesting::Set => {
            // Without a counterpart, the proposed element serves as its own configuration.
            let alone = |(_, proposed): (Value, &Value)| {
                one(&Sides {
                    prior: None,
                    proposed,
                    config: proposed,
                })
            };
            Value::set(element, sides.proposed.elements().map(alone).collect())
        }
    }
}

fn replacements(block: &Block, prior: &Value, planned: &Value, path: &Path, found: &mut Vec<Path>) {
    attr_replacements(&block.attributes, prior, planned, path, found);
    for nested in &block.blocks {
        let inner = |prior: &Value, planned: &Value, path: &Path, found: &mut Vec<Path>| {
            replacements(&nested.block, prior, planned, path, found);
        };
        pairs(
            nested.nesting,
            &nested.name,
            block_forces(&nested.block),
            (prior, planned),
            path,
            found,
            inner,
        );
    }
}

fn attr_replacements(
    attrs: &[Attr],
    prior: &Value,
    planned: &Value,
    path: &Path,
    found: &mut Vec<Path>,
) {
    for attr in attrs {
        // An unknown planned value differs from any prior value, so it also requires replacement.
        if attr.replaces && prior.get_attr(&attr.name) != planned.get_attr(&attr.name) {
            found.push(path.attr(attr.name.as_str()));
        } else if let AttrType::Nested(nesting, inner) = &attr.ty {
            let go = |prior: &Value, planned: &Value, path: &Path, found: &mut Vec<Path>| {
                attr_replacements(inner, prior, planned, path, found);
            };
            pairs(
                *nesting,
                &attr.name,
                attrs_force(inner),
                (prior, planned),
                path,
                found,
                go,
            );
        }
    }
}

/// Compares the objects that both sides have. A changed set, or a changed number of objects,
/// requires replacement as a whole.
fn pairs(
    nesting: Nesting,
    name: &str,
    forces: bool,
    (prior, planned): (&Value, &Value),
    path: &Path,
    found: &mut Vec<Path>,
    go: impl Fn(&Value, &Value, &Path, &mut Vec<Path>),
) {
    let path = path.attr(name);
    let (Some(prior), Some(planned)) = (prior.get_attr(name), planned.get_attr(name)) else {
        return;
    };
    // Without a `replaces` attribute inside, a difference cannot require replacement.
    if !forces || prior == planned {
        return;
    }
    let (before, after) = (
        elements(nesting, &prior, &path),
        elements(nesting, &planned, &path),
    );
    // The protocol's paths cannot name an element of a set.
    if nesting == Nesting::Set || before.len() != after.len() {
        found.push(path);
        return;
    }
    for ((path, planned), (_, prior)) in after.iter().zip(&before) {
        go(prior, planned, path, found);
    }
}

fn block_forces(block: &Block) -> bool {
    attrs_force(&block.attributes)
        || block
            .blocks
            .iter()
            .any(|nested| block_forces(&nested.block))
}

fn attrs_force(attrs: &[Attr]) -> bool {
    attrs.iter().any(|attr| {
        attr.replaces || matches!(&attr.ty, AttrType::Nested(_, inner) if attrs_force(inner))
    })
}

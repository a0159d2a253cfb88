//! Validity of a planned value: configured attributes must be planned as configured or keep their
//! prior value, and the provider may choose computed attributes only.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Violation;
use crate::schema::{Attribute, Block, NestedBlock, NestedObject, Nesting};
use crate::transform::step_to;
use crate::{Path, PathStep, Value};

const UNKNOWN_BLOCKS: &str = "attribute representing nested block must not be unknown itself; set nested attribute values to unknown instead";
const UNKNOWN_ELEMENT: &str = "element representing nested block must not be unknown itself; set nested attribute values to unknown instead";

/// Returns every violation by `planned`, for an object with this prior value and configuration.
pub fn assert_plan_valid(
    schema: &Block,
    prior: &Value,
    config: &Value,
    planned: &Value,
) -> Vec<Violation> {
    let mut check = Check {
        violations: Vec::new(),
    };
    check.block(schema, prior, config, planned, &Path::root());
    check.violations
}

struct Check {
    violations: Vec<Violation>,
}

fn attribute_or(value: &Value, name: &str, nothing: impl FnOnce() -> Value) -> Value {
    value.get_attr(name).unwrap_or_else(nothing)
}

/// Returns the element with this key on another side, or `nothing`.
fn counterpart(value: &Value, key: &Value, nothing: impl FnOnce() -> Value) -> Value {
    let found = match key.as_str() {
        Some(name) => value.index_str(name),
        None => value.index(key),
    };
    found.unwrap_or_else(nothing)
}

fn has(value: &Value, key: &Value) -> bool {
    match key.as_str() {
        Some(name) => value.contains_key(name) == Some(true),
        None => value.has_index(key).as_bool() == Some(true),
    }
}

/// Returns true if the provider may choose the value of this attribute.
fn may_be_chosen(schema: &Attribute, config: &Value) -> bool {
    schema.computed && (!schema.optional || config.is_null())
}

impl Check {
    fn fail(&mut self, path: &Path, message: impl Into<String>) {
        self.violations.push((path.clone(), message.into()));
    }

    /// Returns false if one side is null. Records a violation if only one is.
    fn check_both_present(&mut self, config: &Value, planned: &Value, path: &Path) -> bool {
        if planned.is_null() && !config.is_null() {
            self.fail(path, "planned for absence but config wants existence");
        } else if config.is_null() && !planned.is_null() {
            self.fail(path, "planned for existence but config wants absence");
        }
        !planned.is_null() && !config.is_null()
    }

    fn block(
        &mut self,
        schema: &Block,
        prior: &Value,
        config: &Value,
        planned: &Value,
        path: &Path,
    ) {
        if !self.check_both_present(config, planned, path) {
            return;
        }
        self.attributes(&schema.attributes, prior, config, planned, path);
        for (name, nested) in &schema.blocks {
            let empty = || Value::null(nested.empty_value().ty().clone());
            let (planned, config) = (
                attribute_or(planned, name, empty),
                attribute_or(config, name, empty),
            );
            // Blocks planned as configured need no check of their prior value, and are the usual
            // case.
            if !planned.raw_equals(&config) {
                let prior = attribute_or(prior, name, empty);
                self.nested_block(nested, &prior, &config, &planned, &path.attr(name.clone()));
            }
        }
    }

    fn nested_block(
        &mut self,
        nested: &NestedBlock,
        prior: &Value,
        config: &Value,
        planned: &Value,
        path: &Path,
    ) {
        if !config.is_known() {
            return self.fail(
                path,
                format!("planned value {planned} for unknown dynamic block"),
            );
        }
        if !planned.is_known() {
            return self.fail(path, UNKNOWN_BLOCKS);
        }
        let kind = match nested.nesting {
            Nesting::Single | Nesting::Group => {
                return self.block(&nested.block, prior, config, planned, path);
            }
            Nesting::List => "list",
            Nesting::Map => "map",
            Nesting::Set => "set",
        };
        if planned.is_null() {
            let message = format!(
                "attribute representing a {kind} of nested blocks must be empty to indicate no blocks, not null"
            );
            return self.fail(path, message);
        }
        let (in_plan, in_config) = (planned.len().unwrap_or(0), config.len().unwrap_or(0));
        // A map of blocks with dynamic parts is an object; its keys are compared below.
        let by_name = planned.ty().is_object();
        if nested.nesting != Nesting::Set && !by_name && in_plan != in_config {
            return self.fail(
                path,
                format!(
                    "block count in plan ({in_plan}) disagrees with count in config ({in_config})"
                ),
            );
        }
        for (key, element) in planned.elements() {
            let here = path.with(step_to(planned, &key));
            if !element.is_known() {
                self.fail(&here, UNKNOWN_ELEMENT);
            } else if nested.nesting == Nesting::Set {
                // Elements of sets cannot be matched by a key, so only "known" can be checked.
            } else if !has(config, &key) {
                self.fail(
                    path,
                    format!(
                        "block key {} from plan is not present in config",
                        key_text(&key)
                    ),
                );
            } else {
                let nothing = || Value::null(nested.block.implied_type());
                let (before, wanted) = (
                    counterpart(prior, &key, nothing),
                    counterpart(config, &key, nothing),
                );
                self.block(&nested.block, &before, &wanted, element, &here);
            }
        }
        // For lists, equal counts already imply that every configured block is planned.
        if nested.nesting == Nesting::Map {
            for (key, _) in config.elements().filter(|(key, _)| !has(planned, key)) {
                self.fail(
                    path,
                    format!(
                        "block key {} from config is not present in plan",
                        key_text(&key)
                    ),
                );
            }
        }
    }

    fn attributes(
        &mut self,
        schema: &BTreeMap<Arc<str>, Attribute>,
        prior: &Value,
        config: &Value,
        planned: &Value,
        path: &Path,
    ) {
        for (name, attribute) in schema {
            let nothing = || Value::null(attribute.implied_type());
            let planned = attribute_or(planned, name, nothing);
            let config = attribute_or(config, name, nothing);
            // Most attributes are as configured, or chosen by the provider. Only others need the
            // prior value.
            let plain = planned.without_refinements();
            if plain.raw_equals(&config.without_refinements()) || may_be_chosen(attribute, &config)
            {
                continue;
            }
            let prior = attribute_or(prior, name, nothing);
            let kept = plain.raw_equals(&prior.without_refinements());
            // A provider may keep the prior value if it means the same as the configured one.
            if kept && !prior.is_null() && !config.is_null() {
                continue;
            }
            self.attribute(
                attribute,
                &prior,
                &config,
                &planned,
                &path.attr(name.clone()),
            );
        }
    }

    /// Reports an attribute that is neither as configured, nor unchanged, nor chosen by the
    /// provider.
    fn attribute(
        &mut self,
        schema: &Attribute,
        prior: &Value,
        config: &Value,
        planned: &Value,
        path: &Path,
    ) {
        if config.is_null() && !planned.is_null() {
            return self.fail(
                path,
                if schema.sensitive {
                    "sensitive planned value for a non-computed attribute".to_string()
                } else {
                    format!("planned value {planned} for a non-computed attribute")
                },
            );
        }
        // Write-only values are null in every plan.
        if schema.write_only && planned.is_null() {
            return;
        }
        if let Some(nested) = &schema.nested {
            return self.nested_attribute(nested, prior, config, planned, path);
        }
        let message = match (schema.sensitive, prior.is_null()) {
            (true, true) => "sensitive planned value does not match config value".to_string(),
            (true, false) => {
                "sensitive planned value does not match config value nor prior value".to_string()
            }
            (false, true) => {
                format!("planned value {planned} does not match config value {config}")
            }
            (false, false) => format!(
                "planned value {planned} does not match config value {config} nor prior value {prior}"
            ),
        };
        self.fail(path, message);
    }

    fn nested_attribute(
        &mut self,
        schema: &NestedObject,
        prior: &Value,
        config: &Value,
        planned: &Value,
        path: &Path,
    ) {
        if !self.check_both_present(config, planned, path) {
            return;
        }
        if !planned.is_known() {
            return self.fail(path, "planned unknown for configured value");
        }
        if matches!(schema.nesting, Nesting::Single | Nesting::Group) {
            return self.attributes(&schema.attributes, prior, config, planned, path);
        }
        let (Some(in_plan), Some(in_config)) = (planned.length(), config.length()) else {
            return;
        };
        let disagree =
            format!("count in plan ({in_plan}) disagrees with count in config ({in_config})");
        // Elements of sets cannot be matched by a key, so only their number can be checked.
        if schema.nesting == Nesting::Set {
            if in_plan.range().includes(&in_config) == Some(false) {
                self.fail(path, disagree);
            }
            return;
        }
        // Unknown on both sides: no key can be compared.
        if !in_plan.is_known() && !in_config.is_known() {
            return;
        }
        if in_plan.equals(&in_config).as_bool() != Some(true) {
            return self.fail(path, disagree);
        }
        for (key, element) in planned.elements() {
            if !has(config, &key) {
                self.fail(
                    path,
                    format!(
                        "map key {} from plan is not present in config",
                        key_text(&key)
                    ),
                );
                continue;
            }
            // A key of a map of objects is printed as an attribute here, as OpenTofu does.
            let here = match key.as_arc_str() {
                Some(name) => path.with(PathStep::Attr(name)),
                None => path.index(key.clone()),
            };
            let nothing = || Value::null(schema.object_type());
            let (before, wanted) = (
                counterpart(prior, &key, nothing),
                counterpart(config, &key, nothing),
            );
            self.attributes(&schema.attributes, &before, &wanted, element, &here);
        }
        for (key, _) in config.elements().filter(|(key, _)| !has(planned, key)) {
            self.fail(
                path,
                format!(
                    "map key {} from config is not present in plan",
                    key_text(&key)
                ),
            );
        }
    }
}

fn key_text(key: &Value) -> String {
    match (key.as_str(), key.as_number()) {
        (Some(s), _) => format!("{s:?}"),
        (_, Some(n)) => n.to_text(),
        _ => key.to_string(),
    }
}

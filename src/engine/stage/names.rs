//! Checks the names that a configuration uses, independently of values: functions of providers that
//! a module does not require, deprecated variables and outputs of modules, deprecated attributes
//! and types of providers. Pure.

use super::nodes::schema_of;
use cty::schema::{Attribute, Block};
use dependency::BUILTIN_PROVIDER;
use lang::addr::Resource;
use lang::config::{Module, Variable};
use lang::diag::{Diagnostic, Diagnostics};
use lang::source::Span;
use lang::syntax::ast::{Step, StepKind, Traversal};
use provider::ProviderSchema;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use workspace::provider_addr;
use workspace::refs::{self, Ref};

/// Prefix of provider function names.
const PROVIDER_PREFIX: &str = "provider::";

const DEPRECATED: &str = "Value derived from a deprecated source";

/// Findings by source position. Code that several instances evaluate is reported once.
#[derive(Default)]
pub struct Names {
    schemas: HashMap<Arc<str>, Arc<ProviderSchema>>,
    found: BTreeMap<Span, Diagnostic>,
    unregistered: BTreeMap<Span, Arc<str>>,
    /// Deprecations by providers, by message with all source positions: each message is reported
    /// once.
    outdated: BTreeMap<String, BTreeSet<Span>>,
}

/// Called function of a provider.
pub struct ProviderFunction<'a> {
    /// Local name of the provider.
    pub provider: &'a str,
    pub alias: Option<&'a str>,
    pub function: &'a str,
}

/// Parses `provider::NAME::FUNCTION`, or the same with an alias; `None` for other functions.
pub fn provider_function(name: &str) -> Option<ProviderFunction<'_>> {
    let mut names = name.strip_prefix(PROVIDER_PREFIX)?.splitn(3, "::");
    let (provider, second, third) = (names.next()?, names.next()?, names.next());
    let (alias, function) = match third {
        Some(function) => (Some(second), function),
        None => (None, second),
    };
    (!function.contains("::")).then_some(ProviderFunction {
        provider,
        alias,
        function,
    })
}

impl Names {
    /// Creates an empty set for a configuration with these providers.
    pub fn with(schemas: &HashMap<Arc<str>, Arc<ProviderSchema>>) -> Self {
        Self {
            schemas: schemas.clone(),
            ..Self::default()
        }
    }

    pub fn diagnostics(&self) -> Diagnostics {
        let mut said = self.found.clone();
        for (detail, places) in &self.outdated {
            let Some(first) = places.first() else {
                continue;
            };
            let further = match places.len() - 1 {
                0 => String::new(),
                1 => " It is used at one more place.".to_owned(),
                n => format!(" It is used at {n} more places."),
            };
            let d = Diagnostic::warning(DEPRECATED, format!("{detail}{further}"));
            // Another finding at the same place takes precedence.
            said.entry(*first).or_insert_with(|| d.at(*first));
        }
        Diagnostics(said.into_values().collect())
    }

    fn add_once(&mut self, span: Span, diagnostic: Diagnostic) {
        self.found
            .entry(span)
            .or_insert_with(|| diagnostic.at(span));
    }

    /// Checks a called function: it must belong to a provider that the module requires.
    pub fn called(&mut self, module: &Module, name: &str, span: Span) {
        let Some(called) = provider_function(name) else {
            if name.starts_with(PROVIDER_PREFIX) {
                let detail = format!(
                    "{name:?} is not a valid name of a provider function. Use provider::NAME::FUNCTION or provider::NAME::ALIAS::FUNCTION."
                );
                let summary = "Unable to parse provider function";
                self.add_once(span, Diagnostic::error(summary, detail));
            }
            return;
        };
        let ProviderFunction {
            provider, function, ..
        } = called;
        let required = module.required_providers.get(provider);
        // Resource types imply a provider, but functions need its name in `required_providers`.
        if required.is_none_or(|r| r.implied) {
            let detail = format!(
                "The provider {provider:?} is not in required_providers of this module, so its functions cannot be called here. Add it to required_providers."
            );
            return self.add_once(span, Diagnostic::error("Unknown function provider", detail));
        }
        let address = provider_addr::address_of(module, provider);
        let known = match self.schemas.get(&address) {
            // The builtin provider has no schema; its functions belong to the language.
            _ if *address == *BUILTIN_PROVIDER => {
                lang::functions::of_builtin_provider(function).is_some()
            }
            Some(schema) => schema.functions.contains_key(function),
            // Without the provider's schema its functions are not known, so the call passes.
            None => true,
        };
        if !known {
            self.unregistered.insert(span, address);
        }
    }

    /// Records a call on a provider configuration with instances that selects none.
    pub fn without_instance(&mut self, address: Arc<str>, span: Span) {
        self.unregistered.insert(span, address);
    }

    /// Returns the source positions of functions that the schemas lack, with the provider's
    /// address: a provider may offer them once it is configured. Includes calls that select no
    /// instance.
    pub fn unregistered(&self) -> &BTreeMap<Span, Arc<str>> {
        &self.unregistered
    }

    /// Checks a value passed to a variable of a module.
    pub fn check_passed_value(&mut self, variable: &Variable, span: Span) {
        if let Some(why) = &variable.deprecated {
            let detail = format!(
                "The module author marked the variable {:?} as deprecated: {why}",
                variable.name
            );
            self.add_once(
                span,
                Diagnostic::warning("Variable marked as deprecated by the module author", detail),
            );
        }
    }

    /// Checks a reference to a module's output or into a resource.
    pub fn check_reference(&mut self, module: &Module, t: &Traversal) {
        let (call, name) = match refs::parse(t) {
            Ok(Ref::ModuleOutput { call, output, .. }) => (call, output),
            Ok(Ref::Resource { resource, used, .. }) => {
                let steps = t.steps.get(used..).unwrap_or_default();
                return self.read(module, &resource, steps, t.span());
            }
            _ => return,
        };
        let called = module.calls.get(&call).and_then(|c| c.module.as_ref());
        if let Some(why) = called
            .and_then(|m| m.outputs.get(&name))
            .and_then(|o| o.deprecated.as_ref())
        {
            let detail = format!(
                "The author of module.{call} marked its output {name:?} as deprecated: {why}"
            );
            self.add_once(t.span(), Diagnostic::warning(DEPRECATED, detail));
        }
    }

    /// Checks the attributes read from a resource.
    fn read(&mut self, module: &Module, resource: &Resource, steps: &[Step], span: Span) {
        // A bare reference only orders; it reads no attribute.
        if steps.is_empty() {
            return;
        }
        let schema = module.resources.get(resource).and_then(|declared| {
            let local = provider_addr::provider_name(declared);
            let schemas = self
                .schemas
                .get(&provider_addr::address_of(module, local))?;
            schema_of(schemas, resource)
        });
        let Some((path, why)) = schema.and_then(|schema| deprecated_item(&schema.block, steps))
        else {
            return;
        };
        let why = match why {
            "" => ".".to_owned(),
            why => format!(": {}.", why.trim_end_matches('.')),
        };
        let detail = format!("The provider marks {resource}{path} as deprecated{why}");
        self.outdated.entry(detail).or_default().insert(span);
    }
}

/// Returns the path and message of the first deprecated item along the steps.
fn deprecated_item<'s>(block: &'s Block, steps: &[Step]) -> Option<(String, &'s str)> {
    let mut path = String::new();
    if block.deprecated {
        return Some((path, &block.deprecation_message));
    }
    let (mut attributes, mut blocks) = (&block.attributes, Some(&block.blocks));
    // Element keys do not change the position in the schema.
    let names = steps.iter().filter_map(|step| match &step.kind {
        StepKind::Attr(name) => Some(name),
        StepKind::Index(_) => None,
    });
    for name in names {
        path.push('.');
        path.push_str(name);
        if let Some(inner) = blocks.and_then(|blocks| blocks.get(&**name)) {
            if inner.block.deprecated {
                return Some((path, &inner.block.deprecation_message));
            }
            (attributes, blocks) = (&inner.block.attributes, Some(&inner.block.blocks));
            continue;
        }
        let attribute: &Attribute = attributes.get(&**name)?;
        if attribute.deprecated {
            return Some((path, &attribute.deprecation_message));
        }
        // An attribute with a nested type contains attributes only.
        (attributes, blocks) = (&attribute.nested.as_ref()?.attributes, None);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use cty::schema::{NestedBlock, NestedObject, Nesting, Schema};
    use lang::config::{Inputs, load_root};
    use lang::source::SourceMap;

    /// Schemas of a type with deprecated parts, and of a deprecated type.
    fn schemas() -> HashMap<Arc<str>, Arc<ProviderSchema>> {
        let plain = || ("plain".into(), Attribute::default());
        let old = |why: &str| {
            let old = Attribute {
                deprecated: true,
                deprecation_message: why.to_owned(),
                ..Attribute::default()
            };
            ("old".into(), old)
        };
        let nested = Attribute {
            nested: Some(NestedObject {
                attributes: [plain(), old("")].into(),
                nesting: Nesting::List,
            }),
            ..Attribute::default()
        };
        let inner = |deprecated| NestedBlock {
            block: Block {
                attributes: [plain(), old("take plain")].into(),
                deprecated,
                ..Block::default()
            },
            nesting: Nesting::List,
            min_items: 0,
            max_items: 0,
        };
        let block = Block {
            attributes: [plain(), old("take plain"), ("nested".into(), nested)].into(),
            blocks: [("part".into(), inner(false)), ("gone".into(), inner(true))].into(),
            ..Block::default()
        };
        let whole = Block {
            attributes: [plain()].into(),
            deprecated: true,
            deprecation_message: "take t_some".to_owned(),
            ..Block::default()
        };
        let schema = |block| Schema::new(0, block);
        let provider = ProviderSchema {
            resources: [("t_some".to_owned(), schema(block))].into(),
            data_sources: [("t_whole".to_owned(), schema(whole))].into(),
            ..ProviderSchema::default()
        };
        let address = model::full_address("t");
        [(Arc::from(address.as_str()), Arc::new(provider))].into()
    }

    /// Returns the warnings about these references.
    fn said(references: &[&str]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let sources = SourceMap::new();
        let config = "resource \"t_some\" \"a\" {}\ndata \"t_whole\" \"b\" {}\n";
        std::fs::write(dir.path().join("main.tf"), config).unwrap();
        let (loaded, diags) = load_root(dir.path(), &sources, &Inputs::default());
        assert!(!diags.has_errors(), "{diags:?}");
        let mut names = Names::with(&schemas());
        for text in references {
            let (expr, _) = lang::syntax::parse_expression(text, text, &sources);
            for t in expr.traversals() {
                names.check_reference(&loaded.root, t);
            }
        }
        names.diagnostics().into_iter().map(|d| d.detail).collect()
    }

    #[test]
    fn deprecation_is_reported_where_an_attribute_is_referenced() {
        const MARKS: &str = "The provider marks";
        for (reference, path, why) in [
            ("t_some.a.old", "t_some.a.old", ": take plain."),
            ("t_some.a[0].old", "t_some.a.old", ": take plain."),
            ("t_some.a.nested[0].old", "t_some.a.nested.old", "."),
            ("t_some.a.part[0].old", "t_some.a.part.old", ": take plain."),
            ("t_some.a.gone[0].plain", "t_some.a.gone", "."),
            ("data.t_whole.b.plain", "data.t_whole.b", ": take t_some."),
        ] {
            assert_eq!(
                said(&[reference]),
                [format!("{MARKS} {path} as deprecated{why}")],
                "{reference}"
            );
        }
        for reference in [
            "t_some.a.plain",
            "t_some.a.nested[0].plain",
            "t_some.a.part[0].plain",
            "t_some.a",
            "data.t_whole.b",
            "t_some.nope.old",
        ] {
            assert_eq!(said(&[reference]), [""; 0], "{reference}");
        }
    }

    #[test]
    fn repeated_deprecation_is_reported_once_with_a_count() {
        assert_eq!(
            said(&["t_some.a.old", "[t_some.a.old, t_some.a.old]"]),
            [
                "The provider marks t_some.a.old as deprecated: take plain. It is used at 2 more places."
            ]
        );
    }
}

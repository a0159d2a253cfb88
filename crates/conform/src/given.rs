//! Configurations to check a provider with: the operator's file, or the starter of a type.

use super::{Placeholders, Scaffold};
use cty::Value;
use cty::schema::Block;
use lang::body::{Body, BodySchema};
use lang::decode::decode_block;
use lang::diag::Diagnostics;
use lang::eval::Bindings;
use lang::source::SourceMap;
use lang::syntax::parse_file;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Arguments and blocks that concern the engine and not the provider.
const META: [&str; 4] = ["count", "for_each", "provider", "depends_on"];
const META_BLOCKS: [&str; 3] = ["lifecycle", "provisioner", "connection"];

/// Error of a configuration: the place and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GivenError(String);

/// Configurations of a file: one for the provider, and at most one of each resource type.
#[derive(Debug, Clone, Default)]
pub struct Given {
    sources: SourceMap,
    provider: Option<Body>,
    resources: BTreeMap<Arc<str>, Body>,
}

impl Given {
    /// Parses a file with `provider` and `resource` blocks in native syntax.
    ///
    /// # Errors
    /// The text has a syntax error, another kind of block, or two blocks for one purpose.
    pub fn parse(name: &str, text: &str) -> Result<Self, GivenError> {
        let sources = SourceMap::new();
        let file = sources.add(name, text);
        let (body, mut diags) = parse_file(text, file);
        let schema = BodySchema::new()
            .block("provider", &["name"])
            .block("resource", &["type", "name"]);
        let (content, more) = Body::native(Arc::new(body)).content(&schema);
        diags.append(more);
        let mut given = Self {
            sources: sources.clone(),
            ..Self::default()
        };
        for block in content.blocks {
            let label = block.labels.first().map(|l| l.text.clone());
            let earlier = match (&*block.type_name, label) {
                ("provider", _) => given.provider.replace(block.body).is_some(),
                (_, Some(name)) => given.resources.insert(name, block.body).is_some(),
                _ => false,
            };
            // The later block would silently take the place of the earlier one.
            if earlier {
                let detail = "Keep one provider block, and one resource block of each type.";
                diags.error(block.def_span, "Duplicate configuration", detail);
            }
        }
        failed(&diags, &sources)?;
        Ok(given)
    }

    /// Returns the types of the resource blocks.
    pub fn types(&self) -> impl Iterator<Item = &str> {
        self.resources.keys().map(|name| &**name)
    }

    /// Returns the configuration of the provider; `None` without a block for it.
    ///
    /// # Errors
    /// The block does not fit the schema, or refers to other objects.
    pub fn provider(&self, schema: &Block) -> Result<Option<Value>, GivenError> {
        let body = self.provider.as_ref();
        // An alias serves references only, and is no argument of the provider.
        let body = body.map(|body| body.without(&BodySchema::new().optional(&["alias"])));
        body.map(|body| decoded(&body, schema, &self.sources))
            .transpose()
    }

    /// Returns the configuration of a resource type; `None` without a block for it.
    ///
    /// # Errors
    /// The block does not fit the schema, or refers to other objects.
    pub fn resource(&self, type_name: &str, schema: &Block) -> Result<Option<Value>, GivenError> {
        let mut meta = BodySchema::new().optional(&META);
        for name in META_BLOCKS {
            meta = meta.block(name, &[]);
        }
        let body = self
            .resources
            .get(type_name)
            .map(|body| body.without(&meta));
        body.map(|body| decoded(&body, schema, &self.sources))
            .transpose()
    }
}

/// Returns the value of a type's starter block.
///
/// # Errors
/// The starter does not fit the schema, which then contradicts itself.
pub fn starter_value(schema: &Block, prefix: &str) -> Result<Value, GivenError> {
    let placeholders = Placeholders::Prefix(prefix.to_owned());
    // The text is parsed like a file, so that checks cover the starter that operators receive.
    let text = Scaffold::resource("starter", schema).text(&placeholders);
    let given = Given::parse("starter.tf", &text)?;
    let value = given.resource("starter", schema)?;
    value.ok_or_else(|| GivenError("the starter has no block".to_owned()))
}

/// Decodes a body without references.
fn decoded(body: &Body, schema: &Block, sources: &SourceMap) -> Result<Value, GivenError> {
    // Without any names in scope, each reference is an error at its place.
    let scope = Bindings::new(BTreeMap::new()).with_sources(sources.clone());
    let (value, diags) = decode_block(body, schema, &scope);
    failed(&diags, sources)?;
    let (value, _) = value.unmark_deep();
    // Nothing in a check makes an unknown value known later.
    match value.is_wholly_known() {
        true => Ok(value),
        false => Err(GivenError(
            "the configuration contains unknown values; use constants".to_owned(),
        )),
    }
}

fn failed(diags: &Diagnostics, sources: &SourceMap) -> Result<(), GivenError> {
    // Warnings do not prevent the use of a configuration.
    match diags.errors().next() {
        Some(first) => Err(GivenError(first.render(sources))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cty::Type;
    use cty::schema::{Attribute, NestedBlock, Nesting};

    fn block() -> Block {
        let attributes = [
            ("name".into(), Attribute::required(Type::String)),
            ("size".into(), Attribute::optional(Type::Number)),
            ("id".into(), Attribute::computed(Type::String)),
        ];
        let port = [("port".into(), Attribute::required(Type::Number))];
        let rule = Block {
            attributes: port.into(),
            ..Block::default()
        };
        let rule = NestedBlock {
            min_items: 1,
            ..NestedBlock::new(Nesting::List, rule)
        };
        Block {
            attributes: attributes.into(),
            blocks: [("rule".into(), rule)].into(),
            ..Block::default()
        }
    }

    fn object(name: &str, size: Value, port: i64) -> Value {
        let rule = Value::object([("port", Value::int(port))]);
        let ty = rule.ty().clone();
        Value::object([
            ("name", Value::string(name)),
            ("size", size),
            ("id", Value::null(Type::String)),
            ("rule", Value::list(ty, vec![rule])),
        ])
    }

    #[test]
    fn starter_has_the_required_arguments_and_blocks() {
        let value = starter_value(&block(), "conform-").expect("a starter");
        let expected = object("conform-name", Value::null(Type::Number), 1);
        assert!(value.raw_equals(&expected), "{value:?}");
    }

    #[test]
    fn file_gives_configurations_with_functions_and_meta_arguments() {
        let text = "provider \"acme\" {\n  alias = \"x\"\n}\nresource \"acme_bucket\" \"a\" {\n  name = lower(\"AB\")\n  size = 1 + 2\n  lifecycle {\n    prevent_destroy = true\n  }\n  rule {\n    port = 80\n  }\n}\n";
        let given = Given::parse("x.tf", text).expect("valid");
        let value = given.resource("acme_bucket", &block()).expect("decoded");
        let expected = object("ab", Value::int(3), 80);
        assert!(value.expect("given").raw_equals(&expected));
        assert_eq!(given.types().collect::<Vec<_>>(), ["acme_bucket"]);
        assert!(given.provider(&Block::default()).expect("ok").is_some());
        assert!(given.resource("other", &block()).expect("ok").is_none());
    }

    #[test]
    fn error_of_a_file_names_its_line() {
        for (text, words) in [
            ("resource \"a\" \"b\" {", "x.tf"),
            ("variable \"a\" {}\n", "Unsupported block type"),
            (
                "provider \"a\" {}\nprovider \"b\" {}\n",
                "Duplicate configuration",
            ),
        ] {
            let error = Given::parse("x.tf", text).expect_err(text).to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        let text = "resource \"a\" \"b\" {\n  name = var.x\n  rule {\n    port = 1\n  }\n}\n";
        let given = Given::parse("x.tf", text).expect("valid");
        let error = given.resource("a", &block()).expect_err("a reference");
        assert!(error.to_string().contains("x.tf:2"), "{error}");
    }
}

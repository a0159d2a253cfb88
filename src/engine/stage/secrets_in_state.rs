//! Warnings about secrets that the state stores in clear text, by the arguments that refer to their
//! variables. Only the root module is searched.

use super::nodes::schema_of;
use cty::schema::{Attribute, Block};
use lang::addr::{Mode, Reference, Subject};
use lang::body::{Body, BodySchema};
use lang::config::{Module, SecretReference};
use lang::diag::Diagnostics;
use lang::source::Span;
use lang::syntax::{Expr, ExprKind};
use provider::ProviderSchema;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use workspace::provider_addr::{address_of, provider_name};

/// Returns a warning for each reference to the variable of a secret in an argument that is stored.
pub fn warnings(
    root: &Module,
    secrets: &BTreeMap<Arc<str>, SecretReference>,
    schemas: &HashMap<Arc<str>, Arc<ProviderSchema>>,
) -> Diagnostics {
    let mut diags = Diagnostics::new();
    let stored = |mode| mode != Mode::Ephemeral && !secrets.is_empty();
    for resource in root.resources.values().filter(|r| stored(r.name.mode)) {
        let provider = schemas.get(&address_of(root, provider_name(resource)));
        let Some(schema) = provider.and_then(|schemas| schema_of(schemas, &resource.name)) else {
            continue;
        };
        let path = resource.name.to_string();
        for (path, name, span) in stored_references(&schema.block, &resource.body, &path) {
            if secrets.contains_key(&name) {
                let detail = format!(
                    "The value of secret {name} is stored in the state in clear text, because \
                     {path} is not a write-only argument."
                );
                diags.warning(span, "Secret is stored in the state", detail);
            }
        }
    }
    diags
}

/// References to variables in stored arguments: path of the argument, variable and place.
fn stored_references(block: &Block, body: &Body, path: &str) -> Vec<(String, Arc<str>, Span)> {
    let stored = block.attributes.iter().filter(|(_, a)| is_stored(a));
    let names: Vec<&str> = stored.map(|(name, _)| &**name).collect();
    let schema = BodySchema::new().optional(&names);
    let blocks = block.blocks.keys();
    let schema = blocks.fold(schema, |schema, kind| schema.block(kind, &[]));
    let (content, _, _) = body.partial_content(&schema);
    let mut found = Vec::new();
    for (name, attribute) in &content.attributes {
        let path = format!("{path}.{name}");
        let mut references = Vec::new();
        part_references(&attribute.expr, &mut references);
        let references = references.into_iter();
        found.extend(references.map(|(variable, span)| (path.clone(), variable, span)));
    }
    for inner in &content.blocks {
        if let Some(nested) = block.blocks.get(&inner.type_name) {
            let path = format!("{path}.{}", inner.type_name);
            found.extend(stored_references(&nested.block, &inner.body, &path));
        }
    }
    found
}

/// Returns true if all parts of the argument are stored.
fn is_stored(attribute: &Attribute) -> bool {
    let nested = attribute.nested.iter().flat_map(|n| n.attributes.values());
    !attribute.write_only && nested.into_iter().all(is_stored)
}

/// References to variables whose values are parts of an expression's value. The result of a
/// function need not contain its arguments.
fn part_references(expr: &Expr, found: &mut Vec<(Arc<str>, Span)>) {
    match &expr.kind {
        ExprKind::Traversal(traversal) => {
            if let Ok(Reference {
                subject: Subject::Variable(name),
                ..
            }) = Reference::parse(traversal)
            {
                found.push((name, expr.span));
            }
        }
        ExprKind::Template { parts, .. } | ExprKind::Tuple(parts) => {
            parts.iter().for_each(|part| part_references(part, found));
        }
        ExprKind::Object(items) => {
            for item in items {
                part_references(&item.value, found);
            }
        }
        ExprKind::TemplateWrap(inner) | ExprKind::Parens(inner) => part_references(inner, found),
        ExprKind::Conditional { then, other, .. } => {
            part_references(then, found);
            part_references(other, found);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::testing::Unplanned;
    use lang::config::SecretSource;

    #[test]
    fn s1_15_secret_in_an_argument_that_is_not_write_only_is_a_warning_with_its_place() {
        for (argument, expected) in [
            ("name = var.a", Some("lab_thing.x.name")),
            ("name = \"x-${var.a}\"", Some("lab_thing.x.name")),
            ("name = \"${var.a}\"", Some("lab_thing.x.name")),
            ("name = true ? var.a : null", Some("lab_thing.x.name")),
            ("tags = { k = (var.a) }", Some("lab_thing.x.tags")),
            ("rule { port = var.a }", Some("lab_thing.x.rule.port")),
            ("token = var.a", None),
            ("name = sha256(var.a)", None),
            ("name = var.a == null ? \"x\" : \"y\"", None),
            ("name = var.b", None),
        ] {
            let config = format!(
                "variable \"a\" {{}}\nvariable \"b\" {{}}\nresource \"lab_thing\" \"x\" {{\n  {argument}\n}}\n"
            );
            let plan = Unplanned::new(&config, &[], &["-var=a=1", "-var=b=2"]);
            let input = &plan.workspace.input;
            let secret = SecretReference {
                variable: "a".into(),
                from: "env:A".into(),
                source: SecretSource::Environment("A".to_owned()),
                span: input.root.variables["a"].span,
            };
            let secrets = BTreeMap::from([("a".into(), secret)]);
            let found = warnings(&input.root, &secrets, &input.schemas);
            let texts: Vec<(String, String)> = found
                .iter()
                .filter_map(|d| {
                    let span = d.subject?;
                    let text = input.sources.get(span.file)?.text.clone();
                    let place = text.get(span.start as usize..span.end as usize)?;
                    Some((d.detail.to_string(), place.to_owned()))
                })
                .collect();
            let expected: Vec<(String, String)> = expected
                .into_iter()
                .map(|path| {
                    let text = format!(
                        "The value of secret a is stored in the state in clear text, because \
                         {path} is not a write-only argument."
                    );
                    (text, "var.a".to_owned())
                })
                .collect();
            assert_eq!(texts, expected, "{argument}");
        }
    }
}

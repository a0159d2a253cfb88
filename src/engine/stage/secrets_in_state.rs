//! Warnings about secrets that the state stores in clear text, by the arguments that refer to their
//! variables, directly or through local values and variables of modules.

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

/// Longest chain of local values that is followed.
const MAX_LOCALS: usize = 16;

/// Variables of one module whose values have parts of secrets, with the names of the secrets.
type Carriers = BTreeMap<Arc<str>, Arc<str>>;

/// Returns a warning for each reference to the variable of a secret in an argument that is stored.
pub fn warnings(
    root: &Module,
    secrets: &BTreeMap<Arc<str>, SecretReference>,
    schemas: &HashMap<Arc<str>, Arc<ProviderSchema>>,
) -> Diagnostics {
    let mut diags = Diagnostics::new();
    let own = secrets.keys().map(|name| (name.clone(), name.clone()));
    warn_in(root, &own.collect(), schemas, &mut diags);
    diags
}

/// Reports the stored arguments of a module and of the modules that it passes secrets to.
fn warn_in(
    module: &Module,
    carriers: &Carriers,
    schemas: &HashMap<Arc<str>, Arc<ProviderSchema>>,
    diags: &mut Diagnostics,
) {
    if carriers.is_empty() {
        return;
    }
    let resources = module.resources.values();
    for resource in resources.filter(|r| r.name.mode != Mode::Ephemeral) {
        let provider = schemas.get(&address_of(module, provider_name(resource)));
        let Some(schema) = provider.and_then(|schemas| schema_of(schemas, &resource.name)) else {
            continue;
        };
        let path = match module.path.is_root() {
            true => resource.name.to_string(),
            false => format!("{}.{}", module.path, resource.name),
        };
        for (path, name, span) in stored_references(module, &schema.block, &resource.body, &path) {
            if let Some(secret) = carriers.get(&name) {
                let detail = format!(
                    "The value of secret {secret} is stored in the state in clear text, because \
                     {path} is not a write-only argument."
                );
                diags.warning(span, "Secret is stored in the state", detail);
            }
        }
    }
    for call in module.calls.values() {
        let Some(called) = &call.module else { continue };
        let passed = call.arguments.iter().filter_map(|(name, argument)| {
            let found = part_references(&argument.expr, module);
            let mut secrets = found
                .iter()
                .filter_map(|(variable, _)| carriers.get(variable));
            Some((name.clone(), secrets.next()?.clone()))
        });
        warn_in(called, &passed.collect(), schemas, diags);
    }
}

/// References to variables in stored arguments: path of the argument, variable and place.
fn stored_references(
    module: &Module,
    block: &Block,
    body: &Body,
    path: &str,
) -> Vec<(String, Arc<str>, Span)> {
    let stored = block.attributes.iter().filter(|(_, a)| is_stored(a));
    let names: Vec<&str> = stored.map(|(name, _)| &**name).collect();
    let schema = BodySchema::new().optional(&names);
    let blocks = block.blocks.keys();
    let schema = blocks.fold(schema, |schema, kind| schema.block(kind, &[]));
    let (content, _, _) = body.partial_content(&schema);
    let mut found = Vec::new();
    for (name, attribute) in &content.attributes {
        let path = format!("{path}.{name}");
        let references = part_references(&attribute.expr, module).into_iter();
        found.extend(references.map(|(variable, span)| (path.clone(), variable, span)));
    }
    for inner in &content.blocks {
        if let Some(nested) = block.blocks.get(&inner.type_name) {
            let path = format!("{path}.{}", inner.type_name);
            found.extend(stored_references(module, &nested.block, &inner.body, &path));
        }
    }
    found
}

/// Returns true if all parts of the argument are stored.
fn is_stored(attribute: &Attribute) -> bool {
    let nested = attribute.nested.iter().flat_map(|n| n.attributes.values());
    !attribute.write_only && nested.into_iter().all(is_stored)
}

/// References to variables whose values are parts of an expression's value, directly or through
/// local values. The result of a function need not contain its arguments.
fn part_references(expr: &Expr, module: &Module) -> Vec<(Arc<str>, Span)> {
    let mut found = Vec::new();
    collect_parts(expr, module, MAX_LOCALS, &mut found);
    found
}

fn collect_parts(expr: &Expr, module: &Module, depth: usize, found: &mut Vec<(Arc<str>, Span)>) {
    let mut inner = |expr: &Expr| collect_parts(expr, module, depth, found);
    match &expr.kind {
        ExprKind::Traversal(traversal) => match Reference::parse(traversal).map(|r| r.subject) {
            Ok(Subject::Variable(name)) => found.push((name, expr.span)),
            Ok(Subject::Local(name)) if depth > 0 => {
                let Some(local) = module.locals.get(&name) else {
                    return;
                };
                let mut parts = Vec::new();
                collect_parts(&local.expr, module, depth - 1, &mut parts);
                // The argument is to be changed, so the place is there.
                found.extend(parts.into_iter().map(|(name, _)| (name, expr.span)));
            }
            _ => {}
        },
        ExprKind::Template { parts, .. } | ExprKind::Tuple(parts) => {
            parts.iter().for_each(inner);
        }
        ExprKind::Object(items) => items.iter().for_each(|item| inner(&item.value)),
        ExprKind::TemplateWrap(wrapped) | ExprKind::Parens(wrapped) => inner(wrapped),
        ExprKind::Conditional { then, other, .. } => {
            inner(then);
            inner(other);
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
            ("name = local.a", Some("lab_thing.x.name")),
            ("name = local.digest", None),
            ("name = local.b", None),
        ] {
            let config = format!(
                "variable \"a\" {{}}\nvariable \"b\" {{}}\nlocals {{\n  a = local.c\n  c = \"x-${{var.a}}\"\n  digest = sha256(var.a)\n  b = local.b\n}}\nresource \"lab_thing\" \"x\" {{\n  {argument}\n}}\n"
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
                    let by_local = argument.contains("local.");
                    (text, if by_local { "local.a" } else { "var.a" }.to_owned())
                })
                .collect();
            assert_eq!(texts, expected, "{argument}");
        }
    }
}

//! Evaluates expressions in the root module for the operator. Resources have the values of the
//! state; everything else is evaluated. Calls no provider and configures none.

use super::cell::Cell;
use super::nodes::Node;
use super::prior::PriorState;
use super::scope::ModuleScope;
use super::state_values::stored_cell;
use super::values::Extent;
use super::walk::Walk;
use cty::{Type, Value};
use lang::addr::ModuleInstance;
use lang::diag::Diagnostics;
use lang::source::SourceMap;
use lang::syntax::ast::{Call, ExprKind};
use lang::syntax::parse_expression;
use std::sync::Arc;

/// Nodes evaluated at a time.
const NODES_AT_A_TIME: usize = 64;
/// File name of entered expressions in diagnostics.
const INPUT: &str = "<console-input>";

/// Evaluates all nodes that an expression may reference and returns their diagnostics. Failed nodes
/// have unknown values.
pub async fn evaluate(walk: &Arc<Walk>, prior: &Arc<PriorState>) -> Diagnostics {
    let run = |step| {
        let (walk, prior) = (walk.clone(), prior.clone());
        async move {
            let cell = match &walk.nodes.nodes[step] {
                // Neither providers are configured nor checks evaluated.
                Node::Provider(_) | Node::Check(..) => Cell::default(),
                node => match walk.evaluate_common(node, &Extent::all()).await {
                    Some(cell) => cell,
                    None => stored_cell(&walk, &prior, step),
                },
            };
            walk.publish(step, cell);
            // A failed node must not stop its dependents: they get unknown values.
            true
        }
    };
    let graph = &walk.nodes.graph;
    graph
        .walk(NODES_AT_A_TIME, || !walk.cancel.is_cancelled(), run)
        .await;
    walk.cells.merge_in_order(graph.order()).diags
}

/// Evaluates an expression in the root module.
pub fn evaluated(walk: &Walk, text: &str) -> (Value, Diagnostics) {
    let (expr, mut diags) = parse_expression(text, INPUT, &walk.context.sources);
    if diags.has_errors() {
        return (Value::dynamic(), diags);
    }
    let root = ModuleInstance::root();
    let scope = ModuleScope::new(&walk.context, &walk.context.root, &root);
    let (value, said) = scope.evaluate(&expr);
    diags.append(said);
    // Sensitive values are learned before the result is rendered anywhere.
    walk.providers.secrets().register(&value);
    (value, diags)
}

/// Returns the argument if the text is a call `type(…)`, which only exists in the console.
pub fn type_argument(text: &str) -> Option<String> {
    let (expr, diags) = parse_expression(text, INPUT, &SourceMap::new());
    let call = match &expr.kind {
        ExprKind::Call(call) if !diags.has_errors() && &*call.name == "type" => call,
        _ => return None,
    };
    let Call {
        args, open, close, ..
    } = call;
    let inner = text.get(open.end as usize..close.start as usize)?;
    (args.len() == 1).then(|| inner.to_owned())
}

/// Renders the type of a value, one attribute or element per line. Attribute names that may derive
/// from sensitive or ephemeral values are hidden: an object carries the marks of its keys.
pub fn written_type(value: &Value) -> String {
    Written {
        value: Some(value),
        hidden: false,
        indent: 0,
    }
    .of(value.ty())
}

/// Placeholder of hidden attribute names.
const HIDDEN_ATTRIBUTES: &str = "(sensitive attributes)";

/// Nested type being rendered.
struct Written<'v> {
    /// Value with this type; `None` for elements of a collection, which share one type.
    value: Option<&'v Value>,
    /// True if an enclosing value is sensitive or ephemeral.
    hidden: bool,
    indent: usize,
}

impl Written<'_> {
    fn of(&self, ty: &Type) -> String {
        let hidden = self.hidden || self.value.is_some_and(|v| v.marks().needs_redaction());
        let (lead, end) = (" ".repeat(self.indent + 4), " ".repeat(self.indent));
        let inner = |value, ty| {
            let indent = self.indent + 4;
            Written {
                value,
                hidden,
                indent,
            }
            .of(ty)
        };
        let collection = |name: &str, element: &Type| {
            let element = Written {
                value: None,
                hidden: hidden || self.value.is_some_and(Value::needs_redaction),
                indent: self.indent,
            }
            .of(element);
            format!("{name}({element})")
        };
        match ty {
            Type::List(element) => collection("list", element),
            Type::Set(element) => collection("set", element),
            Type::Map(element) => collection("map", element),
            Type::Tuple(all) if all.is_empty() => "tuple([])".to_owned(),
            Type::Tuple(all) => {
                let values = self.value.and_then(Value::as_slice);
                let lines = all.iter().enumerate();
                let lines: String = lines
                    .map(|(at, ty)| {
                        let value = values.and_then(|values| values.get(at));
                        format!("{lead}{},\n", inner(value, ty))
                    })
                    .collect();
                format!("tuple([\n{lines}{end}])")
            }
            Type::Object(object) if object.attributes.is_empty() => "object({})".to_owned(),
            // A type reveals nothing of a value except the attribute names of objects.
            Type::Object(_) if hidden => format!("object({{ {HIDDEN_ATTRIBUTES} }})"),
            Type::Object(object) => {
                let values = self.value.and_then(Value::as_map);
                let lines = object.attributes.iter();
                let lines: String = lines
                    .map(|(name, ty)| {
                        let value = values.and_then(|values| values.get(name));
                        format!("{lead}{name}: {},\n", inner(value, ty))
                    })
                    .collect();
                format!("object({{\n{lines}{end}}})")
            }
            Type::Dynamic => "dynamic".to_owned(),
            other => other.friendly_constraint_name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cty::{Mark, Marks};

    #[test]
    fn attribute_names_of_sensitive_objects_are_redacted_in_types() {
        let keyed = || Value::object([("key", Value::int(1))]);
        let secret = |value: Value, mark: Mark| value.with_marks(&Marks::one(mark));
        let sensitive = || secret(keyed(), Mark::Sensitive);
        let with = |value: Value| Value::object([("open", value)]);
        let list = Value::list(keyed().ty().clone(), vec![sensitive()]);
        let hidden = "object({ (sensitive attributes) })";
        for (value, written) in [
            (keyed(), "object({ key: number, })".to_owned()),
            (sensitive(), hidden.to_owned()),
            (secret(keyed(), Mark::Ephemeral), hidden.to_owned()),
            (with(sensitive()), format!("object({{ open: {hidden}, }})")),
            (secret(with(keyed()), Mark::Sensitive), hidden.to_owned()),
            (
                Value::tuple(vec![keyed(), sensitive()]),
                format!("tuple([ object({{ key: number, }}), {hidden}, ])"),
            ),
            (list, format!("list({hidden})")),
            (
                secret(Value::unknown(keyed().ty().clone()), Mark::Sensitive),
                hidden.to_owned(),
            ),
            (
                secret(Value::string("x"), Mark::Sensitive),
                "string".to_owned(),
            ),
            (
                secret(Value::object::<&str>([]), Mark::Sensitive),
                "object({})".to_owned(),
            ),
        ] {
            let lines = written_type(&value);
            let one_line: Vec<&str> = lines.split_whitespace().collect();
            assert_eq!(one_line.join(" "), written);
        }
    }
}

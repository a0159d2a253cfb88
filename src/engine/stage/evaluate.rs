//! Expressions that somebody asks for, in the root module: what resources are worth the state says,
//! the rest is worked out. Asks no provider for anything, and configures none.

use super::cell::Cell;
use super::nodes::Node;
use super::prior::PriorState;
use super::scope::ModuleScope;
use super::stored::keep_as_stored;
use super::walk::Walk;
use cty::{Type, Value};
use lang::addr::ModuleInstance;
use lang::diag::Diagnostics;
use lang::source::SourceMap;
use lang::syntax::ast::{Call, ExprKind};
use lang::syntax::parse_expression;
use std::sync::Arc;

/// How many nodes are worked out at a time.
const NODES_AT_A_TIME: usize = 64;
/// What texts are called that are asked for.
const INPUT: &str = "<console-input>";

/// Works out what there is to refer to. The answer is what there is to say of it; what could not be
/// worked out is unknown.
pub async fn work_out(walk: &Arc<Walk>, prior: &Arc<PriorState>) -> Diagnostics {
    let run = |step| {
        let (walk, prior) = (walk.clone(), prior.clone());
        async move {
            let cell = match &walk.nodes.nodes[step] {
                // Nobody is asked, and nothing is held against anything.
                Node::Provider(_) | Node::Check(..) => Cell::default(),
                node => match walk.common(node).await {
                    Some(cell) => cell,
                    None => keep_as_stored(&walk, &prior, step),
                },
            };
            walk.absorb(step, cell);
            // Others may be worked out all the same.
            true
        }
    };
    let graph = &walk.nodes.graph;
    graph
        .walk(NODES_AT_A_TIME, || !walk.cancel.is_cancelled(), run)
        .await;
    walk.cells.gather(graph.order()).diags
}

/// The value of an expression's text in the root module.
pub fn evaluated(walk: &Walk, text: &str) -> (Value, Diagnostics) {
    let (expr, mut diags) = parse_expression(text, INPUT, &walk.around.sources);
    if diags.has_errors() {
        return (Value::dynamic(), diags);
    }
    let root = ModuleInstance::root();
    let scope = ModuleScope::new(&walk.around, &walk.around.root, &root);
    let (value, said) = scope.evaluate(&expr);
    diags.append(said);
    walk.providers.secrets().learn(&value);
    (value, diags)
}

/// The argument of `type(…)`, which is asked for here and nowhere else in the language.
pub fn asks_for_type(text: &str) -> Option<String> {
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

/// The type of a value as it is written, an attribute or element a line. Names of attributes that
/// may come from something sensitive or ephemeral are hidden: an object has the marks of its keys.
pub fn written_type(value: &Value) -> String {
    Written {
        value: Some(value),
        hidden: false,
        indent: 0,
    }
    .of(value.ty())
}

/// In the place of attributes whose names must not be shown.
const HIDDEN_ATTRIBUTES: &str = "(sensitive attributes)";

/// A type inside the one that is written.
struct Written<'v> {
    /// The value that has it; none of an element of a collection, all of which have the same type.
    value: Option<&'v Value>,
    /// Whether something around it is sensitive or ephemeral.
    hidden: bool,
    indent: usize,
}

impl Written<'_> {
    fn of(&self, ty: &Type) -> String {
        let hidden = self.hidden || self.value.is_some_and(|v| v.marks().hide());
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
                hidden: hidden || self.value.is_some_and(Value::hides),
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
    fn names_of_attributes_are_shown_unless_something_around_them_is_sensitive() {
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

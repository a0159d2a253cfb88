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

/// A type as it is written, an attribute or element a line.
pub fn written_type(ty: &Type, indent: usize) -> String {
    let inner = indent + 4;
    let (lead, end) = (" ".repeat(inner), " ".repeat(indent));
    let of = |name: &str, element: &Type| format!("{name}({})", written_type(element, indent));
    match ty {
        Type::List(element) => of("list", element),
        Type::Set(element) => of("set", element),
        Type::Map(element) => of("map", element),
        Type::Tuple(all) if all.is_empty() => "tuple([])".to_owned(),
        Type::Tuple(all) => {
            let lines = all.iter();
            let lines: String = lines
                .map(|ty| format!("{lead}{},\n", written_type(ty, inner)))
                .collect();
            format!("tuple([\n{lines}{end}])")
        }
        Type::Object(object) if object.attributes.is_empty() => "object({})".to_owned(),
        Type::Object(object) => {
            let lines = object.attributes.iter();
            let lines: String = lines
                .map(|(name, ty)| format!("{lead}{name}: {},\n", written_type(ty, inner)))
                .collect();
            format!("object({{\n{lines}{end}}})")
        }
        Type::Dynamic => "dynamic".to_owned(),
        other => other.friendly_constraint_name(),
    }
}

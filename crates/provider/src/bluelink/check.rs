//! Validates a configuration against the parts of its schema that are not types: bounds, lengths,
//! patterns and allowed values. Skips unknown values. Converts diagnostics of the plugin. Pure.

use super::convert::{Unknown, decode_scalar, element_of, encode, member_of};
use super::schema::NodeKind;
use calls::ProviderDiagnostic;
use cty::{Number, Path, Value};
use model::Severity;
use proto::bluelink::schema::ScalarValue;
use proto::bluelink::sharedtypesv1::{
    Diagnostic, DiagnosticLevel, ResourceDefinitionsSchema as Node,
};
use std::cmp::Ordering;

/// Returns the diagnostics of a configuration.
pub(super) fn check(node: &Node, config: &Value) -> Vec<ProviderDiagnostic> {
    let mut wrong = Vec::new();
    check_node(node, config, &Path::root(), false, &mut wrong);
    wrong
}

fn check_node(
    node: &Node,
    config: &Value,
    at: &Path,
    hidden: bool,
    wrong: &mut Vec<ProviderDiagnostic>,
) {
    if node.computed && !(config.is_known() && config.is_null()) {
        let why = "the plugin sets this field; remove it from the configuration";
        let problem = ProviderDiagnostic::error("Read-only field", why);
        return wrong.push(problem.at(at.clone()));
    }
    if !config.is_known() || config.is_null() {
        return;
    }
    // A sensitive parent makes its members sensitive; errors must not quote them.
    let hidden = hidden || node.sensitive;
    for why in [
        constraint_violation(node, config, hidden),
        bounds(node, config),
        length(node, config),
        pattern(node, config),
    ] {
        let problem = why.map(|why| ProviderDiagnostic::error("Invalid field value", why));
        wrong.extend(problem.map(|p| p.at(at.clone())));
    }
    let members = config
        .as_map()
        .map(|all| all.keys().cloned().collect::<Vec<_>>());
    for name in members.unwrap_or_default() {
        let value = member_of(config, &name);
        match (node.attributes.get(&*name), node.map_values.as_deref()) {
            (Some(of), _) => check_node(of, &value, &at.attr(name), hidden, wrong),
            (None, Some(of)) => check_node(of, &value, &at.index_str(&name), hidden, wrong),
            (None, None) => {}
        }
    }
    if let Some(of) = node.items.as_deref() {
        for index in 0..config.as_slice().map_or(0, <[Value]>::len) {
            check_node(
                of,
                &element_of(config, index),
                &at.index_int(index),
                hidden,
                wrong,
            );
        }
    }
}

fn constraint_violation(node: &Node, config: &Value, hidden: bool) -> Option<String> {
    if node.allowed_values.is_empty() {
        return None;
    }
    let said = encode(config, Some(node), Unknown::Omitted)?;
    if node.allowed_values.contains(&said) {
        return None;
    }
    let all = node.allowed_values.iter().filter_map(|n| n.scalar.as_ref());
    let all: Vec<String> = all.map(|s| display(&decode_scalar(s))).collect();
    let what = match hidden {
        true => "the value".to_owned(),
        false => display(config),
    };
    Some(format!(
        "{what} is not one of the allowed values: {}",
        all.join(", ")
    ))
}

fn display(value: &Value) -> String {
    let json = cty::json::to_json_value(value);
    json.map_or_else(|_| "the value".to_owned(), |json| json.to_string())
}

fn bounds(node: &Node, config: &Value) -> Option<String> {
    let number = config.as_number()?;
    let bound = |scalar: &Option<ScalarValue>| -> Option<Number> {
        decode_scalar(scalar.as_ref()?).as_number().cloned()
    };
    if let Some(least) = bound(&node.minimum).filter(|b| number.compare(b) == Ordering::Less) {
        return Some(format!("the value must be at least {}", least.to_text()));
    }
    if let Some(most) = bound(&node.maximum).filter(|b| number.compare(b) == Ordering::Greater) {
        return Some(format!("the value must be at most {}", most.to_text()));
    }
    (NodeKind::of(node) == NodeKind::Integer && !number.is_integer())
        .then(|| "the value must be a whole number".to_owned())
}

fn length(node: &Node, config: &Value) -> Option<String> {
    let (length, of) = match (config.as_str(), config.len()) {
        (Some(text), _) => (text.chars().count(), "characters"),
        (None, Some(count)) if matches!(NodeKind::of(node), NodeKind::Array | NodeKind::Map) => {
            (count, "elements")
        }
        _ => return None,
    };
    let limit = |limit: i32| usize::try_from(limit).ok().filter(|limit| *limit > 0);
    if let Some(least) = limit(node.min_length).filter(|least| length < *least) {
        return Some(format!("the value must have at least {least} {of}"));
    }
    let most = limit(node.max_length).filter(|most| length > *most)?;
    Some(format!("the value must have at most {most} {of}"))
}

/// Checks a text against the pattern of its field. An invalid pattern is ignored.
fn pattern(node: &Node, config: &Value) -> Option<String> {
    let text = config.as_str().filter(|_| !node.pattern.is_empty())?;
    // The pattern comes from the plugin, so the user could not correct an error in it.
    let pattern = regex::Regex::new(&node.pattern).ok()?;
    (!pattern.is_match(text)).then(|| format!("the value must match the pattern {}", node.pattern))
}

/// Converts a diagnostic of the plugin; `None` for informational ones.
pub(super) fn convert_diagnostic(said: &Diagnostic) -> Option<ProviderDiagnostic> {
    let severity = match said.level() {
        DiagnosticLevel::Error => Severity::Error,
        DiagnosticLevel::Warning => Severity::Warning,
        DiagnosticLevel::Info | DiagnosticLevel::None => return None,
    };
    let mut actions = said.context.clone().unwrap_or_default().suggested_actions;
    actions.sort_by_key(|action| action.priority);
    let words = |text: &str, more: &str| match more.is_empty() {
        true => text.to_owned(),
        false => format!("{text}: {more}"),
    };
    let actions = actions.iter().map(|a| words(&a.title, &a.description));
    let detail: Vec<String> = actions.collect();
    Some(ProviderDiagnostic {
        severity,
        ..ProviderDiagnostic::error(said.message.clone(), detail.join("\n"))
    })
}

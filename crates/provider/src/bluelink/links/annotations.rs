//! Validates the annotations of a link against its kind, and assigns them to its two resources.
//! Pure.

use super::kinds::LinkKind;
use crate::bluelink::context::{matches_template, scalar};
use crate::bluelink::convert::{decode_scalar, member_of};
use calls::ProviderDiagnostic;
use cty::{Path, Value};
use proto::bluelink::schema::{MappingNode, ScalarValue};
use proto::bluelink::sharedtypesv1::LinkAnnotationDefinition;
use std::collections::{BTreeMap, HashMap};

const ARGUMENT: &str = "annotations";

fn definition<'k>(kind: &'k LinkKind, name: &str) -> Option<&'k LinkAnnotationDefinition> {
    // Exact names take precedence over templates.
    let exact = kind.annotations.get(name);
    exact.or_else(|| {
        let mut all = kind.annotations.iter();
        all.find(|(template, _)| matches_template(template, name))
            .map(|(_, d)| d)
    })
}

/// Returns the configured annotations that are not null.
fn known_annotations(config: &Value) -> BTreeMap<String, Value> {
    let all = member_of(config, ARGUMENT);
    let known = all.is_known() && !all.is_null();
    let members = all.as_map().filter(|_| known);
    let members = members.into_iter().flat_map(|all| all.iter());
    members
        .map(|(name, value)| (name.to_string(), value.clone()))
        .filter(|(_, value)| !(value.is_known() && value.is_null()))
        .collect()
}

/// Returns the diagnostics of a link's annotations.
pub(super) fn check(kind: &LinkKind, config: &Value) -> Vec<ProviderDiagnostic> {
    let mut wrong = Vec::new();
    let given = known_annotations(config);
    let argument = Path::root().attr(ARGUMENT);
    let mut fault = |at: Path, summary: &str, detail: String| {
        wrong.push(ProviderDiagnostic::error(summary, detail).at(at));
    };
    for (name, value) in &given {
        let at = argument.clone().index_str(name);
        let Some(of) = definition(kind, name) else {
            let known: Vec<&str> = kind.annotations.keys().map(String::as_str).collect();
            let has = match known.is_empty() {
                true => "it has no annotations".to_owned(),
                false => format!("it has {}", known.join(", ")),
            };
            let detail = format!(
                "The link type {} has no annotation {name:?}: {has}.",
                kind.wire
            );
            fault(at, "Unknown link annotation", detail);
            continue;
        };
        // Checked once the value is known.
        if !value.is_known() {
            continue;
        }
        match scalar(value, of.r#type()) {
            None => {
                let detail = format!("{name} must be {}.", type_name(of));
                fault(at, "Invalid link annotation", detail);
            }
            Some(value) if !of.allowed_values.is_empty() && !of.allowed_values.contains(&value) => {
                let all: Vec<String> = of.allowed_values.iter().map(display).collect();
                let detail = format!("{name} must be one of {}.", all.join(", "));
                fault(at, "Invalid link annotation", detail);
            }
            Some(_) => {}
        }
    }
    for (name, of) in &kind.annotations {
        // A template such as `<name>` matches any number of annotations, including none.
        let is_template = name.contains('<');
        if of.required && of.default_value.is_none() && !is_template && !given.contains_key(name) {
            let detail = format!(
                "The link type {} requires the annotation {name:?}.",
                kind.wire
            );
            fault(argument.clone(), "Missing link annotation", detail);
        }
    }
    wrong
}

fn type_name(of: &LinkAnnotationDefinition) -> &'static str {
    use proto::bluelink::sharedtypesv1::ScalarType as T;
    match of.r#type() {
        T::String => "a string",
        T::Integer => "a whole number",
        T::Float => "a number",
        T::Boolean => "true or false",
    }
}

fn display(value: &ScalarValue) -> String {
    let json = cty::json::to_json_value(&decode_scalar(value));
    json.map_or_else(|_| "another value".to_owned(), |json| json.to_string())
}

/// Returns the effective annotations by name, including defaults.
pub(super) fn all(kind: &LinkKind, config: &Value) -> HashMap<String, ScalarValue> {
    let defaults = kind.annotations.iter();
    let defaults = defaults.filter_map(|(n, of)| Some((n.clone(), of.default_value.clone()?)));
    let mut all: HashMap<String, ScalarValue> = defaults.collect();
    for (name, value) in known_annotations(config)
        .into_iter()
        .filter(|(_, v)| v.is_known())
    {
        let of = definition(kind, &name);
        if let Some(value) = of.and_then(|of| scalar(&value, of.r#type())) {
            all.insert(name, value);
        }
    }
    all
}

/// Returns the annotations for each of the two resources.
pub(super) fn for_ends(kind: &LinkKind, config: &Value) -> [MappingNode; 2] {
    let all = all(kind, config);
    [1, 2].map(|side| {
        let its = |name: &str| {
            let applies = definition(kind, name).map_or(0, |of| of.applies_to);
            // 0 means both resources.
            applies == 0 || applies == side
        };
        let fields = all.iter().filter(|(name, _)| its(name));
        let node = |value: &ScalarValue| MappingNode {
            scalar: Some(value.clone()),
            ..MappingNode::default()
        };
        MappingNode {
            fields: fields.map(|(n, value)| (n.clone(), node(value))).collect(),
            ..MappingNode::default()
        }
    })
}

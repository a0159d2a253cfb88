//! Test vectors recorded from OpenTofu and go-cty: finds the files, and parses their values, types
//! and paths.

use super::go::{Go, Reader, parse, take_value};
use crate::{Marks, Path, Type, Value};

/// Parses a value.
pub fn value(go: &str) -> Value {
    match parse(go) {
        Go::Value(v) => v,
        other => panic!("not a value: {other:?} in {go}"),
    }
}

/// Parses a value; `cty.NilVal` is `None`.
pub fn optional_value(go: &str) -> Option<Value> {
    (go.trim() != "cty.NilVal").then(|| value(go))
}

/// Parses a type.
pub fn ty(go: &str) -> Type {
    match parse(go) {
        Go::Type(t) => t,
        other => panic!("not a type: {other:?} in {go}"),
    }
}

/// Parses `[]cty.Type{…}`.
pub fn types(go: &str) -> Vec<Type> {
    match parse(go) {
        Go::Types(t) => t,
        other => panic!("not a list of types: {other:?} in {go}"),
    }
}

/// Parses `cty.Path{…} cty.NewValueMarks(…)`.
pub fn path_marks(go: &str) -> (Path, Marks) {
    let mut r = Reader { text: go, at: 0 };
    match (r.expression(), r.expression()) {
        (Go::Path(p), Go::Marks(m)) => (p, m),
        other => panic!("not a path with marks: {other:?} in {go}"),
    }
}

/// Parses a member `{"go": …, "marks": […]}` of a recording; an absent member is null.
pub fn recorded(json: &serde_json::Value) -> Value {
    if json.is_null() {
        return Value::null(Type::Dynamic);
    }
    let go = json["go"]
        .as_str()
        .unwrap_or_else(|| panic!("no go text in {json}"));
    let marks: Vec<(Path, Marks)> = json["marks"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|m| m.as_str())
        .map(path_marks)
        .collect();
    value(go).mark_with_paths(&marks)
}

/// Reads the rows of a recording, from `FLIGHTDECK_VECTORS` or from `shared/vectors` beside the
/// workspace. If it is absent, reports a skipped test and returns `None`.
pub fn vectors(name: &str) -> Option<Vec<serde_json::Value>> {
    let folder = std::env::var("FLIGHTDECK_VECTORS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/vectors").into());
    let file = std::path::Path::new(&folder).join(name);
    let Ok(text) = std::fs::read_to_string(&file) else {
        super::skipped(&format!("{} is not there", file.display()));
        return None;
    };
    let rows: Vec<serde_json::Value> = text
        .lines()
        .filter(|l| !l.trim().is_empty())
        .map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{name}: {e}")))
        .collect();
    assert!(!rows.is_empty(), "{name} is empty");
    Some(rows)
}

/// Replaces the Go values quoted in a recorded message by our syntax.
pub fn readable(message: &str) -> String {
    let mut out = String::new();
    let mut rest = message;
    while let Some(at) = rest.find("cty.") {
        out.push_str(&rest[..at]);
        let mut r = Reader {
            text: &rest[at..],
            at: 0,
        };
        let value = take_value(r.expression());
        out.push_str(&value.to_string());
        // The search for a method call skipped the blank after the value.
        let end = rest[at..at + r.at].trim_end().len();
        rest = &rest[at + end..];
    }
    out + rest
}

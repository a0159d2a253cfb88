//! Files with values of root variables.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cty::Value;

use super::constant;
use super::files::read_body;
use super::inputs::{Gathered, Given, Origin};
use super::model::Module;
use crate::diag::Diagnostics;
use crate::source::SourceMap;

/// Files of variables that are read without being asked for, in order.
pub(super) fn automatic(dir: &Path) -> Vec<String> {
    // Whatever has the name is meant: a link to nowhere, or a directory, is told when it is read,
    // and not passed over.
    let there = |name: &str| std::fs::symlink_metadata(dir.join(name)).is_ok();
    let mut out: Vec<String> = ["terraform.tfvars", "terraform.tfvars.json"]
        .into_iter()
        .filter(|n| there(n))
        .map(str::to_owned)
        .collect();
    let mut auto: Vec<String> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .filter(|n| n.ends_with(".auto.tfvars") || n.ends_with(".auto.tfvars.json"))
        .collect();
    auto.sort();
    out.extend(auto);
    out
}

pub(super) fn from_file(
    (path, shown, origin): (&Path, &str, Origin),
    root: &Module,
    sources: &SourceMap,
    given: &mut Gathered,
    partial: bool,
    diags: &mut Diagnostics,
) {
    let private = root.variables.values().any(|v| v.sensitive || v.ephemeral);
    let Some(body) = read_body(path, shown, private, sources, diags) else {
        return;
    };
    let (attributes, found) = body.just_attributes();
    diags.append(found);
    for (name, attribute) in attributes {
        if !root.variables.contains_key(&name) {
            diags.warning(
                attribute.name_span,
                "Value for undeclared variable",
                format!("The root module does not declare a variable named \"{name}\"; the value is not used."),
            );
            continue;
        }
        let mut found = Diagnostics::new();
        let value = constant::value(&attribute, &mut found);
        // What a value comes to is not asked of a configuration as such.
        if !partial {
            diags.append(found);
        }
        if let Some(value) = value {
            given.put(
                name,
                Given {
                    value,
                    origin,
                    span: Some(attribute.expr.span),
                },
            );
        }
    }
}

/// Reads one file of variables without declarations at hand: every value as written.
pub fn read_tfvars(path: &Path, sources: &SourceMap) -> (BTreeMap<Arc<str>, Value>, Diagnostics) {
    let mut diags = Diagnostics::new();
    let mut out = BTreeMap::new();
    if let Some(body) = read_body(path, &path.display().to_string(), true, sources, &mut diags) {
        let (attributes, found) = body.just_attributes();
        diags.append(found);
        for (name, attribute) in attributes {
            if let Some(value) = constant::value(&attribute, &mut diags) {
                out.insert(name, value);
            }
        }
    }
    (out, diags)
}

//! Files with values of root variables (`*.tfvars`).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cty::Value;

use super::assignments::{Assignment, Assignments};
use super::constant;
use super::files::read_body;
use super::inputs::Origin;
use super::model::Module;
use crate::diag::Diagnostics;
use crate::source::SourceMap;

/// Names of the variable files of a directory that are read automatically, in order.
pub fn automatic(dir: &Path) -> Vec<String> {
    // Without following links: a dangling link or a directory must fail when it is read, not be
    // skipped.
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

/// Adds the assignments of one file to those of earlier sources.
pub(super) fn from_file(
    (path, shown, origin): (&Path, &str, Origin),
    root: &Module,
    sources: &SourceMap,
    given: &mut Assignments,
    diags: &mut Diagnostics,
) {
    // Any line may hold the value of a sensitive variable, so none is quoted.
    let private = root.variables.values().any(|v| v.sensitive || v.ephemeral);
    let Some(body) = read_body(path, shown, private, sources, diags) else {
        return;
    };
    let (attributes, found) = body.just_attributes();
    diags.append(found);
    for (name, attribute) in attributes {
        given.add(name, Assignment::Attribute(attribute, origin));
    }
}

/// Reads a variable file without declarations: values as written.
pub fn read_tfvars(path: &Path, sources: &SourceMap) -> (BTreeMap<Arc<str>, Value>, Diagnostics) {
    let mut diags = Diagnostics::new();
    let mut out = BTreeMap::new();
    // Private, because any value may be sensitive without its declaration.
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

//! Reads the backend configuration of a root module.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cty::Value;

use super::encryption::with_environment;
use super::encryption_methods::Encrypted;
use super::inputs::{Inputs, collect};
use super::keys;
use super::load::read_module;
use super::model::Module;
use super::statics::{Given, Statics};
use crate::diag::Diagnostics;
use crate::source::{SourceMap, Span};

/// Evaluated `backend` or `cloud` block.
#[derive(Clone, Debug)]
pub struct Backend {
    /// Its type; `cloud` for a cloud block.
    pub kind: Arc<str>,
    /// Its source position.
    pub span: Span,
    /// Arguments that are written in the block.
    pub arguments: BTreeMap<Arc<str>, (Value, Span)>,
}

/// Reads the backend and encryption configuration of `dir`, without the called modules. The backend
/// is `None` if none is configured.
pub fn backend_of(
    dir: &Path,
    sources: &SourceMap,
    inputs: &Inputs,
) -> (Option<Backend>, Vec<Encrypted>, Diagnostics) {
    let mut diags = Diagnostics::new();
    let Some((mut root, _)) = read_module(dir, "", sources, &mut diags) else {
        return (None, Vec::new(), diags);
    };
    root.workspace = inputs.workspace.clone();
    root.dir_text = ".".to_owned();
    with_environment(&mut root, inputs, sources, &mut diags);
    // A variable without a value is an error only if one of these blocks uses it.
    let values = collect(&root, dir, inputs, sources, &mut Diagnostics::new());
    let given: Given<'_> = &|name: &str| values.fitting_value(&root.variables, name);
    let backend = backend(&root, given, &mut diags);
    let encryption = root.encryption.as_ref();
    let encrypted = encryption
        .map(|e| keys::check(e, &Statics::new(&root, given), &mut diags))
        .unwrap_or_default();
    (backend, encrypted, diags)
}

/// Evaluates the backend arguments, which must be static and not sensitive.
pub(super) fn backend(root: &Module, given: Given<'_>, diags: &mut Diagnostics) -> Option<Backend> {
    let (kind, span) = root.backend.clone()?;
    let statics = Statics::new(root, given);
    let mut arguments = BTreeMap::new();
    let body = root
        .backend_body
        .as_ref()
        .map(|body| body.just_attributes().0);
    for attribute in body.iter().flat_map(|attributes| attributes.values()) {
        match statics.value(&attribute.expr) {
            Err(errors) => diags.append(errors),
            Ok(value) if value.contains_marked() => {
                let detail = format!(
                    "The backend argument {:?} depends on a sensitive or ephemeral value. Backend \
                    settings are stored as plain text, so use another value.",
                    &*attribute.name
                );
                diags.error(span, "Backend config contains sensitive values", detail);
            }
            Ok(value) => {
                arguments.insert(attribute.name.clone(), (value, attribute.span));
            }
        }
    }
    Some(Backend {
        kind,
        span,
        arguments,
    })
}

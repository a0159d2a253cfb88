//! The tree of modules from directories. Local sources only; what a source refers to must be known
//! while loading.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cty::Type;

use super::assemble::assemble;
use super::call::{CallBlock, arguments};
use super::inputs::{Inputs, RootValues, collect};
use super::model::{Module, Variable};
use super::repeat::repeated_over;
use super::statics::{Given, Statics};
use super::version::VersionConstraint;
use super::{check, files, keys, language};
use crate::addr::ModulePath;
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::{SourceMap, Span};

/// How deep modules may call modules.
const MAX_MODULE_DEPTH: usize = 32;

/// A configuration with the values of its root variables.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The root module and, through its calls, all others.
    pub root: Arc<Module>,
    /// Values of the root module's variables.
    pub values: RootValues,
    /// What the root's `encryption` block has encrypted: the word for it, and its place.
    pub encrypted: Vec<(Arc<str>, Span)>,
}

/// Reads the configuration in `dir`. Whatever can be said without evaluating resources is said, all
/// of it; with errors, what is returned is incomplete. File names in diagnostics are relative to
/// `dir`.
pub fn load_root(dir: &Path, sources: &SourceMap, inputs: &Inputs) -> (Loaded, Diagnostics) {
    let mut diags = Diagnostics::new();
    let Some((mut root, calls)) = read_module(dir, "", sources, &mut diags) else {
        diags.push(Diagnostic::error(
            "Failed to read module directory",
            format!(
                "Module directory {} does not exist or cannot be read.",
                dir.display()
            ),
        ));
        return (Loaded::default(), diags);
    };
    let mut input_errors = Diagnostics::new();
    let values = collect(&root, dir, inputs, sources, &mut input_errors);
    let given: Given<'_> =
        &|name: &str, _depth: usize| Ok(values.values.get(name).map(|v| v.value.clone()));
    let mut loader = Loader {
        sources,
        dirs: vec![dir.to_path_buf()],
    };
    root.dir = dir.to_path_buf();
    root.dir_text = ".".to_owned();
    backend(&root, given, &mut diags);
    provider_instances(&mut root, given, &mut diags);
    // What it comes to is asked where something is kept, and not of a configuration as such.
    let encryption = root.encryption.as_ref().filter(|_| !inputs.partial);
    let encrypted = encryption
        .map(|e| keys::check(e, &Statics::new(&root, given), &mut diags))
        .unwrap_or_default();
    loader.children(&mut root, calls, "", given, &mut diags);
    if !diags.has_errors() {
        check::providers(&root, inputs.partial, &mut diags);
    }
    // What the operator gave is looked at only where the configuration itself is in order.
    if !diags.has_errors() {
        diags.append(input_errors);
    }
    if !diags.has_errors() {
        check::arguments(&root, &mut diags);
    }
    (
        Loaded {
            root: Arc::new(root),
            values,
            encrypted,
        },
        diags,
    )
}

fn read_module(
    dir: &Path,
    prefix: &str,
    sources: &SourceMap,
    diags: &mut Diagnostics,
) -> Option<(Module, Vec<CallBlock>)> {
    let mut found = Diagnostics::new();
    let files = files::read(dir, prefix, sources, &mut found)?;
    let mut versions = Diagnostics::new();
    for file in &files {
        language::check_versions(file, &mut versions);
    }
    let (module, calls) = assemble(&files, &mut found);
    if versions.has_errors() {
        // A module for another version may hold anything: nothing else is worth saying.
        diags.append(versions);
    } else {
        diags.append(found);
    }
    Some((module, calls))
}

struct Loader<'a> {
    sources: &'a SourceMap,
    /// The directories of the modules that call each other down to here.
    dirs: Vec<PathBuf>,
}

impl Loader<'_> {
    fn children(
        &mut self,
        parent: &mut Module,
        calls: Vec<CallBlock>,
        prefix: &str,
        given: Given<'_>,
        diags: &mut Diagnostics,
    ) {
        for mut block in calls {
            let statics = Statics::new(parent, given);
            let source = source(&mut block, &statics, diags);
            if let Some(source) = source {
                self.child(parent, &mut block, &source, prefix, given, diags);
            }
            parent.calls.insert(block.call.name.clone(), block.call);
        }
    }

    fn child(
        &mut self,
        parent: &Module,
        block: &mut CallBlock,
        source: &str,
        prefix: &str,
        given: Given<'_>,
        diags: &mut Diagnostics,
    ) {
        let span = block.call.source_span;
        let dir = files::join(&parent.dir, source);
        if self.dirs.len() > MAX_MODULE_DEPTH || self.dirs.contains(&dir) {
            let detail = "The module calls itself, directly or through others, or calls are nested too deeply.";
            diags.error(span, "Module calls without end", detail);
            return;
        }
        let shown = files::join(Path::new(prefix), source)
            .to_string_lossy()
            .into_owned();
        let Some((mut module, calls)) = read_module(&dir, &shown, self.sources, diags) else {
            diags.error(
                span,
                "Unreadable module directory",
                format!(
                    "The directory {shown} could not be read for module \"{}\": it does not exist or is no directory.",
                    block.call.name
                ),
            );
            return;
        };
        module.path = ModulePath(
            parent
                .path
                .0
                .iter()
                .cloned()
                .chain([block.call.name.clone()])
                .collect(),
        );
        module.dir = dir.clone();
        module.dir_text = if shown.is_empty() {
            ".".to_owned()
        } else {
            shown.clone()
        };
        if let Some((kind, span)) = module.backend.take() {
            let detail =
                format!("A {kind} backend is for the root module alone; this one is ignored.");
            diags.warning(span, "Backend configuration ignored", detail);
        }
        if let Some(import) = module.imports.first() {
            let detail = "Import blocks are only allowed in the root module.";
            diags.error(import.span, "Invalid import configuration", detail);
        }
        let mut found = Diagnostics::new();
        block.call.arguments = arguments(block, &module.variables, &mut found);
        block.call.argument_errors = found;
        let statics = Statics::new(parent, given);
        let arguments = &block.call.arguments;
        let defaults: BTreeMap<Arc<str>, Variable> = module.variables.clone();
        let inner: Given<'_> = &|name: &str, depth: usize| {
            let Some(variable) = defaults.get(name) else {
                return Ok(None);
            };
            let Some(argument) = arguments.get(name) else {
                return Ok(variable.default.clone());
            };
            let value = statics.value(&argument.expr, depth + 1)?;
            // What does not fit is said where the call is worked out.
            Ok(match variable.convert(&value) {
                Ok(value) if value.is_null() && !variable.nullable => variable.default.clone(),
                converted => converted.ok(),
            })
        };
        for variable in defaults.values().filter(|v| v.constant == Some(true)) {
            if let Err(cause) = inner(&variable.name, 0) {
                diags.append(cause);
                let detail = format!(
                    "var.{} is declared with const = true, and is given something that is known only later.",
                    variable.name
                );
                diags.error(block.call.span, "Variable is not constant", detail);
            }
        }
        provider_instances(&mut module, inner, diags);
        self.dirs.push(dir);
        self.children(&mut module, calls, &shown, inner, diags);
        self.dirs.pop();
        block.call.module = Some(Arc::new(module));
    }
}

/// The source of a call as a local path, or `None` with an error.
fn source(block: &mut CallBlock, statics: &Statics<'_>, diags: &mut Diagnostics) -> Option<String> {
    let attribute = block.source.as_ref()?;
    let span = attribute.expr.span;
    let value = match statics.value(&attribute.expr, 0) {
        Ok(value) => value,
        Err(errors) => {
            diags.append(errors);
            return None;
        }
    };
    if value.contains_marked() {
        let detail = "The source of a module is no secret, and must not rest on one: it shows wherever the module does.";
        diags.error(span, "Invalid module source", detail);
        return None;
    }
    let text = match value.convert(&Type::String) {
        Ok(value) if value.as_str().is_some() => value.as_str().unwrap_or_default().to_owned(),
        Ok(value) if !value.is_known() => return None,
        _ => {
            diags.error(
                span,
                "Unsuitable value type",
                "Unsuitable value: a string is required.",
            );
            return None;
        }
    };
    block.call.source = text.clone();
    let version = version(block, statics, diags);
    let local = text == "." || text == ".." || text.starts_with("./") || text.starts_with("../");
    if !local {
        diags.error(
            span,
            "Unsupported module source",
            format!(
                "The module source \"{text}\" is not a local path. Registries, git and archives are not supported yet: \
                 copy the module into a directory and name it as \"./path\" or \"../path\"."
            ),
        );
        return None;
    }
    if version != Wanted::Any {
        diags.error(
            span,
            "Invalid version constraint",
            "A module of a local path has no versions to choose from. Take the version argument out.",
        );
        return None;
    }
    Some(text)
}

/// What a call says of versions.
#[derive(PartialEq, Eq)]
enum Wanted {
    Any,
    Some,
}

fn version(block: &CallBlock, statics: &Statics<'_>, diags: &mut Diagnostics) -> Wanted {
    let Some(attribute) = &block.version else {
        return Wanted::Any;
    };
    let value = match statics.value(&attribute.expr, 0) {
        Ok(value) => value.unmark_deep().0,
        Err(errors) => {
            diags.append(errors);
            return Wanted::Some;
        }
    };
    if value.is_null() {
        return Wanted::Any;
    }
    let fits = value
        .as_str()
        .is_some_and(|text| text.parse::<VersionConstraint>().is_ok());
    if !fits && value.is_known() {
        diags.error(
            attribute.expr.span,
            "Invalid version constraint",
            "A version constraint is a text such as \"~> 1.2\".",
        );
    }
    Wanted::Some
}

/// Which configurations the `provider` blocks with `for_each` make: that must be known before
/// anything else is.
fn provider_instances(module: &mut Module, given: Given<'_>, diags: &mut Diagnostics) {
    let statics = Statics::new(module, given);
    let mut found = Vec::new();
    for (at, provider) in module.providers.iter().enumerate() {
        let Some(expr) = &provider.for_each else {
            continue;
        };
        let items = statics
            .value(expr, 0)
            .and_then(|value| repeated_over(value, expr.span).map_err(Diagnostics::from));
        match items {
            Ok(Some(items)) => found.push((at, items.into_iter().collect())),
            Ok(None) => {
                let detail = "Which configurations there are must be known before anything is staged, and this rests on something that is not.";
                diags.error(expr.span, "Invalid for_each argument", detail);
            }
            Err(errors) => diags.append(errors),
        }
    }
    for (at, instances) in found {
        module.providers[at].instances = Some(instances);
    }
}

/// Arguments of the backend must be known before anything is, and are no place for secrets.
fn backend(root: &Module, given: Given<'_>, diags: &mut Diagnostics) {
    let (Some(body), Some((_, span))) = (&root.backend_body, &root.backend) else {
        return;
    };
    let statics = Statics::new(root, given);
    for attribute in body.just_attributes().0.values() {
        match statics.value(&attribute.expr, 0) {
            Err(errors) => diags.append(errors),
            Ok(value) if value.contains_marked() => {
                let detail = format!(
                    "The argument {:?} of the backend rests on a secret, and where the state is kept is none.",
                    &*attribute.name
                );
                diags.error(*span, "Backend config contains sensitive values", detail);
            }
            Ok(_) => {}
        }
    }
}

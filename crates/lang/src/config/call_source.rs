//! Source and version constraint of a module call, which must be known while loading.

use cty::Type;

use super::call::CallBlock;
use super::module_source::{ModuleSource, SourceError};
use super::statics::Statics;
use crate::diag::Diagnostics;
use dependency::VersionConstraint;

/// Returns the module source and version constraint of a call, or `None` with an error.
pub(super) fn source(
    block: &mut CallBlock,
    statics: &Statics<'_>,
    diags: &mut Diagnostics,
) -> Option<(ModuleSource, Option<VersionConstraint>)> {
    let Some(attribute) = block.source.clone() else {
        // The missing source is already reported; errors in the version still count.
        version(block, statics, diags);
        return None;
    };
    let span = attribute.expr.span;
    let value = match statics.value(&attribute.expr) {
        Ok(value) => value,
        Err(errors) => {
            diags.append(errors);
            return None;
        }
    };
    if value.contains_marked() {
        let detail = "A module source must not depend on a sensitive or ephemeral value, because \
            it is shown together with the module.";
        diags.error(span, "Invalid module source", detail);
        return None;
    }
    let text = match value.convert(&Type::String) {
        Ok(value) if value.as_str().is_some() => value.as_str().unwrap_or_default().to_owned(),
        converted => {
            let why = match converted {
                Ok(value) if !value.is_known() => "the value is not known when modules are loaded",
                _ => "a string is required",
            };
            diags.error(
                span,
                "Unsuitable value type",
                format!("Unsuitable value: {why}."),
            );
            return None;
        }
    };
    block.call.source = text.clone();
    let wanted = version(block, statics, diags);
    // Only registry addresses can have a version.
    let source = match wanted {
        Wanted::Any => ModuleSource::parse(&text),
        _ => ModuleSource::with_version(&text),
    };
    match (source, wanted) {
        (Ok(source), Wanted::Any) => Some((source, None)),
        (Ok(source), Wanted::These(versions)) => Some((source, Some(versions))),
        (Ok(_), Wanted::Wrong) => None,
        (Err(error), Wanted::Any) => {
            let detail = match &error {
                SourceError::Wrong(_) => {
                    format!("\"{text}\" is not a valid module source: {error}.")
                }
                SourceError::MaybePath(_) => format!("{error}."),
            };
            diags.error(span, "Invalid module source address", detail);
            None
        }
        (Err(error), _) => {
            let detail = format!(
                "\"{text}\" is not a valid registry address: {error}. Only registry modules have \
                versions. For any other source, remove the \"version\" argument."
            );
            diags.error(span, "Invalid registry module source address", detail);
            None
        }
    }
}

/// Version constraint of a call.
enum Wanted {
    Any,
    These(VersionConstraint),
    /// Not a constraint; the error is reported.
    Wrong,
}

fn version(block: &mut CallBlock, statics: &Statics<'_>, diags: &mut Diagnostics) -> Wanted {
    let Some(attribute) = &block.version else {
        return Wanted::Any;
    };
    let value = match statics.value(&attribute.expr) {
        Ok(value) => value,
        Err(errors) => {
            diags.append(errors);
            return Wanted::Wrong;
        }
    };
    let mut wrong = |detail: &'static str| {
        diags.error(attribute.expr.span, "Invalid version constraint", detail);
        Wanted::Wrong
    };
    let marked = value.contains_marked();
    let value = value.unmark_deep().0;
    if value.is_null() {
        return Wanted::Any;
    }
    if marked {
        return wrong("A version constraint must not depend on a sensitive or ephemeral value.");
    }
    let Ok(value) = value.convert(&Type::String) else {
        return wrong("A version constraint must be a string such as \"~> 1.2\".");
    };
    match value.as_str().map(|text| (text, text.parse())) {
        Some((text, Ok(versions))) => {
            block.call.version = text.to_owned();
            Wanted::These(versions)
        }
        Some(_) => wrong("A version constraint must be a string such as \"~> 1.2\"."),
        // Unknown: no error here. A source that is not a registry address reports one.
        None => Wanted::Wrong,
    }
}

//! `file` provisioner: copies a file, a directory or a string to a remote machine.

use super::arguments::{Arguments, Given};
use crate::stage::scope::ModuleScope;
use lang::body::BodySchema;
use lang::config::Provisioner;
use lang::diag::{Diagnostic, Diagnostics};
use model::secrets::Secrets;

/// Arguments of a `file` provisioner.
pub(crate) struct FileCopy {
    pub(crate) from: From,
    pub(crate) destination: String,
    /// True if any value is sensitive or ephemeral.
    pub(crate) secret: bool,
}

pub(crate) enum From {
    Content(String),
    Path(String),
}

pub(super) fn read(
    scope: &ModuleScope<'_>,
    provisioner: &Provisioner,
    secrets: Option<&Secrets>,
) -> Result<FileCopy, Diagnostics> {
    const SUMMARY: &str = "Invalid file provisioner configuration";
    let schema = BodySchema::new()
        .required(&["destination"])
        .optional(&["source", "content"]);
    let mut arguments = Arguments::of(scope, &provisioner.body, &schema, secrets);
    let (source, content, destination) = (
        arguments.text("source"),
        arguments.text("content"),
        arguments.text("destination"),
    );
    if !arguments.has_errors() {
        if matches!(&destination, Given::No)
            || matches!(&destination, Given::Yes(to) if to.is_empty())
        {
            arguments.fault(
                Diagnostic::error(SUMMARY, "The destination must be a non-empty string.")
                    .at(provisioner.span),
            );
        }
        // An unknown value counts as given.
        if source.is_given() == content.is_given() {
            let detail = "Set exactly one of \"source\" and \"content\".";
            arguments.fault(Diagnostic::error(SUMMARY, detail).at(provisioner.span));
        }
    }
    let secret = arguments.secret;
    arguments.finish()?;
    let from = match (source, content) {
        (Given::Yes(path), _) => From::Path(path),
        (_, content) => From::Content(content.known().unwrap_or_default()),
    };
    Ok(FileCopy {
        from,
        destination: destination.known().unwrap_or_default(),
        secret,
    })
}

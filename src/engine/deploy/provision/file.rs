//! `file`: a file, a folder or a text, copied to another machine.

use super::arguments::{Arguments, Given};
use super::connection::Connection;
use super::{Doing, Fault};
use crate::engine::deploy::ssh::Source;
use crate::engine::secrets::Secrets;
use crate::engine::stage::scope::ModuleScope;
use lang::body::BodySchema;
use lang::config::Provisioner;
use lang::diag::{Diagnostic, Diagnostics};
use std::path::{Path, PathBuf};

/// What every file gets, whatever it has here.
const MODE: u32 = 0o644;

/// What a `file` block says.
pub(super) struct FileCopy {
    from: From,
    destination: String,
    /// Whether anything of it is sensitive or ephemeral.
    secret: bool,
}

enum From {
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
    if !arguments.is_wrong() {
        if matches!(&destination, Given::No)
            || matches!(&destination, Given::Yes(to) if to.is_empty())
        {
            arguments.fault(
                Diagnostic::error(SUMMARY, "The destination must be a non-empty text.")
                    .at(provisioner.span),
            );
        }
        if source.is_given() == content.is_given() {
            let detail = "One of \"source\" and \"content\" must be set, and not both.";
            arguments.fault(Diagnostic::error(SUMMARY, detail).at(provisioner.span));
        }
    }
    let secret = arguments.secret;
    arguments.end()?;
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

pub(super) async fn run(
    what: &FileCopy,
    connection: &Connection,
    doing: &Doing<'_>,
) -> Result<(), Fault> {
    let source = match &what.from {
        From::Content(text) => Source::Bytes(text.as_bytes()),
        From::Path(text) => Source::Path(
            text,
            local(text, doing.base).map_err(|why| doing.fault(why))?,
        ),
    };
    if !what.secret {
        let from = if let From::Path(path) = &what.from {
            format!("{path:?}")
        } else {
            "a text".to_owned()
        };
        doing.say(&format!("copying {from} to {:?}", what.destination));
    }
    // The reference connects first, and a source that is not there is told then; nobody has to wait
    // for that here.
    if let Source::Path(_, path) = &source {
        let found = tokio::fs::metadata(path).await;
        found.map_err(|e| {
            doing.fault(format!(
                "The source {} cannot be read: {e}.",
                path.display()
            ))
        })?;
    }
    let mut remote = doing.connect(&connection.target).await?;
    let done = remote
        .copy(&source, &what.destination, MODE, doing.cancel)
        .await;
    remote.close().await;
    done.map_err(|error| doing.ssh_fault(&error))
}

/// A path of this machine: `~` is the home of whoever runs this.
fn local(text: &str, base: &Path) -> Result<PathBuf, String> {
    let Some(rest) = text.strip_prefix('~') else {
        return Ok(base.join(text));
    };
    if !rest.is_empty() && !rest.starts_with('/') {
        return Err(format!(
            "The source {text:?} names the home of somebody else, and only one's own can be found."
        ));
    }
    let home =
        etcetera::home_dir().map_err(|e| format!("The source {text:?} cannot be found: {e}."))?;
    Ok(home.join(rest.trim_start_matches('/')))
}

//! `remote-exec` provisioner: runs scripts on a remote machine.

use super::arguments::{Arguments, Given};
use crate::stage::scope::ModuleScope;
use lang::body::BodySchema;
use lang::config::Provisioner;
use lang::diag::{Diagnostic, Diagnostics};
use model::secrets::Secrets;

/// Arguments of a `remote-exec` provisioner.
pub(crate) struct RemoteExec {
    pub(crate) scripts: Scripts,
    /// True if any value is sensitive or ephemeral.
    pub(crate) secret: bool,
}

pub(crate) enum Scripts {
    /// Lines of one script.
    Inline(Vec<Option<String>>),
    /// Files on this machine.
    Files(&'static str, Vec<Option<String>>),
}

pub(super) fn read(
    scope: &ModuleScope<'_>,
    provisioner: &Provisioner,
    secrets: Option<&Secrets>,
) -> Result<RemoteExec, Diagnostics> {
    let schema = BodySchema::new().optional(&["inline", "script", "scripts"]);
    let mut arguments = Arguments::of(scope, &provisioner.body, &schema, secrets);
    let inline = arguments.texts("inline");
    let script = arguments.text("script").map(|one| vec![Some(one)]);
    let scripts = arguments.texts("scripts");
    let given = [inline.is_given(), script.is_given(), scripts.is_given()]
        .iter()
        .filter(|g| **g)
        .count();
    if given != 1 && !arguments.has_errors() {
        let detail = "Set exactly one of \"inline\", \"script\" and \"scripts\".";
        arguments.fault(
            Diagnostic::error("Invalid remote-exec provisioner configuration", detail)
                .at(provisioner.span),
        );
    }
    let secret = arguments.secret;
    arguments.finish()?;
    let scripts = match (inline, script, scripts) {
        (Given::Yes(lines), ..) => Scripts::Inline(lines),
        (_, Given::Yes(one), _) => Scripts::Files("script", one),
        (.., Given::Yes(all)) => Scripts::Files("scripts", all),
        _ => Scripts::Inline(Vec::new()),
    };
    Ok(RemoteExec { scripts, secret })
}

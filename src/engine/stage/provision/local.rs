//! `local-exec` provisioner: runs a command on this machine.

use super::arguments::{Arguments, Given};
use crate::stage::scope::ModuleScope;
use cty::{Type, Value};
use lang::body::BodySchema;
use lang::config::Provisioner;
use lang::diag::{Diagnostic, Diagnostics};
use model::secrets::Secrets;
use std::collections::BTreeMap;

/// Arguments of a `local-exec` provisioner.
pub(crate) struct LocalExec {
    pub(crate) command: String,
    pub(crate) interpreter: Vec<String>,
    pub(crate) dir: Option<String>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) quiet: bool,
    /// True if any value is sensitive or ephemeral.
    pub(crate) secret: bool,
}

pub(super) fn read(
    scope: &ModuleScope<'_>,
    provisioner: &Provisioner,
    secrets: Option<&Secrets>,
) -> Result<LocalExec, Diagnostics> {
    let schema = BodySchema::new().required(&["command"]).optional(&[
        "interpreter",
        "working_dir",
        "environment",
        "when",
        "quiet",
    ]);
    let mut arguments = Arguments::of(scope, &provisioner.body, &schema, secrets);
    let command = arguments.text("command");
    let interpreter = arguments.texts("interpreter").known().unwrap_or_default();
    let dir = arguments.text("working_dir").known();
    let environment = arguments
        .get("environment", &Type::map(Type::String))
        .known();
    let quiet = arguments.flag("quiet").known().unwrap_or(false);
    let (early, secret) = (arguments.is_early_check(), arguments.secret);
    arguments.finish()?;
    let command = match command {
        Given::Yes(command) if !command.is_empty() => command,
        // The deploy checks again, and then it must be known.
        Given::Unknown if early => String::new(),
        _ => {
            let fault = Diagnostic::error(
                "Invalid local-exec command",
                "The command must be a known, non-empty string.",
            );
            return Err(fault.at(provisioner.span).into());
        }
    };
    let pairs = |e: Value| {
        e.as_map().map(|m| {
            m.iter()
                .filter_map(|(k, v)| Some((k.to_string(), v.as_str()?.to_owned())))
                .collect()
        })
    };
    Ok(LocalExec {
        command,
        interpreter: interpreter.into_iter().flatten().collect(),
        dir,
        environment: environment.and_then(pairs).unwrap_or_default(),
        quiet,
        secret,
    })
}

//! Reads provisioner and connection blocks with the object as `self`: during validation and
//! planning as a check, and by the deploy to run them.

mod arguments;
mod connection;
mod file;
mod local;
mod remote;

pub(crate) use connection::{Connection, ConnectionError, read as connection};
pub(crate) use file::{FileCopy, From};
pub(crate) use local::LocalExec;
pub(crate) use remote::{RemoteExec, Scripts};

use super::scope::ModuleScope;
use lang::config::{Provisioner, ProvisionerKind};
use lang::diag::{Diagnostic, Diagnostics};
use model::secrets::Secrets;
use std::collections::BTreeMap;
use std::sync::Arc;
use workspace::load::digest;
use workspace::refs::{self, Ref};

/// Arguments of a provisioner, by kind.
pub(crate) enum ProvisionerArguments {
    Local(LocalExec),
    Remote(RemoteExec),
    File(FileCopy),
}

/// Checks a provisioner before there is an object: its kind and its arguments.
pub fn validate(scope: &ModuleScope<'_>, provisioner: &Provisioner) -> Diagnostics {
    let mut diags = read(scope, provisioner, None).err().unwrap_or_default();
    diags.append(connection::validate(scope, provisioner));
    diags
}

/// Returns true if a provisioner refers to this resource by name.
pub fn names(provisioner: &Provisioner, resource: &lang::addr::Resource) -> bool {
    let named = |t: &lang::syntax::Traversal| matches!(refs::parse(t), Ok(Ref::Resource { resource: name, .. }) if name == *resource);
    [Some(&provisioner.body), provisioner.connection.as_ref()]
        .into_iter()
        .flatten()
        .any(|body| {
            let attributes = body.just_attributes().0;
            attributes
                .values()
                .any(|attribute| attribute.expr.traversals().into_iter().any(named))
        })
}

/// Returns a digest of a provisioner's source text: kind, arguments and connection. Values do not
/// count, because a timestamp in a command would change the digest each time.
pub(crate) fn text_digest(scope: &ModuleScope<'_>, provisioner: &Provisioner) -> String {
    let sources = &scope.context.sources;
    let bodies = [Some(&provisioner.body), provisioner.connection.as_ref()];
    let arguments = bodies.into_iter().flatten().flat_map(|body| {
        // Sorted by name, because the order of arguments has no meaning.
        let all: BTreeMap<Arc<str>, String> = (body.just_attributes().0.into_iter())
            .map(|(name, argument)| (name, sources.snippet(argument.expr.span)))
            .collect();
        all.into_iter()
            .flat_map(|(name, text)| [name.to_string(), text])
            // Separates the arguments from those of the connection.
            .chain([String::new()])
    });
    digest([provisioner.kind.to_string()].into_iter().chain(arguments))
}

/// Reads a provisioner. `secrets` learn its values; without them this is a check before the deploy,
/// and unknown values are no errors.
pub(crate) fn read(
    scope: &ModuleScope<'_>,
    provisioner: &Provisioner,
    secrets: Option<&Secrets>,
) -> Result<ProvisionerArguments, Diagnostics> {
    match &provisioner.kind {
        ProvisionerKind::LocalExec => {
            local::read(scope, provisioner, secrets).map(ProvisionerArguments::Local)
        }
        ProvisionerKind::RemoteExec => {
            remote::read(scope, provisioner, secrets).map(ProvisionerArguments::Remote)
        }
        ProvisionerKind::File => {
            file::read(scope, provisioner, secrets).map(ProvisionerArguments::File)
        }
        ProvisionerKind::Other(other) => {
            let detail = format!(
                "The provisioner {other:?} is not supported. Use \"local-exec\", \"remote-exec\" or \"file\"."
            );
            Err(Diagnostic::error("Missing provisioner", detail)
                .at(provisioner.span)
                .into())
        }
    }
}

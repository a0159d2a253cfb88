//! Location of a directory's state: the selected workspace and the configured backend.

use super::backend_check::{BackendMismatch, reconcile};
use super::encryption;
use super::load::inputs;
use fsroot::RootedPath;
use lang::config::{Backend, ENCRYPTION_VARIABLE, backend_of};
use lang::diag::{Diagnostic, Diagnostics};
use lang::source::{SourceMap, Span};
use model::settings::StateFiles;
use model::{DEFAULT_WORKSPACE, StageRequest};
use provider::builtin::RemoteStates;
use state::backend::{BackendKind, BackendMetadata, Settings, SettingsError};
use state::{FileBackup, FileEncryption, FilePlace, StatePlace, resolved};
use statefile::encryption::Encryption;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Default file of the default workspace.
const FILE: &str = "terraform.tfstate";
/// Default directory of the other workspaces.
const FOLDER: &str = "terraform.tfstate.d";
/// Default data directory, unless `TF_DATA_DIR` is set.
const DATA_DIR: &str = ".terraform";

/// Error for an invalid workspace name.
#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "invalid workspace name {name:?} in {from}: use letters, digits and -_.~$&+:=@, and not only dots"
)]
pub struct WorkspaceNameError {
    name: String,
    from: String,
}

/// Selected workspace of a directory; empty for the default one.
///
/// # Errors
/// The selected name is invalid.
pub fn selected(
    dir: &Path,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<String, WorkspaceNameError> {
    let said = |name: &str| {
        variable(name)
            .map(|text| text.to_string_lossy().into_owned())
            .filter(|text| !text.is_empty())
    };
    let (name, from) = match said("TF_WORKSPACE") {
        Some(name) => (name, "TF_WORKSPACE".to_owned()),
        None => {
            // `TF_WORKSPACE` wins over the file, as in OpenTofu.
            let data = said("TF_DATA_DIR").unwrap_or_else(|| DATA_DIR.to_owned());
            let file = dir.join(data).join("environment");
            let text = fsroot::read_regular(&file).unwrap_or_default();
            let name = String::from_utf8_lossy(&text).trim().to_owned();
            (name, file.display().to_string())
        }
    };
    // Here the default workspace has an empty name.
    if name.is_empty() || name == DEFAULT_WORKSPACE {
        return Ok(String::new());
    }
    checked(&name, &from)?;
    Ok(name)
}

/// Validates a workspace name; `from` is its origin, for the error.
///
/// # Errors
/// The name is invalid.
pub fn checked(name: &str, from: &str) -> Result<(), WorkspaceNameError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.~$&+:=@".contains(c);
    if !name.chars().all(allowed) || name.chars().all(|c| c == '.') {
        return Err(WorkspaceNameError {
            name: name.to_owned(),
            from: from.to_owned(),
        });
    }
    Ok(())
}

/// Location and encryption of a state.
pub struct StateLocation {
    pub place: StatePlace,
    /// Backend; `None` if the configuration has none.
    pub settings: Option<Settings>,
    pub encryption: Encryption,
    /// Encryption of plan files.
    pub plans: FileEncryption,
    /// Encryption of remote states.
    pub remote_states: RemoteStates,
    /// Backend metadata to write before the backend is used, and a message about it.
    pub record: Option<(BackendMetadata, Option<String>)>,
}

/// Reasons why a state cannot be located.
pub struct Unlocated {
    pub sources: SourceMap,
    pub diags: Diagnostics,
    /// Problem of the backend, if everything else could be read.
    pub refused: Option<BackendMismatch>,
}

/// Applies the flags that name state files to a local location.
pub fn with_files(dir: &Path, place: StatePlace, files: &StateFiles) -> StatePlace {
    let default = match place {
        _ if files.is_default() => return place,
        StatePlace::File(path) => path,
        _ if files.any_backend && files.state.is_some() => PathBuf::from(FILE),
        place if files.state.is_none() && files.out.is_none() => return place,
        StatePlace::Refused(why) => return StatePlace::Refused(why),
        StatePlace::NamedFiles(_) | StatePlace::In(..) => {
            return StatePlace::Refused(
                "-state and -state-out cannot be used, because the configuration has a backend; omit them, or use the `state` commands on a file from `flightdeck state pull`"
                    .to_owned(),
            );
        }
    };
    let read = files.state.clone().unwrap_or(default);
    let path = files.out.clone().unwrap_or_else(|| read.clone());
    // Resolved, because different paths may name the same file.
    let is_same = |a: &Path, b: &Path| resolved(&dir.join(a)) == resolved(&dir.join(b));
    let backup = match &files.backup {
        None => FileBackup::Sibling,
        // OpenTofu's notation for no backup.
        Some(path) if path == Path::new("-") => FileBackup::NoBackup,
        Some(backup) if is_same(backup, &path) || is_same(backup, &read) => {
            return StatePlace::Refused(format!(
                "{} is the state file itself; pass another file with -backup",
                backup.display()
            ));
        }
        Some(backup) => FileBackup::At(backup.clone()),
    };
    StatePlace::NamedFiles(FilePlace {
        read: (!is_same(&read, &path)).then_some(read),
        path,
        backup,
    })
}

/// OpenTofu's data directory of a workspace directory.
pub fn data_dir(dir: &Path) -> PathBuf {
    data(dir).path()
}

/// The data directory, for writing. One named by TF_DATA_DIR may be anywhere; the default one is
/// part of the workspace and must not be a link.
pub fn data(dir: &Path) -> RootedPath {
    match std::env::var_os("TF_DATA_DIR").filter(|text| !text.is_empty()) {
        Some(named) => RootedPath::new(dir.join(named), ""),
        None => RootedPath::new(dir, DATA_DIR),
    }
}

/// Locates the state of a directory.
///
/// # Errors
/// The configuration cannot be read, names an unusable backend, or disagrees with the backend
/// metadata.
pub fn locate(dir: &Path, named: &str, request: &StageRequest) -> Result<StateLocation, Unlocated> {
    let sources = SourceMap::new();
    let recorded = BackendMetadata::read(&data_dir(dir));
    let said_beside = std::env::var_os(ENCRYPTION_VARIABLE).is_some_and(|text| !text.is_empty());
    // Without any source of settings, nothing needs to be parsed.
    if !may_declare_state(dir) && !said_beside && matches!(recorded, Ok(None)) {
        return Ok(default_location(named));
    }
    let (backend, encrypted, mut diags) = backend_of(dir, &sources, &inputs(request, named));
    let encryption = encryption::state(&encrypted, &mut diags);
    let said = backend
        .as_ref()
        .map(|backend| settings(backend, &mut diags));
    let mut refused = None;
    if !diags.has_errors() {
        let agreed = recorded
            .map_err(|e| BackendMismatch::Record(Box::new(e)))
            .and_then(|recorded| reconcile(dir, named, said.flatten(), recorded));
        match agreed {
            Ok((settings, record)) => {
                let place = settings
                    .clone()
                    .map(|settings| state_place(settings, named));
                return Ok(StateLocation {
                    settings,
                    place: place.unwrap_or_else(|| default_location(named).place),
                    encryption,
                    plans: encryption::plans(&encrypted),
                    remote_states: encryption::remote_state_encryption(&encrypted),
                    record,
                });
            }
            Err(why) => {
                let error = Diagnostic::error("Backend initialization required", why.to_string());
                diags.push(match &backend {
                    Some(backend) => error.at(backend.span),
                    None => error,
                });
                refused = Some(why);
            }
        }
    }
    Err(Unlocated {
        sources,
        diags,
        refused,
    })
}

/// Default location, without a backend block.
pub fn default_location(named: &str) -> StateLocation {
    StateLocation {
        place: StatePlace::File(if named.is_empty() {
            FILE.into()
        } else {
            Path::new(FOLDER).join(named).join(FILE)
        }),
        settings: None,
        encryption: Encryption::default(),
        plans: FileEncryption::default(),
        remote_states: RemoteStates::default(),
        record: None,
    }
}

pub(super) fn state_place(settings: Settings, named: &str) -> StatePlace {
    match settings.file(named) {
        Some(file) => StatePlace::File(file),
        None => StatePlace::In(settings, named.to_owned()),
    }
}

/// Converts a backend block to settings.
pub(super) fn settings(backend: &Backend, diags: &mut Diagnostics) -> Option<Settings> {
    let mut refuse = |error: SettingsError, span: Span| {
        let summary = match &error {
            SettingsError::Kind(_) => "Backend is not supported",
            SettingsError::Unknown { .. } => "Unsupported argument",
            SettingsError::Argument { .. } => "Invalid backend configuration",
        };
        diags.push(Diagnostic::error(summary, error.to_string()).at(span));
    };
    let kind = backend.kind.parse::<BackendKind>();
    let kind = kind.map_err(|error| refuse(error, backend.span)).ok()?;
    let mut settings = Settings::new(kind);
    // Reports every invalid argument, not only the first.
    for (name, (value, span)) in &backend.arguments {
        if let Err(error) = settings.set(name, value) {
            refuse(error, *span);
        }
    }
    Some(settings)
}

/// Returns true if a configuration file may have a block about the state. A quick search that saves
/// parsing a large configuration twice.
fn may_declare_state(dir: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return false;
    };
    entries.flatten().any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let ours = [".tf", ".tf.json", ".tofu", ".tofu.json"]
            .iter()
            .any(|end| name.ends_with(end));
        ours && fsroot::read_regular(entry.path())
            .is_ok_and(|text| mentions_state_block(&String::from_utf8_lossy(&text)))
    })
}

fn mentions_state_block(text: &str) -> bool {
    // Many resource names begin with "cloud"; a block's name is followed by a brace or label.
    let cloud = |(at, word): (usize, &str)| {
        let rest = text[at + word.len()..].trim_start();
        rest.starts_with(['{', '"'])
    };
    text.contains("backend")
        || text.contains("encryption")
        || text.match_indices("cloud").any(cloud)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::*;

    fn place(named: &str, files: &[(&str, &str)]) -> Result<String, String> {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        locate(dir.path(), named, &StageRequest::default())
            .map(|found| match found.place {
                StatePlace::File(file) => file.display().to_string(),
                other => format!("{other:?}"),
            })
            .map_err(|e| e.diags.iter().map(|d| d.detail.clone()).collect())
    }

    #[test]
    fn state_location_comes_from_the_backend_or_the_default() {
        let none = [("a.tf", "resource \"aws_cloudfront_x\" \"cloud\" {}\n")];
        assert_eq!(place("", &none).unwrap(), "terraform.tfstate");
        let dev = "terraform.tfstate.d/dev/terraform.tfstate";
        assert_eq!(place("dev", &none).unwrap(), dev);
        let said = [(
            "b.tf",
            "variable \"d\" { default = \"st\" }\nterraform {\n  backend \"local\" {\n    path = \"${var.d}/x.tfstate\"\n    workspace_dir = \"ws\"\n  }\n}\n",
        )];
        assert_eq!(place("", &said).unwrap(), "st/x.tfstate");
        assert_eq!(place("dev", &said).unwrap(), "ws/dev/terraform.tfstate");
        let by_workspace = [(
            "b.tf",
            "terraform {\n  backend local { path = \"${terraform.workspace}.tfstate\" }\n}\n",
        )];
        assert_eq!(place("", &by_workspace).unwrap(), "default.tfstate");
    }

    #[test]
    fn unsupported_backend_is_rejected_by_name() {
        let odd = [(
            "b.tf",
            "terraform {\n  backend \"local\" { file = \"x\" }\n}\n",
        )];
        assert!(
            place("", &odd)
                .unwrap_err()
                .contains("no argument \"file\"")
        );
        let consul = [("b.tf", "terraform {\n  backend \"consul\" {}\n}\n")];
        assert!(place("", &consul).unwrap_err().contains("\"consul\""));
        let cloud = [("b.tf", "terraform {\n  cloud {}\n}\n")];
        assert!(place("", &cloud).unwrap_err().contains("has a cloud block"));
    }

    #[test]
    fn selected_workspace_comes_from_environment_or_data_directory() {
        let dir = tempfile::tempdir().unwrap();
        let with = |variables: &'static [(&str, &str)]| {
            selected(dir.path(), |name| {
                let found = variables.iter().find(|(n, _)| *n == name);
                found.map(|(_, value)| value.into())
            })
        };
        assert_eq!(with(&[]).unwrap(), "");
        std::fs::create_dir(dir.path().join(".terraform")).unwrap();
        std::fs::write(dir.path().join(".terraform/environment"), "dev\n").unwrap();
        assert_eq!(with(&[]).unwrap(), "dev");
        assert_eq!(with(&[("TF_WORKSPACE", "default")]).unwrap(), "");
        assert_eq!(with(&[("TF_WORKSPACE", "a.b")]).unwrap(), "a.b");
        assert_eq!(with(&[("TF_DATA_DIR", "elsewhere")]).unwrap(), "");
        for bad in [&[("TF_WORKSPACE", "..")], &[("TF_WORKSPACE", "a/b")]] {
            assert!(with(bad).is_err(), "{bad:?}");
        }
    }
}

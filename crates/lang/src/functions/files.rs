//! Functions on files and paths. Relative paths start at the scope's base directory; `~` is the
//! user's home directory.

mod external_input;
pub(crate) mod glob;
pub(crate) mod paths;

pub use external_input::{ExternalInput, RecordedInput};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cty::{Marks, Type, Value};

use super::call::{CallError, Function, Host, Param, text};
use super::collect::maps::quoting;
use crate::diag::Message;
use crate::stored::StoredInput;

fn path_param() -> Param {
    Param::new("path", Type::String)
}

/// Errors of resolving a path.
#[derive(Debug, thiserror::Error)]
enum PlaceError {
    #[error("cannot expand user-specific home dir")]
    OfAnother,
    #[error("the home directory is unknown: HOME is not set")]
    NoHome,
    #[error("the working directory is unknown: {0}")]
    NoFolder(#[source] std::io::Error),
    /// The path starts with `~`, which cannot be expanded.
    #[error("failed to expand ~: {0}")]
    Unexpanded(#[source] Box<PlaceError>),
}

impl From<PlaceError> for Message {
    fn from(error: PlaceError) -> Self {
        error.to_string().into()
    }
}

/// Path with `~` replaced by the home directory.
fn expand(path: &str) -> Result<String, PlaceError> {
    let Some(rest) = path.strip_prefix('~') else {
        return Ok(path.to_owned());
    };
    if !rest.is_empty() && !rest.starts_with('/') {
        return Err(PlaceError::OfAnother);
    }
    let home = std::env::var("HOME").ok().filter(|h| !h.is_empty());
    let home = home.ok_or(PlaceError::NoHome)?;
    Ok(paths::join(&home, rest))
}

/// Absolute path, or path from the scope's base directory.
fn resolve_path(host: Host<'_>, path: &str) -> Result<String, PlaceError> {
    let path = expand(path).map_err(|e| PlaceError::Unexpanded(Box::new(e)))?;
    if path.starts_with('/') {
        return Ok(paths::clean(&path));
    }
    Ok(paths::join(&host.scope.base_dir().to_string_lossy(), &path))
}

fn bytes(place: &str) -> std::io::Result<Vec<u8>> {
    // Reads as an empty file; other devices may block or never end.
    if place == "/dev/null" {
        std::fs::read(place)
    } else {
        fsroot::read_regular(place)
    }
}

/// Steps for reading a file, in addition to its bytes.
const READ: u64 = 64;

/// Reads the bytes of a file and records it as an external input.
pub(super) fn read(host: Host<'_>, path: &str, marks: &Marks) -> Result<Vec<u8>, Message> {
    let place = resolve_path(host, path)?;
    let look = ExternalInput::File(external_input::stored_path(
        host.scope.base_dir(),
        path,
        &place,
    ));
    // A file absent from the approved plan stays absent, even if the deploy has created it since.
    // Both arms of a conditional are evaluated, so reading it now could fail the deploy.
    let was_absent = host
        .scope
        .approved_digest(&look)
        .is_some_and(|was| was == external_input::MISSING_DIGEST);
    let found = match host.scope.stored_input(&look)? {
        Some(stored) => stored.bytes(&place).ok_or_else(|| differs(path, marks))?,
        None if was_absent => Err(std::io::ErrorKind::NotFound.into()),
        None => bytes(&place),
    };
    if let Ok(bytes) = &found {
        host.steps.consume(READ + bytes.len() as u64 / 64);
    }
    host.record_input(look, external_input::of_file(&found))?;
    found.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => quoting(path, marks, |path| {
            format!(
                "no file exists at {path}; this function works only with files that are distributed as part of the configuration \
                 source code, so if this file will be created by a resource in this configuration you must instead obtain this \
                 result from an attribute of that resource"
            )
        }),
        _ => Message::plain(format!("failed to read file: {error}")),
    })
}

impl StoredInput {
    /// Returns true if there was no file.
    pub(crate) fn is_absent(&self) -> bool {
        self.digest == external_input::MISSING_DIGEST
    }

    /// Content of the file at `place` for a stored configuration. Without a stored content, the
    /// present one; `None` if it differs.
    fn bytes(&self, place: &str) -> Option<std::io::Result<Vec<u8>>> {
        if let Some(text) = &self.text {
            return Some(Ok(text.as_bytes().to_vec()));
        }
        let found = match self.is_absent() {
            true => Err(std::io::ErrorKind::NotFound.into()),
            false => bytes(place),
        };
        (external_input::of_file(&found) == self.digest).then_some(found)
    }
}

/// Error of a stored configuration: the present content or names are others than at its deploy.
fn differs(path: &str, marks: &Marks) -> Message {
    quoting(path, marks, |path| {
        format!(
            "{path} has changed since the deploy of this configuration, and its former content is not \
             stored: only text files in directories of the configuration are, up to 256 KiB each. \
             Restore the former content to stage this configuration"
        )
    })
}

/// Reads a file as UTF-8 text.
pub(super) fn read_text(host: Host<'_>, path: &str, marks: &Marks) -> Result<String, CallError> {
    let bytes = read(host, path, marks).map_err(|e| CallError::arg(0, e))?;
    String::from_utf8(bytes).map_err(|_| {
        CallError::call(quoting(path, marks, |path| {
            format!(
                "contents of {path} are not valid UTF-8; use the filebase64 function to obtain the Base64 encoded contents or the \
                 other file functions (e.g. filemd5, filesha256) to obtain file hashing results instead"
            )
        }))
    })
}

pub(super) fn file() -> Function {
    Function::new(
        vec![path_param().marked()],
        Type::String,
        |args, _, host| {
            let marks = args[0].marks();
            Ok(Value::from(read_text(host, text(args, 0)?, marks)?).with_marks(marks))
        },
    )
    .not_null()
}

pub(super) fn filebase64() -> Function {
    Function::new(
        vec![path_param().marked()],
        Type::String,
        |args, _, host| {
            let marks = args[0].marks();
            let bytes = read(host, text(args, 0)?, marks).map_err(|e| CallError::arg(0, e))?;
            Ok(Value::from(STANDARD.encode(bytes)).with_marks(marks))
        },
    )
    .not_null()
}

pub(super) fn fileexists() -> Function {
    Function::new(vec![path_param().marked()], Type::Bool, |args, _, host| {
        let marks = args[0].marks();
        let place = resolve_path(host, text(args, 0)?).map_err(CallError::from_error)?;
        let look = ExternalInput::Presence(external_input::stored_path(
            host.scope.base_dir(),
            text(args, 0)?,
            &place,
        ));
        // The deploy itself may create the file, so the approved result counts.
        let stored = host.scope.stored_input(&look);
        let stored = stored.map_err(CallError::call)?.map(|s| s.digest);
        let found = match host.scope.approved_digest(&look) {
            Some(found) => found,
            None => {
                let now = || external_input::of_presence(&std::fs::metadata(&place));
                let found = stored.unwrap_or_else(now);
                host.record_input(look, found.clone())?;
                found
            }
        };
        let exists = match &*found {
            external_input::FILE => true,
            external_input::MISSING_DIGEST => false,
            external_input::UNREADABLE => {
                return Err(CallError::call(quoting(&place, marks, |place| {
                    format!("failed to stat {place}")
                })));
            }
            other => {
                let kind = if other == external_input::DIRECTORY {
                    "a directory, not a file"
                } else {
                    "not a regular file"
                };
                return Err(CallError::arg(
                    0,
                    quoting(&place, marks, |place| format!("{place} is {kind}")),
                ));
            }
        };
        Ok(Value::bool(exists).with_marks(marks))
    })
    .not_null()
}

pub(super) fn fileset() -> Function {
    let params = vec![
        path_param().marked(),
        Param::new("pattern", Type::String).marked(),
    ];
    Function::new(params, Type::set(Type::String), |args, _, host| {
        let marks = args[0].marks().union(args[1].marks());
        let folder = text(args, 0)?;
        // As in the reference, `fileset` does not expand `~`.
        let folder = if folder.starts_with('/') {
            paths::clean(folder)
        } else {
            paths::join(&host.scope.base_dir().to_string_lossy(), folder)
        };
        let pattern = paths::join(&folder, text(args, 1)?);
        let base = host.scope.base_dir();
        let kept = external_input::stored_path(base, text(args, 0)?, &pattern);
        let look = ExternalInput::Names(kept.clone());
        let stored = host.scope.stored_input(&look).map_err(CallError::call)?;
        let found = match stored.as_ref().and_then(|stored| stored.text.as_deref()) {
            Some(names) => external_input::paths_of(base, &kept, names),
            None => glob::files(&pattern, &|| host.scope.stop_reason().is_some()).map_err(|e| {
                CallError::call(quoting(&pattern, &marks, |p| {
                    format!("failed to glob pattern {p}: {e}")
                }))
            })?,
        };
        let names = external_input::of_names(base, &kept, &found);
        if stored.is_some_and(|stored| stored.digest != names) {
            return Err(CallError::call(differs(&pattern, &marks)));
        }
        host.record_input(look, names)?;
        let names = found
            .iter()
            .map(|path| paths::relative(&folder, path).into())
            .collect();
        Ok(Value::set(Type::String, names).with_marks(&marks))
    })
    .not_null()
}

fn of_path(run: fn(&str) -> Result<String, PlaceError>) -> Function {
    Function::new(vec![path_param()], Type::String, move |args, _, _| {
        Ok(run(text(args, 0)?).map_err(CallError::from_error)?.into())
    })
    .not_null()
}

pub(super) fn basename() -> Function {
    of_path(|path| Ok(paths::base(path)))
}

pub(super) fn dirname() -> Function {
    of_path(|path| Ok(paths::dir(path)))
}

pub(super) fn pathexpand() -> Function {
    of_path(expand)
}

pub(super) fn abspath() -> Function {
    of_path(|path| {
        if path.starts_with('/') {
            return Ok(paths::clean(path));
        }
        let here = std::env::current_dir().map_err(PlaceError::NoFolder)?;
        Ok(paths::join(&here.to_string_lossy(), path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_and_oversize_files_are_not_read() {
        for place in ["/dev/zero", "/dev/tty"]
            .into_iter()
            .filter(|p| std::path::Path::new(p).exists())
        {
            assert_eq!(
                bytes(place).expect_err(place).to_string(),
                "it is not a regular file"
            );
        }
        assert_eq!(bytes("/dev/null").expect("there is one"), b"");
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file()
            .set_len(fsroot::MAX_FILE + 1)
            .expect("sparse");
        assert_eq!(
            bytes(&file.path().to_string_lossy())
                .expect_err("too large")
                .to_string(),
            "it is larger than 256 MiB"
        );
    }
}

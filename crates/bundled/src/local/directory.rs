//! Resource type `local_directory`. A directory is removed only if it is empty, unless `force` is
//! set.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};

use cty::Value;
use sdk::schema::{Attr, Schema};
use sdk::{Change, Context, Diagnostics, Failure, Object, Resource, State, async_trait};

use super::{blocking, failed, mode, permission, permission_text, state, undescribable};

/// Resource type `local_directory`.
pub(super) struct LocalDirectory;

fn schema() -> Schema {
    Schema::new()
        .describe("A directory of this machine.")
        .attr(
            Attr::string("path")
                .required()
                .replaces()
                .describe("Missing parent directories are created."),
        )
        .attr(
            Attr::string("permission")
                .default("0755".into())
                .check(permission),
        )
        .attr(
            Attr::bool("force")
                .default(Value::bool(false))
                .describe("Remove it with its content."),
        )
        .attr(Attr::string("id").computed().stable().describe("Its path."))
}

async fn save(change: Change) -> Result<State, Failure> {
    let mut object = Object::of(&change.planned).map_err(undescribable)?;
    blocking(move || {
        let path = object.text("path").unwrap_or_default().to_owned();
        let permissions =
            mode(object.text("permission").unwrap_or_default()).map_err(undescribable)?;
        fs::DirBuilder::new()
            .recursive(true)
            .mode(permissions)
            .create(&path)
            .map_err(failed("create", &path))?;
        // The mode of a new directory is reduced by the umask, and an existing one keeps its own.
        fs::set_permissions(&path, fs::Permissions::from_mode(permissions))
            .map_err(failed("set the permissions of", &path))?;
        object.set("id", path);
        state(object)
    })
    .await
}

#[async_trait]
impl Resource for LocalDirectory {
    fn name(&self) -> &str {
        "local_directory"
    }

    fn schema(&self) -> Schema {
        schema()
    }

    async fn create(&self, _: &Context, change: Change) -> Result<State, Failure> {
        save(change).await
    }

    async fn read(&self, _: &Context, state: State) -> Result<Option<State>, Failure> {
        let mut object = Object::of(&state.value).map_err(undescribable)?;
        blocking(move || {
            let path = object.text("path").unwrap_or_default().to_owned();
            let found = match fs::metadata(&path) {
                Ok(found) if found.is_dir() => found,
                // Something else has this path, so the directory no longer exists.
                Ok(_) => return Ok(None),
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
                {
                    return Ok(None);
                }
                Err(error) => return Err(failed("inspect", &path)(error)),
            };
            let permissions = permission_text(found.mode(), object.text("permission"));
            object.set("permission", permissions);
            object.set("id", path);
            Ok(Some(State {
                value: object.into_value().map_err(undescribable)?,
                ..state
            }))
        })
        .await
    }

    async fn update(&self, _: &Context, change: Change) -> Result<State, Failure> {
        save(change).await
    }

    async fn delete(&self, _: &Context, state: State) -> Result<Diagnostics, Failure> {
        let object = Object::of(&state.value).map_err(undescribable)?;
        blocking(move || {
            let path = object.text("path").unwrap_or_default();
            let removed = if object.bool("force") == Some(true) {
                fs::remove_dir_all(path)
            } else {
                fs::remove_dir(path)
            };
            match removed {
                Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Err(Failure::new(
                    format!("{path} is not empty"),
                    "empty it, or set force = true to remove it with its content",
                )),
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    Err(failed("remove", path)(error))
                }
                _ => Ok(Diagnostics::new()),
            }
        })
        .await
    }

    /// Imports by path.
    async fn import(&self, _: &Context, id: &str) -> Result<State, Failure> {
        sdk::import_by(&schema(), "path", id)
    }
}

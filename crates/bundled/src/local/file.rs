//! Resource type `local_file`. A new path requires replacement; content and permissions change in
//! place.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;

use sdk::schema::{Attr, Schema};
use sdk::{
    Change, Context, Diagnostics, Failure, Object, Planned, Planning, Resource, State, async_trait,
};
use sha1::{Digest as _, Sha1};
use sha2::Sha256;

use super::{blocking, failed, mode, permission, permission_text, state, undescribable};

/// Maximum size in bytes of a file whose content is stored in a state.
const LIMIT: u64 = 64 << 20;

/// Resource type `local_file`.
pub(super) struct LocalFile;

fn schema() -> Schema {
    Schema::new()
        .describe("A file of this machine.")
        .attr(
            Attr::string("filename")
                .required()
                .replaces()
                .describe("Its path; missing directories are created."),
        )
        .attr(
            Attr::string("content")
                .default("".into())
                .describe("Its content."),
        )
        .attr(
            Attr::string("file_permission")
                .default("0644".into())
                .check(permission),
        )
        .attr(
            Attr::string("directory_permission")
                .default("0755".into())
                .check(permission)
                .describe("Permissions of created directories."),
        )
        .attr(
            Attr::string("id")
                .computed()
                .describe("SHA-1 of the content, in hex."),
        )
        .attr(
            Attr::string("content_sha256")
                .computed()
                .describe("SHA-256 of the content, in hex."),
        )
}

fn set_hashes(object: &mut Object, content: &[u8]) {
    object.set("id", hex::encode(Sha1::digest(content)));
    object.set("content_sha256", hex::encode(Sha256::digest(content)));
}

/// Writes a file atomically: readers see the old or the new content.
fn write(object: &mut Object) -> Result<(), Failure> {
    let path = object.text("filename").unwrap_or_default().to_owned();
    let content = object.text("content").unwrap_or_default().to_owned();
    let permissions =
        |name: &str| mode(object.text(name).unwrap_or_default()).map_err(undescribable);
    let (file_mode, folder_mode) = (
        permissions("file_permission")?,
        permissions("directory_permission")?,
    );
    if let Some(folder) = Path::new(&path)
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        let made = fs::DirBuilder::new()
            .recursive(true)
            .mode(folder_mode)
            .create(folder);
        made.map_err(failed("create the directory of", &path))?;
    }
    // The rename would fail as well, but with a message that does not name the reason.
    if Path::new(&path).is_dir() {
        return Err(Failure::new(
            format!("cannot write {path}"),
            "there is a directory of that name",
        ));
    }
    // In the same directory, because a rename cannot cross file systems.
    let temporary = format!("{path}.{}.tmp", std::process::id());
    let written = (|| {
        let mut file = fs::OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            // Private until the final mode is set, because the content may be secret.
            .mode(0o600)
            .open(&temporary)?;
        file.write_all(content.as_bytes())?;
        file.set_permissions(fs::Permissions::from_mode(file_mode))?;
        file.sync_all()?;
        fs::rename(&temporary, &path)
    })();
    written.map_err(|error| {
        let _nothing_was_made = fs::remove_file(&temporary);
        failed("write", &path)(error)
    })?;
    set_hashes(object, content.as_bytes());
    Ok(())
}

async fn save(change: Change) -> Result<State, Failure> {
    let mut object = Object::of(&change.planned).map_err(undescribable)?;
    blocking(move || {
        write(&mut object)?;
        state(object)
    })
    .await
}

fn refresh_file(cx: &Context, state: State) -> Result<Option<State>, Failure> {
    let mut object = Object::of(&state.value).map_err(undescribable)?;
    let path = object.text("filename").unwrap_or_default().to_owned();
    let found = match fs::metadata(&path) {
        Ok(found) if found.is_file() => found,
        Ok(_) => return Ok(None),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(failed("inspect", &path)(error)),
    };
    // Checked before the read, which would load the whole file.
    if found.len() > LIMIT {
        return Err(Failure::new(
            format!("{path} is too large"),
            format!(
                "the file has {} bytes, but the state can contain at most {LIMIT} bytes of it",
                found.len()
            ),
        ));
    }
    let content = fs::read(&path).map_err(failed("read", &path))?;
    set_hashes(&mut object, &content);
    let permissions = permission_text(found.mode(), object.text("file_permission"));
    object.set("file_permission", permissions);
    let text = String::from_utf8_lossy(&content);
    // A state holds text only, so other bytes are replaced and the operator is warned.
    let exact = matches!(text, std::borrow::Cow::Borrowed(_));
    object.set("content", &*text);
    let state = State {
        value: object.into_value().map_err(undescribable)?,
        ..state
    };
    if !exact {
        cx.warn(
            format!("{path} is not UTF-8 text"),
            "invalid bytes are replaced in the state",
        );
    }
    Ok(Some(state))
}

#[async_trait]
impl Resource for LocalFile {
    fn name(&self) -> &str {
        "local_file"
    }

    fn schema(&self) -> Schema {
        schema()
    }

    /// Plans as by default, but with known hashes for known content.
    async fn plan(&self, _: &Context, request: Planning<'_>) -> Result<Planned, Failure> {
        let mut planned = request.by_default();
        let mut object = Object::of(&planned.value).map_err(undescribable)?;
        if let Some(content) = object.text("content").map(str::to_owned) {
            set_hashes(&mut object, content.as_bytes());
            planned.value = object.into_value().map_err(undescribable)?;
        }
        Ok(planned)
    }

    async fn create(&self, _: &Context, change: Change) -> Result<State, Failure> {
        save(change).await
    }

    async fn read(&self, cx: &Context, state: State) -> Result<Option<State>, Failure> {
        let cx = cx.clone();
        blocking(move || refresh_file(&cx, state)).await
    }

    async fn update(&self, _: &Context, change: Change) -> Result<State, Failure> {
        save(change).await
    }

    async fn delete(&self, _: &Context, state: State) -> Result<Diagnostics, Failure> {
        let path = state
            .value
            .get_attr("filename")
            .and_then(|path| path.as_str().map(str::to_owned))
            .unwrap_or_default();
        blocking(move || match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(failed("remove", &path)(error))
            }
            _ => Ok(Diagnostics::new()),
        })
        .await
    }

    /// Imports by path.
    async fn import(&self, _: &Context, id: &str) -> Result<State, Failure> {
        sdk::import_by(&schema(), "filename", id)
    }
}

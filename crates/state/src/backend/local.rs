//! The local backend: `terraform.tfstate`, and a directory with the states of other workspaces.

use super::values::Values;
use super::{Backend, StateError, StateManager};
use crate::file::{FilePlace, StateFileManager};
use async_trait::async_trait;
use fsroot::RootedPath;
use statefile::LockInfo;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Default file name, also inside the directory of each other workspace.
const FILE: &str = "terraform.tfstate";
/// Default directory of the other workspaces.
const FOLDER: &str = "terraform.tfstate.d";

pub(super) struct Local {
    dir: PathBuf,
    locks: bool,
    path: PathBuf,
    folder: PathBuf,
}

/// File of a workspace, relative to the workspace directory.
pub(super) fn file(values: &Values<'_>, named: &str) -> PathBuf {
    Local::new(Path::new(""), values, true).file(named)
}

impl Local {
    pub(super) fn new(dir: &Path, values: &Values<'_>, locks: bool) -> Self {
        let said = |name: &str, default: &str| {
            let text = values.text(name, &[]);
            PathBuf::from(text.unwrap_or_else(|| default.to_owned()))
        };
        Self {
            dir: dir.to_owned(),
            locks,
            path: said("path", FILE),
            folder: said("workspace_dir", FOLDER),
        }
    }

    fn file(&self, named: &str) -> PathBuf {
        if named.is_empty() {
            self.path.clone()
        } else {
            self.folder.join(named).join(FILE)
        }
    }

    /// Runs blocking work on a workspace's directory. Does not follow a link there.
    async fn blocking(
        &self,
        what: &'static str,
        named: &str,
        work: fn(&RootedPath) -> std::io::Result<()>,
    ) -> Result<(), StateError> {
        let folder = RootedPath::from_workspace(&self.dir, &self.folder.join(named));
        let path = folder.path();
        tokio::task::spawn_blocking(move || work(&folder))
            .await
            .map_err(|e| StateError::Task(Arc::new(e)))?
            .map_err(StateError::io(what, &path))
    }
}

#[async_trait]
impl Backend for Local {
    fn state_manager(&self, named: &str) -> Result<Arc<dyn StateManager>, StateError> {
        let place = FilePlace::at(&self.file(named));
        Ok(Arc::new(StateFileManager::in_directory(
            &self.dir, &place, self.locks,
        )))
    }

    async fn workspaces(&self) -> Result<Vec<String>, StateError> {
        let folder = self.dir.join(&self.folder);
        let mut entries = match tokio::fs::read_dir(&folder).await {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(StateError::io("read", &folder)(e)),
        };
        let mut names = Vec::new();
        while let Some(entry) = entries
            .next_entry()
            .await
            .map_err(StateError::io("read", &folder))?
        {
            // A new workspace is a directory without a state.
            if entry.file_type().await.is_ok_and(|kind| kind.is_dir()) {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Creates the directory only; the first write creates the state.
    async fn create(&self, named: &str, _: LockInfo) -> Result<(), StateError> {
        if named.is_empty() {
            return Ok(());
        }
        self.blocking("create", named, |folder| folder.create_dirs())
            .await
    }

    async fn delete(&self, named: &str, info: LockInfo) -> Result<(), StateError> {
        let home = self.state_manager(named)?;
        home.lock(info).await?;
        let deleted = if named.is_empty() {
            home.delete().await
        } else {
            self.blocking("remove", named, |folder| folder.remove_all())
                .await
        };
        // Unlocked in every case; the first error is reported.
        let unlocked = home.unlock().await;
        deleted.and(unlocked)
    }
}

//! Files of the configuration and of variables that change while a console shows a stage.

use super::command::{Operations, Staged};
use super::stale_check::changed_files;
use crate::error::EngineError;
use lang::config::automatic_variable_files;
use model::mutex::lock;
use model::{EventKind, StageId, StageRequest, VariableFlag};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use workspace::load;

/// Time of the last change and size; `None` for a path that does not exist.
type Mark = Option<(SystemTime, u64)>;

/// Files at the last look.
#[derive(Debug, Default)]
pub(super) struct WatchedFiles {
    /// Newest stage at that time.
    stage: Option<StageId>,
    /// Marks of the files and of their directories, which change with new files.
    marks: BTreeMap<PathBuf, Mark>,
    has_changed: bool,
}

impl Operations {
    /// Emits an event if files of the configuration differ from the newest stage and have changed
    /// since the last look, or if they do not differ any more.
    pub(super) async fn look_at_files(&self) -> Result<(), EngineError> {
        let newest = lock(&self.newest).clone();
        let stage = newest.as_ref().map(|staged| staged.stage.id);
        let workspace = self.settings.workspace.clone();
        let known: Vec<String> = newest.iter().flat_map(|s| names(s)).collect();
        let variables: Vec<PathBuf> = newest.iter().flat_map(|s| self.variable_paths(s)).collect();
        let marks = tokio::task::spawn_blocking(move || marks(&workspace, &known, variables));
        let marks = marks
            .await
            .map_err(EngineError::task("failed to look at the configuration"))?;
        let before = {
            let mut watched = lock(&self.watched_files);
            if watched.stage == stage && watched.marks == marks {
                return Ok(());
            }
            let now = WatchedFiles {
                stage,
                marks: marks.clone(),
                has_changed: false,
            };
            std::mem::replace(&mut *watched, now)
        };
        let files = match newest {
            Some(staged) => self.files_since(&staged).await?,
            // Without a stage there is nothing to compare with but the last look.
            None if before.stage.is_none() && !before.marks.is_empty() => {
                self.changed_names(&before.marks, &marks)
            }
            None => Vec::new(),
        };
        let had_changed = before.stage == stage && before.has_changed;
        lock(&self.watched_files).has_changed = !files.is_empty();
        if had_changed || !files.is_empty() {
            self.bus.emit(EventKind::FilesChanged { stage, files });
        }
        Ok(())
    }

    /// Names of the files that differ from a stage.
    async fn files_since(&self, staged: &Arc<Staged>) -> Result<Vec<String>, EngineError> {
        let request = &staged.stage.request;
        let then = load::variable_files(&staged.loaded.sources, request);
        let (now, variables) = match self.load(request, false).await? {
            Ok((loaded, _)) => {
                let variables = load::variable_files(&loaded.sources, request);
                (loaded.snapshot, variables)
            }
            // A configuration with errors still has files to compare.
            Err((sources, _)) => {
                let mut variables = load::variable_files(&sources, request);
                let read: BTreeSet<String> = variables.iter().map(|(n, _)| n.clone()).collect();
                // An error may have ended the load before it read them.
                let unread = then.iter().filter(|(name, _)| {
                    !read.contains(name) && self.variable_path(name, request).exists()
                });
                variables.extend(unread.cloned());
                (load::snapshot(&sources, request), variables)
            }
        };
        let mut files = changed_files(&staged.loaded.snapshot, &now);
        files.extend(changed_files(&then, &variables));
        Ok(files)
    }

    /// Path of a variable file by its name in a stage. A flag names it from the working directory.
    fn variable_path(&self, name: &str, request: &StageRequest) -> PathBuf {
        match named_files(request).find(|path| path.display().to_string() == name) {
            Some(path) => path.clone(),
            None => self.settings.workspace.join(name),
        }
    }

    /// Paths of the variable files that a stage has read, and of those that its flags name.
    fn variable_paths(&self, staged: &Staged) -> Vec<PathBuf> {
        let request = &staged.stage.request;
        let read = load::variable_files(&staged.loaded.sources, request).into_iter();
        let read = read.map(|(name, _)| self.variable_path(&name, request));
        read.chain(named_files(request).cloned()).collect()
    }

    /// Names of the files whose marks differ.
    fn changed_names(
        &self,
        before: &BTreeMap<PathBuf, Mark>,
        now: &BTreeMap<PathBuf, Mark>,
    ) -> Vec<String> {
        let paths: BTreeSet<&PathBuf> = before.keys().chain(now.keys()).collect();
        let changed = paths.into_iter().filter(|p| before.get(*p) != now.get(*p));
        let changed = changed.filter_map(|path| path.strip_prefix(&self.settings.workspace).ok());
        let names = changed.filter(|name| !name.as_os_str().is_empty());
        names.map(|name| name.display().to_string()).collect()
    }
}

/// Files that `--var-file` names.
fn named_files(request: &StageRequest) -> impl Iterator<Item = &PathBuf> {
    request.variables.iter().filter_map(|flag| match flag {
        VariableFlag::File(path) => Some(path),
        VariableFlag::Value { .. } => None,
    })
}

fn names(staged: &Staged) -> impl Iterator<Item = String> + '_ {
    staged.loaded.snapshot.iter().map(|(name, _)| name.clone())
}

/// Ends of the names of configuration files.
const EXTENSIONS: [&str; 5] = [".tf", ".tf.json", ".tofu", ".tofu.json", ".flightdeck.hcl"];

/// Marks of the files of a stage and of the root module, of their directories, and of files with
/// variables.
fn marks(workspace: &Path, known: &[String], variables: Vec<PathBuf>) -> BTreeMap<PathBuf, Mark> {
    let mut paths: BTreeSet<PathBuf> = known.iter().map(|name| workspace.join(name)).collect();
    let entries = std::fs::read_dir(workspace).into_iter().flatten();
    paths.extend(entries.flatten().map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        EXTENSIONS.iter().any(|end| name.ends_with(end)) && !name.starts_with('.')
    }));
    let directories: BTreeSet<PathBuf> = paths
        .iter()
        .filter_map(|path| path.parent())
        // Other files come and go in the root directory: the state, locks, logs.
        .filter(|dir| *dir != workspace)
        .map(Path::to_owned)
        .collect();
    paths.extend(directories);
    // Without their directories, which may be those of other programs.
    paths.extend(variables);
    let automatic = automatic_variable_files(workspace).into_iter();
    paths.extend(automatic.map(|name| workspace.join(name)));
    let mark = |path: &Path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    let marked = paths.into_iter().map(|path| (mark(&path), path));
    marked.map(|(mark, path)| (path, mark)).collect()
}

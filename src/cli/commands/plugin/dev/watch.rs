//! Watches the files of a provider and of a workspace.

use crate::cli::escape::safe_path;
use crate::cli::exit::CliError;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Interval between two scans, and the time without a change after which all files are saved.
const INTERVAL: Duration = Duration::from_millis(300);

/// Most files that are watched.
const MAX_FILES: usize = 50_000;

/// Directories that builds and tools write.
const SKIPPED: [&str; 3] = ["target", "node_modules", "vendor"];

type Files = BTreeMap<PathBuf, (u64, Option<SystemTime>)>;

/// Files below some directories, as they were at the last scan.
pub(super) struct Sources {
    directories: Vec<PathBuf>,
    /// File that the build writes, which is no source.
    built: Option<PathBuf>,
    files: Option<Files>,
}

impl Sources {
    pub(super) fn new(directories: Vec<PathBuf>, built: Option<PathBuf>) -> Self {
        // An error appears again at the next scan, which can report it.
        let files = files(&directories, built.as_deref()).ok();
        Self {
            directories,
            built,
            files,
        }
    }

    /// Waits until files have changed since the last call, and then do not change any more.
    ///
    /// # Errors
    /// A directory cannot be read, or has too many files.
    pub(super) async fn changed(&mut self) -> Result<(), CliError> {
        let mut seen = self.files.clone();
        loop {
            tokio::time::sleep(INTERVAL).await;
            let (directories, built) = (self.directories.clone(), self.built.clone());
            // Reading many directories would block the other tasks of this thread.
            let scan = tokio::task::spawn_blocking(move || files(&directories, built.as_deref()));
            let now = match scan.await {
                Ok(found) => found?,
                Err(error) => {
                    return Err(CliError::io(format!(
                        "cannot scan the watched directories: {error}"
                    )));
                }
            };
            // Tools save several files one after the other, so that two scans must agree.
            let is_settled = seen.as_ref() == Some(&now);
            if is_settled && self.files.as_ref() != Some(&now) {
                self.files = Some(now);
                return Ok(());
            }
            seen = Some(now);
        }
    }
}

/// Files with their sizes and times. Hidden files, states and directories of builds are left out,
/// because this command itself writes them.
fn files(directories: &[PathBuf], built: Option<&Path>) -> Result<Files, CliError> {
    let mut found = Files::new();
    let mut left: Vec<PathBuf> = directories.to_vec();
    while let Some(directory) = left.pop() {
        let failed =
            |e: io::Error| CliError::io(format!("cannot watch {}: {e}", safe_path(&directory)));
        for entry in std::fs::read_dir(&directory).map_err(failed)? {
            let Ok(entry) = entry else { continue };
            let (path, name) = (entry.path(), entry.file_name());
            // A file may be removed between the list and this call.
            let Ok(about) = entry.metadata() else {
                continue;
            };
            if is_skipped(&name.to_string_lossy(), about.is_dir()) {
                continue;
            }
            // The metadata is that of a link itself, so that links cannot lead in circles.
            if about.is_dir() {
                left.push(path);
            } else if built != Some(&*path) {
                found.insert(path, (about.len(), about.modified().ok()));
            }
        }
        if found.len() > MAX_FILES || left.len() > MAX_FILES {
            return Err(too_many(directories));
        }
    }
    Ok(found)
}

fn is_skipped(name: &str, is_directory: bool) -> bool {
    let is_state = name.ends_with(".tfstate") || name.ends_with(".tfstate.backup");
    name.starts_with('.') || (is_directory && SKIPPED.contains(&name)) || is_state
}

fn too_many(directories: &[PathBuf]) -> CliError {
    let shown: Vec<_> = directories.iter().map(|d| safe_path(d)).collect();
    CliError::usage(format!(
        "{} have more than {MAX_FILES} files, which are too many to watch",
        shown.join(" and ")
    ))
    .hint("name the directory of the provider's source")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_watched_and_what_builds_write_is_not() {
        let dir = tempfile::tempdir().expect("a directory");
        let write = |path: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("created");
            std::fs::write(path, "x").expect("written");
        };
        for path in ["Cargo.toml", "src/main.rs", "target/debug/x", ".git/HEAD"] {
            write(path);
        }
        write("example/terraform.tfstate");
        write("example/main.tf");
        write("example/.flightdeck/flightdeck.db");
        let found = files(&[dir.path().to_owned()], None).expect("read");
        let names: Vec<&Path> = found
            .keys()
            .filter_map(|path| path.strip_prefix(dir.path()).ok())
            .collect();
        let expected = ["Cargo.toml", "example/main.tf", "src/main.rs"];
        assert_eq!(names, expected.map(Path::new));
    }

    #[tokio::test]
    async fn change_is_reported_once_all_files_are_saved() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut sources = Sources::new(vec![dir.path().to_owned()], None);
        let soon = Duration::from_secs(1);
        let changed = tokio::time::timeout(soon, sources.changed()).await;
        assert!(changed.is_err(), "nothing has changed");
        let path = dir.path().join("main.rs");
        for change in [
            |path: &Path| std::fs::write(path, "x"),
            |path: &Path| std::fs::remove_file(path),
        ] {
            change(&path).expect("changed");
            let changed = tokio::time::timeout(60 * soon, sources.changed()).await;
            changed.expect("in time").expect("readable");
        }
    }
}

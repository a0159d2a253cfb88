//! Files of the workspace that declare the members of committed groups.

use super::command::Operations;
use crate::error::EngineError;
use fsroot::RootedPath;
use group::commit::{Committed, Directory};
use group::scope::FileSet;
use std::collections::BTreeMap;
use std::io;

/// Mode of the files, as an editor would create them.
const FILE_MODE: u32 = 0o644;

/// A file that cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[error("failed to {what} the file {file}: {source}")]
pub(super) struct FileError {
    what: &'static str,
    file: String,
    source: io::Error,
}

impl From<FileError> for EngineError {
    fn from(error: FileError) -> Self {
        Self::refused(error)
    }
}

impl Operations {
    /// Writes declarations; each must be absent, or as flightdeck wrote it.
    pub(super) fn write_declarations(
        &self,
        texts: &BTreeMap<String, String>,
        (committed, directory): (&Committed, &Directory),
    ) -> Result<(), EngineError> {
        for file in texts.keys() {
            let found = directory.files.get(file);
            if found.is_some() && committed.files.get(file) != found {
                return Err(EngineError::refused(directory.foreign(file)));
            }
        }
        for (file, text) in texts {
            self.write_declaration(file, text)?;
        }
        Ok(())
    }

    /// Writes one declaration, whatever the file was.
    pub(super) fn write_declaration(&self, file: &str, text: &str) -> Result<(), EngineError> {
        let written = self.declaration(file).replace(text.as_bytes(), FILE_MODE);
        Ok(written.map_err(|source| failed("write", file, source))?)
    }

    /// Restores declarations as they were.
    pub(super) fn restore_declarations(
        &self,
        texts: &BTreeMap<String, String>,
        directory: &Directory,
    ) -> Result<(), EngineError> {
        for file in texts.keys() {
            let path = self.declaration(file);
            match directory.files.get(file) {
                None => remove(&path)?,
                Some(text) => self.write_declaration(file, text)?,
            }
        }
        Ok(())
    }

    /// Reads the declarations of a workspace. A new one stands for the one that it replaces.
    pub(super) async fn group_directory(&self, name: &str) -> Result<Directory, EngineError> {
        let mut directory = Directory::default();
        let mut new = BTreeMap::new();
        let listed = std::fs::read_dir(&self.settings.workspace);
        let listed = listed.map_err(|source| failed("list", ".", source))?;
        for entry in listed.flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            let Some((set, is_new)) = FileSet::from_file(&file) else {
                continue;
            };
            let text = read_text(&self.declaration(&file)).unwrap_or_default();
            match is_new {
                true => new.insert(set.file(), text),
                false => directory.files.insert(set.file(), text),
            };
        }
        directory.new = new.keys().cloned().collect();
        directory.files.extend(new);
        for newest in self.newest_commits().await? {
            if newest.record.taken.is_none() {
                for file in &newest.committed.ended {
                    directory.files.remove(file);
                }
            }
            if newest.record.name != name {
                directory.others.extend(newest.committed.files);
            }
        }
        let state = self.state().await?;
        let current = state
            .objects
            .iter()
            .filter(|object| object.deposed.is_empty());
        directory.state = current.map(|object| object.address.clone()).collect();
        Ok(directory)
    }

    pub(super) fn declaration(&self, file: &str) -> RootedPath {
        RootedPath::new(&self.settings.workspace, file)
    }
}

pub(super) fn failed(what: &'static str, file: &str, source: io::Error) -> FileError {
    FileError {
        what,
        file: file.to_owned(),
        source,
    }
}

pub(super) fn read_text(path: &RootedPath) -> Option<String> {
    String::from_utf8(path.read().ok()?).ok()
}

pub(super) fn remove(path: &RootedPath) -> Result<(), FileError> {
    match path.remove_file() {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(failed("remove", &path.name().to_string_lossy(), source))
        }
        _ => Ok(()),
    }
}

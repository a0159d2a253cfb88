//! File of the choices. Consoles share it, so each writes only what changed in it.

use super::Choices;
use fsroot::RootedPath;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use toml::Table;

/// Mode of the file.
const MODE: u32 = 0o600;

/// Choices before and after changes that are not written yet.
type Change = (Choices, Choices);

/// File of the choices, and changes that wait for their write.
#[derive(Debug)]
pub struct ChoicesFile {
    path: PathBuf,
    pending: Mutex<Option<Change>>,
    /// Held during a write, so that writes are in order.
    writing: Mutex<()>,
}

impl ChoicesFile {
    /// Creates the file's owner; reads and writes nothing.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            pending: Mutex::default(),
            writing: Mutex::default(),
        }
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the choices. A missing file has none.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn read(&self) -> io::Result<Choices> {
        match fsroot::read_named(&self.path) {
            Ok(text) => toml::from_str(&text).map_err(|e| io::Error::other(e.message().to_owned())),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Choices::default()),
            Err(e) => Err(e),
        }
    }

    /// Remembers a change for the next [`Self::write`].
    pub fn add(&self, before: Choices, now: Choices) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let before = pending.take().map_or(before, |(before, _)| before);
        *pending = Some((before, now));
    }

    /// Writes the changes into the current contents of the file, of which a damaged one has none.
    /// Blocks.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self) -> io::Result<()> {
        let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let change = {
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            pending.take()
        };
        // Another write had the change already.
        let Some((before, now)) = change else {
            return Ok(());
        };
        let text = fsroot::read_named(&self.path).unwrap_or_default();
        // Keys of other versions are kept, unless the file is damaged.
        let is_sound = toml::from_str::<Choices>(&text).is_ok();
        let mut file: Table = match is_sound {
            true => toml::from_str(&text).unwrap_or_default(),
            false => Table::new(),
        };
        merge(&mut file, &table(&before)?, &table(&now)?);
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let name = self.path.file_name().unwrap_or_default();
        RootedPath::trusted(folder, name).replace(file.to_string().as_bytes(), MODE)
    }
}

fn table(choices: &Choices) -> io::Result<Table> {
    Table::try_from(choices).map_err(io::Error::other)
}

/// Changes in `file` what differs between `before` and `now`.
fn merge(file: &mut Table, before: &Table, now: &Table) {
    for (key, value) in now {
        if before.get(key) == Some(value) {
            continue;
        }
        match (file.get_mut(key), before.get(key), value) {
            // Another console may have sorted other lists.
            (Some(toml::Value::Table(file)), before, toml::Value::Table(now)) => {
                let none = Table::new();
                let before = before.and_then(toml::Value::as_table).unwrap_or(&none);
                merge(file, before, now);
            }
            _ => {
                file.insert(key.clone(), value.clone());
            }
        }
    }
    for key in before.keys().filter(|key| !now.contains_key(*key)) {
        file.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::choices::ListSort;

    fn split(percent: u16) -> Choices {
        Choices {
            split: Some(percent),
            ..Choices::default()
        }
    }

    fn sorted(list: &str) -> Choices {
        let sort = ListSort {
            by: "state".to_owned(),
            reversed: false,
        };
        Choices {
            sort: [(list.to_owned(), sort)].into(),
            ..Choices::default()
        }
    }

    #[test]
    fn consoles_that_share_the_file_keep_each_others_choices() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("state/flightdeck/console.toml");
        let (one, other) = (
            ChoicesFile::new(path.clone()),
            ChoicesFile::new(path.clone()),
        );
        one.add(Choices::default(), split(30));
        one.write().unwrap();
        other.add(Choices::default(), sorted("stage"));
        other.write().unwrap();
        one.add(
            split(30),
            Choices {
                mouse: Some(false),
                ..split(30)
            },
        );
        one.add(
            Choices {
                mouse: Some(false),
                ..split(30)
            },
            Choices {
                sort: sorted("calls").sort,
                mouse: Some(false),
                ..split(30)
            },
        );
        one.write().unwrap();
        let all = one.read().unwrap();
        assert_eq!((all.split, all.mouse), (Some(30), Some(false)));
        assert_eq!(all.sort.keys().collect::<Vec<_>>(), ["calls", "stage"]);
        // A default removes the choice, and unknown keys stay.
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("future = 7\n{text}")).unwrap();
        one.add(split(30), Choices::default());
        one.write().unwrap();
        assert_eq!(one.read().unwrap().split, None);
        assert!(
            std::fs::read_to_string(&path)
                .unwrap()
                .contains("future = 7")
        );
    }

    #[test]
    fn damaged_file_is_an_error_once_and_then_replaced() {
        let place = tempfile::tempdir().unwrap();
        let file = ChoicesFile::new(place.path().join("console.toml"));
        assert_eq!(file.read().unwrap(), Choices::default());
        for damaged in ["split = \"wide\"", "[sort", "\u{0}"] {
            std::fs::write(file.path(), damaged).unwrap();
            file.read().unwrap_err();
            file.add(Choices::default(), Choices::default());
            file.write().unwrap();
            file.read().unwrap();
        }
    }
}

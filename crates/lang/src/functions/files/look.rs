//! External inputs: files, patterns and provider functions that an expression has read, each with a
//! digest of the result. A stage records them, and its deploy detects changes by the digests.

use super::glob;
use super::paths;
use sha2::{Digest, Sha256};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// Object that a function read. Paths in the scope's base directory are relative to it and those in
/// the home directory begin with `~`, so that they stay valid if either moves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Look {
    /// The bytes of a file.
    File(String),
    /// Existence of a file.
    Presence(String),
    /// The files that match a pattern.
    Names(String),
    /// Result of a provider function for given arguments.
    Answer(String),
}

/// External input with its digest; equal content has equal digests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Object read.
    pub look: Look,
    /// Digest of its content.
    pub digest: String,
    /// True if the path is sensitive.
    pub secret: bool,
}

/// Digest of a missing file.
pub(super) const ABSENT: &str = "absent";
/// Digests of existing objects, for [`Look::Presence`].
pub(super) const FILE: &str = "file";
pub(super) const DIRECTORY: &str = "directory";
const OTHER: &str = "other";
/// Digest of an unreadable object.
pub(super) const UNREADABLE: &str = "unreadable";

impl Look {
    /// Path or pattern, or the name of the function.
    pub fn place(&self) -> &str {
        match self {
            Look::File(place)
            | Look::Presence(place)
            | Look::Names(place)
            | Look::Answer(place) => place,
        }
    }

    /// Computes the current digest, relative to `base`. `None` if it cannot be read again.
    pub fn again(&self, base: &Path) -> Option<String> {
        let place = || {
            let place = self.place();
            match place.strip_prefix('~') {
                Some(_) => super::expand(place).unwrap_or_else(|_| place.to_owned()),
                None if place.starts_with('/') => place.to_owned(),
                None => paths::join(&base.to_string_lossy(), place),
            }
        };
        match self {
            Look::File(_) => Some(of_file(&super::bytes(&place()))),
            Look::Presence(_) => Some(of_presence(&std::fs::metadata(place()))),
            Look::Names(kept) => Some(of_names(
                base,
                kept,
                &glob::files(&place(), &|| false).unwrap_or_default(),
            )),
            Look::Answer(_) => None,
        }
    }
}

/// `kind:place`.
impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Look::File(_) => "file",
            Look::Presence(_) => "presence",
            Look::Names(_) => "names",
            Look::Answer(_) => "answer",
        };
        write!(f, "{kind}:{}", self.place())
    }
}

impl FromStr for Look {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("file", place)) => Ok(Look::File(place.to_owned())),
            Some(("presence", place)) => Ok(Look::Presence(place.to_owned())),
            Some(("names", place)) => Ok(Look::Names(place.to_owned())),
            Some(("answer", place)) => Ok(Look::Answer(place.to_owned())),
            _ => Err(format!("{text:?} is not a valid external input")),
        }
    }
}

/// Stored form of a path that the expression names `path`.
pub(super) fn kept(base: &Path, path: &str, place: &str) -> String {
    let kept = match path.chars().next() {
        Some('~') if path == "~" || path.starts_with("~/") => return paths::clean(path),
        Some('/') => within(base, place),
        _ => paths::relative(&base.to_string_lossy(), place),
    };
    // A relative name that would be read as the home directory.
    match kept.starts_with('~') {
        true => format!("./{kept}"),
        false => kept,
    }
}

/// Path relative to its directory.
fn within(base: &Path, place: &str) -> String {
    // The base itself stays absolute, because an empty path names nothing.
    let inside = Path::new(place)
        .strip_prefix(base)
        .ok()
        .filter(|rest| !rest.as_os_str().is_empty());
    inside.map_or_else(
        || place.to_owned(),
        |rest| rest.to_string_lossy().into_owned(),
    )
}

pub(super) fn of_file(bytes: &std::io::Result<Vec<u8>>) -> String {
    match bytes {
        Ok(bytes) => digest(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => ABSENT.to_owned(),
        Err(_) => UNREADABLE.to_owned(),
    }
}

pub(super) fn of_presence(found: &std::io::Result<std::fs::Metadata>) -> String {
    match found {
        Ok(found) if found.is_file() => FILE.to_owned(),
        Ok(found) if found.is_dir() => DIRECTORY.to_owned(),
        Ok(_) => OTHER.to_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => ABSENT.to_owned(),
        Err(_) => UNREADABLE.to_owned(),
    }
}

/// Digest of the names that match a pattern, stored as `pattern`.
pub(super) fn of_names(base: &Path, pattern: &str, names: &[String]) -> String {
    let named = |name: &String| match pattern.starts_with('/') {
        true => name.clone(),
        false => paths::relative(&base.to_string_lossy(), name),
    };
    let names: Vec<String> = names.iter().map(named).collect();
    // NUL cannot be part of a file name, so different lists give different texts.
    digest(names.join("\0").as_bytes())
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_finds_what_has_changed_and_nothing_else() {
        let dir = tempfile::tempdir().expect("a folder");
        let write =
            |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("a file");
        write("a.txt", "one");
        let looks = [
            Look::File("a.txt".into()),
            Look::Presence("b.txt".into()),
            Look::Names("*.txt".into()),
            Look::File("b.txt".into()),
        ];
        let now = || {
            looks
                .iter()
                .map(|look| look.again(dir.path()).expect("can be looked at"))
                .collect::<Vec<_>>()
        };
        let before = now();
        assert_eq!(before, now());
        write("a.txt", "two");
        let changed = |before: &[String], after: &[String]| {
            before
                .iter()
                .zip(after)
                .map(|(a, b)| a != b)
                .collect::<Vec<_>>()
        };
        let after = now();
        assert_eq!(changed(&before, &after), [true, false, false, false]);
        write("b.txt", "there");
        assert_eq!(changed(&after, &now()), [false, true, true, true]);
        assert!(Look::Answer("f".into()).again(dir.path()).is_none());
    }

    #[test]
    fn places_are_kept_as_they_are_named_wherever_the_folder_lies() {
        let table = [
            ("x/y", "/a/b/x/y", "x/y"),
            ("../c/x", "/a/c/x", "../c/x"),
            ("/a/b/x", "/a/b/x", "x"),
            ("/etc/x", "/etc/x", "/etc/x"),
            ("~/x", "/root/x", "~/x"),
            ("./~/x", "/a/b/~/x", "./~/x"),
        ];
        for (path, place, expected) in table {
            assert_eq!(kept(Path::new("/a/b"), path, place), expected, "{path}");
        }
        // Sibling directories give the same digests.
        let dir = tempfile::tempdir().expect("a folder");
        for name in ["one", "two", "three"] {
            std::fs::create_dir(dir.path().join(name)).expect("a folder");
        }
        std::fs::write(dir.path().join("three/a.txt"), "x").expect("a file");
        for look in [
            Look::File("../three/a.txt".into()),
            Look::Names("../three/*.txt".into()),
        ] {
            let at = |name| look.again(&dir.path().join(name));
            assert_eq!(at("one"), at("two"), "{look}");
            assert_ne!(at("one"), look.again(dir.path()), "{look}");
        }
    }

    #[test]
    fn looks_come_back_from_their_text() {
        for look in [
            Look::File("a:b".into()),
            Look::Presence("/x y".into()),
            Look::Names("**".into()),
            Look::Answer("provider::x::f 0a".into()),
        ] {
            assert_eq!(look.to_string().parse::<Look>(), Ok(look));
        }
        assert!("what:ever".parse::<Look>().is_err());
    }
}

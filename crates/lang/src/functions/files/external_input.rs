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
pub enum ExternalInput {
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
pub struct RecordedInput {
    /// Object read.
    pub input: ExternalInput,
    /// Digest of its content.
    pub digest: String,
    /// True if the path is sensitive.
    pub secret: bool,
}

/// Digest of a missing file.
pub(super) const MISSING_DIGEST: &str = "absent";
/// Digests of existing objects, for [`Look::Presence`].
pub(super) const FILE: &str = "file";
pub(super) const DIRECTORY: &str = "directory";
const OTHER_DIGEST: &str = "other";
/// Digest of an unreadable object.
pub(super) const UNREADABLE: &str = "unreadable";

impl ExternalInput {
    /// Path or pattern, or the name of the function.
    pub fn location(&self) -> &str {
        match self {
            ExternalInput::File(place)
            | ExternalInput::Presence(place)
            | ExternalInput::Names(place)
            | ExternalInput::Answer(place) => place,
        }
    }

    /// Computes the current digest, relative to `base`. `None` if it cannot be read again.
    pub fn current_digest(&self, base: &Path) -> Option<String> {
        match self {
            ExternalInput::File(_) => Some(of_file(&super::bytes(&self.place(base)))),
            ExternalInput::Presence(_) => Some(of_presence(&std::fs::metadata(self.place(base)))),
            ExternalInput::Names(_) => Some(digest(self.names(base).as_bytes())),
            ExternalInput::Answer(_) => None,
        }
    }

    /// Text of a file of at most `max` bytes, or names that match a pattern, whose digest was
    /// `before`. `None` if the content is larger, no text, or another one.
    pub fn current_text(&self, base: &Path, max: u64, before: &str) -> Option<String> {
        let text = match self {
            ExternalInput::File(_) => {
                let bytes = fsroot::read_at_most(self.place(base), max).ok()?;
                String::from_utf8(bytes).ok()?
            }
            ExternalInput::Names(_) => self.names(base),
            ExternalInput::Presence(_) | ExternalInput::Answer(_) => return None,
        };
        let fits = text.len() as u64 <= max && digest(text.as_bytes()) == before;
        fits.then_some(text)
    }

    fn place(&self, base: &Path) -> String {
        let place = self.location();
        match place.strip_prefix('~') {
            Some(_) => super::expand(place).unwrap_or_else(|_| place.to_owned()),
            None if place.starts_with('/') => place.to_owned(),
            None => paths::join(&base.to_string_lossy(), place),
        }
    }

    fn names(&self, base: &Path) -> String {
        let found = glob::files(&self.place(base), &|| false).unwrap_or_default();
        names_text(base, self.location(), &found)
    }
}

/// `kind:place`.
impl fmt::Display for ExternalInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            ExternalInput::File(_) => "file",
            ExternalInput::Presence(_) => "presence",
            ExternalInput::Names(_) => "names",
            ExternalInput::Answer(_) => "answer",
        };
        write!(f, "{kind}:{}", self.location())
    }
}

impl FromStr for ExternalInput {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("file", place)) => Ok(ExternalInput::File(place.to_owned())),
            Some(("presence", place)) => Ok(ExternalInput::Presence(place.to_owned())),
            Some(("names", place)) => Ok(ExternalInput::Names(place.to_owned())),
            Some(("answer", place)) => Ok(ExternalInput::Answer(place.to_owned())),
            _ => Err(format!("{text:?} is not a valid external input")),
        }
    }
}

/// Stored form of a path that the expression names `path`.
pub(super) fn stored_path(base: &Path, path: &str, place: &str) -> String {
    let kept = match path.chars().next() {
        Some('~') if path == "~" || path.starts_with("~/") => return paths::clean(path),
        Some('/') => relative_path(base, place),
        _ => paths::relative(&base.to_string_lossy(), place),
    };
    // A relative name that would be read as the home directory.
    match kept.starts_with('~') {
        true => format!("./{kept}"),
        false => kept,
    }
}

/// Path relative to its directory.
fn relative_path(base: &Path, place: &str) -> String {
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
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => MISSING_DIGEST.to_owned(),
        Err(_) => UNREADABLE.to_owned(),
    }
}

pub(super) fn of_presence(found: &std::io::Result<std::fs::Metadata>) -> String {
    match found {
        Ok(found) if found.is_file() => FILE.to_owned(),
        Ok(found) if found.is_dir() => DIRECTORY.to_owned(),
        Ok(_) => OTHER_DIGEST.to_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => MISSING_DIGEST.to_owned(),
        Err(_) => UNREADABLE.to_owned(),
    }
}

/// Digest of the names that match a pattern, stored as `pattern`.
pub(super) fn of_names(base: &Path, pattern: &str, names: &[String]) -> String {
    digest(names_text(base, pattern, names).as_bytes())
}

/// Names that match a pattern, stored as `pattern`, as one text.
fn names_text(base: &Path, pattern: &str, names: &[String]) -> String {
    let named = |name: &String| match pattern.starts_with('/') {
        true => name.clone(),
        false => paths::relative(&base.to_string_lossy(), name),
    };
    let names: Vec<String> = names.iter().map(named).collect();
    // NUL cannot be part of a file name, so different lists give different texts.
    names.join("\0")
}

/// Paths of the names in a text of [`names_text`].
pub(super) fn paths_of(base: &Path, pattern: &str, text: &str) -> Vec<String> {
    let names = text.split('\0').filter(|name| !name.is_empty());
    let path = |name: &str| match pattern.starts_with('/') {
        true => name.to_owned(),
        false => paths::join(&base.to_string_lossy(), name),
    };
    names.map(path).collect()
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn external_input_digest_changes_only_when_the_input_changes() {
        let dir = tempfile::tempdir().expect("a folder");
        let write =
            |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("a file");
        write("a.txt", "one");
        let looks = [
            ExternalInput::File("a.txt".into()),
            ExternalInput::Presence("b.txt".into()),
            ExternalInput::Names("*.txt".into()),
            ExternalInput::File("b.txt".into()),
        ];
        let now = || {
            looks
                .iter()
                .map(|look| look.current_digest(dir.path()).expect("can be looked at"))
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
        assert!(
            ExternalInput::Answer("f".into())
                .current_digest(dir.path())
                .is_none()
        );
    }

    #[test]
    fn external_input_paths_do_not_depend_on_the_root_directory() {
        let table = [
            ("x/y", "/a/b/x/y", "x/y"),
            ("../c/x", "/a/c/x", "../c/x"),
            ("/a/b/x", "/a/b/x", "x"),
            ("/etc/x", "/etc/x", "/etc/x"),
            ("~/x", "/root/x", "~/x"),
            ("./~/x", "/a/b/~/x", "./~/x"),
        ];
        for (path, place, expected) in table {
            assert_eq!(
                stored_path(Path::new("/a/b"), path, place),
                expected,
                "{path}"
            );
        }
        // Sibling directories give the same digests.
        let dir = tempfile::tempdir().expect("a folder");
        for name in ["one", "two", "three"] {
            std::fs::create_dir(dir.path().join(name)).expect("a folder");
        }
        std::fs::write(dir.path().join("three/a.txt"), "x").expect("a file");
        for look in [
            ExternalInput::File("../three/a.txt".into()),
            ExternalInput::Names("../three/*.txt".into()),
        ] {
            let at = |name| look.current_digest(&dir.path().join(name));
            assert_eq!(at("one"), at("two"), "{look}");
            assert_ne!(at("one"), look.current_digest(dir.path()), "{look}");
        }
    }

    #[test]
    fn external_inputs_round_trip_through_text() {
        for look in [
            ExternalInput::File("a:b".into()),
            ExternalInput::Presence("/x y".into()),
            ExternalInput::Names("**".into()),
            ExternalInput::Answer("provider::x::f 0a".into()),
        ] {
            assert_eq!(look.to_string().parse::<ExternalInput>(), Ok(look));
        }
        assert!("what:ever".parse::<ExternalInput>().is_err());
    }
}

//! Reads the index of a git repository to find out which files the repository ships.

use std::path::{Path, PathBuf};

/// Returns true if git tracks the file or a link in its path, according to the index of its
/// repository. An unreadable index counts as tracking it.
pub(super) fn is_in_git(file: &Path) -> bool {
    is_tracked(file, has)
}

/// Returns true if git tracks the directory, a file below it, or a link in its path; `None` if the
/// index cannot be read.
pub fn tracks_below(directory: &Path) -> Option<bool> {
    tracks(directory, has_below)
}

fn is_tracked(file: &Path, has: impl Fn(&[u8], &[u8]) -> Option<bool>) -> bool {
    tracks(file, has).unwrap_or(true)
}

fn tracks(file: &Path, has: impl Fn(&[u8], &[u8]) -> Option<bool>) -> Option<bool> {
    let Some((root, index)) = file
        .ancestors()
        .skip(1)
        .find_map(|folder| Some((folder, index_of(folder)?)))
    else {
        return Some(false);
    };
    let Ok(name) = file.strip_prefix(root) else {
        return Some(false);
    };
    match fsroot::read_regular(&index) {
        Ok(index) => has(&index, name.as_os_str().as_encoded_bytes()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Some(false),
        Err(_) => None,
    }
}

/// Returns the index of the repository whose working tree has its root here.
fn index_of(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    let meta = std::fs::metadata(&git).ok()?;
    if meta.is_dir() {
        return Some(git.join("index"));
    }
    // In a linked worktree or a submodule, `.git` is a file with the path of the git directory.
    let text = String::from_utf8(fsroot::read_regular(&git).ok()?).ok()?;
    Some(
        folder
            .join(text.strip_prefix("gitdir:")?.trim())
            .join("index"),
    )
}

/// Returns true if an index of version 2, 3 or 4 contains the name; `None` if it cannot be parsed.
fn has(index: &[u8], wanted: &[u8]) -> Option<bool> {
    // An entry at the position of a directory is a link or a submodule, which covers all paths
    // below.
    search(index, |name| is_below(wanted, name))
}

/// As [`has`], for the name or a name below it.
fn has_below(index: &[u8], wanted: &[u8]) -> Option<bool> {
    search(index, |name| {
        is_below(wanted, name) || is_below(name, wanted)
    })
}

/// Returns true for a name that is `directory`, or below it.
fn is_below(name: &[u8], directory: &[u8]) -> bool {
    let rest = name.strip_prefix(directory);
    rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

/// Searches the names of an index of version 2, 3 or 4; `None` if it cannot be parsed.
fn search(index: &[u8], matches: impl Fn(&[u8]) -> bool) -> Option<bool> {
    // The index does not say if its repository has SHA-1 or SHA-256. Only the right length of a
    // hash leads to its end.
    const HASHES: [usize; 2] = [20, 32];
    HASHES
        .iter()
        .find_map(|hash| search_with(*hash, index, &matches))
}

/// Searches an index whose hashes have this length in bytes.
fn search_with(hash: usize, index: &[u8], matches: impl Fn(&[u8]) -> bool) -> Option<bool> {
    let stat_and_hash = 40 + hash;
    let mut is_found = false;
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let version = number(4)?;
    if index.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let (mut at, mut name) = (12, Vec::new());
    for _ in 0..number(8)? {
        let begin = at;
        let extended = index.get(begin + stat_and_hash)? & 0x40 != 0;
        at = begin + stat_and_hash + if extended { 4 } else { 2 };
        let kept = if version == 4 {
            name.len().checked_sub(offset(index, &mut at)?)?
        } else {
            0
        };
        let end = at + index.get(at..)?.iter().position(|b| *b == 0)?;
        name.truncate(kept);
        name.extend_from_slice(&index[at..end]);
        is_found |= matches(&name);
        // Version 4 compresses names against the previous one; earlier versions pad entries to 8
        // bytes.
        at = if version == 4 {
            end + 1
        } else {
            begin + (end - begin + 8) / 8 * 8
        };
    }
    // Extensions, and a checksum of the same length as the hashes.
    while index.len().checked_sub(at)? > hash {
        // With a split index, the other names are in a shared index file.
        if index.get(at..at + 4)? == b"link" {
            return is_found.then_some(true);
        }
        at = (at + 8).checked_add(usize::try_from(number(at + 4)?).ok()?)?;
    }
    (index.len() - at == hash).then_some(is_found)
}

/// Reads a variable-width number of the index: seven bits per byte, plus one for each continuation.
fn offset(index: &[u8], at: &mut usize) -> Option<usize> {
    let mut next = || {
        *at += 1;
        index.get(*at - 1).copied()
    };
    let mut byte = next()?;
    let mut number = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = next()?;
        number = number.checked_add(1)?.checked_mul(128)? + usize::from(byte & 0x7f);
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn git(folder: &Path, words: &[&str]) {
        let run = Command::new("git")
            .args(words)
            .current_dir(folder)
            .env("HOME", folder)
            .output()
            .expect("git runs");
        assert!(run.status.success(), "{words:?}: {run:?}");
    }

    #[test]
    fn index_with_longer_hashes_is_read_and_a_split_one_is_not() {
        let folder = tempfile::tempdir().expect("folder");
        let root = folder.path().canonicalize().expect("a place");
        git(&root, &["init", "-q", "--object-format=sha256"]);
        for name in ["a/x", "b"] {
            std::fs::create_dir_all(root.join(name).parent().expect("a folder")).expect("made");
            std::fs::write(root.join(name), name).expect("written");
        }
        git(&root, &["add", "a"]);
        for version in ["2", "3", "4"] {
            git(&root, &["update-index", "--index-version", version]);
            let below = |name: &str| tracks_below(&root.join(name));
            assert_eq!((below("a"), below("b")), (Some(true), Some(false)));
        }
        git(&root, &["update-index", "--split-index"]);
        assert_eq!(tracks_below(&root.join("b")), None);
        assert!(is_in_git(&root.join("b")));
    }

    #[test]
    fn git_index_is_read_in_each_version() {
        let folder = tempfile::tempdir().expect("folder");
        let root = folder.path().canonicalize().expect("a place");
        assert!(!is_in_git(&root.join("a/x")), "there is no repository");
        git(&root, &["init", "-q"]);
        assert!(!is_in_git(&root.join("a/x")), "nothing is added");
        for name in ["a/x", "a/xy", "a/b/long-name-of-a-file", "b", "c/d"] {
            std::fs::create_dir_all(root.join(name).parent().expect("a folder")).expect("made");
            std::fs::write(root.join(name), name).expect("written");
        }
        git(&root, &["add", "a/x", "a/b", "c"]);
        for version in ["2", "3", "4"] {
            git(&root, &["update-index", "--index-version", version]);
            let has = |name: &str| is_in_git(&root.join(name));
            assert!(
                has("a/x") && has("a/b/long-name-of-a-file") && has("c/d"),
                "version {version}"
            );
            assert!(!has("a/xy") && !has("b") && !has("a"), "version {version}");
            let below = |name: &str| tracks_below(&root.join(name)) == Some(true);
            assert!(
                below("a") && below("a/b") && below("a/x"),
                "version {version}"
            );
            assert!(!below("b") && !below("a/xy"), "version {version}");
        }
        std::os::unix::fs::symlink("/tmp", root.join("link")).expect("linked");
        git(&root, &["add", "link"]);
        assert!(is_in_git(&root.join("link/some/file")), "behind a link");
        assert!(!is_in_git(&root.join("linked/file")));
        std::fs::write(root.join(".git/index"), "DIRC damaged").expect("written");
        assert!(
            is_in_git(&root.join("b")),
            "an unreadable index counts every file as the clone's"
        );
    }
}

//! Index of a git repository, read to find out which files the repository brings.

use std::path::{Path, PathBuf};

/// Whether git has the file, or a link on the way to it, by the index of the repository that it
/// lies in; where that cannot be read, it has.
pub(super) fn is_in_git(file: &Path) -> bool {
    let Some((root, index)) = file
        .ancestors()
        .skip(1)
        .find_map(|folder| Some((folder, index_of(folder)?)))
    else {
        return false;
    };
    let Ok(name) = file.strip_prefix(root) else {
        return false;
    };
    match fsroot::read_regular(&index) {
        Ok(index) => has(&index, name.as_os_str().as_encoded_bytes()).unwrap_or(true),
        Err(e) => e.kind() != std::io::ErrorKind::NotFound,
    }
}

/// The index of the repository whose working tree begins here.
fn index_of(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    let meta = std::fs::metadata(&git).ok()?;
    if meta.is_dir() {
        return Some(git.join("index"));
    }
    let text = String::from_utf8(fsroot::read_regular(&git).ok()?).ok()?;
    Some(
        folder
            .join(text.strip_prefix("gitdir:")?.trim())
            .join("index"),
    )
}

/// Whether an index (of version 2, 3 or 4) has this name; `None` where it is none that can be read.
fn has(index: &[u8], wanted: &[u8]) -> Option<bool> {
    const STAT_AND_HASH: usize = 60;
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let version = number(4)?;
    if index.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let (mut at, mut name) = (12, Vec::new());
    for _ in 0..number(8)? {
        let begin = at;
        let extended = index.get(begin + STAT_AND_HASH)? & 0x40 != 0;
        at = begin + STAT_AND_HASH + if extended { 4 } else { 2 };
        let kept = if version == 4 {
            name.len().checked_sub(offset(index, &mut at)?)?
        } else {
            0
        };
        let end = at + index.get(at..)?.iter().position(|b| *b == 0)?;
        name.truncate(kept);
        name.extend_from_slice(&index[at..end]);
        // What git has in the place of a directory is a link, or a repository of its own.
        let rest = wanted.strip_prefix(&name[..]);
        if rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/') {
            return Some(true);
        }
        at = if version == 4 {
            end + 1
        } else {
            begin + (end - begin + 8) / 8 * 8
        };
    }
    // A shared index has the rest of the names.
    if index.get(at..at + 4)? == b"link" {
        None
    } else {
        Some(false)
    }
}

/// A number as the index writes it: seven bits a byte, each continued one counted up.
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
    fn git_is_asked_by_its_index_in_every_version_of_it() {
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
        }
        std::os::unix::fs::symlink("/tmp", root.join("link")).expect("linked");
        git(&root, &["add", "link"]);
        assert!(is_in_git(&root.join("link/some/file")), "behind a link");
        assert!(!is_in_git(&root.join("linked/file")));
        std::fs::write(root.join(".git/index"), "DIRC damaged").expect("written");
        assert!(
            is_in_git(&root.join("b")),
            "what cannot be read is taken for the clone's"
        );
    }
}

//! Checks symbolic links in packages. None may lead out of the package, or a module could read
//! files of this machine.

use crate::error::FetchError;
use std::path::{Component, Path, PathBuf};

/// Maximum number of entries in a package.
const MAX_ENTRIES: usize = 200_000;

/// Checks all links of an unpacked package. Blocking.
///
/// # Errors
/// A link leads out of the package, or the package cannot be read.
pub(crate) fn check(package: &Path, name: &str) -> Result<(), FetchError> {
    let refused = |why: String| FetchError::Package {
        name: name.to_owned(),
        why,
    };
    let root = package.canonicalize().map_err(FetchError::file(package))?;
    let mut folders = vec![root.clone()];
    let mut entries = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(FetchError::file(&folder))? {
            let path = entry.map_err(FetchError::file(&folder))?.path();
            entries += 1;
            if entries > MAX_ENTRIES {
                return Err(refused(format!("it has more than {MAX_ENTRIES} files")));
            }
            let kind = std::fs::symlink_metadata(&path).map_err(FetchError::file(&path))?;
            // Links are not entered, so cycles of links cannot keep this loop busy.
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_symlink() && !is_within_package(&path, &root) {
                let link = path.strip_prefix(&root).unwrap_or(&path).display();
                return Err(refused(format!(
                    "the link \"{link}\" leads out of the package"
                )));
            }
        }
    }
    Ok(())
}

/// Returns true if a link's target is inside the package, even if it does not exist.
fn is_within_package(link: &Path, root: &Path) -> bool {
    // An existing target is resolved with all links on its path.
    if let Ok(real) = link.canonicalize() {
        return real.starts_with(root);
    }
    let Ok(target) = std::fs::read_link(link) else {
        return false;
    };
    let mut at: PathBuf = link.parent().unwrap_or(root).to_owned();
    for part in target.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(part) => at.push(part),
            // Going above the root of the package is rejected.
            Component::ParentDir if at != root => drop(at.pop()),
            _ => return false,
        }
    }
    // Existing parent directories may themselves be links that lead out.
    let there = at.ancestors().find_map(|part| part.canonicalize().ok());
    there.is_some_and(|there| there.starts_with(root))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_accepted_only_within_the_package() {
        for (at, target, stays) in [
            ("a/link", "file", true),
            ("a/link", "../b/../a/file", true),
            ("a/link", "not-there", true),
            ("a/link", "../not/there", true),
            ("link", "a", true),
            ("a/link", "/etc/passwd", false),
            ("a/link", "/not/there", false),
            ("a/link", "../../outside", false),
            ("a/link", "../../package/a/file", true),
            ("a/link", "../../not-there", false),
            ("a/link", "out/x", false),
            ("a/link", "link", true),
        ] {
            let dir = tempfile::tempdir().expect("a directory");
            let package = dir.path().join("package");
            for folder in ["a", "b", ".git"] {
                std::fs::create_dir_all(package.join(folder)).expect("made");
            }
            std::fs::write(dir.path().join("outside"), "").expect("written");
            std::fs::write(package.join("a/file"), "").expect("written");
            if target == "out/x" {
                symlink("/etc", package.join("a/out")).expect("a link");
            }
            symlink(target, package.join(at)).expect("a link");
            let checked = check(&package, "m");
            assert_eq!(checked.is_ok(), stays, "{at} -> {target}: {checked:?}");
            if let Err(error) = checked {
                assert!(
                    error.to_string().contains("leads out of the package"),
                    "{error}"
                );
            }
        }
    }
}

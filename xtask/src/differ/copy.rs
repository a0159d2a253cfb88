//! Temporary copy of a configuration, so that a program may write to it.

use std::path::Path;

use color_eyre::eyre::Result;

/// Copy of a tree without files that the programs leave behind.
pub struct Copy(tempfile::TempDir);

impl Copy {
    pub fn of(tree: &Path) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        copy(tree, dir.path())?;
        Ok(Self(dir))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    const LEFT: [&str; 4] = [".git", ".terraform", ".terraform.lock.hcl", ".flightdeck"];
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        match () {
            // State of an earlier run would change the result.
            () if LEFT.iter().any(|l| entry.file_name() == *l) => {}
            () if kind.is_dir() => {
                std::fs::create_dir(&target)?;
                copy(&entry.path(), &target)?;
            }
            // Links stay links, because their targets may be part of the copy.
            () if kind.is_symlink() => {
                std::os::unix::fs::symlink(std::fs::read_link(entry.path())?, &target)?
            }
            () if kind.is_file() => drop(std::fs::copy(entry.path(), &target)?),
            () => {}
        }
    }
    Ok(())
}

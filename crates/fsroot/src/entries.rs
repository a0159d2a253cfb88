//! Operations on entries of open directories: atomic creation of files, removal of trees.

use crate::refusal::Kind;
use crate::walk::{Dir, Missing};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;

/// Maximum nesting of directories that are removed.
const MAX_DEPTH: usize = 256;

/// Removes a directory relative to open handles, so that an entry that is replaced by a link
/// meanwhile is not followed.
pub(crate) fn remove_tree(dir: &Dir, name: &OsStr, depth: usize) -> io::Result<()> {
    if depth > MAX_DEPTH {
        let why = format!("directories are nested deeper than {MAX_DEPTH} levels");
        return Err(io::Error::other(why));
    }
    let inner = dir.child(name, Missing::Fail)?;
    for entry in rustix::fs::Dir::read_from(&inner.fd)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        match inner.stat(name)? {
            Some(found) if Kind::of(found.st_mode) == Kind::Directory => {
                remove_tree(&inner, name, depth + 1)?;
            }
            Some(_) => rustix::fs::unlinkat(&inner.fd, name, AtFlags::empty())?,
            // Another process may have removed it.
            None => {}
        }
    }
    Ok(rustix::fs::unlinkat(&dir.fd, name, AtFlags::REMOVEDIR)?)
}

pub(crate) fn temporary(name: &OsStr) -> OsString {
    let mut new = OsString::from(".");
    new.push(name);
    new.push(format!(".{}.new", uuid::Uuid::new_v4().simple()));
    new
}

pub(crate) fn write_new(dir: &Dir, new: &OsStr, text: &[u8], mode: u32) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
    // Private until it is complete; the final mode is set after the contents.
    let mut file = File::from(dir.open(new, flags, 0o600)?);
    file.write_all(text)?;
    rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
    file.sync_all()?;
    Ok(file)
}

/// Renames a file to `name` unless that name is taken. Returns true if the name was free.
pub(crate) fn rename_if_free(dir: &Dir, new: &OsStr, name: &OsStr) -> io::Result<bool> {
    let flags = RenameFlags::NOREPLACE;
    match rustix::fs::renameat_with(&dir.fd, new, &dir.fd, name, flags) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        // Not every file system supports `RENAME_NOREPLACE`; a hard link fails for an existing name
        // as well.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            match rustix::fs::linkat(&dir.fd, new, &dir.fd, name, AtFlags::empty()) {
                Ok(()) => {
                    rustix::fs::unlinkat(&dir.fd, new, AtFlags::empty())?;
                    Ok(true)
                }
                Err(Errno::EXIST) => Ok(false),
                Err(e) => Err(e.into()),
            }
        }
        Err(e) => Err(e.into()),
    }
}

//! A path below a root directory, and what is done there.

use crate::entries::{give_name, remove_tree, temporary, write_new};
use crate::read;
use crate::refusal::{Kind, Refusal};
use crate::walk::{Dir, Missing};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

/// A path below a root directory. The root is opened by following links, since an operator has
/// named it; below it no component may be a link, and directories and files that are written must
/// belong to this user, to root or to the owner of the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Below {
    root: PathBuf,
    inner: PathBuf,
    strict: bool,
}

impl Below {
    /// A path that is relative to `root`.
    pub fn new(root: impl Into<PathBuf>, inner: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            inner: inner.into(),
            strict: true,
        }
    }

    /// A path in a directory of an operator's, which is part of no clone: links on the way are
    /// followed, and owners and other names of files do not matter.
    pub fn trusted(root: impl Into<PathBuf>, inner: impl Into<PathBuf>) -> Self {
        Self {
            strict: false,
            ..Self::new(root, inner)
        }
    }

    /// A path as it is named in a workspace, relative or absolute. Where it does not lie below the
    /// workspace it is part of no clone, and used as [`Self::trusted`] does; a link with its name
    /// is followed, too.
    #[must_use]
    pub fn named(workspace: &Path, path: &Path) -> Self {
        let whole = cleaned(&workspace.join(path));
        let from = cleaned(workspace);
        if let Ok(inner) = whole.strip_prefix(&from) {
            return Self::new(workspace, inner);
        }
        let whole = resolved(whole);
        let name = whole.file_name().unwrap_or_default();
        Self::trusted(whole.parent().unwrap_or(&whole), name)
    }

    /// The same root, one step down.
    #[must_use]
    pub fn join(&self, name: impl AsRef<Path>) -> Self {
        Self {
            inner: self.inner.join(name),
            ..self.clone()
        }
    }

    /// A path beside this one.
    #[must_use]
    pub fn beside(&self, name: impl AsRef<OsStr>) -> Self {
        Self {
            inner: self.inner.with_file_name(name.as_ref()),
            ..self.clone()
        }
    }

    /// The path as a whole, for operators and for programs that take nothing else.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.root.join(&self.inner)
    }

    /// The last component.
    #[must_use]
    pub fn name(&self) -> OsString {
        self.inner.file_name().unwrap_or_default().to_owned()
    }

    fn parent(&self, missing: Missing) -> io::Result<Dir> {
        let inner = self.inner.parent().unwrap_or(Path::new(""));
        Dir::below(&self.root, inner, self.strict, missing)
    }

    fn dir(&self, missing: Missing) -> io::Result<Dir> {
        Dir::below(&self.root, &self.inner, self.strict, missing)
    }

    /// Creates the directory and all that is missing on the way to it.
    ///
    /// # Errors
    /// A component is a link or not a directory, belongs to a stranger, or cannot be created.
    pub fn create_dirs(&self) -> io::Result<()> {
        self.dir(Missing::Create).map(drop)
    }

    /// The same for the directory that this path lies in.
    ///
    /// # Errors
    /// As [`Self::create_dirs`].
    pub fn create_parents(&self) -> io::Result<()> {
        self.parent(Missing::Create).map(drop)
    }

    /// Checks that no directory on the way is a link; missing ones are fine.
    ///
    /// # Errors
    /// One is a link or not a directory, or belongs to a stranger.
    pub fn check_dirs(&self) -> io::Result<()> {
        match self.dir(Missing::Fail) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            opened => opened.map(drop),
        }
    }

    /// Checks that the file may be written in place: it is missing, or a regular file of this user
    /// with one name.
    ///
    /// # Errors
    /// It may not, or cannot be looked at.
    pub fn check_file(&self) -> io::Result<()> {
        let dir = match self.parent(Missing::Fail) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        match dir.stat(&self.name())? {
            Some(found) => dir.writable(&self.name(), &found),
            None => Ok(()),
        }
    }

    /// Opens the file for reading and writing in place; `None` where there is none.
    ///
    /// # Errors
    /// It is not a regular file of this user with one name, or cannot be opened.
    pub fn open_in_place(&self) -> io::Result<Option<File>> {
        let (dir, name) = match self.parent(Missing::Fail) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => (opened?, self.name()),
        };
        // Opening a device can have effects of its own, so its type is checked before, too.
        let Some(found) = dir.stat(&name)? else {
            return Ok(None);
        };
        dir.writable(&name, &found)?;
        let fd = dir.open(&name, OFlags::RDWR, 0)?;
        dir.writable(&name, &rustix::fs::fstat(&fd)?)?;
        Ok(Some(fd.into()))
    }

    /// Creates a file that must not be there yet, with the directories on the way.
    ///
    /// # Errors
    /// It is there, or cannot be created.
    pub fn create_new(&self, mode: u32) -> io::Result<File> {
        let dir = self.parent(Missing::Create)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        Ok(dir.open(&self.name(), flags, mode)?.into())
    }

    /// Opens a file for reading and writing, and creates it where there is none.
    ///
    /// # Errors
    /// As [`Self::open_in_place`] and [`Self::create_new`].
    pub fn open_or_create(&self, mode: u32) -> io::Result<File> {
        // Two rounds: somebody may create or remove it in between.
        for _ in 0..2 {
            if let Some(file) = self.open_in_place()? {
                return Ok(file);
            }
            match self.create_new(mode) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created,
            }
        }
        Err(io::Error::other("it is created and removed all the time"))
    }

    /// Opens the file for reading. Its owner and its other names do not matter.
    ///
    /// # Errors
    /// It is a link or not a regular file, or cannot be opened.
    pub fn open(&self) -> io::Result<File> {
        let (dir, name) = (self.parent(Missing::Fail)?, self.name());
        let found = dir.stat(&name)?.ok_or(Errno::NOENT)?;
        let regular = |found: &rustix::fs::Stat| match Kind::of(found.st_mode) {
            Kind::RegularFile => Ok(()),
            kind => Err(Refusal::wrong_type(&self.path(), kind, Kind::RegularFile)),
        };
        regular(&found)?;
        let fd = dir.open(&name, OFlags::RDONLY, 0)?;
        regular(&rustix::fs::fstat(&fd)?)?;
        Ok(fd.into())
    }

    /// Reads the file, with the bound of [`crate::read_regular`].
    ///
    /// # Errors
    /// As [`Self::open`], or it is too large.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        read::whole(self.open()?, read::MAX_FILE)
    }

    /// Puts a text in the place of the file, whole or not at all; whatever has the name loses it: a
    /// link is replaced, not followed. Missing directories are created.
    ///
    /// # Errors
    /// It cannot be written, or there is a directory of that name.
    pub fn replace(&self, text: &[u8], mode: u32) -> io::Result<()> {
        let dir = self.parent(Missing::Create)?;
        let new = temporary(&self.name());
        let written = write_new(&dir, &new, text, mode).and_then(|_| {
            rustix::fs::renameat(&dir.fd, &new, &dir.fd, self.name())?;
            dir.sync()
        });
        if written.is_err() {
            let _gone = rustix::fs::unlinkat(&dir.fd, &new, AtFlags::empty());
        }
        written
    }

    /// Creates the file with a text, so that it never is there without: the open file, or `None`
    /// where another one came first. `prepare` is called before the file gets its name.
    ///
    /// # Errors
    /// It cannot be written, or `prepare` fails.
    pub fn create_whole(
        &self,
        text: &[u8],
        mode: u32,
        prepare: impl FnOnce(&File) -> io::Result<()>,
    ) -> io::Result<Option<File>> {
        let (dir, name) = (self.parent(Missing::Create)?, self.name());
        let new = temporary(&name);
        let named = write_new(&dir, &new, text, mode).and_then(|file| {
            prepare(&file)?;
            let named = give_name(&dir, &new, &name)?;
            dir.sync()?;
            Ok(named.then_some(file))
        });
        if !matches!(named, Ok(Some(_))) {
            let _gone = rustix::fs::unlinkat(&dir.fd, &new, AtFlags::empty());
        }
        named
    }

    /// Creates a link with this name, in the place of whatever has it.
    ///
    /// # Errors
    /// What is there cannot be removed, or the link cannot be created.
    pub fn replace_by_link(&self, target: &Path) -> io::Result<()> {
        self.remove_all()?;
        let dir = self.parent(Missing::Create)?;
        Ok(rustix::fs::symlinkat(target, &dir.fd, self.name())?)
    }

    /// Removes a file or a link, not what it leads to; nothing happens where there is none.
    ///
    /// # Errors
    /// It is a directory, or cannot be removed.
    pub fn remove_file(&self) -> io::Result<()> {
        let dir = match self.parent(Missing::Fail) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        match rustix::fs::unlinkat(&dir.fd, self.name(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Removes whatever has this name: a directory with all that is in it, a link but not what it
    /// leads to. Nothing happens where there is nothing.
    ///
    /// # Errors
    /// It cannot be removed, or a directory on the way is a link.
    pub fn remove_all(&self) -> io::Result<()> {
        let dir = match self.parent(Missing::Fail) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        match dir.stat(&self.name())? {
            Some(found) if Kind::of(found.st_mode) == Kind::Directory => {
                remove_tree(&dir, &self.name(), 0)
            }
            Some(_) => Ok(rustix::fs::unlinkat(
                &dir.fd,
                self.name(),
                AtFlags::empty(),
            )?),
            None => Ok(()),
        }
    }

    /// Changes the permissions of the file or directory itself.
    ///
    /// # Errors
    /// It is neither, or they cannot be changed.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        let (dir, name) = (self.parent(Missing::Fail)?, self.name());
        let found = dir.stat(&name)?.ok_or(Errno::NOENT)?;
        match Kind::of(found.st_mode) {
            Kind::Directory => {}
            _ => dir.writable(&name, &found)?,
        }
        let fd = dir.open(&name, OFlags::RDONLY, 0)?;
        Ok(rustix::fs::fchmod(&fd, Mode::from_raw_mode(mode))?)
    }
}

/// Whether an open file is the one that a path leads to.
#[must_use]
pub fn is_same_file(file: &File, path: &Path) -> bool {
    let (Ok(ours), Ok(there)) = (file.metadata(), std::fs::metadata(path)) else {
        return false;
    };
    (ours.dev(), ours.ino()) == (there.dev(), there.ino())
}

/// A directory that an operator named.
impl<P: AsRef<Path> + ?Sized> From<&P> for Below {
    fn from(root: &P) -> Self {
        Self::new(root.as_ref(), "")
    }
}

/// Links that are followed one after the other, as the system has it.
const MAX_LINKS: usize = 40;

/// Follows links in the place of the last component, dangling ones too.
fn resolved(mut path: PathBuf) -> PathBuf {
    for _ in 0..MAX_LINKS {
        let Ok(target) = std::fs::read_link(&path) else {
            break;
        };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

/// A path without `.` and with `..` taken back, by its text alone.
fn cleaned(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                let up = out.components().next_back();
                match up {
                    Some(Component::Normal(_)) => drop(out.pop()),
                    Some(Component::RootDir) => {}
                    _ => out.push(".."),
                }
            }
            part => out.push(part),
        }
    }
    out
}

//! Paths below a root directory, and operations on them.

use crate::entries::{remove_tree, rename_if_free, temporary, write_new};
use crate::read;
use crate::refusal::{Kind, Refusal};
use crate::walk::{Dir, Missing};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

/// Path below a root directory. Links in the path of the root are followed, because an operator
/// named it. Below the root no component may be a link. Directories and written files must belong
/// to this user, to root or to the owner of the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootedPath {
    root: PathBuf,
    inner: PathBuf,
    strict: bool,
}

impl RootedPath {
    /// Creates a path relative to `root`.
    pub fn new(root: impl Into<PathBuf>, inner: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            inner: inner.into(),
            strict: true,
        }
    }

    /// Creates a path in a trusted directory that is not part of a clone. Links on the way are
    /// followed; owners and hard links of files are not checked.
    pub fn trusted(root: impl Into<PathBuf>, inner: impl Into<PathBuf>) -> Self {
        Self {
            strict: false,
            ..Self::new(root, inner)
        }
    }

    /// Creates a path that a workspace names, relative or absolute. A path outside of the workspace
    /// and of the repositories around it is not part of the clone and is treated as by
    /// [`Self::trusted`]; a link of that name is followed as well.
    #[must_use]
    pub fn from_workspace(workspace: &Path, path: &Path) -> Self {
        let whole = normalize(&workspace.join(path));
        let from = normalize(workspace);
        // Every relative path begins with the empty one, which is the current directory.
        if let Ok(inner) = whole.strip_prefix(&from)
            && !inner.starts_with("..")
        {
            return Self::new(workspace, inner);
        }
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let absolute = workspace.canonicalize().unwrap_or_default().join(path);
        let absolute = normalize(&absolute);
        for root in roots(workspace, home.as_deref()) {
            if let Ok(inner) = absolute.strip_prefix(&root) {
                return Self::new(&root, inner);
            }
        }
        let whole = resolved(whole);
        let name = whole.file_name().unwrap_or_default();
        Self::trusted(whole.parent().unwrap_or(&whole), name)
    }

    /// Returns a path one level below this one.
    #[must_use]
    pub fn join(&self, name: impl AsRef<Path>) -> Self {
        Self {
            inner: self.inner.join(name),
            ..self.clone()
        }
    }

    /// Returns a path in the same directory.
    #[must_use]
    pub fn sibling(&self, name: impl AsRef<OsStr>) -> Self {
        Self {
            inner: self.inner.with_file_name(name.as_ref()),
            ..self.clone()
        }
    }

    /// Returns the full path, for messages and for programs that accept only paths.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.root.join(&self.inner)
    }

    /// Returns the last component.
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

    /// Creates the directory and its missing parents.
    ///
    /// # Errors
    /// A component is a link or not a directory, belongs to another user, or cannot be created.
    pub fn create_dirs(&self) -> io::Result<()> {
        self.dir(Missing::Create).map(drop)
    }

    /// Creates the parent directory of this path, with its missing parents.
    ///
    /// # Errors
    /// As [`Self::create_dirs`].
    pub fn create_parents(&self) -> io::Result<()> {
        self.parent(Missing::Create).map(drop)
    }

    /// Checks that no directory on the way is a link. Missing directories are allowed.
    ///
    /// # Errors
    /// A directory is a link or not a directory, or belongs to another user.
    pub fn check_dirs(&self) -> io::Result<()> {
        match self.dir(Missing::Fail) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            opened => opened.map(drop),
        }
    }

    /// Checks that the file can be written in place: it is missing, or a regular file of an
    /// accepted owner without other hard links.
    ///
    /// # Errors
    /// It cannot be written in place, or cannot be examined.
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

    /// Opens the file for reading and writing in place; `None` if it does not exist.
    ///
    /// # Errors
    /// It is not a regular file of an accepted owner without other hard links, or cannot be opened.
    pub fn open_in_place(&self) -> io::Result<Option<File>> {
        let (dir, name) = match self.parent(Missing::Fail) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => (opened?, self.name()),
        };
        // The type is checked before as well, because opening a device can have side effects.
        let Some(found) = dir.stat(&name)? else {
            return Ok(None);
        };
        dir.writable(&name, &found)?;
        let fd = dir.open(&name, OFlags::RDWR, 0)?;
        // The entry may have changed since the first check; this one examines the opened file.
        dir.writable(&name, &rustix::fs::fstat(&fd)?)?;
        Ok(Some(fd.into()))
    }

    /// Creates a new file, with its missing parent directories.
    ///
    /// # Errors
    /// The file exists, or cannot be created.
    pub fn create_new(&self, mode: u32) -> io::Result<File> {
        let dir = self.parent(Missing::Create)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        Ok(dir.open(&self.name(), flags, mode)?.into())
    }

    /// Opens a file for reading and writing, and creates it if it does not exist.
    ///
    /// # Errors
    /// As [`Self::open_in_place`] and [`Self::create_new`].
    pub fn open_or_create(&self, mode: u32) -> io::Result<File> {
        // Two attempts: another process may create or remove the file between the two calls.
        for _ in 0..2 {
            if let Some(file) = self.open_in_place()? {
                return Ok(file);
            }
            match self.create_new(mode) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created,
            }
        }
        Err(io::Error::other(
            "other programs keep creating and removing it",
        ))
    }

    /// Opens the file for reading. Its owner and hard links are not checked.
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

    /// Reads the file, with the size limit of [`crate::read_regular`].
    ///
    /// # Errors
    /// As [`Self::open`], or the file is too large.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        read::read_limited(self.open()?, read::MAX_FILE)
    }

    /// Replaces the file atomically. An entry of any other kind loses the name: a link is replaced,
    /// not followed. Missing parent directories are created.
    ///
    /// # Errors
    /// It cannot be written, or a directory has this name.
    pub fn replace(&self, text: &[u8], mode: u32) -> io::Result<()> {
        let dir = self.parent(Missing::Create)?;
        let new = temporary(&self.name());
        let written = write_new(&dir, &new, text, mode).and_then(|_| {
            rustix::fs::renameat(&dir.fd, &new, &dir.fd, self.name())?;
            // Without the sync of the directory, the old name could return after a crash.
            dir.sync()
        });
        if written.is_err() {
            let _gone = rustix::fs::unlinkat(&dir.fd, &new, AtFlags::empty());
        }
        written
    }

    /// The same for a file that several users share: an existing file keeps its permissions, and
    /// its owner and group as far as this process may give them. A new one gets `mode`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn replace_shared(&self, text: &[u8], mode: u32) -> io::Result<()> {
        let dir = self.parent(Missing::Create)?;
        let existing = dir.stat(&self.name())?;
        let is_file = |found: &Stat| Kind::of(found.st_mode) == Kind::RegularFile;
        let Some(existing) = existing.filter(is_file) else {
            return self.replace(text, mode);
        };
        let new = temporary(&self.name());
        let mode = existing.st_mode & 0o777;
        let written = write_new(&dir, &new, text, mode).and_then(|file| {
            let owner = Some(Uid::from_raw(existing.st_uid));
            let group = Some(Gid::from_raw(existing.st_gid));
            // Only root may give a file away; a member of the group may at least keep the group.
            let _kept = rustix::fs::fchown(&file, owner, group)
                .or_else(|_| rustix::fs::fchown(&file, None, group));
            rustix::fs::renameat(&dir.fd, &new, &dir.fd, self.name())?;
            dir.sync()
        });
        if written.is_err() {
            let _gone = rustix::fs::unlinkat(&dir.fd, &new, AtFlags::empty());
        }
        written
    }

    /// Creates the file atomically with its contents. Returns the open file, or `None` if another
    /// one exists. `prepare` is called before the file gets its name.
    ///
    /// # Errors
    /// It cannot be written, or `prepare` fails.
    pub fn create_atomic(
        &self,
        text: &[u8],
        mode: u32,
        prepare: impl FnOnce(&File) -> io::Result<()>,
    ) -> io::Result<Option<File>> {
        let (dir, name) = (self.parent(Missing::Create)?, self.name());
        let new = temporary(&name);
        let named = write_new(&dir, &new, text, mode).and_then(|file| {
            // For example, the caller locks the file before other processes can see it.
            prepare(&file)?;
            let named = rename_if_free(&dir, &new, &name)?;
            dir.sync()?;
            Ok(named.then_some(file))
        });
        if !matches!(named, Ok(Some(_))) {
            let _gone = rustix::fs::unlinkat(&dir.fd, &new, AtFlags::empty());
        }
        named
    }

    /// Creates a symbolic link, and replaces an existing entry of this name.
    ///
    /// # Errors
    /// The existing entry cannot be removed, or the link cannot be created.
    pub fn replace_by_link(&self, target: &Path) -> io::Result<()> {
        self.remove_all()?;
        let dir = self.parent(Missing::Create)?;
        Ok(rustix::fs::symlinkat(target, &dir.fd, self.name())?)
    }

    /// Removes a file or a link, but not the target of a link. A missing file is no error.
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

    /// Removes the entry of this name: a directory with its contents, or a link without its target.
    /// A missing entry is no error.
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
    /// It is neither, or the permissions cannot be changed.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        let (dir, name) = (self.parent(Missing::Fail)?, self.name());
        let found = dir.stat(&name)?.ok_or(Errno::NOENT)?;
        // Hard links of directories do not exist, so only files need the check.
        match Kind::of(found.st_mode) {
            Kind::Directory => {}
            _ => dir.writable(&name, &found)?,
        }
        let fd = dir.open(&name, OFlags::RDONLY, 0)?;
        Ok(rustix::fs::fchmod(&fd, Mode::from_raw_mode(mode))?)
    }
}

/// Directories whose files belong to a workspace: its own and those of the repositories around it,
/// because a submodule belongs to the repository that contains it. A repository that contains the
/// home directory is the user's own and not a clone.
#[must_use]
pub fn roots(workspace: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let Ok(workspace) = workspace.canonicalize() else {
        return Vec::new();
    };
    let home = home.and_then(|home| home.canonicalize().ok());
    let repositories = workspace
        .ancestors()
        .filter(|dir| dir.join(".git").exists());
    let is_clone = |root: &&Path| !home.as_ref().is_some_and(|home| home.starts_with(root));
    let mut roots: Vec<PathBuf> = repositories.filter(is_clone).map(Path::to_owned).collect();
    roots.push(workspace);
    roots
}

/// Returns true if an open file is the one at a path.
#[must_use]
pub fn is_same_file(file: &File, path: &Path) -> bool {
    let (Ok(ours), Ok(there)) = (file.metadata(), std::fs::metadata(path)) else {
        return false;
    };
    (ours.dev(), ours.ino()) == (there.dev(), there.ino())
}

/// Path of a directory that an operator named.
impl<P: AsRef<Path> + ?Sized> From<&P> for RootedPath {
    fn from(root: &P) -> Self {
        Self::new(root.as_ref(), "")
    }
}

/// Maximum number of links followed in a row, as in the kernel.
const MAX_LINKS: usize = 40;

/// Follows a link at the last component, even if its target does not exist.
fn resolved(mut path: PathBuf) -> PathBuf {
    for _ in 0..MAX_LINKS {
        let Ok(target) = std::fs::read_link(&path) else {
            break;
        };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

/// Removes `.` and resolves `..` in a path lexically.
#[must_use]
pub fn normalize(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                let up = out.components().next_back();
                match up {
                    Some(Component::Normal(_)) => drop(out.pop()),
                    // The parent of the root directory is the root directory.
                    Some(Component::RootDir) => {}
                    _ => out.push(".."),
                }
            }
            part => out.push(part),
        }
    }
    out
}

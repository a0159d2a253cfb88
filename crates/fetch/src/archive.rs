//! Unpacks archives below a directory only: a path or link that leads out of it, or a file behind a
//! link, rejects the whole archive.

use crate::error::FetchError;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{OpenOptionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};

/// Maximum number of files in an archive.
const MAX_FILES: usize = 200_000;
/// Maximum size of all files together, in bytes.
const MAX_BYTES: u64 = 32 << 30;
/// Maximum length of a link's target, in bytes.
const MAX_LINK: u64 = 4096;

/// Archive format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Zip,
    Tar,
    TarGz,
    TarBz2,
    TarXz,
}

impl Kind {
    /// Detects the format from a file name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        const ENDS: [(&str, Kind); 9] = [
            (".zip", Kind::Zip),
            (".tar.gz", Kind::TarGz),
            (".tgz", Kind::TarGz),
            (".tar.bz2", Kind::TarBz2),
            (".tbz2", Kind::TarBz2),
            (".tar.tbz2", Kind::TarBz2),
            (".tar.xz", Kind::TarXz),
            (".txz", Kind::TarXz),
            (".tar", Kind::Tar),
        ];
        let found = ENDS.iter().find(|(end, _)| name.ends_with(end));
        found.map(|(_, kind)| *kind)
    }

    /// Detects the format from the first bytes of a file.
    #[must_use]
    pub fn of_content(head: &[u8]) -> Option<Self> {
        const HEADS: [(&[u8], Kind); 4] = [
            (b"PK\x03\x04", Kind::Zip),
            (b"\x1f\x8b", Kind::TarGz),
            (b"BZh", Kind::TarBz2),
            (b"\xfd7zXZ\0", Kind::TarXz),
        ];
        let found = HEADS.iter().find(|(begin, _)| head.starts_with(begin));
        found.map(|(_, kind)| *kind)
    }
}

/// Unpacks an archive into an existing directory. Blocking. After an error, some files may be in
/// it, but none elsewhere.
///
/// # Errors
/// The archive is damaged, or an entry leads out of the directory.
pub fn unpack(archive: &Path, kind: Kind, into: &Path) -> Result<(), FetchError> {
    let mut to = Target {
        root: into,
        files: 0,
        bytes: 0,
    };
    let mut unpack = || -> io::Result<()> {
        let file = BufReader::new(File::open(archive)?);
        match kind {
            Kind::Zip => zip(file, &mut to),
            Kind::Tar => tar(file, &mut to),
            // Concatenated streams are valid in all of these formats.
            Kind::TarGz => tar(flate2::read::MultiGzDecoder::new(file), &mut to),
            Kind::TarBz2 => tar(bzip2::read::MultiBzDecoder::new(file), &mut to),
            Kind::TarXz => tar(lzma_rust2::XzReader::new(file, true), &mut to),
        }
    };
    unpack().map_err(|e| FetchError::Archive {
        name: archive
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
        why: e.to_string(),
    })
}

fn zip(file: BufReader<File>, to: &mut Target<'_>) -> io::Result<()> {
    let mut archive = zip::ZipArchive::new(file).map_err(io::Error::other)?;
    for at in 0..archive.len() {
        let mut entry = archive.by_index(at).map_err(io::Error::other)?;
        let name = entry.name().map_err(io::Error::other)?.into_owned();
        if entry.is_dir() {
            to.directory(&name)?;
        } else if entry.is_symlink() {
            let mut target = String::new();
            // A zip file stores the target of a link as its content.
            entry.by_ref().take(MAX_LINK).read_to_string(&mut target)?;
            to.link(&name, &target)?;
        } else {
            let mode = entry.unix_mode().unwrap_or(0o644);
            to.file(&name, mode, &mut entry)?;
        }
    }
    Ok(())
}

fn tar(packed: impl Read, to: &mut Target<'_>) -> io::Result<()> {
    use tar::EntryType;
    let mut archive = tar::Archive::new(packed);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let text = |bytes: &[u8]| {
            String::from_utf8(bytes.to_vec())
                .map_err(|_| io::Error::other("a file name is not valid UTF-8"))
        };
        let name = text(&entry.path_bytes())?;
        let target = entry.link_name_bytes().map(|t| text(&t)).transpose()?;
        match entry.header().entry_type() {
            EntryType::Directory => to.directory(&name)?,
            EntryType::Regular | EntryType::Continuous => {
                let mode = entry.header().mode().unwrap_or(0o644);
                to.file(&name, mode, &mut entry)?;
            }
            EntryType::Symlink => to.link(&name, &target.unwrap_or_default())?,
            EntryType::Link => to.copy(&name, &target.unwrap_or_default())?,
            // Commit id written by `git archive`.
            EntryType::XGlobalHeader | EntryType::XHeader => {}
            other => {
                let why =
                    format!("\"{name}\" is neither a file, a directory nor a link ({other:?})");
                return Err(io::Error::other(why));
            }
        }
    }
    Ok(())
}

struct Target<'a> {
    root: &'a Path,
    files: usize,
    bytes: u64,
}

impl Target<'_> {
    /// Target path of an entry; creates its parent directories.
    fn prepare_target(&mut self, name: &str) -> io::Result<PathBuf> {
        self.files += 1;
        if self.files > MAX_FILES {
            return Err(io::Error::other(format!(
                "it has more than {MAX_FILES} files"
            )));
        }
        let inner = relative_path(name)?;
        if let Some(folder) = inner.parent() {
            self.folders(folder)?;
        }
        Ok(self.root.join(inner))
    }

    /// Creates the directories of a path, none of which may be a link.
    fn folders(&self, folder: &Path) -> io::Result<()> {
        let mut at = self.root.to_owned();
        for part in folder.components() {
            at.push(part);
            match std::fs::symlink_metadata(&at) {
                Ok(meta) if meta.is_dir() => {}
                Ok(_) => {
                    let why = format!(
                        "\"{}\" is not a directory, but another entry is in it",
                        at.strip_prefix(self.root).unwrap_or(&at).display()
                    );
                    return Err(io::Error::other(why));
                }
                Err(_) => std::fs::create_dir(&at)?,
            }
        }
        Ok(())
    }

    fn directory(&mut self, name: &str) -> io::Result<()> {
        self.prepare_target(name)?;
        self.folders(&relative_path(name)?)
    }

    fn file(&mut self, name: &str, mode: u32, content: &mut dyn Read) -> io::Result<()> {
        let path = self.prepare_target(name)?;
        remove_earlier_entry(&path)?;
        let mut file = OpenOptions::new()
            .write(true)
            // Fails instead of following a link that appears in between.
            .create_new(true)
            // Drops setuid and sticky bits, and lets the owner read and write the file.
            .mode(mode & 0o777 | 0o600)
            .open(&path)?;
        let left = MAX_BYTES - self.bytes;
        // One byte more than allowed shows that the content is too long.
        let written = io::copy(&mut content.take(left + 1), &mut file)?;
        if written > left {
            return Err(io::Error::other(format!(
                "its files have more than {MAX_BYTES} bytes"
            )));
        }
        self.bytes += written;
        Ok(())
    }

    fn link(&mut self, name: &str, target: &str) -> io::Result<()> {
        let depth = relative_path(name)?.components().count().saturating_sub(1);
        let out = || {
            let why = format!("the link \"{name}\" leads out of the archive, to \"{target}\"");
            Err(io::Error::other(why))
        };
        // `..` is allowed only at the start of a target: after another link, it could lead
        // anywhere.
        let (mut up, mut down) = (0, false);
        for part in Path::new(target).components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir if !down => up += 1,
                Component::Normal(_) => down = true,
                _ => return out(),
            }
        }
        // The target may go up at most to the root of the package.
        if up > depth || target.is_empty() {
            return out();
        }
        let path = self.prepare_target(name)?;
        remove_earlier_entry(&path)?;
        symlink(target, path)
    }

    /// Extracts a hard link as a copy, which cannot lead out of the directory.
    fn copy(&mut self, name: &str, target: &str) -> io::Result<()> {
        let from = relative_path(target)?;
        if let Some(folder) = from.parent() {
            self.folders(folder)?;
        }
        let from = self.root.join(from);
        // Without following links, which could lead out of the directory.
        if !std::fs::symlink_metadata(&from)?.is_file() {
            let why = format!(
                "the link \"{name}\" leads to \"{target}\", which is not a file in the archive"
            );
            return Err(io::Error::other(why));
        }
        let path = self.prepare_target(name)?;
        remove_earlier_entry(&path)?;
        let copied = std::fs::copy(from, path)?;
        // Copies count: many hard links to one large file could fill the disk.
        self.bytes += copied;
        match self.bytes > MAX_BYTES {
            true => Err(io::Error::other(format!(
                "its files have more than {MAX_BYTES} bytes"
            ))),
            false => Ok(()),
        }
    }
}

/// Removes an earlier entry of the same name, because the later one wins in tar.
fn remove_earlier_entry(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => {
            let why = format!(
                "\"{}\" is both a directory and another entry",
                path.display()
            );
            Err(io::Error::other(why))
        }
        Ok(_) => std::fs::remove_file(path),
        Err(_) => Ok(()),
    }
}

/// Converts an entry's name to a relative path without `..`.
fn relative_path(name: &str) -> io::Result<PathBuf> {
    let mut inner = PathBuf::new();
    for part in Path::new(name).components() {
        match part {
            Component::CurDir => {}
            Component::Normal(part) => inner.push(part),
            _ => {
                let why = format!("the entry \"{name}\" leads out of the target directory");
                return Err(io::Error::other(why));
            }
        }
    }
    if name.contains('\0') || name.contains('\\') {
        let why = format!("the entry \"{}\" is not a valid path", name.escape_debug());
        return Err(io::Error::other(why));
    }
    Ok(inner)
}

#[cfg(test)]
mod tests;

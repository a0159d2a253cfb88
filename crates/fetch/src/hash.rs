//! Package hashes of lock files: `h1:` of the unpacked files, `zh:` of the archive.

use crate::checksum::sha256;
use crate::error::FetchError;
use base64::Engine as _;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Maximum number of files in a package; real ones have a handful.
const FILES: usize = 100_000;

/// Computes the `zh:` hash of an archive.
///
/// # Errors
/// The file cannot be read.
pub fn zh(archive: &Path) -> Result<String, FetchError> {
    Ok(format!("zh:{}", sha256(archive)?))
}

/// Computes the SHA-256 of a file, in hex.
///
/// # Errors
/// The file cannot be read.
fn file_digest(path: &Path) -> io::Result<String> {
    content_digest(&mut File::open(path)?)
}

/// Computes the SHA-256 of a reader's content, in hex.
///
/// # Errors
/// The reader fails.
pub fn content_digest(file: &mut impl io::Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex::encode(hash.finalize())),
            read => hash.update(&buffer[..read]),
        }
    }
}

/// Lists all files under `root` by their relative paths, which are separated by slashes and sorted.
///
/// # Errors
/// A directory cannot be read, or there are too many files.
pub fn files(root: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![(String::new(), root.to_owned())];
    while let Some((prefix, folder)) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry
                .file_name()
                .into_string()
                .map_err(|_| io::Error::other("a file name is not valid UTF-8"))?;
            // A newline would make two file lists with the same hash input possible.
            if name.contains('\n') {
                return Err(io::Error::other("a file name contains a line break"));
            }
            let path = format!("{prefix}{name}");
            // Does not follow links: linked directories are not part of a package.
            if entry.file_type()?.is_dir() {
                folders.push((format!("{path}/"), entry.path()));
            } else {
                found.insert(path, entry.path());
            }
            if found.len() + folders.len() > FILES {
                return Err(io::Error::other(format!("more than {FILES} files")));
            }
        }
    }
    Ok(found)
}

/// Computes the `h1:` hash of a directory: SHA-256 over one line per file, `SHA256-IN-HEX␠␠PATH\n`,
/// in base64.
///
/// # Errors
/// A file cannot be read.
pub fn h1(root: &Path) -> io::Result<String> {
    h1_with(root, file_digest)
}

/// Same as [`h1`], with the digest of each file from `digest`, so that callers can use cached ones.
///
/// # Errors
/// A directory cannot be read, or `digest` fails.
pub fn h1_with(
    root: &Path,
    mut digest: impl FnMut(&Path) -> io::Result<String>,
) -> io::Result<String> {
    let mut lines = Sha256::new();
    for (path, file) in files(&root.canonicalize()?)? {
        lines.update(format!("{}  {path}\n", digest(&file)?));
    }
    let text = base64::engine::general_purpose::STANDARD.encode(lines.finalize());
    Ok(format!("h1:{text}"))
}

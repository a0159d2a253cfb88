//! The hashes of packages that lock files have: `h1:` over what is unpacked, `zh:` of the archive.

use crate::checksum::{hex, sha256};
use crate::error::FetchError;
use base64::Engine as _;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Files of one package that are looked at; a package has a handful.
const FILES: usize = 100_000;

/// The `zh:` hash of an archive.
///
/// # Errors
/// It cannot be read.
pub fn zh(archive: &Path) -> Result<String, FetchError> {
    Ok(format!("zh:{}", sha256(archive)?))
}

/// The SHA-256 of a file, in hex.
///
/// # Errors
/// It cannot be read.
fn file_digest(path: &Path) -> io::Result<String> {
    content_digest(&mut File::open(path)?)
}

/// The SHA-256 of everything that a reader yields, in hex.
///
/// # Errors
/// It cannot be read.
pub fn content_digest(file: &mut impl io::Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            read => hash.update(&buffer[..read]),
        }
    }
}

/// Every file under `root` with its path from there, slashes between, in the order of paths.
///
/// # Errors
/// A folder cannot be read, or there are more files than a package has.
pub fn files(root: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![(String::new(), root.to_owned())];
    while let Some((prefix, folder)) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry
                .file_name()
                .into_string()
                .map_err(|_| io::Error::other("a file's name is not text"))?;
            if name.contains('\n') {
                return Err(io::Error::other("a file's name has a line end in it"));
            }
            let path = format!("{prefix}{name}");
            // Not what a link leads to: directories behind links are no part of a package.
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

/// The `h1:` hash of a directory: SHA-256 over one line for each file, `SHA256-IN-HEX␠␠PATH\n`, in
/// base64.
///
/// # Errors
/// A file cannot be read.
pub fn h1(root: &Path) -> io::Result<String> {
    h1_with(root, file_digest)
}

/// As [`h1`], with the digest of each file from `digest`: a caller may have it already.
///
/// # Errors
/// A folder cannot be read, or `digest` fails.
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

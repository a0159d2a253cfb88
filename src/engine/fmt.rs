//! Configuration files in the usual layout: which ones, what each would become, and writing it.
//! Knows files; the layout itself is the language's.

use super::secrets::Secrets;
use super::told;
use super::words::{Diagnostic, Severity};
use fsroot::Below;
use lang::source::SourceMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// What is laid out. Test files are of the same syntax, though nothing else here reads them.
const EXTENSIONS: [&str; 5] = [".tf", ".tofu", ".tfvars", ".tftest.hcl", ".tofutest.hcl"];
/// Directories within one another that are walked through.
const DEEPEST: usize = 100;

/// Why a file is not laid out.
pub type Problems = Vec<Diagnostic>;

/// A text that is not as it is usually laid out.
#[derive(Debug)]
pub struct Unformatted {
    pub before: String,
    pub after: String,
}

/// The text in the usual layout; `None` where it is so already.
///
/// # Errors
/// Where it cannot be parsed: why, and where.
pub fn lay_out(name: &str, text: String) -> Result<Option<Unformatted>, Problems> {
    let sources = SourceMap::default();
    let file = sources.add(name, text.as_str());
    match lang::format::format(&text, file) {
        Ok(after) if after == text => Ok(None),
        Ok(after) => Ok(Some(Unformatted {
            before: text,
            after,
        })),
        Err(diags) => Err(told::tell_all(diags.iter(), &sources, &Secrets::default())),
    }
}

/// What a file would become; `None` where nothing changes.
///
/// # Errors
/// Where it cannot be read or parsed.
pub fn look_at(path: &Path) -> Result<Option<Unformatted>, Problems> {
    let bytes = fsroot::read_regular(path).map_err(|e| problem("Failed to read file", path, &e))?;
    let text = String::from_utf8(bytes)
        .map_err(|e| problem("Invalid character encoding", path, &e.utf8_error()))?;
    lay_out(&path.display().to_string(), text)
}

/// The files that a path stands for: itself, or those of a directory, in the order of their names.
///
/// # Errors
/// Where there is nothing of that name, or a file of another kind.
pub fn files(path: &Path, recursive: bool) -> Result<Vec<PathBuf>, Problems> {
    let found =
        std::fs::metadata(path).map_err(|e| problem("Invalid file or directory path", path, &e))?;
    if found.is_dir() {
        let mut out = Vec::new();
        below(path, recursive, 0, &mut out)?;
        return Ok(out);
    }
    if is_formatted(path) {
        return Ok(vec![path.to_owned()]);
    }
    let kinds = format!(
        "only files that end in {} are laid out",
        EXTENSIONS.join(", ")
    );
    Err(problem("Invalid file extension", path, &kinds))
}

fn is_formatted(path: &Path) -> bool {
    path.file_name()
        .and_then(|n| n.to_str())
        .is_some_and(|name| EXTENSIONS.iter().any(|e| name.ends_with(e)))
}

fn below(
    dir: &Path,
    recursive: bool,
    depth: usize,
    out: &mut Vec<PathBuf>,
) -> Result<(), Problems> {
    let why = |e: std::io::Error| problem("Invalid path", dir, &e);
    if depth > DEEPEST {
        return Err(problem(
            "Invalid path",
            dir,
            &format!("directories lie deeper than {DEEPEST} in one another"),
        ));
    }
    let mut entries = std::fs::read_dir(dir)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(why)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        if lang::config::is_ignored(&entry.file_name().to_string_lossy()) {
            continue;
        }
        // A link to a directory is not followed: it may lead back, or out.
        let path = if dir == Path::new(".") {
            PathBuf::from(entry.file_name())
        } else {
            entry.path()
        };
        if entry.file_type().map_err(why)?.is_dir() {
            if recursive {
                below(&path, recursive, depth + 1, out)?;
            }
        } else if is_formatted(&path) && !path.is_dir() {
            out.push(path);
        }
    }
    Ok(())
}

/// Puts a text in the place of a file's: whole or not at all, with the permissions that the file
/// has. Of the files of a directory, `found_in`, a link that leads out of it is refused: a
/// repository may hold links to anything.
///
/// # Errors
/// Where its directory may not be written, or has no room.
pub fn write(path: &Path, found_in: Option<&Path>, text: &str) -> Result<(), Problems> {
    let replace = || -> std::io::Result<()> {
        let real = path.canonicalize()?;
        if let Some(dir) = found_in
            && !real.starts_with(dir.canonicalize()?)
        {
            return Err(std::io::Error::other(format!(
                "it is a link to {0}, which is not in {1}; run `flightdeck fmt {0}` to format that file",
                real.display(),
                dir.display()
            )));
        }
        let mode = std::fs::metadata(&real)?.permissions().mode() & 0o7777;
        let (folder, name) = (real.parent(), real.file_name().unwrap_or_default());
        Below::trusted(folder.unwrap_or(Path::new("/")), name).replace(text.as_bytes(), mode)
    };
    replace().map_err(|e| problem("Writing formatted file failed", path, &e))
}

fn problem(summary: &str, path: &Path, why: &dyn std::fmt::Display) -> Problems {
    let detail = format!("{}: {why}", path.display());
    vec![Diagnostic {
        severity: Severity::Error,
        summary: summary.to_owned(),
        detail,
        address: None,
        range: None,
        snippet: None,
        further: None,
        intent: None,
    }]
}

//! `fmt`: finds configuration files, formats them and writes the result. The format itself belongs
//! to `lang`.

use super::diagnostics;
use fsroot::RootedPath;
use lang::source::SourceMap;
use model::secrets::Secrets;
use model::{Diagnostic, Severity};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Formatted file types. Test files have the same syntax.
const EXTENSIONS: [&str; 6] = [
    ".tf",
    ".tofu",
    ".tfvars",
    ".tftest.hcl",
    ".tofutest.hcl",
    ".flightdeck.hcl",
];
/// Maximum depth of nested directories.
const MAX_DEPTH: usize = 100;

/// Reasons why a file cannot be formatted.
pub type Problems = Vec<Diagnostic>;

/// A text and its formatted form.
#[derive(Debug)]
pub struct Unformatted {
    pub before: String,
    pub after: String,
}

/// Formats a text; `None` if it is already formatted.
///
/// # Errors
/// The text cannot be parsed.
pub fn format_text(name: &str, text: String) -> Result<Option<Unformatted>, Problems> {
    let sources = SourceMap::default();
    let file = sources.add(name, text.as_str());
    match lang::format::format(&text, file) {
        Ok(after) if after == text => Ok(None),
        Ok(after) => Ok(Some(Unformatted {
            before: text,
            after,
        })),
        Err(diags) => Err(diagnostics::convert_all(
            diags.iter(),
            &sources,
            &Secrets::default(),
        )),
    }
}

/// Formats a file without writing it; `None` if nothing changes.
///
/// # Errors
/// The file cannot be read or parsed.
pub fn format_file(path: &Path) -> Result<Option<Unformatted>, Problems> {
    let bytes = fsroot::read_regular(path).map_err(|e| problem("Failed to read file", path, &e))?;
    let text = String::from_utf8(bytes)
        .map_err(|e| problem("Invalid character encoding", path, &e.utf8_error()))?;
    format_text(&path.display().to_string(), text)
}

/// Files of a path: the file itself, or those of a directory, sorted by name.
///
/// # Errors
/// The path does not exist or is another kind of file.
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
        "only files that end in {} are formatted",
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
    if depth > MAX_DEPTH {
        return Err(problem(
            "Invalid path",
            dir,
            &format!("directories are nested more than {MAX_DEPTH} levels deep"),
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
        // Links to directories are not followed, because they may form a cycle or lead out of the
        // workspace.
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

/// Replaces a file's text atomically and keeps its permissions. Refuses a file found in the
/// directory `found_in` that links out of it, because a repository can have links to anything.
///
/// # Errors
/// The directory is not writable or full.
pub fn write(path: &Path, found_in: Option<&Path>, text: &str) -> Result<(), Problems> {
    let replace = || -> std::io::Result<()> {
        // Replaces the target of a link, so that the link stays.
        let real = path.canonicalize()?;
        if let Some(dir) = found_in
            && !real.starts_with(dir.canonicalize()?)
        {
            return Err(std::io::Error::other(format!(
                "it is a link to {0}, outside of {1}; run `flightdeck fmt {0}` to format that file",
                real.display(),
                dir.display()
            )));
        }
        // A replaced file would otherwise get the permissions of a new one.
        let mode = std::fs::metadata(&real)?.permissions().mode() & 0o7777;
        let (folder, name) = (real.parent(), real.file_name().unwrap_or_default());
        RootedPath::trusted(folder.unwrap_or(Path::new("/")), name).replace(text.as_bytes(), mode)
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

//! Selects the configuration files of a directory, orders them, and reads their bodies.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::body::Body;
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::{SourceMap, Span};
use crate::syntax;

/// A configuration file that was read.
pub(super) struct ConfigFile {
    pub(super) body: Body,
    /// True for `.tofu` and `.tofu.json`, whose `required_version` applies.
    pub(super) is_tofu: bool,
    pub(super) is_override: bool,
}

/// Maximum size of a file, in bytes.
const MAX_FILE: u64 = 64 << 20;

/// Extensions of test files, each with the extension that takes precedence over it.
const TESTS: [(&str, &str); 4] = [
    (".tftest.hcl", ".tofutest.hcl"),
    (".tofutest.hcl", ".tofutest.hcl"),
    (".tftest.json", ".tofutest.json"),
    (".tofutest.json", ".tofutest.json"),
];

/// Names of the test files of a directory, in order.
pub(super) fn tests(dir: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !is_ignored(&name) && !entry.path().is_dir() && TESTS.iter().any(|t| name.ends_with(t.0))
        {
            names.push(name);
        }
    }
    names.sort();
    let taken_place_of = |name: &String| {
        let parts = TESTS
            .iter()
            .find_map(|(own, other)| Some((name.strip_suffix(own)?, own, other)));
        parts.is_some_and(|(base, own, other)| {
            own != other && names.contains(&format!("{base}{other}"))
        })
    };
    Ok(names
        .iter()
        .filter(|name| !taken_place_of(name))
        .cloned()
        .collect())
}

/// Extension of a configuration file, and true if it is OpenTofu's own.
fn extension(name: &str) -> Option<(&'static str, bool)> {
    if TESTS.iter().any(|(test, _)| name.ends_with(test)) {
        return None;
    }
    [
        (".tf", false),
        (".tf.json", false),
        (".tofu", true),
        (".tofu.json", true),
    ]
    .into_iter()
    .find(|(ext, _)| name.ends_with(ext))
}

/// Returns true for hidden files and for files that editors leave behind.
pub fn is_ignored(name: &str) -> bool {
    name.starts_with('.') || name.ends_with('~') || (name.starts_with('#') && name.ends_with('#'))
}

/// Configuration files of a directory in order: normal files, then overrides.
fn list(dir: &Path) -> std::io::Result<Vec<(String, bool, bool)>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_ignored(&name) || extension(&name).is_none() || entry.path().is_dir() {
            continue;
        }
        names.push(name);
    }
    names.sort();
    // A `.tofu` file replaces the `.tf` file of the same name.
    let shadowed = |name: &str| {
        extension(name).is_some_and(|(ext, tofu)| {
            let base = &name[..name.len() - ext.len()];
            !tofu && names.contains(&format!("{base}{}", ext.replace(".tf", ".tofu")))
        })
    };
    let mut out: Vec<(String, bool, bool)> = names
        .iter()
        .filter(|n| !shadowed(n))
        .filter_map(|name| {
            let (ext, tofu) = extension(name)?;
            let base = &name[..name.len() - ext.len()];
            Some((
                name.clone(),
                tofu,
                base == "override" || base.ends_with("_override"),
            ))
        })
        .collect();
    // A stable sort: overrides come last, and names stay in order within both groups.
    out.sort_by_key(|(_, _, is_override)| *is_override);
    Ok(out)
}

/// Returns true if the directory has a configuration file.
pub fn is_config_dir(dir: &Path) -> bool {
    list(dir).is_ok_and(|files| !files.is_empty())
}

/// Reads and parses all configuration files of a directory. `prefix` is the directory shown to
/// operators, `""` for the root. `None` if the directory cannot be read.
pub(super) fn read(
    dir: &Path,
    prefix: &str,
    sources: &SourceMap,
    diags: &mut Diagnostics,
) -> Option<Vec<ConfigFile>> {
    let names = list(dir).ok()?;
    let mut files = Vec::new();
    for (name, is_tofu, is_override) in names {
        let shown = if prefix.is_empty() {
            name.clone()
        } else {
            format!("{prefix}/{name}")
        };
        if let Some(body) = read_body(&dir.join(&name), &shown, false, sources, diags) {
            files.push(ConfigFile {
                body,
                is_tofu,
                is_override,
            });
        }
    }
    Some(files)
}

/// Reads one file of either syntax. Lines of `private` files are never shown.
pub(super) fn read_body(
    path: &Path,
    shown: &str,
    private: bool,
    sources: &SourceMap,
    diags: &mut Diagnostics,
) -> Option<Body> {
    // Bounded and without devices, because a repository may contain any file.
    let bytes = match fsroot::read_at_most(path, MAX_FILE) {
        Ok(bytes) => bytes,
        Err(error) => {
            let error = match error.kind() {
                std::io::ErrorKind::IsADirectory => {
                    std::io::Error::other("it is a directory, not a regular file")
                }
                _ => error,
            };
            diags.push(Diagnostic::error(
                "Failed to read file",
                format!("The file \"{shown}\" could not be read: {error}."),
            ));
            return None;
        }
    };
    let head: Vec<u8> = bytes.iter().take(2).copied().collect();
    let (text, bad_at) = match String::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            (
                String::from_utf8_lossy(error.as_bytes()).into_owned(),
                Some(at),
            )
        }
    };
    let file = if private {
        sources.add_private(shown, text)
    } else {
        sources.add(shown, text)
    };
    let text = sources.get(file)?.text.clone();
    if let Some(at) = bad_at {
        let mut detail = "All input files must be UTF-8 encoded. Ensure that UTF-8 encoding is selected in your editor.".to_owned();
        // UTF-16 text would give an error for every character; one error about the encoding
        // suffices.
        let other = [
            (&b"\xff\xfe"[..], "UTF-16 (little endian)"),
            (&b"\xfe\xff"[..], "UTF-16 (big endian)"),
        ];
        if let Some((_, name)) = other.iter().find(|(mark, _)| head.starts_with(mark)) {
            detail.push_str(&format!(
                " According to its first two bytes, this file is {name}."
            ));
            diags.error(Span::new(file, 0, 0), "Invalid character encoding", detail);
            return None;
        }
        // The replacement character in the text takes three bytes.
        diags.error(
            Span::new(file, at, at + 3),
            "Invalid character encoding",
            detail,
        );
    }
    if shown.ends_with(".json") {
        let (node, found) = syntax::json::parse(&text, file);
        diags.append(found);
        if !matches!(
            node.kind,
            syntax::json::NodeKind::Object(_) | syntax::json::NodeKind::Array(_)
        ) {
            diags.error(
                node.start_span(),
                "Root value must be object",
                "The root value in a JSON-based configuration must be either a JSON object or a JSON array of objects.",
            );
            return Some(Body::empty(Span::new(file, 0, 0)));
        }
        return Some(Body::json(node));
    }
    let (body, found) = syntax::parse_file(&text, file);
    diags.append(found);
    Some(Body::native(Arc::new(body)))
}

/// Joins a local source (`./x`, `../y`) to a directory, without access to the file system.
pub(super) fn join(dir: &Path, source: &str) -> PathBuf {
    let mut out = dir.to_path_buf();
    for part in source.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                // No directory is left to remove.
                let up = out.as_os_str().is_empty() || out.ends_with("..");
                if up {
                    out.push("..");
                } else {
                    out.pop();
                }
            }
            name => out.push(name),
        }
    }
    out
}

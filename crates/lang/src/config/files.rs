//! Selects the configuration files of a directory, orders them, and reads their bodies.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::body::Body;
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::{FileId, SourceMap, Span};
use crate::syntax::{self, json};

/// A configuration file that was read.
pub(super) struct ConfigFile {
    pub(super) body: Body,
    /// True for `.tofu` and `.tofu.json`, whose `required_version` applies.
    pub(super) is_tofu: bool,
    pub(super) is_override: bool,
    /// True for files with blocks that OpenTofu does not have.
    pub(super) is_own: bool,
}

/// Extension of files with blocks that OpenTofu does not have. OpenTofu ignores these files.
pub const OWN_EXTENSION: &str = ".flightdeck.hcl";

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
    let names = names(dir, &|name| TESTS.iter().any(|t| name.ends_with(t.0)))?;
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

/// Names of the files of a directory that `fits` accepts, in order.
fn names(dir: &Path, fits: &dyn Fn(&str) -> bool) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if fits(&name) && !is_ignored(&name) && !entry.path().is_dir() {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn is_config(name: &str) -> bool {
    extension(name).is_some()
}

/// Configuration files in order: normal files, then overrides.
fn ordered(names: &[String]) -> Vec<(String, bool, bool)> {
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
    out
}

/// Returns true if the directory has a configuration file.
pub fn is_config_dir(dir: &Path) -> bool {
    names(dir, &is_config).is_ok_and(|files| !files.is_empty())
}

/// Reads and parses all configuration files of a directory. `prefix` is the directory shown to
/// operators, `""` for the root. `None` if the directory cannot be read.
pub(super) fn read(
    dir: &Path,
    prefix: &str,
    sources: &SourceMap,
    diags: &mut Diagnostics,
) -> Option<Vec<ConfigFile>> {
    let stored = sources.stored();
    let all = match stored {
        Some(stored) => stored.names(prefix),
        None => names(dir, &|name| {
            is_config(name) || name.ends_with(OWN_EXTENSION)
        })
        .ok()?,
    };
    let (own, all): (Vec<_>, Vec<_>) = all.into_iter().partition(|n| n.ends_with(OWN_EXTENSION));
    let mut files = Vec::new();
    let names = ordered(&all).into_iter().map(|found| (found, false));
    let own = own.into_iter().map(|name| ((name, false, false), true));
    for ((name, is_tofu, is_override), is_own) in names.chain(own) {
        let shown = if prefix.is_empty() {
            name.clone()
        } else {
            format!("{prefix}/{name}")
        };
        let bytes = match stored.and_then(|stored| stored.files.get(&shown)) {
            Some(text) => Some(text.as_bytes().to_vec()),
            None => read_bytes(&dir.join(&name), &shown, diags),
        };
        if let Some(body) = bytes.and_then(|b| body_of(b, &shown, false, sources, diags)) {
            files.push(ConfigFile {
                body,
                is_tofu,
                is_override,
                is_own,
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
    body_of(
        read_bytes(path, shown, diags)?,
        shown,
        private,
        sources,
        diags,
    )
}

pub(super) fn body_of(
    bytes: Vec<u8>,
    shown: &str,
    private: bool,
    sources: &SourceMap,
    diags: &mut Diagnostics,
) -> Option<Body> {
    let decoded = Decoded::new(bytes);
    let file = if private {
        sources.add_private(shown, decoded.text)
    } else {
        sources.add(shown, decoded.text)
    };
    match decoded.fault {
        Some(EncodingFault::Utf16(name)) => {
            let detail =
                format!("{NOT_UTF8} According to its first two bytes, this file is {name}.");
            diags.error(Span::new(file, 0, 0), "Invalid character encoding", detail);
            return None;
        }
        Some(EncodingFault::At(at)) => {
            // The replacement character in the text takes three bytes.
            let place = Span::new(file, at, at + 3);
            diags.error(place, "Invalid character encoding", NOT_UTF8);
        }
        None => {}
    }
    let text = sources.get(file)?.text.clone();
    if shown.ends_with(".json") {
        return Some(json_body(&text, file, diags));
    }
    let (body, found) = syntax::parse_file(&text, file);
    diags.append(found);
    Some(Body::native(Arc::new(body)))
}

fn read_bytes(path: &Path, shown: &str, diags: &mut Diagnostics) -> Option<Vec<u8>> {
    // Bounded and without devices, because a repository may contain any file.
    let error = match fsroot::read_at_most(path, MAX_FILE) {
        Ok(bytes) => return Some(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::IsADirectory => {
            std::io::Error::other("it is a directory, not a regular file")
        }
        Err(error) => error,
    };
    diags.push(Diagnostic::error(
        "Failed to read file",
        format!("The file \"{shown}\" could not be read: {error}."),
    ));
    None
}

const NOT_UTF8: &str =
    "All input files must be UTF-8 encoded. Ensure that UTF-8 encoding is selected in your editor.";

/// Byte order marks of other encodings, with their names.
const OTHER_ENCODINGS: [(&[u8], &str); 2] = [
    (b"\xff\xfe", "UTF-16 (little endian)"),
    (b"\xfe\xff", "UTF-16 (big endian)"),
];

/// Text of a file, with replacement characters for invalid bytes.
struct Decoded {
    text: String,
    fault: Option<EncodingFault>,
}

enum EncodingFault {
    /// Name of the encoding. UTF-16 text would give an error for every character; one error about
    /// the encoding suffices.
    Utf16(&'static str),
    /// Offset of the first invalid byte.
    At(usize),
}

impl Decoded {
    fn new(bytes: Vec<u8>) -> Decoded {
        let error = match String::from_utf8(bytes) {
            Ok(text) => return Decoded { text, fault: None },
            Err(error) => error,
        };
        let bytes = error.as_bytes();
        let mut marks = OTHER_ENCODINGS.iter();
        let other = marks.find(|(mark, _)| bytes.starts_with(mark));
        let fault = match other {
            Some((_, name)) => EncodingFault::Utf16(name),
            None => EncodingFault::At(error.utf8_error().valid_up_to()),
        };
        Decoded {
            text: String::from_utf8_lossy(bytes).into_owned(),
            fault: Some(fault),
        }
    }
}

fn json_body(text: &str, file: FileId, diags: &mut Diagnostics) -> Body {
    let (node, found) = json::parse(text, file);
    diags.append(found);
    if matches!(
        node.kind,
        json::NodeKind::Object(_) | json::NodeKind::Array(_)
    ) {
        return Body::json(node);
    }
    diags.error(
        node.start_span(),
        "Root value must be object",
        "The root value in a JSON-based configuration must be either a JSON object or a JSON array of objects.",
    );
    Body::empty(Span::new(file, 0, 0))
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

//! Manifest of installed modules (`modules.json`), which other tools read and write too, and the
//! lookup of a call's directory in it.

mod error;

pub use error::ManifestError;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::module_source::ModuleSource;
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::Span;
use dependency::{Version, VersionConstraint};

/// File name in the modules directory.
pub const MANIFEST: &str = "modules.json";
/// Remedy if the manifest does not match the configuration.
const REMEDY: &str =
    "Run \"flightdeck init\" to install all modules that this configuration requires.";
/// Returns true for an error that an installation of the modules fixes.
#[must_use]
pub fn wants_install(error: &Diagnostic) -> bool {
    error.detail.ends_with(REMEDY)
}

/// Maximum number of links followed for one directory.
const MAX_LINKS: usize = 255;

/// Call whose module is looked up.
pub struct ModuleRequest<'a> {
    /// Names of the calls down to this one, joined by dots: the key in the manifest.
    pub key: String,
    /// The call's name.
    pub name: &'a str,
    /// Source of its module.
    pub source: &'a ModuleSource,
    /// Version constraint, if any.
    pub version: Option<&'a VersionConstraint>,
    /// Directory of the calling module, relative to the configuration; empty for the root.
    pub from: &'a str,
    /// The call's header.
    pub span: Span,
    /// The source in it.
    pub source_span: Span,
}

/// Resolves module calls to directories.
pub trait ModuleResolver {
    /// Returns the directory of a module, relative to the configuration, or `None` with an error.
    fn module_directory(
        &mut self,
        asked: &ModuleRequest<'_>,
        diags: &mut Diagnostics,
    ) -> Option<String>;
}

/// Manifest entry of an installed module.
#[derive(Clone, Debug, PartialEq)]
pub struct InstalledModule {
    /// Source it was installed from.
    pub source: String,
    /// Its version, where it has some.
    pub version: Option<Version>,
    /// Directory, relative to that of the configuration.
    pub dir: String,
}

/// Installed modules by the names of their calls, joined by dots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifest {
    /// Entries; the root has the empty key.
    pub records: BTreeMap<String, InstalledModule>,
}

#[derive(Serialize, Deserialize)]
struct File {
    #[serde(rename = "Modules", default)]
    modules: Vec<Row>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Row {
    key: String,
    #[serde(default)]
    source: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    version: String,
    #[serde(default)]
    dir: String,
}

impl Manifest {
    /// Reads the manifest of a modules directory; a missing file is an empty manifest.
    ///
    /// # Errors
    /// The file cannot be read or parsed.
    pub fn read(folder: &Path) -> Result<Self, ManifestError> {
        match fsroot::read_regular(folder.join(MANIFEST)) {
            // An empty file counts as an empty manifest, as in OpenTofu.
            Ok(bytes) if bytes.is_empty() => Ok(Self::default()),
            Ok(bytes) => Self::parse(&bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error.into()),
        }
    }

    fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let file: File = serde_json::from_slice(bytes)?;
        let mut records = BTreeMap::new();
        for row in file.modules {
            let version = match &*row.version {
                "" => None,
                text => {
                    let version = Version::from_str(text);
                    Some(version.map_err(|source| ManifestError::Version {
                        module: row.key.clone(),
                        source,
                    })?)
                }
            };
            // Older tools did not write canonical sources.
            let source = match ModuleSource::parse(&row.source) {
                Ok(source) if !row.source.is_empty() => source.to_string(),
                _ => row.source,
            };
            let record = InstalledModule {
                source,
                version,
                dir: row.dir,
            };
            if records.insert(row.key.clone(), record).is_some() {
                return Err(ManifestError::Twice(row.key));
            }
        }
        Ok(Self { records })
    }

    /// Text of the file, in the format all tools write.
    #[must_use]
    pub fn text(&self) -> String {
        let row = |(key, record): (&String, &InstalledModule)| Row {
            key: key.clone(),
            source: record.source.clone(),
            version: record
                .version
                .as_ref()
                .map_or_else(String::new, Version::to_string),
            dir: record.dir.clone(),
        };
        let modules = self.records.iter().map(row).collect();
        let text = serde_json::to_string(&File { modules }).unwrap_or_default();
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                // Go's JSON encoder escapes these, and the file must not differ between tools.
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    out.push_str(&format!("\\u{:04x}", u32::from(c)));
                }
                c => out.push(c),
            }
        }
        out
    }
}

/// Modules installed in a data directory, by its manifest. The manifest is read on the first lookup
/// of a module outside the tree.
pub struct Installed {
    root: PathBuf,
    folder: PathBuf,
    manifest: Option<Result<Manifest, ManifestError>>,
    reported: bool,
}

impl Installed {
    /// Modules of the configuration in `root`; `data` is its data directory, relative to it.
    #[must_use]
    pub fn new(root: &Path, data: &Path) -> Self {
        Self {
            root: root.to_owned(),
            folder: modules_dir(root, data),
            manifest: None,
            reported: false,
        }
    }

    fn record(
        &mut self,
        asked: &ModuleRequest<'_>,
        diags: &mut Diagnostics,
    ) -> Option<InstalledModule> {
        let folder = &self.folder;
        let manifest = self.manifest.get_or_insert_with(|| Manifest::read(folder));
        match manifest {
            Ok(manifest) => {
                let record = manifest.records.get(&asked.key).cloned();
                if record.is_none() {
                    let detail = format!("This module is not installed yet. {REMEDY}");
                    diags.error(asked.span, "Module not installed", detail);
                }
                record
            }
            Err(why) => {
                // One error is enough: the manifest fails in the same way for each call.
                if !self.reported {
                    let file = folder.join(MANIFEST);
                    let detail = format!(
                        "The module manifest {} cannot be used: {why}. {REMEDY}",
                        file.display()
                    );
                    diags.push(Diagnostic::error("Unreadable modules manifest", detail));
                }
                self.reported = true;
                None
            }
        }
    }
}

impl ModuleResolver for Installed {
    fn module_directory(
        &mut self,
        asked: &ModuleRequest<'_>,
        diags: &mut Diagnostics,
    ) -> Option<String> {
        // Local paths do not depend on the manifest.
        if let ModuleSource::Local(path) = asked.source {
            return local(&self.root, asked, path, diags);
        }
        let record = self.record(asked, diags)?;
        let source = asked.source.to_string();
        if source != record.source {
            let detail = format!(
                "The source changed from \"{}\" to \"{source}\" after this module was installed. \
                {REMEDY}",
                record.source
            );
            diags.error(asked.source_span, "Module source has changed", detail);
        }
        // An outdated module is loaded all the same, to report its errors too.
        let fits = match (asked.version, &record.version) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(wanted), Some(version)) => wanted.allows(version),
        };
        if !fits {
            let installed = match &record.version {
                Some(version) => format!("the installed version, {version},"),
                None => "the installed module, which has no version,".to_owned(),
            };
            let detail = format!(
                "The version requirements changed after this module was installed, and \
                {installed} does not match them. {REMEDY}"
            );
            diags.error(
                asked.source_span,
                "Module version requirements have changed",
                detail,
            );
        }
        if !self.root.join(&record.dir).is_dir() {
            let detail = format!(
                "The directory {} of this module could not be read. {REMEDY}",
                record.dir
            );
            diags.error(asked.span, "Module not installed", detail);
            return None;
        }
        Some(display_directory(&record.dir))
    }
}

/// Modules directory of a configuration.
#[must_use]
pub fn modules_dir(root: &Path, data: &Path) -> PathBuf {
    root.join(data).join("modules")
}

/// Directory in its shown and compared form; the configuration's own is empty.
fn display_directory(dir: &str) -> String {
    match super::module_source::clean(dir) {
        dir if dir == "." => String::new(),
        dir => dir,
    }
}

/// Directory that a relative path names, seen from the calling module `from`, if no part is a link.
pub(crate) fn local_directory(from: &str, path: &str) -> String {
    display_directory(&format!("./{from}/{path}"))
}

/// Directory that a relative path names, seen from the calling module.
///
/// `None` with an error if it is not a directory.
pub fn local(
    root: &Path,
    asked: &ModuleRequest<'_>,
    path: &str,
    diags: &mut Diagnostics,
) -> Option<String> {
    let joined = format!(
        "{}/{path}",
        if asked.from.is_empty() {
            "."
        } else {
            asked.from
        }
    );
    let dir = display_directory(&resolved(root, &joined));
    if root.join(&dir).is_dir() {
        return Some(dir);
    }
    let dir = if dir.is_empty() { "." } else { &dir };
    let detail = format!(
        "The directory {dir} could not be read for module \"{}\": it does not exist or is not a \
        directory.",
        asked.name
    );
    diags.error(asked.source_span, "Unreadable module directory", detail);
    None
}

/// Resolves a path relative to `root` and follows its links, so that `..` is the parent of a link's
/// target.
fn resolved(root: &Path, path: &str) -> String {
    let mut out = PathBuf::new();
    let parts = |path: &Path| -> Vec<std::ffi::OsString> {
        path.components()
            .filter(|c| !matches!(c, Component::CurDir | Component::RootDir))
            .map(|c| c.as_os_str().to_owned())
            .rev()
            .collect()
    };
    if path.starts_with('/') {
        out.push("/");
    }
    let mut rest = parts(Path::new(&super::module_source::clean(path)));
    let mut links = 0;
    while let Some(part) = rest.pop() {
        if part == ".." {
            if out.as_os_str().is_empty() || out.ends_with("..") {
                out.push("..");
            } else {
                out.pop();
            }
            continue;
        }
        let next = out.join(&part);
        match std::fs::read_link(root.join(&next)) {
            Ok(target) if links < MAX_LINKS => {
                links += 1;
                if target.is_absolute() {
                    out = PathBuf::from("/");
                }
                rest.extend(parts(&target));
            }
            // Not a link, or a cycle of links, on which opening the directory fails.
            _ => out = next,
        }
    }
    out.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::*;

    #[test]
    fn manifest_round_trips() {
        let text = r#"{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"a","Source":"registry.opentofu.org/x/y/z","Version":"1.2.0","Dir":".terraform/modules/a"},{"Key":"b","Source":"git::https://x/y.git?a=1\u0026ref=v1","Dir":".terraform/modules/b/sub"}]}"#;
        let manifest = Manifest::parse(text.as_bytes()).unwrap();
        assert_eq!(manifest.text(), text);
        assert_eq!(
            manifest.records["b"].source,
            "git::https://x/y.git?a=1&ref=v1"
        );
    }

    #[test]
    fn damaged_manifest_is_rejected_with_a_reason() {
        for (text, words) in [
            ("{", "EOF"),
            (
                r#"{"Modules":[{"Key":"a","Version":"x"}]}"#,
                "not a version",
            ),
            (r#"{"Modules":[{"Key":"a"},{"Key":"a"}]}"#, "twice"),
        ] {
            let error = Manifest::parse(text.as_bytes()).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
    }

    #[test]
    fn resolved_path_follows_symlinks_before_the_remaining_components() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("real/inner")).unwrap();
        std::os::unix::fs::symlink("real/inner", dir.path().join("link")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("real"), dir.path().join("far")).unwrap();
        assert_eq!(resolved(dir.path(), "./link"), "real/inner");
        assert_eq!(resolved(dir.path(), "a/../../x"), "../x");
        let far = dir.path().join("real/inner");
        assert_eq!(resolved(dir.path(), "far/inner"), far.to_string_lossy());
    }
}

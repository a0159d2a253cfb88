//! Reads and writes `.terraform.lock.hcl`: the locked version of each provider and the accepted
//! hashes of its package. The text is byte for byte as OpenTofu writes it.

use super::config_syntax::{self, TreeError};
use dependency::{ProviderAddress, Version};
use fsroot::RootedPath;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Name of the file in the workspace.
pub(super) const FILE: &str = ".terraform.lock.hcl";

/// The lock file of a workspace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LockFile {
    pub path: PathBuf,
    pub entries: BTreeMap<ProviderAddress, LockEntry>,
}

/// Entry of one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockEntry {
    pub version: Version,
    /// The constraints at the time of locking, in canonical form; empty if there were none.
    pub constraints: String,
    /// `h1:…` of unpacked packages, `zh:…` of archives.
    pub hashes: BTreeSet<String>,
}

/// Error of a lock file that cannot be used.
#[derive(Debug, Error)]
pub enum LockError {
    #[error("cannot read the lock file {}: {source}", .path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the lock file {} is invalid: {source}", .path.display())]
    Syntax { path: PathBuf, source: TreeError },
    #[error("the lock file {} is invalid: line {line}: {what}", .path.display())]
    Content {
        path: PathBuf,
        line: usize,
        what: String,
    },
}

impl LockFile {
    /// Reads the lock file of a workspace; an absent file locks nothing.
    ///
    /// # Errors
    /// The file cannot be read or parsed.
    pub fn read(workspace: &Path) -> Result<Self, LockError> {
        let path = workspace.join(FILE);
        let text =
            fsroot::read_regular(&path).and_then(|bytes| std::io::read_to_string(bytes.as_slice()));
        match text {
            Ok(text) => Self::parse(path, &text),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Self {
                path,
                ..Self::default()
            }),
            Err(source) => Err(LockError::Read { path, source }),
        }
    }

    fn parse(path: PathBuf, text: &str) -> Result<Self, LockError> {
        let items = config_syntax::parse(text).map_err(|source| LockError::Syntax {
            path: path.clone(),
            source,
        })?;
        let mut entries = BTreeMap::new();
        for item in items {
            let wrong = |what: String| LockError::Content {
                path: path.clone(),
                line: item.line,
                what,
            };
            if item.key != "provider" {
                continue; // other kinds of locks belong to newer tools
            }
            let [label] = &item.labels[..] else {
                return Err(wrong(
                    "a `provider` block needs exactly one address".to_owned(),
                ));
            };
            let address: ProviderAddress = label.parse().map_err(|e| wrong(format!("{e}")))?;
            // Guessing a default host could accept the hashes of another provider.
            if address.host.is_none() {
                return Err(wrong(format!(
                    "`{label}` has no host; addresses in the lock file must be fully qualified"
                )));
            }
            let value = |key: &str| {
                item.value
                    .items()
                    .iter()
                    .find(|i| i.key == key)
                    .map(|i| &i.value)
            };
            let version = value("version")
                .and_then(|v| v.text())
                .ok_or_else(|| wrong(format!("`{label}` has no version")))?;
            let entry = LockEntry {
                version: Version::of_package(version)
                    .map_err(|e| wrong(format!("invalid version `{version}`: {e}")))?,
                constraints: value("constraints")
                    .and_then(|v| v.text())
                    .unwrap_or_default()
                    .to_owned(),
                hashes: value("hashes")
                    .and_then(|v| v.texts())
                    .unwrap_or_default()
                    .into_iter()
                    .collect(),
            };
            // With duplicates, it would be unclear which hashes are trusted.
            if entries.insert(address, entry).is_some() {
                return Err(wrong(format!("duplicate entry for `{label}`")));
            }
        }
        Ok(Self { path, entries })
    }

    /// Returns the entry of a complete address.
    #[must_use]
    pub fn get(&self, address: &ProviderAddress) -> Option<&LockEntry> {
        self.entries.get(address)
    }

    /// Returns true if the file exists.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Returns the name of the file without its directory.
    #[must_use]
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Returns the text of the file with these entries.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = HEADER.to_owned();
        for (address, entry) in &self.entries {
            let LockEntry {
                version,
                constraints,
                hashes,
            } = entry;
            // Writing to a `String` cannot fail.
            let mut line = |text: String| writeln!(out, "{text}").unwrap_or_default();
            line(format!("\nprovider \"{address}\" {{"));
            match constraints.is_empty() {
                true => line(format!("  version = \"{version}\"")),
                false => {
                    line(format!("  version     = \"{version}\""));
                    line(format!("  constraints = \"{constraints}\""));
                }
            }
            if !hashes.is_empty() {
                line("  hashes = [".to_owned());
                for hash in hashes {
                    line(format!("    \"{hash}\","));
                }
                line("  ]".to_owned());
            }
            line("}".to_owned());
        }
        out
    }

    /// Replaces the file atomically.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self) -> std::io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let name = self.path.file_name().unwrap_or_default();
        RootedPath::new(folder, name).replace(self.text().as_bytes(), 0o644)
    }
}

const HEADER: &str = "# This file is maintained automatically by \"tofu init\".\n# Manual edits may be lost in future updates.\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_file_is_parsed() {
        let text = "# This file is maintained automatically.\n# Manual edits may be lost.\n\nprovider \"registry.terraform.io/hashicorp/aws\" {\n  version     = \"5.100.0\"\n  constraints = \"~> 5.0\"\n  hashes = [\n    \"h1:abc=\",\n    \"zh:00\",\n  ]\n}\n";
        let lock = LockFile::parse("l".into(), text).expect("read");
        let entry = lock
            .get(
                &"registry.terraform.io/hashicorp/aws"
                    .parse()
                    .expect("address"),
            )
            .expect("entry");
        assert_eq!(entry.version, Version::new(5, 100, 0));
        assert_eq!(
            (entry.constraints.as_str(), entry.hashes.len()),
            ("~> 5.0", 2)
        );
        assert_eq!(lock.entries.len(), 1);
    }

    #[test]
    fn lock_file_text_matches_the_tofu_format_and_is_read_back() {
        let text = "# This file is maintained automatically by \"tofu init\".\n# Manual edits may be lost in future updates.\n\nprovider \"a.example/acme/lab\" {\n  version = \"1.2.0\"\n}\n\nprovider \"b.example/acme/lab\" {\n  version     = \"1.2.0\"\n  constraints = \"~> 1.0\"\n  hashes = [\n    \"h1:x=\",\n    \"zh:00\",\n  ]\n}\n";
        let entry = |constraints: &str, hashes: &[&str]| LockEntry {
            version: Version::new(1, 2, 0),
            constraints: constraints.to_owned(),
            hashes: hashes.iter().map(|h| (*h).to_owned()).collect(),
        };
        let lock = LockFile {
            path: "l".into(),
            entries: [
                ("b.example/acme/lab", entry("~> 1.0", &["zh:00", "h1:x="])),
                ("a.example/acme/lab", entry("", &[])),
            ]
            .map(|(address, entry)| (address.parse().expect(address), entry))
            .into(),
        };
        assert_eq!(lock.text(), text);
        assert_eq!(LockFile::parse("l".into(), text).expect("read"), lock);
    }

    #[test]
    fn lock_file_errors_name_the_line() {
        for (text, what) in [
            (
                "provider \"hashicorp/aws\" { version = \"1.0.0\" }",
                "no host",
            ),
            ("provider \"a.b/c/d\" {}", "no version"),
            (
                "provider \"a.b/c/d\" { version = \"1\" }",
                "invalid version",
            ),
            ("provider {}", "one address"),
            ("provider \"a.b/c/d\" {", "unclosed block"),
        ] {
            let error = LockFile::parse("l".into(), text)
                .expect_err(text)
                .to_string();
            assert!(error.contains(what) && error.contains("line 1"), "{error}");
        }
    }
}

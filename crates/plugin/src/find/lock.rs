//! Reads `.terraform.lock.hcl`: the locked version of each provider and the accepted hashes of its
//! package.

use super::address::ProviderAddress;
use super::config_syntax::{self, TreeError};
use semver::Version;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Name of the file in the workspace.
pub(super) const FILE: &str = ".terraform.lock.hcl";

/// The lock file of a workspace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LockFile {
    pub path: PathBuf,
    entries: BTreeMap<ProviderAddress, LockEntry>,
}

/// Entry of one provider.
#[derive(Debug, Clone, PartialEq)]
pub struct LockEntry {
    pub version: Version,
    /// The constraints at the time of locking, as text.
    pub constraints: Option<String>,
    /// `h1:…` of unpacked packages, `zh:…` of archives.
    pub hashes: Vec<String>,
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
                version: Version::parse(version)
                    .map_err(|e| wrong(format!("invalid version `{version}`: {e}")))?,
                constraints: value("constraints")
                    .and_then(|v| v.text())
                    .map(str::to_owned),
                hashes: value("hashes").and_then(|v| v.texts()).unwrap_or_default(),
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

    /// Iterates over all locked providers.
    pub fn iter(&self) -> impl Iterator<Item = (&ProviderAddress, &LockEntry)> {
        self.entries.iter()
    }
}

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
            (entry.constraints.as_deref(), entry.hashes.len()),
            (Some("~> 5.0"), 2)
        );
        assert_eq!(lock.iter().count(), 1);
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

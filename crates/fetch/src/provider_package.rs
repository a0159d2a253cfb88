//! Fetches provider packages into directories: an archive is downloaded or read, verified,
//! unpacked, and only then moved to its directory.

use crate::archive::{self, Kind};
use crate::checksum::sha256;
use crate::error::FetchError;
use crate::hash;
use crate::http::{Http, OnBytes};
use crate::registry_checks::{Archive, RegistryChecks};
use crate::signature::Signer;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Location of a package.
#[derive(Debug, Clone)]
pub enum Location {
    /// Archive on a server, with a token if needed.
    Url { url: String, token: Option<String> },
    /// Local archive.
    Archive(PathBuf),
}

/// Checks that a package must pass.
#[derive(Debug, Clone)]
pub enum Checks {
    /// Data from a registry.
    Registry(RegistryChecks),
    /// One of these hashes must match if there are any. With `trust_all`, the others are trusted
    /// too.
    Hashes {
        hashes: Vec<String>,
        trust_all: bool,
    },
    /// No checks.
    None,
}

/// Package with its location and checks.
#[derive(Debug, Clone)]
pub struct ProviderPackage {
    pub location: Location,
    pub checks: Checks,
}

/// Signature policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Requires a signature even if the registry lists no key.
    pub must_be_signed: bool,
    /// Rejects signatures of expired keys.
    pub expired_is_wrong: bool,
    /// In seconds since 1970.
    pub now: u64,
}

/// Result of a successful fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedPackage {
    /// The `h1:` hash of the installed files.
    pub h1: String,
    /// Hashes of this package that were checked.
    pub checked: BTreeSet<String>,
    /// Hashes of other platforms' packages, from a trusted source.
    pub other_platform_hashes: BTreeSet<String>,
    /// Signer of the checksums.
    pub signer: Option<Signer>,
}

impl ProviderPackage {
    /// Fetches, checks and unpacks the package into a new directory, atomically. One of the hashes
    /// in `allowed` must match if there are any.
    ///
    /// # Errors
    /// The package is not available or fails a check.
    pub async fn install(
        &self,
        http: &Http,
        to: &Path,
        allowed: &[String],
        policy: Policy,
        on_bytes: OnBytes<'_>,
    ) -> Result<FetchedPackage, FetchError> {
        self.fetched(http, to, (allowed, policy, false), on_bytes)
            .await
    }

    /// Fetches and checks the package and stores its archive as a file, atomically.
    ///
    /// # Errors
    /// The package is not available or fails a check.
    pub async fn obtain_archive(
        &self,
        http: &Http,
        to: &Path,
        policy: Policy,
        on_bytes: OnBytes<'_>,
    ) -> Result<FetchedPackage, FetchError> {
        self.fetched(http, to, (&[], policy, true), on_bytes).await
    }

    async fn fetched(
        &self,
        http: &Http,
        to: &Path,
        (allowed, policy, packed): (&[String], Policy, bool),
        on_bytes: OnBytes<'_>,
    ) -> Result<FetchedPackage, FetchError> {
        let folder = to.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(FetchError::file(folder))?;
        let room = tempfile::Builder::new()
            .prefix(".fetching-")
            .tempdir_in(folder)
            .map_err(FetchError::file(folder))?;
        let file = room.path().join("package.zip");
        let archive = match &self.location {
            Location::Archive(path) if packed => {
                std::fs::copy(path, &file).map_err(FetchError::file(path))?;
                file
            }
            Location::Archive(path) => path.clone(),
            Location::Url { url, token } => {
                http.download(url, token.as_deref(), &file, on_bytes)
                    .await?;
                file
            }
        };
        let (this, allowed) = (self.clone(), allowed.to_vec());
        let (inner, to) = (room.path().join("unpacked"), to.to_owned());
        let put = move || {
            let obtained = this.checked(&archive, &inner, &allowed, policy)?;
            let whole = if packed { &archive } else { &inner };
            // The rename makes the package visible only after all checks.
            std::fs::rename(whole, &to).map_err(FetchError::file(&to))?;
            Ok(obtained)
        };
        let done = tokio::task::spawn_blocking(put).await;
        done.unwrap_or(Err(FetchError::Cancelled))
    }

    /// Checks the archive before reading its entries, then the unpacked files.
    fn checked(
        &self,
        archive: &Path,
        inner: &Path,
        allowed: &[String],
        policy: Policy,
    ) -> Result<FetchedPackage, FetchError> {
        let what = self.what();
        let zh = format!("zh:{}", sha256(archive)?);
        // Before unpacking, so that a tampered package of a registry never reaches the decoder.
        let (vouched, signer) = self.verify_signature(archive, &zh, policy)?;
        std::fs::create_dir(inner).map_err(FetchError::file(inner))?;
        archive::unpack(archive, Kind::Zip, inner)?;
        let h1 = hash::h1(inner).map_err(FetchError::file(inner))?;
        let own = [&zh, &h1];
        let mut checked = BTreeSet::new();
        match &self.checks {
            Checks::Registry(_) => drop(checked.insert(zh.clone())),
            Checks::Hashes { hashes, .. } if !hashes.is_empty() => {
                checked.extend(
                    own.iter()
                        .filter(|h| hashes.contains(h))
                        .map(|h| (*h).clone()),
                );
                if checked.is_empty() {
                    return Err(FetchError::Checksum {
                        what,
                        why: format!(
                            "its hashes {zh} and {h1} match none of the hashes that its mirror lists"
                        ),
                    });
                }
            }
            _ => {}
        }
        let known = |h: &&String| h.starts_with("h1:") || h.starts_with("zh:");
        if allowed.iter().any(|h| known(&h)) && !own.iter().any(|h| allowed.contains(h)) {
            return Err(FetchError::Checksum {
                what,
                why: format!(
                    "its hashes {zh} and {h1} match none of the hashes of this version in the lock file; if you want to use this package, remove its block from the lock file"
                ),
            });
        }
        Ok(FetchedPackage {
            h1,
            checked,
            other_platform_hashes: vouched,
            signer,
        })
    }

    fn what(&self) -> String {
        match &self.location {
            Location::Url { url, .. } => url.clone(),
            Location::Archive(path) => path.display().to_string(),
        }
    }

    /// Returns the hashes of other platforms that the source vouches for, and the signer.
    fn verify_signature(
        &self,
        archive: &Path,
        zh: &str,
        policy: Policy,
    ) -> Result<(BTreeSet<String>, Option<Signer>), FetchError> {
        match &self.checks {
            Checks::Registry(checks) => {
                let name = &self.what();
                let path = archive;
                checks.verify(&Archive { path, name, zh }, policy)
            }
            Checks::Hashes { hashes, trust_all } => {
                let vouched = hashes.iter().filter(|_| *trust_all).cloned();
                Ok((vouched.collect(), None))
            }
            Checks::None => Ok((BTreeSet::new(), None)),
        }
    }
}

//! Checks of a provider's archive against its registry's data: checksum, signed list of checksums,
//! reported size and hashes.

use crate::checksum::Checksum;
use crate::error::FetchError;
use crate::provider_package::Policy;
use crate::signature::{self, SignatureError, Signer};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Registry's report on the package of one platform.
#[derive(Debug, Clone)]
pub struct Reported {
    pub hashes: Vec<String>,
    /// In bytes.
    pub size: u64,
}

/// Data from a registry.
#[derive(Debug, Clone)]
pub struct RegistryChecks {
    pub filename: String,
    pub sha256: String,
    /// Checksum list for the archives of all platforms.
    pub sums: Vec<u8>,
    /// Signature of `sums`.
    pub signature: Vec<u8>,
    /// Accepted public keys, ASCII-armored.
    pub keys: Vec<String>,
    /// By platform.
    pub reported: BTreeMap<String, Reported>,
    pub platform: String,
}

/// Archive under check.
pub(crate) struct Archive<'a> {
    pub(crate) path: &'a Path,
    /// Name for errors.
    pub(crate) name: &'a str,
    /// Its `zh:` hash.
    pub(crate) zh: &'a str,
}

impl Archive<'_> {
    fn unfit(&self, why: String) -> FetchError {
        FetchError::Checksum {
            what: self.name.to_owned(),
            why,
        }
    }
}

impl RegistryChecks {
    /// Verifies the archive. Returns the hashes of other platforms that the registry vouches for,
    /// and the signer.
    pub(crate) fn verify(
        &self,
        archive: &Archive<'_>,
        policy: Policy,
    ) -> Result<(BTreeSet<String>, Option<Signer>), FetchError> {
        let checksum = Checksum::parse(&format!("sha256:{}", self.sha256))?;
        checksum.check(archive.path, archive.name)?;
        let list = String::from_utf8_lossy(&self.sums);
        self.check_list(&list, archive)?;
        let signer = self.signer(archive, policy)?;
        self.check_report(archive)?;
        let mut vouched: BTreeSet<String> = list.lines().filter_map(listed_hash).collect();
        // Reported hashes are not signed, so a strict policy ignores them.
        if !policy.must_be_signed {
            let all = self.reported.values().flat_map(|r| &r.hashes);
            let known = all.filter(|h| h.starts_with("h1:") || h.starts_with("zh:"));
            vouched.extend(known.cloned());
        }
        Ok((vouched, signer))
    }

    /// The signature covers the list only, so the registry's checksum must match it.
    fn check_list(&self, list: &str, archive: &Archive<'_>) -> Result<(), FetchError> {
        let (filename, sha256) = (&self.filename, &self.sha256);
        let Some(listed) = listed(list, filename) else {
            return Err(archive.unfit(format!(
                "the registry's list of checksums has no entry for {filename}"
            )));
        };
        if listed != *sha256 {
            return Err(archive.unfit(format!(
                "its checksum is {listed} in the registry's list of checksums, but {sha256} in the registry's answer"
            )));
        }
        Ok(())
    }

    fn signer(&self, archive: &Archive<'_>, policy: Policy) -> Result<Option<Signer>, FetchError> {
        // A registry without keys is accepted unless the policy requires signatures.
        if self.keys.is_empty() && !policy.must_be_signed {
            return Ok(None);
        }
        let wrong = |source| FetchError::Signature {
            what: format!("the checksums of {}", archive.name),
            source,
        };
        let signer = signature::verify(&self.sums, &self.signature, &self.keys, policy.now)
            .map_err(wrong)?;
        if signer.expired && policy.expired_is_wrong {
            return Err(wrong(SignatureError::Expired(signer.key)));
        }
        Ok(Some(signer))
    }

    fn check_report(&self, archive: &Archive<'_>) -> Result<(), FetchError> {
        if self.reported.is_empty() {
            return Ok(());
        }
        let Some(own) = self.reported.get(&self.platform) else {
            return Err(archive.unfit(format!(
                "the registry reports no package for {}",
                self.platform
            )));
        };
        let file = std::fs::metadata(archive.path).map_err(FetchError::file(archive.path))?;
        if file.len() != own.size {
            return Err(archive.unfit(format!(
                "its size is {} bytes, but the registry reports {}",
                file.len(),
                own.size
            )));
        }
        if !own.hashes.iter().any(|h| h == archive.zh) {
            return Err(
                archive.unfit("its hash is not among those that the registry reports".to_owned())
            );
        }
        Ok(())
    }
}

/// Checksum of a file in a list.
fn listed(list: &str, filename: &str) -> Option<String> {
    list.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let hex = words.next()?;
        (words.next()? == filename).then(|| hex.to_lowercase())
    })
}

/// `zh:` hash in a line of the list.
fn listed_hash(line: &str) -> Option<String> {
    let hex = line.split_whitespace().next()?;
    let good = hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit());
    good.then(|| format!("zh:{}", hex.to_lowercase()))
}

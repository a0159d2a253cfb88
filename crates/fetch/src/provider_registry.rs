//! Provider registries and network mirrors: versions of providers, and their packages.

use crate::error::FetchError;
use crate::provider_package::{Checks, Location, ProviderPackage};
use crate::registry_checks::{RegistryChecks, Reported};
use crate::service::Services;
use dependency::ProviderAddress;
use reqwest::Url;
use serde::Deserialize;
use std::collections::BTreeMap;

const SERVICE: &str = "providers.v1";
const SUBJECT: &str = "providers";

/// The versions of a provider.
#[derive(Debug, Clone, Default)]
pub struct Versions {
    /// Versions as written by the registry.
    pub versions: Vec<String>,
    /// Warnings of the registry for users.
    pub warnings: Vec<String>,
}

/// Operating system and architecture: `linux`, `amd64`.
#[derive(Debug, Clone, Copy)]
pub struct Platform<'a> {
    pub os: &'a str,
    pub arch: &'a str,
}

#[derive(Deserialize)]
struct Package {
    #[serde(default)]
    protocols: Vec<String>,
    os: String,
    arch: String,
    filename: String,
    download_url: String,
    shasum: String,
    shasums_url: String,
    shasums_signature_url: String,
    #[serde(default)]
    signing_keys: Keys,
    #[serde(default)]
    packages: BTreeMap<String, Platforms>,
}

#[derive(Deserialize, Default)]
struct Keys {
    #[serde(default)]
    gpg_public_keys: Vec<Key>,
}

#[derive(Deserialize)]
struct Key {
    ascii_armor: String,
}

#[derive(Deserialize)]
struct Platforms {
    #[serde(default)]
    hashes: Vec<String>,
    #[serde(default)]
    package_size: u64,
}

impl Package {
    /// Checks that the answer describes a usable package for the requested platform.
    fn check(&self, Platform { os, arch }: Platform<'_>) -> Result<(), String> {
        // The answer decides which file runs on this machine, so it must match the request.
        if (&*self.os, &*self.arch) != (os, arch) {
            return Err(format!(
                "it describes the package for {}_{}, but {os}_{arch} was requested",
                self.os, self.arch
            ));
        }
        let speaks =
            |p: &String| p.starts_with("5.") || p.starts_with("6.") || p == "5" || p == "6";
        if !self.protocols.is_empty() && !self.protocols.iter().any(speaks) {
            return Err(format!(
                "the provider supports the plugin protocols {}, but flightdeck supports 5 and 6; use another version",
                self.protocols.join(", ")
            ));
        }
        Ok(())
    }

    fn checks(self, sums: Vec<u8>, signature: Vec<u8>) -> RegistryChecks {
        let keys = self.signing_keys.gpg_public_keys.into_iter();
        let packages = self.packages.into_iter();
        let reported = packages.map(|(platform, p)| {
            let (hashes, size) = (p.hashes, p.package_size);
            (platform, Reported { hashes, size })
        });
        RegistryChecks {
            filename: self.filename,
            sha256: self.shasum.to_lowercase(),
            sums,
            signature,
            keys: keys.map(|key| key.ascii_armor).collect(),
            reported: reported.collect(),
            platform: format!("{}_{}", self.os, self.arch),
        }
    }
}

impl Services {
    /// Versions of a provider in its own registry.
    ///
    /// # Errors
    /// The registry has no such provider, or the answer is invalid.
    pub async fn provider_versions(
        &self,
        provider: &ProviderAddress,
    ) -> Result<Versions, FetchError> {
        #[derive(Deserialize)]
        struct Listed {
            #[serde(default)]
            versions: Vec<Version>,
            #[serde(default)]
            warnings: Option<Vec<String>>,
        }
        #[derive(Deserialize)]
        struct Version {
            version: String,
        }
        let path = format!("{}/{}/versions", provider.namespace, provider.name);
        let (url, token) = self.provider_at(provider.host(), &path).await?;
        let answer = self.http().get_success(&url, token.as_deref()).await?;
        let listed: Listed = answer.json()?;
        Ok(Versions {
            versions: listed.versions.into_iter().map(|v| v.version).collect(),
            warnings: listed.warnings.unwrap_or_default(),
        })
    }

    /// Package of a version in the provider's registry, with checksums and signature.
    ///
    /// # Errors
    /// The platform has no package, or the answer is invalid.
    pub async fn provider_package(
        &self,
        provider: &ProviderAddress,
        version: &str,
        platform: Platform<'_>,
    ) -> Result<ProviderPackage, FetchError> {
        let path = format!(
            "{}/{}/{version}/download/{}/{}",
            provider.namespace, provider.name, platform.os, platform.arch
        );
        let (url, token) = self.provider_at(provider.host(), &path).await?;
        let answer = self.http().get_success(&url, token.as_deref()).await?;
        let package: Package = answer.json()?;
        let wrong = |why: String| FetchError::Answer {
            url: url.to_string(),
            why,
        };
        package.check(platform).map_err(wrong)?;
        let link = |text: &str| -> Result<Url, FetchError> {
            let joined = answer.url.join(text);
            let found =
                joined.map_err(|e| wrong(format!("\"{text}\" is not a valid address: {e}")))?;
            crate::http::url(found.as_str())
        };
        let archive = link(&package.download_url)?;
        let (sums, signature) = (
            link(&package.shasums_url)?,
            link(&package.shasums_signature_url)?,
        );
        // Without a token, because the files may be on another host than the registry.
        let sums = self.http().get_success(&sums, None).await?;
        let signature = self.http().get_success(&signature, None).await?;
        Ok(ProviderPackage {
            location: Location::Url {
                url: archive.to_string(),
                token: None,
            },
            checks: Checks::Registry(package.checks(sums.body, signature.body)),
        })
    }

    /// Versions of a provider in the network mirror at `mirror`.
    ///
    /// # Errors
    /// The mirror has no such provider, or the answer is invalid.
    pub async fn mirrored_versions(
        &self,
        mirror: &str,
        provider: &ProviderAddress,
    ) -> Result<Versions, FetchError> {
        #[derive(Deserialize)]
        struct Index {
            versions: BTreeMap<String, serde_json::Value>,
        }
        let (_, index) = self.mirrored::<Index>(mirror, provider, "index").await?;
        Ok(Versions {
            versions: index.versions.into_keys().collect(),
            warnings: Vec::new(),
        })
    }

    /// Package of a version in a network mirror.
    ///
    /// # Errors
    /// The platform has no package, or the answer is invalid.
    pub async fn mirrored_package(
        &self,
        mirror: &str,
        provider: &ProviderAddress,
        version: &str,
        platform: Platform<'_>,
        trust_all: bool,
    ) -> Result<ProviderPackage, FetchError> {
        #[derive(Deserialize)]
        struct Version {
            archives: BTreeMap<String, Archive>,
        }
        #[derive(Deserialize)]
        struct Archive {
            url: String,
            #[serde(default)]
            hashes: Vec<String>,
        }
        let (url, mut found) = self.mirrored::<Version>(mirror, provider, version).await?;
        let platform = format!("{}_{}", platform.os, platform.arch);
        let archive = found.archives.remove(&platform);
        let archive = archive.ok_or_else(|| FetchError::NotFound(format!("{url} ({platform})")))?;
        let at = url.join(&archive.url).map_err(|e| FetchError::Answer {
            url: url.to_string(),
            why: format!("\"{}\" is not a valid address: {e}", archive.url),
        })?;
        // A downgrade to http would let others replace the archive.
        if url.scheme() == "https" && at.scheme() != "https" {
            return Err(FetchError::Answer {
                url: url.to_string(),
                why: format!(
                    "it places the archive at {at}, but a mirror with an https address must also use https for archives"
                ),
            });
        }
        // The mirror's token must not reach another host.
        let same = crate::http::host(&at) == crate::http::host(&url);
        let token = self.credentials.token(&crate::http::host(&url)).await?;
        Ok(ProviderPackage {
            location: Location::Url {
                url: crate::http::url(at.as_str())?.to_string(),
                token: token.filter(|_| same),
            },
            checks: Checks::Hashes {
                hashes: archive.hashes,
                trust_all,
            },
        })
    }

    async fn mirrored<T: serde::de::DeserializeOwned>(
        &self,
        mirror: &str,
        provider: &ProviderAddress,
        file: &str,
    ) -> Result<(Url, T), FetchError> {
        let mut base = mirror.to_owned();
        if !base.ends_with('/') {
            base.push('/');
        }
        let address = format!("{base}{provider}/{file}.json");
        let url = crate::http::url(&address)?;
        // Hashes of mirrors are not signed, so the connection must be authentic.
        if url.scheme() != "https" {
            return Err(FetchError::Address {
                url: address,
                why: "a network mirror must use https".to_owned(),
            });
        }
        let token = self.credentials.token(&crate::http::host(&url)).await?;
        let answer = self.http().get_success(&url, token.as_deref()).await?;
        if !answer.is_json() {
            return Err(FetchError::Answer {
                url: address,
                why: "its content type is not application/json".to_owned(),
            });
        }
        let read = answer.json()?;
        Ok((answer.url, read))
    }

    async fn provider_at(
        &self,
        host: &str,
        path: &str,
    ) -> Result<(Url, Option<String>), FetchError> {
        let base = self.find(host, SERVICE, SUBJECT).await?;
        let url = base.join(path).map_err(|e| FetchError::Address {
            url: format!("{base}{path}"),
            why: e.to_string(),
        })?;
        Ok((url, self.credentials.token(host).await?))
    }
}

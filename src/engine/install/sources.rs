//! Sources of a provider's packages, in the order of queries: directories, mirrors, its registry.

use dependency::{ProviderAddress, Version};
use fetch::{Checks, FetchError, PackageLocation, Platform, ProviderPackage, Services};
use plugin::find::{MethodKind, MirrorKind, Places, SeenFiles, scan, scan_for};
use std::path::{Path, PathBuf};

/// One source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    Directory(PathBuf),
    Mirror { url: String, trust_all: bool },
    Registry,
}

/// Package of a version.
pub(super) enum Package {
    /// Unpacked directory.
    Unpacked(PathBuf),
    /// Archive.
    Packed(ProviderPackage),
}

/// Versions of a provider at one source.
pub(super) struct Listed {
    pub(super) source: Source,
    pub(super) versions: Vec<Version>,
    pub(super) warnings: Vec<String>,
}

/// Returns the sources of a provider.
pub(super) fn sources(places: &Places, address: &ProviderAddress) -> Vec<Source> {
    // An explicit `provider_installation` replaces the implied sources.
    if let Some(methods) = &places.methods {
        let served = methods.iter().filter(|method| method.serves(address));
        return served
            .map(|method| match &method.kind {
                MethodKind::Filesystem(path) => Source::Directory(path.clone()),
                MethodKind::Network { url, trust_all } => Source::Mirror {
                    url: url.clone(),
                    trust_all: *trust_all,
                },
                MethodKind::Direct => Source::Registry,
            })
            .collect();
    }
    // A provider in an implied local mirror is installed from there only.
    let implied = places
        .mirrors
        .iter()
        .filter(|m| m.kind == MirrorKind::Implied);
    let has = |path: &Path| {
        let seen = scan(path, address);
        !seen.packages.is_empty() || !seen.archives.is_empty()
    };
    let local: Vec<Source> = implied
        .filter(|mirror| has(&mirror.path))
        .map(|mirror| Source::Directory(mirror.path.clone()))
        .collect();
    match local.is_empty() {
        true => vec![Source::Registry],
        false => local,
    }
}

impl Source {
    /// Returns the name of the source, for messages.
    pub(super) fn describe(&self, address: &ProviderAddress) -> String {
        match self {
            Self::Directory(path) => format!("the directory {}", path.display()),
            Self::Mirror { url, .. } => format!("the mirror {}", fetch::redacted(url)),
            Self::Registry => {
                format!("the registry {}", address.host())
            }
        }
    }

    /// Returns the versions of a provider; empty if the source does not have it.
    pub(super) async fn list(
        &self,
        services: &Services,
        address: &ProviderAddress,
        machine: &str,
    ) -> Result<Listed, FetchError> {
        let found = match self {
            Self::Directory(path) => {
                let SeenFiles {
                    packages, archives, ..
                } = scan_for(path, address, machine);
                let unpacked = packages.into_iter().map(|p| p.version);
                let packed = archives.into_iter().map(|(version, _)| version);
                return Ok(Listed {
                    source: self.clone(),
                    versions: unpacked.chain(packed).collect(),
                    warnings: Vec::new(),
                });
            }
            Self::Mirror { url, .. } => services.mirrored_versions(url, address).await,
            Self::Registry => services.provider_versions(address).await,
        };
        let found = match found {
            // Another source may have it.
            Err(FetchError::NotFound(_)) => fetch::Versions::default(),
            other => other?,
        };
        let versions = found.versions.iter();
        Ok(Listed {
            source: self.clone(),
            versions: versions
                .filter_map(|text| Version::of_package(text).ok())
                .collect(),
            warnings: found.warnings,
        })
    }

    /// Returns the package of a version for a platform, if there is one.
    pub(super) async fn package(
        &self,
        services: &Services,
        address: &ProviderAddress,
        version: &Version,
        machine: &str,
    ) -> Result<Option<Package>, FetchError> {
        let text = version.to_string();
        let (os, arch) = machine.split_once('_').unwrap_or((machine, ""));
        let platform = Platform { os, arch };
        let found = match self {
            Self::Directory(path) => {
                let seen = scan_for(path, address, machine);
                let unpacked = seen.packages.into_iter().find(|p| p.version == *version);
                let packed = seen.archives.into_iter().find(|(v, _)| v == version);
                return Ok(match (unpacked, packed) {
                    (Some(package), _) => Some(Package::Unpacked(package.directory)),
                    (None, Some((_, path))) => Some(Package::Packed(ProviderPackage {
                        location: PackageLocation::Archive(path),
                        checks: Checks::None,
                    })),
                    (None, None) => None,
                });
            }
            Self::Mirror { url, trust_all } => {
                services
                    .mirrored_package(url, address, &text, platform, *trust_all)
                    .await
            }
            Self::Registry => services.provider_package(address, &text, platform).await,
        };
        match found {
            Ok(package) => Ok(Some(Package::Packed(package))),
            Err(FetchError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

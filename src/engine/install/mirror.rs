//! Provider mirror in a directory: archives, and index files for serving them over HTTP. Owns the
//! indexes of the providers written.

use super::Step;
use super::provider::{Job, Problem};
use super::sources::{Package, Source};
use dependency::Version;
use fsroot::RootedPath;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const INDEX_NOT_WRITTEN: &str = "Failed to write the mirror index";

impl Job {
    /// Adds the packages of these platforms to a mirror and updates its indexes.
    pub(super) async fn update_mirror(
        &self,
        dir: &Path,
        platforms: &[String],
    ) -> Result<(), Problem> {
        let (version, lists) = self.version().await?;
        drop(lists);
        let folder = dir.join(self.address.to_string());
        let mut found = BTreeMap::new();
        for platform in platforms {
            let hashes = self.add_package(&folder, &version, platform).await?;
            found.insert(platform.clone(), hashes);
        }
        let (name, of) = (self.address.name.clone(), version.clone());
        let written = tokio::task::spawn_blocking(move || index(&folder, &name, &of, found)).await;
        let why = match written {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        Err((
            INDEX_NOT_WRITTEN,
            format!("{} {version}: {why}.", self.address),
        ))
    }

    /// Adds one package; returns its hashes.
    async fn add_package(
        &self,
        folder: &Path,
        version: &Version,
        platform: &str,
    ) -> Result<BTreeSet<String>, Problem> {
        let services = &self.shared.services;
        let failed = |why: String| self.fetch_problem(version, &format!("for {platform}: {why}"));
        let source = Source::Registry;
        let package = source.package(services, &self.address, version, platform);
        // A mirror has archives only.
        let package = match package.await.map_err(|e| failed(e.to_string()))? {
            Some(Package::Packed(package)) => package,
            _ => {
                return Err(failed(
                    "its registry has no package for this platform".to_owned(),
                ));
            }
        };
        (self.shared.on_step)(Step::ProviderFetching {
            provider: self.address.to_string(),
            version: version.to_string(),
            from: source.describe(&self.address),
        });
        let to = folder.join(archive(&self.address.name, version, platform));
        let on_bytes = self.on_bytes();
        let obtained = package
            .obtain_archive(&services.http().logging_in(), &to, self.policy(), &on_bytes)
            .await
            .map_err(|e| failed(e.to_string()))?;
        (self.shared.on_step)(Step::ProviderMirrored {
            provider: self.address.to_string(),
            version: version.to_string(),
            platform: platform.to_owned(),
            signed_by: obtained.signer.map(|signer| signer.key),
        });
        Ok([obtained.h1].into_iter().chain(obtained.checked).collect())
    }
}

fn archive(name: &str, version: &Version, platform: &str) -> String {
    format!("terraform-provider-{name}_{version}_{platform}.zip")
}

/// Rewrites the indexes of a provider, and keeps their entries for other versions and platforms.
fn index(
    folder: &Path,
    name: &str,
    version: &Version,
    found: BTreeMap<String, BTreeSet<String>>,
) -> std::io::Result<()> {
    let (all, one) = (
        folder.join("index.json"),
        folder.join(format!("{version}.json")),
    );
    let mut versions = before(&all, "versions");
    versions.insert(version.to_string(), json!({}));
    let mut archives = before(&one, "archives");
    // Entries of removed archives are dropped.
    archives.retain(|platform, _| folder.join(archive(name, version, platform)).is_file());
    for (platform, hashes) in found {
        let url = archive(name, version, &platform);
        archives.insert(platform, json!({ "hashes": hashes, "url": url }));
    }
    archives.sort_keys();
    versions.sort_keys();
    // The version's file is written first, so that each listed version has one.
    write_json(&one, json!({ "archives": archives }))?;
    write_json(&all, json!({ "versions": versions }))
}

/// Returns the member of an index; empty if the index is missing or invalid.
fn before(path: &PathBuf, member: &str) -> Map<String, Value> {
    let text = fsroot::read_regular(path).unwrap_or_default();
    let mut all: Value = serde_json::from_slice(&text).unwrap_or_default();
    match all.get_mut(member).map(Value::take) {
        Some(Value::Object(said)) => said,
        _ => Map::new(),
    }
}

fn write_json(path: &Path, value: Value) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default();
    RootedPath::new(folder, name).replace(format!("{value:#}").as_bytes(), 0o644)
}

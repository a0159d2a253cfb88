//! Directory layout of packages: unpacked `HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/`, packed
//! `HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_OS_ARCH.zip`. Mirrors, caches and the
//! workspace's own installation use it.

use dependency::{ProviderAddress, Version};
use std::io;
use std::path::{Path, PathBuf};

/// An unpacked package for this system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    pub address: ProviderAddress,
    pub version: Version,
    pub directory: PathBuf,
}

/// Contents of a directory for one provider: usable packages, and a note on each unusable entry.
#[derive(Debug, Default)]
pub struct SeenFiles {
    pub packages: Vec<Package>,
    /// Archives for this system, each with its version.
    pub archives: Vec<(Version, PathBuf)>,
    pub notes: Vec<String>,
}

/// Returns this system as package names spell it: `linux_amd64`.
#[must_use]
pub fn platform() -> String {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        other => other,
    };
    format!("{os}_{arch}")
}

/// Searches `base` for the packages of a complete address, for this system.
#[must_use]
pub fn scan(base: &Path, address: &ProviderAddress) -> SeenFiles {
    scan_for(base, address, &platform())
}

/// Searches `base` for the packages of a complete address, for the given system.
#[must_use]
pub fn scan_for(base: &Path, address: &ProviderAddress, platform: &str) -> SeenFiles {
    let mut seen = SeenFiles::default();
    let folder = base.join(address.to_string());
    let names = match names(&folder) {
        Ok(names) => names,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return seen,
        Err(e) => {
            seen.notes
                .push(format!("cannot read {}: {e}", folder.display()));
            return seen;
        }
    };
    for name in names {
        let path = folder.join(&name);
        if name.ends_with(".zip") {
            if let Some(version) = packed_version(&name, &address.name, platform) {
                seen.notes.push(format!(
                    "{version} as an archive, run `flightdeck init` to unpack it: {}",
                    path.display()
                ));
                if let Ok(version) = Version::of_package(&version) {
                    seen.archives.push((version, path));
                }
            }
        } else if path.is_dir() {
            match Version::of_package(&name) {
                Ok(version) => inspect_version(&path, (address, platform), version, &mut seen),
                Err(_) => seen
                    .notes
                    .push(format!("the name of {} is not a version", path.display())),
            }
        }
    }
    seen
}

fn inspect_version(
    folder: &Path,
    (address, platform): (&ProviderAddress, &str),
    version: Version,
    seen: &mut SeenFiles,
) {
    let directory = folder.join(platform);
    if directory.is_dir() {
        seen.packages.push(Package {
            address: address.clone(),
            version,
            directory,
        });
        return;
    }
    match names(folder) {
        Ok(others) if others.is_empty() => {
            seen.notes.push(format!("{version}, an empty directory"))
        }
        Ok(others) => seen.notes.push(format!(
            "{version} only for {}, but this machine is {}",
            others.join(", "),
            platform
        )),
        Err(e) => seen
            .notes
            .push(format!("cannot read {}: {e}", folder.display())),
    }
}

/// Returns the names in a directory, sorted.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Returns the version in `terraform-provider-TYPE_VERSION_OS_ARCH.zip` if the archive is for this
/// system.
fn packed_version(file: &str, name: &str, platform: &str) -> Option<String> {
    let rest = file
        .strip_prefix("terraform-provider-")?
        .strip_prefix(name)?
        .strip_prefix('_')?;
    Some(
        rest.strip_suffix(".zip")?
            .strip_suffix(platform)?
            .strip_suffix('_')?
            .to_owned(),
    )
}

/// Reason why a package has no executable.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoExecutable {
    #[error("cannot read {}: {source}", package.display())]
    Unreadable {
        package: PathBuf,
        source: std::io::Error,
    },
    #[error("{} contains no file whose name starts with {prefix}", package.display())]
    Nameless { package: PathBuf, prefix: String },
}

/// Returns the executable of a package: the first file, by name, that is called
/// `terraform-provider-TYPE`, optionally followed by `_…` or `.…`.
pub(super) fn executable(package: &Path, name: &str) -> Result<PathBuf, NoExecutable> {
    let files = names(package).map_err(|source| NoExecutable::Unreadable {
        package: package.to_owned(),
        source,
    })?;
    let prefix = format!("terraform-provider-{name}");
    let fits = |file: &&String| {
        file.strip_prefix(&prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '.']))
    };
    match files
        .iter()
        .filter(fits)
        .map(|f| package.join(f))
        .find(|p| p.is_file())
    {
        Some(path) => Ok(path),
        None => Err(NoExecutable::Nameless {
            package: package.to_owned(),
            prefix,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_is_the_first_match_by_name() {
        let folder = tempfile::tempdir().expect("folder");
        let touch = |name: &str| std::fs::write(folder.path().join(name), "").expect("written");
        assert!(
            executable(folder.path(), "null")
                .expect_err("none")
                .to_string()
                .contains("terraform-provider-null")
        );
        touch("terraform-provider-nullify");
        touch("LICENSE");
        executable(folder.path(), "null").expect_err("none yet");
        touch("terraform-provider-null_v3.2.0_x5");
        assert!(
            executable(folder.path(), "null")
                .expect("found")
                .ends_with("terraform-provider-null_v3.2.0_x5")
        );
        touch("terraform-provider-null");
        assert!(
            executable(folder.path(), "null")
                .expect("found")
                .ends_with("terraform-provider-null")
        );
        std::fs::create_dir(folder.path().join("terraform-provider-only")).expect("made");
        executable(folder.path(), "only").expect_err("a directory is not an executable");
    }
}

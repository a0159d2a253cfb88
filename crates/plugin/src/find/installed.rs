//! Lists the addresses of all installed providers, including those that no configuration needs.
//! Reads directories only; keeps no state.

use super::places::Places;
use dependency::{BUNDLED_HOST, BUNDLED_TYPES, ProviderAddress};
use model::PluginKind;
use std::collections::BTreeSet;
use std::path::Path;

/// Maximum number of directories to read below one location.
const DIRECTORIES: usize = 20_000;
/// Depth of `HOST/NAMESPACE/TYPE`.
const DEPTH: usize = 3;

/// Returns every address that has a package, a process or a plugin at a searched location.
#[must_use]
pub fn installed(places: &Places) -> BTreeSet<ProviderAddress> {
    let mut all: BTreeSet<ProviderAddress> = places.reattach.keys().cloned().collect();
    all.extend(places.overrides.keys().cloned());
    all.extend(packages(&places.workspace));
    for mirror in &places.mirrors {
        all.extend(packages(&mirror.path).filter(|address| mirror.serves(address)));
    }
    let discovered = places.plugin_path.plugins.iter();
    let providers = discovered.filter(|plugin| plugin.kind == PluginKind::Provider);
    all.extend(providers.filter_map(|plugin| plugin.address()));
    let bundled = bundled().map(|name| format!("{BUNDLED_HOST}/bundled/{name}"));
    all.extend(bundled.filter_map(|address| address.parse().ok()));
    all
}

/// Returns the names of the bundled providers that can be launched.
fn bundled() -> impl Iterator<Item = &'static str> {
    // `broken` exists to fail at its launch, for tests and the demo.
    BUNDLED_TYPES.into_iter().filter(|name| *name != "broken")
}

/// Returns the addresses of the packages in a directory.
fn packages(base: &Path) -> impl Iterator<Item = ProviderAddress> {
    let (mut found, mut left) = (Vec::new(), DIRECTORIES);
    collect_packages(base, &mut Vec::new(), &mut left, &mut found);
    found.into_iter()
}

fn collect_packages(
    folder: &Path,
    names: &mut Vec<String>,
    left: &mut usize,
    found: &mut Vec<ProviderAddress>,
) {
    if names.len() == DEPTH {
        found.extend(names.join("/").parse::<ProviderAddress>().ok());
        return;
    }
    // Searched places are often absent, such as implied mirrors.
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Hidden directories are temporary ones of an installation.
        if name.starts_with('.') || !entry.path().is_dir() {
            continue;
        }
        names.push(name);
        collect_packages(&entry.path(), names, left, found);
        names.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find::{Mirror, MirrorKind};

    #[test]
    fn packages_of_each_location_are_listed_and_other_directories_are_not() {
        let folder = tempfile::tempdir().expect("folder");
        let make = |path: &str| std::fs::create_dir_all(folder.path().join(path)).expect("made");
        make("own/registry.opentofu.org/hashicorp/null/3.2.0/linux_amd64");
        make("mirror/example.com/acme/exe/1.0.0");
        make("mirror/example.com/acme");
        make("mirror/.hidden/acme/exe/1.0.0");
        std::fs::write(folder.path().join("mirror/README"), "").expect("written");
        let places = Places {
            workspace: folder.path().join("own"),
            mirrors: vec![Mirror {
                kind: MirrorKind::Configured,
                path: folder.path().join("mirror"),
                include: Vec::new(),
                exclude: Vec::new(),
            }],
            ..Places::default()
        };
        let all: Vec<String> = installed(&places).iter().map(ToString::to_string).collect();
        let others: Vec<&String> = all.iter().filter(|a| !a.contains("bundled")).collect();
        assert_eq!(
            others,
            [
                "example.com/acme/exe",
                "registry.opentofu.org/hashicorp/null"
            ]
        );
        assert_eq!(all.len(), 2 + bundled().count());
    }
}

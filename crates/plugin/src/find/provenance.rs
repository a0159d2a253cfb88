//! Provenance of plugins: distinguishes plugins shipped in the workspace, such as in a clone, from
//! those in directories of the user. It follows the contents: a package that `init` installed from
//! the workspace still counts as shipped in `.terraform/providers`.

use super::found::{Found, Origin};
use super::git_index::is_in_git;
use super::hash::HashCache;
use super::layout::scan;
use super::places::{MirrorKind, Places};
use fsroot::RootedPath;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

/// Directory of packages that a workspace may contain.
const OWN_MIRROR: &str = "terraform.d/plugins";
/// File beside `.terraform/providers` with the `h1:` hash of each package that was installed from
/// the workspace, one per line.
const RECORD_FILE: &str = "flightdeck-workspace-packages";

/// Returns true if the plugin is shipped in the workspace. A package in `.terraform/providers`
/// counts only if git tracks it or it was installed from the workspace, because `init` writes
/// there.
pub fn is_shipped(found: &Found, places: &Places, cache: &HashCache) -> bool {
    let Some(executable) = found.executable() else {
        return false;
    };
    match &found.origin {
        Origin::Reattach | Origin::Bundled | Origin::Builtin => return false,
        Origin::DevOverride(directory)
        | Origin::PluginPath(directory)
        | Origin::Mirror(MirrorKind::Configured, directory)
            if places.user_directories.contains(directory) =>
        {
            return false;
        }
        Origin::Workspace(_)
        | Origin::DevOverride(_)
        | Origin::PluginPath(_)
        | Origin::Mirror(..) => {}
    }
    is_in_workspace(executable, places)
        || is_in_git(executable)
        || executable.canonicalize().is_ok_and(|real| is_in_git(&real))
        || is_copy_of_shipped(found, places, cache)
}

/// Returns true if a path or its target is in the workspace, outside the directory where `init`
/// installs packages. A link in the workspace counts regardless of its target, because the
/// workspace chose it. A path that cannot be resolved counts too.
fn is_in_workspace(path: &Path, places: &Places) -> bool {
    let [Ok(real), Ok(root)] = [path, &places.root].map(Path::canonicalize) else {
        return true;
    };
    // It may not exist before the first `init`.
    let installed = places.workspace.canonicalize();
    let installed = installed.as_deref().unwrap_or(&places.workspace);
    let within = |path: &Path, root: &Path, installed: &Path| {
        path.starts_with(root) && !path.starts_with(installed)
    };
    let [path, own_root, own_installed] = [path, &places.root, &places.workspace].map(lexical);
    within(&real, &root, installed) || within(&path, &own_root, &own_installed)
}

/// Returns the absolute path without `.` and `..`, without following links.
fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in std::path::absolute(path)
        .as_deref()
        .unwrap_or(path)
        .components()
    {
        match part {
            Component::ParentDir => drop(out.pop()),
            other => out.push(other),
        }
    }
    out
}

impl Places {
    /// Returns true if the plugins in a directory are shipped in the workspace.
    #[must_use]
    pub fn ships_plugins_in(&self, directory: &Path) -> bool {
        !self.user_directories.contains(directory) && is_in_workspace(directory, self)
    }

    fn record_file(&self) -> PathBuf {
        self.workspace.with_file_name(RECORD_FILE)
    }

    /// Records by its `h1:` hash that a package of the workspace was installed.
    ///
    /// # Errors
    /// It cannot be recorded; then the package must not stay.
    pub fn record_shipped(&self, hash: &str) -> io::Result<()> {
        let path = self.record_file();
        // The usual data directory is part of the workspace, so links in it are not followed; one
        // that TF_DATA_DIR names may be a link.
        let file = match path.strip_prefix(&self.root) {
            Ok(inner) if inner.starts_with(".terraform") => RootedPath::new(&self.root, inner),
            _ => RootedPath::new(path.parent().unwrap_or(Path::new(".")), RECORD_FILE),
        };
        file.create_parents()?;
        let mut file = file.open_or_create(0o600)?;
        // Packages are installed in parallel, and each adds its line.
        file.lock()?;
        let mut recorded = String::new();
        file.read_to_string(&mut recorded)?;
        if !recorded.lines().any(|line| line == hash) {
            file.write_all(format!("{hash}\n").as_bytes())?;
        }
        Ok(())
    }
}

fn read_or_empty(file: &Path) -> io::Result<String> {
    match fsroot::read_regular(file) {
        Ok(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(e) => Err(e),
    }
}

/// Returns true if an installed package has the contents of one shipped in the workspace. It checks
/// the record of `init` and the workspace's own packages, because another tool may have installed
/// it.
fn is_copy_of_shipped(found: &Found, places: &Places, cache: &HashCache) -> bool {
    let (Some(package), Some(version)) = (&found.package, &found.version) else {
        return false;
    };
    // Every doubt counts as shipped, which only costs the user a question for trust.
    let Ok(hash) = cache.package(package) else {
        return true;
    };
    match read_or_empty(&places.record_file()) {
        Ok(all) if all.lines().any(|line| line == hash) => return true,
        Ok(_) => {}
        // An unreadable record may contain this package.
        Err(_) => return true,
    }
    let own = places.root.join(OWN_MIRROR);
    let others = places.mirrors.iter().map(|mirror| &mirror.path);
    let brought = others.filter(|path| places.ships_plugins_in(path));
    std::iter::once(&own).chain(brought).any(|directory| {
        let seen = scan(directory, &found.address);
        let mut packages = seen.packages.iter().filter(|p| p.version == *version);
        let mut archives = seen.archives.iter().filter(|(v, _)| v == version);
        packages.any(|it| cache.package(&it.directory).is_ok_and(|h| h == hash))
            // An archive that cannot be unpacked cannot have been installed.
            || archives.any(|(_, path)| cache.archive(path).is_ok_and(|h| h == hash))
    })
}

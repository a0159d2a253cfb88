//! Provenance of plugins: which of them a workspace itself brings, as a clone does, and which come
//! from places of the user's own. It follows the contents: a package that `init` took from the
//! workspace stays the workspace's in `.terraform/providers`.

use super::found::{Found, Origin};
use super::git_index::is_in_git;
use super::hash::HashCache;
use super::layout::scan;
use super::places::{MirrorKind, Places};
use fsroot::Below;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

/// The directory of packages that a workspace may have.
const OWN_MIRROR: &str = "terraform.d/plugins";
/// File beside `.terraform/providers` with the `h1:` hash of each package that was taken from the
/// workspace, one a line.
const TAKEN: &str = "flightdeck-workspace-packages";

/// Whether the workspace itself brings what would run. `.terraform/providers` is what `init` leaves
/// there, so a package in it counts where git has it, or where it was taken from the workspace.
pub fn is_brought(found: &Found, places: &Places, cache: &HashCache) -> bool {
    let Some(executable) = found.executable() else {
        return false;
    };
    match &found.origin {
        Origin::Reattach | Origin::Bundled | Origin::Builtin => return false,
        Origin::DevOverride(directory)
        | Origin::PluginPath(directory)
        | Origin::Mirror(MirrorKind::Configured, directory)
            if places.named.contains(directory) =>
        {
            return false;
        }
        Origin::Workspace(_)
        | Origin::DevOverride(_)
        | Origin::PluginPath(_)
        | Origin::Mirror(..) => {}
    }
    lies_in_workspace(executable, places)
        || is_in_git(executable)
        || executable.canonicalize().is_ok_and(|real| is_in_git(&real))
        || was_taken(found, places, cache)
}

/// Whether a path, or what it leads to, lies in the workspace and not where `init` puts packages. A
/// link of the workspace counts wherever it leads: the workspace has chosen it. What cannot be
/// followed counts, too.
fn lies_in_workspace(path: &Path, places: &Places) -> bool {
    let [Ok(real), Ok(root)] = [path, &places.root].map(Path::canonicalize) else {
        return true;
    };
    let installed = places.workspace.canonicalize();
    let installed = installed.as_deref().unwrap_or(&places.workspace);
    let within = |path: &Path, root: &Path, installed: &Path| {
        path.starts_with(root) && !path.starts_with(installed)
    };
    let [path, own_root, own_installed] = [path, &places.root, &places.workspace].map(lexical);
    within(&real, &root, installed) || within(&path, &own_root, &own_installed)
}

/// An absolute path without `.` and `..`, no link followed.
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
    /// Whether the workspace itself brings what lies in a directory.
    #[must_use]
    pub fn are_brought_from(&self, directory: &Path) -> bool {
        !self.named.contains(directory) && lies_in_workspace(directory, self)
    }

    fn taken_file(&self) -> PathBuf {
        self.workspace.with_file_name(TAKEN)
    }

    /// Records that a package of the workspace was installed, by its `h1:` hash.
    ///
    /// # Errors
    /// It cannot be recorded; then the package must not stay.
    pub fn record_taken(&self, hash: &str) -> io::Result<()> {
        let path = self.taken_file();
        // The usual data directory is part of the workspace; one that TF_DATA_DIR names may be a
        // link.
        let file = match path.strip_prefix(&self.root) {
            Ok(inner) if inner.starts_with(".terraform") => Below::new(&self.root, inner),
            _ => Below::new(path.parent().unwrap_or(Path::new(".")), TAKEN),
        };
        file.create_parents()?;
        let mut file = file.open_or_create(0o600)?;
        // Several packages are installed at once, each with its line.
        file.lock()?;
        let mut recorded = String::new();
        file.read_to_string(&mut recorded)?;
        if !recorded.lines().any(|line| line == hash) {
            file.write_all(format!("{hash}\n").as_bytes())?;
        }
        Ok(())
    }
}

fn taken(file: &Path) -> io::Result<String> {
    match fsroot::read_regular(file) {
        Ok(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(e) => Err(e),
    }
}

/// Whether an installed package has the contents of one that the workspace brings, by the record of
/// `init`, or by a look at what is there: another tool may have installed it.
fn was_taken(found: &Found, places: &Places, cache: &HashCache) -> bool {
    let (Some(package), Some(version)) = (&found.package, &found.version) else {
        return false;
    };
    let Ok(hash) = cache.package(package) else {
        return true;
    };
    match taken(&places.taken_file()) {
        Ok(all) if all.lines().any(|line| line == hash) => return true,
        Ok(_) => {}
        // A record that cannot be read may name it.
        Err(_) => return true,
    }
    let own = places.root.join(OWN_MIRROR);
    let others = places.mirrors.iter().map(|mirror| &mirror.path);
    let brought = others.filter(|path| places.are_brought_from(path));
    std::iter::once(&own).chain(brought).any(|directory| {
        let seen = scan(directory, &found.address);
        let mut packages = seen.packages.iter().filter(|p| p.version == *version);
        let mut archives = seen.archives.iter().filter(|(v, _)| v == version);
        packages.any(|it| cache.package(&it.directory).is_ok_and(|h| h == hash))
            // What cannot be unpacked was not installed.
            || archives.any(|(_, path)| cache.archive(path).is_ok_and(|h| h == hash))
    })
}

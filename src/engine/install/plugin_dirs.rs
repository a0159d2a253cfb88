//! `-plugin-dir`: package directories that replace all other sources, and the file in the data
//! directory that records them, as in OpenTofu.

use super::Request;
use super::error::InstallError;
use plugin::find::{Method, MethodKind, Places};
use std::path::{Path, PathBuf};
use workspace::state_location;

/// File in the data directory.
const FILE: &str = "plugin_path";

/// Returns the given directories; none if they are reset.
fn directories(request: &Request) -> &[PathBuf] {
    match &request.plugin_dirs[..] {
        [only] if only.as_os_str().is_empty() => &[],
        all => all,
    }
}

/// Records the given directories, or removes the record if they are reset. Without the flag, the
/// record stays.
pub(super) fn record(request: &Request) -> Result<(), InstallError> {
    if request.plugin_dirs.is_empty() {
        return Ok(());
    }
    let file = state_location::data(&request.dir).join(FILE);
    let written = match directories(request) {
        [] => file.remove_file(),
        all => {
            let text: Vec<String> = all.iter().map(|p| p.to_string_lossy().into()).collect();
            let text = serde_json::to_string_pretty(&text).unwrap_or_default();
            file.replace(text.as_bytes(), 0o644)
        }
    };
    written.map_err(|source| InstallError::PluginDirs {
        path: file.path(),
        source,
    })
}

/// Restricts the sources to these directories, if there are any.
pub(super) fn restrict_to(request: &Request, places: &mut Places) {
    let all = directories(request);
    if all.is_empty() {
        return;
    }
    let method = |dir: &PathBuf| Method {
        kind: MethodKind::Filesystem(request.dir.join(dir)),
        include: Vec::new(),
        exclude: Vec::new(),
        retries: None,
    };
    places.methods = Some(all.iter().map(method).collect());
    let missing = all.iter().filter(|dir| !is_dir(&request.dir, dir));
    places.warnings.extend(missing.map(|dir| {
        format!(
            "--plugin-dir names {}, which is not a directory",
            dir.display()
        )
    }));
}

fn is_dir(dir: &Path, named: &Path) -> bool {
    dir.join(named).is_dir()
}

//! `-plugin-dir`: directories of packages that are looked at in the place of all others, and the
//! word of them that other tools of the language leave in the data directory.

use super::Request;
use super::error::InstallError;
use crate::engine::plugin::find::{Method, MethodKind, Places};
use crate::engine::workspace::home;
use std::path::{Path, PathBuf};

/// The file in the data directory that names them.
const FILE: &str = "plugin_path";

/// The directories that were given; none where they are taken back.
fn given(request: &Request) -> &[PathBuf] {
    match &request.plugin_dirs[..] {
        [only] if only.as_os_str().is_empty() => &[],
        all => all,
    }
}

/// Writes down which directories were given, as they were given; takes the word of earlier ones
/// away where they are taken back. Without a word of any, what is written stays.
pub(super) fn record(request: &Request) -> Result<(), InstallError> {
    if request.plugin_dirs.is_empty() {
        return Ok(());
    }
    let file = home::data(&request.dir).join(FILE);
    let written = match given(request) {
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

/// Has providers come from these directories alone, where some were given.
pub(super) fn alone(request: &Request, places: &mut Places) {
    let all = given(request);
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
            "--plugin-dir names {}, which is no directory",
            dir.display()
        )
    }));
}

fn is_dir(dir: &Path, named: &Path) -> bool {
    dir.join(named).is_dir()
}

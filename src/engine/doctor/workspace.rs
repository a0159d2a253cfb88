//! Checks of the directory and its configuration.

use super::finding::{Area, Findings};
use lang::config::{Module, is_config_dir};
use model::StageRequest;
use model::settings::Settings;
use rustix::fs::{Access, access};
use std::sync::Arc;
use workspace::load;

/// Runs the checks; returns the configuration if it is readable.
pub(super) fn examine(settings: &Settings, found: &mut Findings) -> Option<Arc<Module>> {
    let area = Area::Workspace;
    let dir = &settings.workspace;
    // Work in the directory needs all three permissions.
    if let Err(e) = access(dir, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
        found.error(area, format!("no full access to {}: {e}", dir.display()));
        found.remedy("run as its owner, or ask the owner for read, write and execute permission");
    }
    if !is_config_dir(dir) {
        found.warning(area, format!("{} has no configuration", dir.display()));
        found.remedy("change to the directory with .tf files, or pass it with -C");
        return None;
    }
    // Partial loading, because variables need no values here.
    match load::load(
        dir,
        &settings.workspace_name,
        &StageRequest::default(),
        true,
    ) {
        Ok((loaded, warnings)) => {
            let modules = loaded.root.all();
            let resources: usize = modules.iter().map(|m| m.resources.len()).sum();
            let named = match settings.workspace_name.as_str() {
                "" => String::new(),
                named => format!(" (workspace {named})"),
            };
            found.add_ok(
                area,
                format!(
                    "the configuration is readable: {} with {}{named}",
                    count_text(modules.len(), "module"),
                    count_text(resources, "resource block"),
                ),
            );
            if !warnings.is_empty() {
                found.warning(
                    area,
                    count_text(warnings.len(), "warning") + " in the configuration",
                );
                found.remedy("run `flightdeck validate` to show them");
            }
            Some(loaded.root)
        }
        Err((_, diags)) => {
            let errors = diags.iter().filter(|d| d.is_error()).count();
            let first = diags.iter().find(|d| d.is_error());
            let first = first.map(|d| d.summary.clone()).unwrap_or_default();
            found.error(
                area,
                format!(
                    "the configuration is invalid: {}, the first is {first:?}",
                    count_text(errors, "error")
                ),
            );
            found.remedy("run `flightdeck validate` to show each with its location, and `flightdeck init` to install missing modules");
            None
        }
    }
}

pub(super) fn count_text(n: usize, word: &str) -> String {
    match n {
        1 => format!("1 {word}"),
        n => format!("{n} {word}s"),
    }
}

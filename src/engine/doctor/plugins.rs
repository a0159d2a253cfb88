//! Checks of plugins without launching any: location, missing ones, result of the last launch.

use super::finding::{Area, Findings};
use super::workspace::count_text;
use crate::provider_resolution::{self, NotLaunched};
use lang::config::Module;
use model::Severity;
use model::settings::Settings;
use plugin::trust::Trust;
use std::collections::BTreeSet;
use store::Store;

pub(super) fn examine(
    settings: &Settings,
    root: &Module,
    in_state: &BTreeSet<String>,
    found: &mut Findings,
) {
    let area = Area::Plugins;
    let trust = Trust::new(settings.trusted_plugins.clone(), &settings.workspace);
    // The same search as before a launch, so that the findings match it.
    let sought = provider_resolution::find_providers(
        root,
        in_state,
        settings,
        &provider_resolution::hashes(settings),
        &trust,
    );
    for problem in &sought.problems {
        let text = format!("{}: {}", problem.summary, problem.detail);
        match problem.severity {
            Severity::Error => found.error(area, text),
            Severity::Warning => found.warning(area, text),
        }
    }
    for (record, start) in &sought.records {
        // The others are reported as missing, below.
        if start.is_ok() {
            let version = record.version.as_deref().unwrap_or("without a version");
            found.add_ok(
                area,
                format!("{} {version}, {}", record.address, record.source),
            );
        }
    }
    let untrusted: BTreeSet<&str> = sought
        .untrusted
        .iter()
        .map(|p| p.address.as_str())
        .collect();
    for (address, why) in &sought.missing {
        found.error(area, format!("{address}: {why}"));
        found.remedy(match why {
            _ if untrusted.contains(&**address) => {
                "check its origin, then trust it with --trust-workspace"
            }
            NotLaunched::NotFound(missing) => missing.remedy(),
            _ => "run `flightdeck init` to install missing plugins",
        });
    }
    for (variable, root) in provider_resolution::missing_plugin_roots(settings) {
        let root = root.display();
        found.warning(
            area,
            format!("{variable} names {root}, which does not exist"),
        );
        found.remedy(format!(
            "create the directory, or remove it from {variable}"
        ));
    }
}

/// Checks for plugins whose last launch failed.
pub(super) async fn check_last_launches(store: &Store, found: &mut Findings) {
    let area = Area::Plugins;
    let rows = match store.plugins().await {
        Ok(rows) => rows,
        Err(e) => return found.error(area, e.to_string()),
    };
    for row in rows {
        // Without a finished attempt there is nothing to report.
        let Some(verdict) = row.attempts.last().and_then(|a| a.verdict.as_ref()) else {
            continue;
        };
        if !verdict.kind.is_failed() {
            continue;
        }
        let tried = row.attempts.last().map_or(1, |a| a.number);
        found.warning(
            area,
            format!(
                "the last launch of {} failed ({}): {}",
                row.id,
                count_text(usize::try_from(tried).unwrap_or(usize::MAX), "attempt"),
                verdict.text
            ),
        );
        found.remedy(format!("run `flightdeck plugins {}` to launch it and show each attempt, or `flightdeck logs {}` to show its output", row.id, row.id));
    }
}

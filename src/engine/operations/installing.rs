//! Reports missing modules and providers, and installs them on demand.

use super::command::Operations;
use crate::error::EngineError;
use crate::install::{self, Installed, Request, Tell};
use lang::config::wants_install;
use lang::diag::Diagnostics;
use lang::source::SourceMap;
use model::mutex::lock;
use model::*;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use workspace::initialize::InitBackend;

/// Interval between progress events of one download.
const BYTES_EVERY: Duration = Duration::from_millis(100);

impl Operations {
    /// Updates the list of missing parts, and emits it if it changed.
    pub(super) fn absent(&self, found: impl FnOnce(&mut Absent)) {
        let known = self.bus.with_view(|view| view.absent.clone());
        let mut now = known.clone();
        found(&mut now);
        if now != known {
            self.bus.emit(EventKind::Absent(now));
        }
    }

    /// Reports missing modules, from the errors of an unreadable configuration.
    pub(super) fn report_missing_modules(&self, diags: &Diagnostics, sources: &SourceMap) {
        let mut modules: Vec<String> = Vec::new();
        for error in diags.errors().filter(|error| wants_install(error)) {
            let name = error.subject.map(|span| called(sources, span));
            let name = name.unwrap_or_else(|| "all modules".to_owned());
            if !modules.contains(&name) {
                modules.push(name);
            }
        }
        if !modules.is_empty() {
            self.absent(|absent| {
                absent.modules = modules;
                absent.providers.clear();
            });
        }
    }

    /// Installs modules and providers; progress is reported by events. Waits for running work.
    /// [`cancel`](Self::cancel) ends it at its next wait.
    pub async fn install(&self, bring: StateMigration) -> Result<(), EngineError> {
        let command = self.begin().await;
        self.bus.emit(EventKind::Install(InstallEvent::Began));
        let request = Request {
            dir: self.settings.workspace.clone(),
            workspace: self.settings.workspace_name.clone(),
            backend: InitBackend {
                migrate: bring != StateMigration::Leave,
                force_copy: bring == StateMigration::Copy,
                reconfigure: bring == StateMigration::Leave,
                ..InitBackend::default()
            },
            ..Request::default()
        };
        let done = install::install(request, self.step_reporter(), command.stop.clone()).await;
        // Ended before the event, because a client may begin the next command at once.
        drop(command);
        let end = match &done {
            Ok(installed) => install_end(installed),
            Err(EngineError::Cancelled) => InstallEnd::Stopped,
            Err(EngineError::StatesToMigrate { from, to }) => InstallEnd::Asks {
                from: from.clone(),
                to: to.clone(),
            },
            Err(error) => InstallEnd::Failed {
                text: error.to_string(),
                diagnostics: error.diagnostics().to_vec(),
            },
        };
        self.bus.emit(EventKind::Install(InstallEvent::Ended(end)));
        done.map(|_| ())
    }

    /// Emits each step, but the progress of a download only now and then.
    fn step_reporter(&self) -> Tell {
        let (bus, told) = (self.bus.clone(), Mutex::new(HashMap::new()));
        Arc::new(move |step| {
            if let InstallStep::Bytes { what, .. } = &step {
                let now = Instant::now();
                let mut told = lock(&told);
                let last: Option<&Instant> = told.get(what);
                // A step soon after the last one of the same download is dropped.
                if last.is_some_and(|last| now.duration_since(*last) < BYTES_EVERY) {
                    return;
                }
                told.insert(what.clone(), now);
            }
            bus.emit(EventKind::Install(InstallEvent::Step(step)));
        })
    }
}

/// Name of the module call that an error refers to, or its source position.
fn called(sources: &SourceMap, span: lang::source::Span) -> String {
    let text = sources.source_line(span);
    let name = text
        .trim_start()
        .strip_prefix("module")
        .and_then(|rest| rest.split('"').nth(1))
        .filter(|name| !name.is_empty());
    match name {
        Some(name) => name.to_owned(),
        None => sources.range(span).map_or_else(
            || "a module".to_owned(),
            |range| format!("{}:{}", range.filename, range.start.line),
        ),
    }
}

fn install_end(installed: &Installed) -> InstallEnd {
    let warnings = installed.diagnostics.iter().map(|warning| {
        let detail = warning.detail.lines().next().unwrap_or_default();
        format!("{}: {detail}", warning.summary)
    });
    InstallEnd::Done {
        modules: installed.modules,
        providers: installed.providers,
        told: installed.messages.iter().cloned().chain(warnings).collect(),
    }
}

//! What is known of each plugin, and the fold of what plugins do.

use super::{View, push};
use crate::engine::words::*;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// All that is known of one plugin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PluginView {
    pub id: PluginId,
    pub found: Option<PluginFound>,
    pub state: PluginState,
    /// Oldest first.
    pub attempts: VecDeque<LaunchAttempt>,
    pub usage: Option<Usage>,
    pub last_line: Option<String>,
    pub restarts: u32,
    pub crashes: VecDeque<Crash>,
}

impl PluginView {
    /// Whether it is part of flightdeck and never a process.
    pub fn is_builtin(&self) -> bool {
        self.found
            .as_ref()
            .is_some_and(|f| f.dialect.as_deref() == Some("builtin"))
    }
}

/// A plugin died while it was in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crash {
    pub incident: String,
    pub at: UnixMs,
    pub plugin: PluginId,
    pub text: String,
    pub trace: Vec<String>,
}

impl View {
    pub(super) fn plugin(&mut self, id: &PluginId) -> &mut PluginView {
        self.plugins
            .entry(id.clone())
            .or_insert_with(|| PluginView {
                id: id.clone(),
                found: None,
                state: PluginState::Discovered,
                attempts: VecDeque::new(),
                usage: None,
                last_line: None,
                restarts: 0,
                crashes: VecDeque::new(),
            })
    }

    pub(super) fn apply_plugin(&mut self, at: UnixMs, event: &PluginEvent) {
        match event {
            PluginEvent::Found { plugin, found } => self.plugin(plugin).found = Some(found.clone()),
            PluginEvent::State { plugin, state } => {
                let view = self.plugin(plugin);
                if matches!(state, PluginState::Ready { .. })
                    && view
                        .attempts
                        .iter()
                        .filter(|a| a.verdict.as_ref().is_some_and(|v| v.kind == "ready"))
                        .count()
                        > 1
                {
                    view.restarts += 1;
                }
                if !matches!(state, PluginState::Ready { .. } | PluginState::Draining) {
                    view.usage = None;
                }
                view.state = state.clone();
            }
            PluginEvent::Attempt { plugin, attempt } => {
                let attempts = &mut self.plugin(plugin).attempts;
                match attempts.back_mut() {
                    Some(last) if last.began == attempt.began && last.number == attempt.number => {
                        *last = attempt.clone()
                    }
                    _ => push(attempts, attempt.clone()),
                }
            }
            PluginEvent::Log { line } => {
                self.plugin(&line.plugin).last_line = Some(line.text.clone())
            }
            // The line in their place says it to people.
            PluginEvent::LinesLeftOut { .. } => {}
            PluginEvent::Usage { plugin, usage } => self.plugin(plugin).usage = Some(*usage),
            PluginEvent::Crash {
                plugin,
                incident,
                text,
                trace,
                ..
            } => {
                let crash = Crash {
                    incident: incident.clone(),
                    at,
                    plugin: plugin.clone(),
                    text: text.clone(),
                    trace: trace.clone(),
                };
                push(&mut self.plugin(plugin).crashes, crash.clone());
                push(&mut self.incidents, crash);
            }
        }
    }
}

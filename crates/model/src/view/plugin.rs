//! View of each plugin, and the fold of plugin events.

use super::{View, push};
use crate::*;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// View of one plugin.
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
    /// Pid of the process that serves or starts, otherwise of the last launch.
    #[serde(default)]
    pub pid: Option<u32>,
    /// Pending replacement of that process.
    #[serde(default)]
    pub renewal: Option<Renewal>,
    /// Replaced processes that still have calls, oldest first.
    #[serde(default)]
    pub leaving: Vec<DrainingProcess>,
}

impl PluginView {
    /// Returns the launch attempt of the process that serves or starts, otherwise the newest one.
    pub fn attempt(&self) -> Option<&LaunchAttempt> {
        let newest = || self.attempts.iter().rev();
        newest()
            .find(|a| a.pid.is_some() && a.pid == self.pid)
            // Only then is the newest attempt not that of the serving process.
            .filter(|_| newest().next().is_some_and(|a| a.beside))
            .or_else(|| newest().next())
    }

    /// Returns true for a transformer, which serves no configuration.
    pub fn is_transformer(&self) -> bool {
        let kind = self.found.as_ref().map(|f| f.kind);
        kind == Some(PluginKind::Transformer)
    }

    /// Describes a transformer: `transformer, "serverless-2024" in blueprints`.
    pub fn transforms(&self) -> String {
        let name = self.found.as_ref().and_then(|f| f.transform.as_ref());
        match name {
            Some(name) => format!("transformer, {name:?} in blueprints"),
            None => "transformer, name in blueprints unknown".to_owned(),
        }
    }

    /// Returns true for the builtin provider, which has no process.
    pub fn is_builtin(&self) -> bool {
        self.found
            .as_ref()
            .is_some_and(|f| f.dialect.as_deref() == Some("builtin"))
    }
}

impl PluginView {
    /// Counts a restart, and forgets the last output of an earlier launch, which may have failed.
    fn became_ready(&mut self) {
        let is_ready = |a: &&LaunchAttempt| {
            let verdict = a.verdict.as_ref();
            verdict.is_some_and(|v| v.kind == VerdictKind::Ready)
        };
        // The first launch is not a restart.
        if self.attempts.iter().filter(is_ready).count() > 1 {
            self.restarts += 1;
        }
        self.last_line = None;
    }
}

/// Crash of a plugin in use.
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
                pid: None,
                renewal: None,
                leaving: Vec::new(),
            })
    }

    fn apply_state(&mut self, plugin: &PluginId, state: &PluginState) {
        let is_end = matches!(state, PluginState::Stopped | PluginState::Disabled);
        // The supervisor of a removed plugin ends later, which must not list it again.
        if is_end && !self.plugins.contains_key(plugin) {
            return;
        }
        let view = self.plugin(plugin);
        // A replacement is not a restart, because it interrupts no calls.
        let was_ready = matches!(view.state, PluginState::Ready { .. });
        if matches!(state, PluginState::Ready { .. }) && !was_ready {
            view.became_ready();
        }
        if !matches!(state, PluginState::Ready { .. } | PluginState::Draining) {
            view.usage = None;
            view.renewal = None;
        }
        view.state = state.clone();
    }

    pub(super) fn apply_plugin(&mut self, at: UnixMs, event: &PluginEvent) {
        match event {
            PluginEvent::Found { plugin, found } => self.plugin(plugin).found = Some(found.clone()),
            PluginEvent::Removed { plugin } => {
                self.plugins.remove(plugin);
            }
            PluginEvent::State { plugin, state } => self.apply_state(plugin, state),
            PluginEvent::Attempt { plugin, attempt } => {
                let view = self.plugin(plugin);
                // A replacement has its own process, which does not serve yet.
                if !attempt.beside {
                    view.pid = attempt.pid;
                }
                let attempts = &mut view.attempts;
                match attempts.back_mut() {
                    // Each progress of an attempt repeats it as a whole.
                    Some(last) if last.began == attempt.began && last.number == attempt.number => {
                        *last = attempt.clone()
                    }
                    _ => push(attempts, attempt.clone()),
                }
            }
            PluginEvent::Log { line } => {
                // The last lines of a removed plugin may come late, and must not list it again.
                if let Some(view) = self.plugins.get_mut(&line.plugin) {
                    view.last_line = Some(line.text.clone());
                }
            }
            // The log line in their place tells operators.
            PluginEvent::LinesLeftOut { .. } => {}
            PluginEvent::Usage { plugin, usage } => {
                let view = self.plugins.get_mut(plugin);
                // The usage of a replaced process is not the plugin's usage.
                let view = view.filter(|v| !v.leaving.iter().any(|l| l.pid == Some(usage.pid)));
                if let Some(view) = view {
                    view.usage = Some(*usage);
                }
            }
            PluginEvent::Renewal { .. }
            | PluginEvent::Replaced { .. }
            | PluginEvent::Leaves { .. }
            | PluginEvent::Left { .. } => self.apply_replacement(event),
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

    /// Folds events about the replacement of a process.
    fn apply_replacement(&mut self, event: &PluginEvent) {
        match event {
            PluginEvent::Renewal { plugin, renewal } => {
                self.plugin(plugin).renewal.clone_from(renewal)
            }
            PluginEvent::Replaced {
                plugin,
                pid,
                leaving,
            } => {
                let view = self.plugin(plugin);
                (view.pid, view.usage, view.renewal) = (*pid, None, None);
                view.leaving.push(leaving.clone());
            }
            PluginEvent::Leaves { plugin, leaving } => {
                let all = &mut self.plugin(plugin).leaving;
                let it = all.iter_mut().find(|l| l.generation == leaving.generation);
                it.into_iter().for_each(|l| l.clone_from(leaving));
            }
            PluginEvent::Left {
                plugin, generation, ..
            } => {
                let all = &mut self.plugin(plugin).leaving;
                all.retain(|l| l.generation != *generation);
            }
            _ => {}
        }
    }
}

//! Places that commands have left for another place, to go back to them in reverse order.

use super::{Context, PluginTab, Screen, State};
use crate::app::list::ListState;

/// Maximum number of places; the oldest is forgotten first.
const PLACES: usize = 32;

/// A place that a command has left: screen, cursor and what else the command changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    screen: Screen,
    context: Context,
    list: ListState,
    plugin_tab: PluginTab,
    /// Source of the shown log lines.
    source: Option<String>,
}

impl State {
    /// Remembers the current place before a command leads to another one.
    pub fn leave_place(&mut self) {
        let visit = Visit {
            screen: self.screen,
            context: self.context(),
            list: self.list().clone(),
            plugin_tab: self.filters.plugin_tab,
            source: self.log.source.clone(),
        };
        if self.frame.trail.len() == PLACES {
            self.frame.trail.remove(0);
        }
        self.frame.trail.push(visit);
    }

    /// Returns to the place that the last command left. Returns false without such a place.
    pub fn go_back(&mut self) -> bool {
        let Some(visit) = self.frame.trail.pop() else {
            return false;
        };
        self.screen = visit.screen;
        self.lists[visit.context as usize] = visit.list;
        self.filters.plugin_tab = visit.plugin_tab;
        self.log.source = visit.source;
        true
    }

    /// Shows a screen that the operator chose, or to which the work moves on. There is no way back
    /// from there.
    pub fn switch_to(&mut self, screen: Screen) {
        if self.screen != screen {
            self.frame.trail.clear();
        }
        self.screen = screen;
    }
}

//! Filters that decide which rows and tabs are shown.

use std::collections::BTreeSet;

/// Tabs of a plugin's detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PluginTab {
    #[default]
    Attempts,
    Schema,
    Calls,
    Logs,
    About,
}

impl PluginTab {
    pub const ALL: [Self; 5] = [
        Self::Attempts,
        Self::Schema,
        Self::Calls,
        Self::Logs,
        Self::About,
    ];

    /// Label of the tab.
    pub fn label(self) -> &'static str {
        match self {
            Self::Attempts => "launches",
            Self::Schema => "schema",
            Self::Calls => "calls",
            Self::Logs => "logs",
            Self::About => "about",
        }
    }
}

/// Maximum number of queries in the history of filters.
const HISTORY: usize = 50;

/// Filters of all contexts.
#[derive(Debug, Clone, Default)]
pub struct Filters {
    pub plugin_tab: PluginTab,
    /// Schema rows whose state differs from their default: groups are open, others closed.
    pub toggled: BTreeSet<String>,
    /// Shows unchanged resources, too.
    pub unchanged: bool,
    /// Earlier queries of all lists, newest last.
    pub history: Vec<String>,
    /// Shows unchanged attributes and lines in the detail of a change, too.
    pub all_attributes: bool,
    /// Shows failures instead of the history.
    pub failures: bool,
}

impl Filters {
    /// Adds a query to the history, once and as the newest.
    pub fn remember(&mut self, query: &str) {
        let query = query.trim();
        if query.is_empty() {
            return;
        }
        self.history.retain(|q| q != query);
        if self.history.len() == HISTORY {
            self.history.remove(0);
        }
        self.history.push(query.to_owned());
    }
}

//! Filters that decide which rows and tabs are shown.

use model::Action;
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
            Self::Attempts => "attempts",
            Self::Schema => "schema",
            Self::Calls => "calls",
            Self::Logs => "logs",
            Self::About => "about",
        }
    }
}

/// Filter of the changes of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionFilter {
    Create,
    Update,
    Replace,
    Destroy,
}

impl ActionFilter {
    /// Returns true if the filter shows an action.
    pub fn includes(self, action: Action) -> bool {
        match self {
            Self::Create => action == Action::Create,
            Self::Update => action == Action::Update,
            Self::Replace => matches!(action, Action::Replace | Action::ReplaceCreateFirst),
            Self::Destroy => action.destroys(),
        }
    }

    /// Text in the title.
    pub fn label(self) -> &'static str {
        match self {
            Self::Create => "creates",
            Self::Update => "updates",
            Self::Replace => "replaces",
            Self::Destroy => "destroys",
        }
    }
}

/// Filter of the operations of a deploy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeployFilter {
    #[default]
    All,
    Failed,
    NotAttempted,
    Done,
}

impl DeployFilter {
    /// Returns the next filter.
    pub fn next(self) -> Self {
        match self {
            Self::All => Self::Failed,
            Self::Failed => Self::NotAttempted,
            Self::NotAttempted => Self::Done,
            Self::Done => Self::All,
        }
    }

    /// Text in the title.
    pub fn label(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Failed => "failed",
            Self::NotAttempted => "not attempted",
            Self::Done => "done",
        }
    }
}

/// Filters of all contexts.
#[derive(Debug, Clone, Default)]
pub struct Filters {
    pub plugin_tab: PluginTab,
    /// Schema rows whose state differs from their default: groups are open, others closed.
    pub toggled: BTreeSet<String>,
    /// Shows unchanged resources, too.
    pub unchanged: bool,
    pub action: Option<ActionFilter>,
    /// Filter of operations.
    pub deploy: DeployFilter,
    /// Shows failures instead of the history.
    pub failures: bool,
}

//! What of all that is known is shown.

use crate::engine::words::Action;
use std::collections::BTreeSet;

/// What the detail of a plugin shows.
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

    /// The word on its tab.
    pub fn word(self) -> &'static str {
        match self {
            Self::Attempts => "attempts",
            Self::Schema => "schema",
            Self::Calls => "calls",
            Self::Logs => "logs",
            Self::About => "about",
        }
    }
}

/// Which changes of a stage are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionFilter {
    Create,
    Update,
    Replace,
    Destroy,
}

impl ActionFilter {
    /// Whether it lets an action through.
    pub fn shows(self, action: Action) -> bool {
        match self {
            Self::Create => action == Action::Create,
            Self::Update => action == Action::Update,
            Self::Replace => matches!(action, Action::Replace | Action::ReplaceCreateFirst),
            Self::Destroy => action.destroys(),
        }
    }

    /// The word on the title line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Create => "creates",
            Self::Update => "updates",
            Self::Replace => "replaces",
            Self::Destroy => "what destroys",
        }
    }
}

/// Which operations of a deploy are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeployFilter {
    #[default]
    All,
    Failed,
    NotAttempted,
    Done,
}

impl DeployFilter {
    /// The next one.
    pub fn next(self) -> Self {
        match self {
            Self::All => Self::Failed,
            Self::Failed => Self::NotAttempted,
            Self::NotAttempted => Self::Done,
            Self::Done => Self::All,
        }
    }

    /// The word on the title line.
    pub fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Failed => "failed",
            Self::NotAttempted => "not attempted",
            Self::Done => "done",
        }
    }
}

/// What of all that is shown.
#[derive(Debug, Clone)]
pub struct Filters {
    pub plugin_tab: PluginTab,
    /// What is open of a schema that is closed by itself, and the other way round.
    pub unfolded: BTreeSet<String>,
    /// Whether changes that do nothing are shown too.
    pub unchanged: bool,
    pub action: Option<ActionFilter>,
    /// Which operations of a deploy.
    pub deploy: DeployFilter,
    /// Failures in the place of the history.
    pub failures: bool,
}

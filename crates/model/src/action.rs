//! Planned or completed actions on a resource instance, with their words and counts.

use serde::{Deserialize, Serialize};

/// Action on one resource instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    NoOp,
    Read,
    Create,
    Update,
    /// Destroy, then create.
    Replace,
    /// Create, then destroy the old object.
    ReplaceCreateFirst,
    Destroy,
    Forget,
}

impl Action {
    /// Returns the symbol that OpenTofu's plans use: `+`, `~`, `-/+`, `+/-`, `-`, `<=`; `×` for
    /// forget.
    pub fn sign(self) -> &'static str {
        match self {
            Self::NoOp => " ",
            Self::Read => "<=",
            Self::Create => "+",
            Self::Update => "~",
            Self::Replace => "-/+",
            Self::ReplaceCreateFirst => "+/-",
            Self::Destroy => "-",
            Self::Forget => "×",
        }
    }

    /// Returns the word for a table cell.
    pub fn label(self) -> &'static str {
        match self {
            Self::NoOp => "no-op",
            Self::Read => "read",
            Self::Create => "create",
            Self::Update => "update",
            Self::Replace | Self::ReplaceCreateFirst => "replace",
            Self::Destroy => "destroy",
            Self::Forget => "forget",
        }
    }

    /// Parses the word of an apply's action.
    pub fn of_apply(word: &str) -> Option<Self> {
        // A replacement consists of two applies, so it is not one of them.
        [Self::Create, Self::Update, Self::Destroy]
            .into_iter()
            .find(|known| known.label() == word)
    }

    /// Returns the word for an operation; a no-op operation is an import.
    pub fn operation_word(self) -> &'static str {
        if self == Self::NoOp {
            "import"
        } else {
            self.label()
        }
    }

    /// Returns the past tense for a completed operation. All other places use this table.
    pub fn past_tense(self) -> &'static str {
        match self {
            Self::Create => "created",
            Self::Update => "updated",
            Self::Replace | Self::ReplaceCreateFirst => "replaced",
            Self::Destroy => "destroyed",
            Self::Read => "read",
            Self::Forget => "forgotten",
            Self::NoOp => "imported",
        }
    }

    /// Returns true if the action destroys an object.
    pub fn destroys(self) -> bool {
        matches!(
            self,
            Self::Destroy | Self::Replace | Self::ReplaceCreateFirst
        )
    }

    /// Returns the actions as in the plan representation.
    pub fn plan_actions(self) -> &'static [&'static str] {
        match self {
            Self::NoOp => &["no-op"],
            Self::Read => &["read"],
            Self::Create => &["create"],
            Self::Update => &["update"],
            // Programs tell the two orders of a replacement apart by this sequence.
            Self::Replace => &["delete", "create"],
            Self::ReplaceCreateFirst => &["create", "delete"],
            Self::Destroy => &["delete"],
            Self::Forget => &["forget"],
        }
    }
}

/// Number of changes by action.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub create: u32,
    pub update: u32,
    pub replace: u32,
    pub destroy: u32,
    pub read: u32,
    pub forget: u32,
    pub import: u32,
    pub no_op: u32,
}

impl Counts {
    /// Adds one change.
    pub fn add(&mut self, action: Action) {
        match action {
            Action::NoOp => self.no_op += 1,
            Action::Read => self.read += 1,
            Action::Create => self.create += 1,
            Action::Update => self.update += 1,
            Action::Replace | Action::ReplaceCreateFirst => self.replace += 1,
            Action::Destroy => self.destroy += 1,
            Action::Forget => self.forget += 1,
        }
    }

    /// Adds one change of a summary. An import counts beside the action that follows it.
    pub fn add_change(&mut self, change: &super::ChangeView) {
        self.add(change.action);
        self.import += u32::from(change.import.is_some());
    }

    /// Returns the number of changes that affect objects or the state.
    pub fn changes(&self) -> u32 {
        // An import changes the state, even if its action is a no-op.
        self.create + self.update + self.replace + self.destroy + self.forget + self.import
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apply_actions_have_one_word_in_events_and_records() {
        for (action, word) in [
            (Action::Create, "create"),
            (Action::Update, "update"),
            (Action::Destroy, "destroy"),
        ] {
            assert_eq!(serde_json::json!(action), word);
            assert_eq!(action.label(), word);
            assert_eq!(Action::of_apply(word), Some(action));
        }
        assert_eq!(Action::of_apply("replace"), None, "that is two applies");
    }
}

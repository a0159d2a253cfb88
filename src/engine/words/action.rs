//! What would happen, or has happened, to one resource instance, in all its words; counts of it.

use serde::{Deserialize, Serialize};

/// What would happen to one resource instance.
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
    /// The sign that people know: `+`, `~`, `-/+`, `+/-`, `-`, `<=`, `×`.
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

    /// The word for a table cell.
    pub fn word(self) -> &'static str {
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

    /// What an apply does, by its word.
    pub fn of_apply(word: &str) -> Option<Self> {
        [Self::Create, Self::Update, Self::Destroy]
            .into_iter()
            .find(|known| known.word() == word)
    }

    /// The word for what an operation does: one without an action imports.
    pub fn operation_word(self) -> &'static str {
        if self == Self::NoOp {
            "import"
        } else {
            self.word()
        }
    }

    /// What an operation has done, in the past tense: the one table of it.
    pub fn done_word(self) -> &'static str {
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

    /// Whether an object in the world is destroyed by it.
    pub fn destroys(self) -> bool {
        matches!(
            self,
            Self::Destroy | Self::Replace | Self::ReplaceCreateFirst
        )
    }

    /// Actions as the plan representation lists them.
    pub fn plan_words(self) -> &'static [&'static str] {
        match self {
            Self::NoOp => &["no-op"],
            Self::Read => &["read"],
            Self::Create => &["create"],
            Self::Update => &["update"],
            Self::Replace => &["delete", "create"],
            Self::ReplaceCreateFirst => &["create", "delete"],
            Self::Destroy => &["delete"],
            Self::Forget => &["forget"],
        }
    }
}

/// Counts of changes by action.
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

    /// How many would do something to the world or the state.
    pub fn changes(&self) -> u32 {
        self.create + self.update + self.replace + self.destroy + self.forget + self.import
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_apply_does_is_the_same_word_in_events_and_on_record() {
        for (action, word) in [
            (Action::Create, "create"),
            (Action::Update, "update"),
            (Action::Destroy, "destroy"),
        ] {
            assert_eq!(serde_json::json!(action), word);
            assert_eq!(action.word(), word);
            assert_eq!(Action::of_apply(word), Some(action));
        }
        assert_eq!(Action::of_apply("replace"), None, "that is two applies");
    }
}

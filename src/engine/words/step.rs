//! Steps of an operation and its progress, with their texts in the store and for programs. Unknown
//! texts of other versions are kept as they are.

use super::{Action, Deed};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Step of an operation; its intent is recorded before it, its outcome after it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum OperationStep {
    Create,
    Update,
    Destroy,
    Forget,
    Import,
    Read,
    /// Provisioner: kind, and position in the resource's block, from 1.
    Provisioner {
        kind: String,
        place: usize,
    },
    /// Call that the plugin requested from another one; position within the operation, from 1.
    Beside {
        deed: Deed,
        place: u32,
    },
}

/// Error for a text that names no step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a step of an operation")]
pub struct NoStep(String);

/// Separator between the kind of a provisioner and its position.
const PROVISIONER: &str = " provisioner ";
/// Text around the position of a requested call.
const ASKED_FOR: (&str, &str) = (" (asked for by its plugin, ", ")");

impl OperationStep {
    /// Returns true for a provisioner, whose effects cannot be read back.
    pub fn is_provisioner(&self) -> bool {
        matches!(self, Self::Provisioner { .. })
    }

    /// Returns the requested call, if the step is one. Its object is in no state, so it
    /// cannot be read back.
    pub fn beside(&self) -> Option<&Deed> {
        match self {
            Self::Beside { deed, .. } => Some(deed),
            _ => None,
        }
    }

    /// Returns true if this step completes an operation with this action.
    pub fn ends(&self, action: Action) -> bool {
        match action {
            Action::Create | Action::Replace => *self == Self::Create,
            Action::Update => *self == Self::Update,
            // Under create_before_destroy the destroy comes last.
            Action::ReplaceCreateFirst | Action::Destroy => {
                matches!(self, Self::Destroy | Self::Forget)
            }
            Action::Read => *self == Self::Read,
            Action::Forget => *self == Self::Forget,
            Action::NoOp => *self == Self::Import,
        }
    }
}

impl fmt::Display for OperationStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Destroy => "destroy",
            Self::Forget => "forget",
            Self::Import => "import",
            Self::Read => "read",
            Self::Provisioner { kind, place } => return write!(f, "{kind}{PROVISIONER}{place}"),
            Self::Beside { deed, place } => {
                return write!(f, "{deed}{}{place}{}", ASKED_FOR.0, ASKED_FOR.1);
            }
        })
    }
}

impl FromStr for OperationStep {
    type Err = NoStep;

    fn from_str(word: &str) -> Result<Self, NoStep> {
        Ok(match word {
            "create" => Self::Create,
            "update" => Self::Update,
            "destroy" => Self::Destroy,
            "forget" => Self::Forget,
            "import" => Self::Import,
            "read" => Self::Read,
            // Before the provisioner case, because the name may contain its separator.
            _ if word.ends_with(ASKED_FOR.1) => {
                let parts = word
                    .strip_suffix(ASKED_FOR.1)
                    .and_then(|word| word.rsplit_once(ASKED_FOR.0))
                    .and_then(|(deed, place)| Some((Deed::parse(deed)?, place.parse().ok()?)));
                let (deed, place) = parts.ok_or_else(|| NoStep(word.to_owned()))?;
                Self::Beside { deed, place }
            }
            _ => {
                let parts = word
                    // From the end, because the position comes last, whatever the kind is called.
                    .rsplit_once(PROVISIONER)
                    .and_then(|(kind, place)| Some((kind, place.parse().ok()?)));
                let (kind, place) = parts.ok_or_else(|| NoStep(word.to_owned()))?;
                Self::Provisioner {
                    kind: kind.to_owned(),
                    place,
                }
            }
        })
    }
}

impl TryFrom<String> for OperationStep {
    type Error = NoStep;

    fn try_from(word: String) -> Result<Self, NoStep> {
        word.parse()
    }
}

impl From<OperationStep> for String {
    fn from(step: OperationStep) -> Self {
        step.to_string()
    }
}

/// Current activity on an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    Creating,
    Updating,
    Reading,
    Importing,
    Destroying,
    /// Of a replacement.
    DestroyingOld,
    Forgetting,
    /// Of a replacement whose old object is kept.
    ForgettingOld,
}

/// Progress of an operation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Reached {
    /// Not reported.
    #[default]
    Unsaid,
    Waiting,
    At(Doing),
    /// One half of a replacement is done.
    BetweenHalves,
    Done(Action),
    Failed(Action),
    NotAttempted,
    /// Started, but unfinished when its deploy ended.
    NotFinished,
    /// Interrupted after this step.
    Only(OperationStep),
    /// The old object of a replacement is destroyed without a new one.
    NotRecreated,
    /// The new object of a replacement exists beside the old one.
    OldRemains,
    /// The unknown outcome was settled in this way.
    Settled(String),
    /// Word of another version of flightdeck.
    Other(String),
}

/// Fixed words.
const WORDS: [(Reached, &str); 30] = [
    (Reached::Unsaid, ""),
    (Reached::Waiting, "waiting"),
    (Reached::At(Doing::Creating), "creating"),
    (Reached::At(Doing::Updating), "updating"),
    (Reached::At(Doing::Reading), "reading"),
    (Reached::At(Doing::Importing), "importing"),
    (Reached::At(Doing::Destroying), "destroying"),
    (
        Reached::At(Doing::DestroyingOld),
        "destroying the old object",
    ),
    (Reached::At(Doing::Forgetting), "forgetting"),
    (
        Reached::At(Doing::ForgettingOld),
        "forgetting the old object",
    ),
    (Reached::BetweenHalves, "waiting for its second half"),
    (Reached::Done(Action::Create), "created"),
    (Reached::Done(Action::Update), "updated"),
    (Reached::Done(Action::Replace), "replaced"),
    (Reached::Done(Action::ReplaceCreateFirst), "replaced"),
    (Reached::Done(Action::Destroy), "destroyed"),
    (Reached::Done(Action::Read), "read"),
    (Reached::Done(Action::Forget), "forgotten"),
    (Reached::Done(Action::NoOp), "imported"),
    (Reached::Failed(Action::Create), "create failed"),
    (Reached::Failed(Action::Update), "update failed"),
    (Reached::Failed(Action::Replace), "replace failed"),
    (Reached::Failed(Action::Destroy), "destroy failed"),
    (Reached::Failed(Action::Read), "read failed"),
    (Reached::Failed(Action::Forget), "forget failed"),
    (Reached::Failed(Action::NoOp), "import failed"),
    (Reached::NotAttempted, "not attempted"),
    (Reached::NotFinished, "not finished"),
    (Reached::NotRecreated, "destroyed, not re-created"),
    (
        Reached::OldRemains,
        "created, the old object is not destroyed",
    ),
];
/// Prefix of a settled unknown outcome.
const SETTLED: &str = "settled: ";

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(action) => f.write_str(action.done_word()),
            Self::Failed(action) => write!(f, "{} failed", action.operation_word()),
            Self::Only(step) => write!(f, "not finished: only its {step} was done"),
            Self::Settled(how) => write!(f, "{SETTLED}{how}"),
            Self::Other(words) => f.write_str(words),
            fixed => f.write_str(
                WORDS
                    .iter()
                    .find(|(p, _)| p == fixed)
                    .map_or("", |(_, word)| word),
            ),
        }
    }
}

impl From<String> for Reached {
    fn from(words: String) -> Self {
        // Both replacements share a word; either of them displays the same.
        if let Some((reached, _)) = WORDS.into_iter().find(|(_, word)| *word == words) {
            return reached;
        }
        // Free text, so it is matched by its prefix only.
        if let Some(how) = words.strip_prefix(SETTLED) {
            return Self::Settled(how.to_owned());
        }
        let only = words
            .strip_prefix("not finished: only its ")
            .and_then(|rest| rest.strip_suffix(" was done")?.parse().ok());
        only.map_or(Self::Other(words), Self::Only)
    }
}

impl From<&str> for Reached {
    fn from(words: &str) -> Self {
        words.to_owned().into()
    }
}

impl From<Reached> for String {
    fn from(reached: Reached) -> Self {
        reached.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steps_are_and_have_reached_comes_back_from_the_words_that_are_kept() {
        let provisioner = OperationStep::Provisioner {
            kind: "local-exec".into(),
            place: 2,
        };
        let steps = [
            (OperationStep::Create, "create"),
            (OperationStep::Update, "update"),
            (OperationStep::Destroy, "destroy"),
            (OperationStep::Forget, "forget"),
            (OperationStep::Import, "import"),
            (OperationStep::Read, "read"),
            (provisioner.clone(), "local-exec provisioner 2"),
        ];
        for (step, word) in steps {
            assert_eq!(
                (step.to_string().as_str(), word.parse()),
                (word, Ok(step.clone()))
            );
            assert_eq!(serde_json::to_value(&step).expect("text"), word);
        }
        let nothing = "no-op"
            .parse::<OperationStep>()
            .expect_err("nothing is begun with it");
        assert_eq!(
            nothing.to_string(),
            "\"no-op\" is not a step of an operation"
        );

        let words = WORDS.iter().map(|(_, word)| (*word).to_owned());
        let more = [
            "settled: imported by hand",
            "not finished: only its local-exec provisioner 2 was done",
            "no-op failed",
        ];
        for words in words.chain(more.map(str::to_owned)) {
            assert_eq!(Reached::from(words.clone()).to_string(), words);
        }
        // Each word must also come out of `Display`.
        for (reached, word) in WORDS {
            assert_eq!(reached.to_string(), word);
        }
        assert_eq!(
            Reached::from(more[0]),
            Reached::Settled("imported by hand".into())
        );
        assert_eq!(Reached::from(more[1]), Reached::Only(provisioner));
        assert_eq!(
            Reached::from(more[2]),
            Reached::Other("no-op failed".into())
        );
    }
}

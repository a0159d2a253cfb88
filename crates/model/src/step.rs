//! Steps of an operation and its progress, with their texts in the store and for programs. Unknown
//! texts of other versions are kept as they are.

use super::{Action, SideEffect};
use lang::config::ProvisionerKind;
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
        kind: ProvisionerKind,
        place: usize,
    },
    /// Call that the plugin requested from another one; position within the operation, from 1.
    Beside {
        deed: SideEffect,
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
const REQUESTED_BY_PLUGIN: (&str, &str) = (" (asked for by its plugin, ", ")");

impl OperationStep {
    /// Returns true for a provisioner, whose effects cannot be read back.
    pub fn is_provisioner(&self) -> bool {
        matches!(self, Self::Provisioner { .. })
    }

    /// Returns the requested call, if the step is one. Its object is in no state, so it
    /// cannot be read back.
    pub fn requested_call(&self) -> Option<&SideEffect> {
        match self {
            Self::Beside { deed, .. } => Some(deed),
            _ => None,
        }
    }

    /// Returns true if this step completes an operation with this action.
    pub fn completes(&self, action: Action) -> bool {
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
                return write!(
                    f,
                    "{deed}{}{place}{}",
                    REQUESTED_BY_PLUGIN.0, REQUESTED_BY_PLUGIN.1
                );
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
            _ if word.ends_with(REQUESTED_BY_PLUGIN.1) => {
                let parts = word
                    .strip_suffix(REQUESTED_BY_PLUGIN.1)
                    .and_then(|word| word.rsplit_once(REQUESTED_BY_PLUGIN.0))
                    .and_then(|(deed, place)| {
                        Some((SideEffect::parse(deed)?, place.parse().ok()?))
                    });
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
                    kind: kind.into(),
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
pub enum Activity {
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
pub enum OperationProgress {
    /// Not reported.
    #[default]
    Unsaid,
    Waiting,
    At(Activity),
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
const FIXED_NAMES: [(OperationProgress, &str); 30] = [
    (OperationProgress::Unsaid, ""),
    (OperationProgress::Waiting, "waiting"),
    (OperationProgress::At(Activity::Creating), "creating"),
    (OperationProgress::At(Activity::Updating), "updating"),
    (OperationProgress::At(Activity::Reading), "reading"),
    (OperationProgress::At(Activity::Importing), "importing"),
    (OperationProgress::At(Activity::Destroying), "destroying"),
    (
        OperationProgress::At(Activity::DestroyingOld),
        "destroying the old object",
    ),
    (OperationProgress::At(Activity::Forgetting), "forgetting"),
    (
        OperationProgress::At(Activity::ForgettingOld),
        "forgetting the old object",
    ),
    (
        OperationProgress::BetweenHalves,
        "waiting for its second half",
    ),
    (OperationProgress::Done(Action::Create), "created"),
    (OperationProgress::Done(Action::Update), "updated"),
    (OperationProgress::Done(Action::Replace), "replaced"),
    (
        OperationProgress::Done(Action::ReplaceCreateFirst),
        "replaced",
    ),
    (OperationProgress::Done(Action::Destroy), "destroyed"),
    (OperationProgress::Done(Action::Read), "read"),
    (OperationProgress::Done(Action::Forget), "forgotten"),
    (OperationProgress::Done(Action::NoOp), "imported"),
    (OperationProgress::Failed(Action::Create), "create failed"),
    (OperationProgress::Failed(Action::Update), "update failed"),
    (OperationProgress::Failed(Action::Replace), "replace failed"),
    (OperationProgress::Failed(Action::Destroy), "destroy failed"),
    (OperationProgress::Failed(Action::Read), "read failed"),
    (OperationProgress::Failed(Action::Forget), "forget failed"),
    (OperationProgress::Failed(Action::NoOp), "import failed"),
    (OperationProgress::NotAttempted, "not attempted"),
    (OperationProgress::NotFinished, "not finished"),
    (OperationProgress::NotRecreated, "destroyed, not re-created"),
    (
        OperationProgress::OldRemains,
        "created, the old object is not destroyed",
    ),
];
/// Prefix of a settled unknown outcome.
const SETTLED_PREFIX: &str = "settled: ";

impl fmt::Display for OperationProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(action) => f.write_str(action.past_tense()),
            Self::Failed(action) => write!(f, "{} failed", action.operation_word()),
            Self::Only(step) => write!(f, "not finished: only its {step} was done"),
            Self::Settled(how) => write!(f, "{SETTLED_PREFIX}{how}"),
            Self::Other(words) => f.write_str(words),
            fixed => f.write_str(
                FIXED_NAMES
                    .iter()
                    .find(|(p, _)| p == fixed)
                    .map_or("", |(_, word)| word),
            ),
        }
    }
}

impl From<String> for OperationProgress {
    fn from(words: String) -> Self {
        // Both replacements share a word; either of them displays the same.
        if let Some((reached, _)) = FIXED_NAMES.into_iter().find(|(_, word)| *word == words) {
            return reached;
        }
        // Free text, so it is matched by its prefix only.
        if let Some(how) = words.strip_prefix(SETTLED_PREFIX) {
            return Self::Settled(how.to_owned());
        }
        let only = words
            .strip_prefix("not finished: only its ")
            .and_then(|rest| rest.strip_suffix(" was done")?.parse().ok());
        only.map_or(Self::Other(words), Self::Only)
    }
}

impl From<&str> for OperationProgress {
    fn from(words: &str) -> Self {
        words.to_owned().into()
    }
}

impl From<OperationProgress> for String {
    fn from(reached: OperationProgress) -> Self {
        reached.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operation_steps_and_progress_round_trip_through_stored_text() {
        let provisioner = OperationStep::Provisioner {
            kind: ProvisionerKind::LocalExec,
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

        let words = FIXED_NAMES.iter().map(|(_, word)| (*word).to_owned());
        let more = [
            "settled: imported by hand",
            "not finished: only its local-exec provisioner 2 was done",
            "no-op failed",
        ];
        for words in words.chain(more.map(str::to_owned)) {
            assert_eq!(OperationProgress::from(words.clone()).to_string(), words);
        }
        // Each word must also come out of `Display`.
        for (reached, word) in FIXED_NAMES {
            assert_eq!(reached.to_string(), word);
        }
        assert_eq!(
            OperationProgress::from(more[0]),
            OperationProgress::Settled("imported by hand".into())
        );
        assert_eq!(
            OperationProgress::from(more[1]),
            OperationProgress::Only(provisioner)
        );
        assert_eq!(
            OperationProgress::from(more[2]),
            OperationProgress::Other("no-op failed".into())
        );
    }
}

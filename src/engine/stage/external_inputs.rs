//! External inputs of a walk: files that functions read, matches of patterns, answers of provider
//! functions. A stage records them, and its deploy must use the same ones. Owned by one walk.

use crate::engine::mutex::lock;
use lang::functions::{ExternalInput, RecordedInput};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

/// Recorded external inputs, by lookup.
pub type RecordedInputs = BTreeMap<ExternalInput, InputDigest>;

/// Result of one lookup.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct InputDigest {
    pub digest: String,
    /// True if the path must not be shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
}

/// Changed external input. The message does not name a sensitive path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Changed {
    #[error(
        "{what} changed {since}; stage again. If a resource of this configuration writes it, refer to that resource instead"
    )]
    Place { since: ChangedSince, what: String },
    /// Answer of a provider function.
    #[error(
        "the result of the function {what} changed {since}: the provider returns another result now"
    )]
    FunctionResult { since: ChangedSince, what: String },
}

/// Time since which an input must not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangedSince {
    /// Since the stage, during its deploy.
    Stage,
    /// Since an earlier lookup of the same plan.
    EarlierLookup,
}

impl std::fmt::Display for ChangedSince {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Stage => "since the stage was planned",
            Self::EarlierLookup => "while the stage was planned",
        })
    }
}

/// External inputs of one walk.
#[derive(Debug, Default)]
pub struct ExternalInputs {
    recorded: Mutex<RecordedInputs>,
    /// True if `seen` comes from a stage. Lookups that it lacks were unknown then and are not
    /// recorded.
    from_stage: bool,
}

impl ExternalInputs {
    /// Creates the inputs of a deploy from those of its stage.
    pub fn of_stage(seen: &RecordedInputs) -> Self {
        Self {
            recorded: Mutex::new(seen.clone()),
            from_stage: true,
        }
    }

    /// Returns all recorded inputs.
    pub fn recorded(&self) -> RecordedInputs {
        lock(&self.recorded).clone()
    }

    /// Records a lookup.
    ///
    /// # Errors
    /// If the result differs from the recorded one.
    pub fn record(&self, finding: RecordedInput) -> Result<(), Changed> {
        let mut seen = lock(&self.recorded);
        match seen.get_mut(&finding.input) {
            // A place is sensitive as soon as one of its lookups is.
            Some(before) => {
                before.secret |= finding.secret;
                if before.digest == finding.digest {
                    Ok(())
                } else {
                    Err(self.changed(&finding.input, before.secret))
                }
            }
            // The stage could not make this lookup yet, so there is nothing to compare with.
            None if self.from_stage => Ok(()),
            None => {
                seen.insert(
                    finding.input,
                    InputDigest {
                        digest: finding.digest,
                        secret: finding.secret,
                    },
                );
                Ok(())
            }
        }
    }

    /// Returns the recorded result for a file during a deploy: its presence counts as recorded,
    /// even if the deploy itself creates or removes the file, and its content must be unchanged.
    pub fn approved(&self, look: &ExternalInput) -> Option<String> {
        let kept =
            self.from_stage && matches!(look, ExternalInput::Presence(_) | ExternalInput::File(_));
        lock(&self.recorded)
            .get(look)
            .filter(|_| kept)
            .map(|sight| sight.digest.clone())
    }

    /// Records all lookups of another set.
    ///
    /// # Errors
    /// Like [`record`](Self::record).
    pub fn record_all(&self, others: Self) -> Result<(), Changed> {
        let others = others
            .recorded
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        others
            .into_iter()
            .try_for_each(|(look, InputDigest { digest, secret })| {
                self.record(RecordedInput {
                    input: look,
                    digest,
                    secret,
                })
            })
    }

    fn changed(&self, look: &ExternalInput, secret: bool) -> Changed {
        let since = if self.from_stage {
            ChangedSince::Stage
        } else {
            ChangedSince::EarlierLookup
        };
        let what = name(look, secret);
        match look {
            ExternalInput::Answer(_) => Changed::FunctionResult { since, what },
            _ => Changed::Place { since, what },
        }
    }
}

/// Returns the names of changed inputs, relative to the workspace's directory, without repetitions.
pub fn changed_inputs(seen: &RecordedInputs, base: &Path) -> Vec<String> {
    let moved = seen.iter().filter(|(look, before)| {
        look.current_digest(base)
            .is_some_and(|now| now != before.digest)
    });
    let mut names: Vec<String> = moved
        .map(|(look, before)| name(look, before.secret))
        .collect();
    names.dedup();
    names
}

fn name(look: &ExternalInput, secret: bool) -> String {
    match look {
        ExternalInput::File(_) | ExternalInput::Presence(_) if secret => {
            "a file whose name is sensitive".to_owned()
        }
        ExternalInput::Names(_) if secret => "the files that match a sensitive pattern".to_owned(),
        // The name of a function is followed by a digest of its arguments.
        ExternalInput::Answer(asked) => asked.split(' ').next().unwrap_or(asked).to_owned(),
        ExternalInput::Names(pattern) => format!("the files that match {pattern}"),
        ExternalInput::File(place) | ExternalInput::Presence(place) => place.clone(),
    }
}

//! External inputs of a walk: files that functions read, matches of patterns, answers of provider
//! functions. A stage records them, and its deploy must use the same ones. Owned by one walk.

use crate::engine::mutex::lock;
use lang::functions::{Finding, Look};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

/// Recorded external inputs, by lookup.
pub type Seen = BTreeMap<Look, Sight>;

/// Result of one lookup.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sight {
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
    Place { since: Since, what: String },
    /// Answer of a provider function.
    #[error(
        "the result of the function {what} changed {since}: the provider returns another result now"
    )]
    Answer { since: Since, what: String },
}

/// Time since which an input must not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// Since the stage, during its deploy.
    Stage,
    /// Since an earlier lookup of the same plan.
    Look,
}

impl std::fmt::Display for Since {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Stage => "since the stage was planned",
            Self::Look => "while the stage was planned",
        })
    }
}

/// External inputs of one walk.
#[derive(Debug, Default)]
pub struct Sights {
    seen: Mutex<Seen>,
    /// True if `seen` comes from a stage. Lookups that it lacks were unknown then and are not
    /// recorded.
    staged: bool,
}

impl Sights {
    /// Creates the inputs of a deploy from those of its stage.
    pub fn of_stage(seen: &Seen) -> Self {
        Self {
            seen: Mutex::new(seen.clone()),
            staged: true,
        }
    }

    /// Returns all recorded inputs.
    pub fn seen(&self) -> Seen {
        lock(&self.seen).clone()
    }

    /// Records a lookup.
    ///
    /// # Errors
    /// If the result differs from the recorded one.
    pub fn found(&self, finding: Finding) -> Result<(), Changed> {
        let mut seen = lock(&self.seen);
        match seen.get_mut(&finding.look) {
            // A place is sensitive as soon as one of its lookups is.
            Some(before) => {
                before.secret |= finding.secret;
                if before.digest == finding.digest {
                    Ok(())
                } else {
                    Err(self.changed(&finding.look, before.secret))
                }
            }
            // The stage could not make this lookup yet, so there is nothing to compare with.
            None if self.staged => Ok(()),
            None => {
                seen.insert(
                    finding.look,
                    Sight {
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
    pub fn approved(&self, look: &Look) -> Option<String> {
        let kept = self.staged && matches!(look, Look::Presence(_) | Look::File(_));
        lock(&self.seen)
            .get(look)
            .filter(|_| kept)
            .map(|sight| sight.digest.clone())
    }

    /// Records all lookups of another set.
    ///
    /// # Errors
    /// Like [`found`](Self::found).
    pub fn take(&self, others: Self) -> Result<(), Changed> {
        let others = others
            .seen
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        others
            .into_iter()
            .try_for_each(|(look, Sight { digest, secret })| {
                self.found(Finding {
                    look,
                    digest,
                    secret,
                })
            })
    }

    fn changed(&self, look: &Look, secret: bool) -> Changed {
        let since = if self.staged {
            Since::Stage
        } else {
            Since::Look
        };
        let what = name(look, secret);
        match look {
            Look::Answer(_) => Changed::Answer { since, what },
            _ => Changed::Place { since, what },
        }
    }
}

/// Returns the names of changed inputs, relative to the workspace's directory, without repetitions.
pub fn moved_on(seen: &Seen, base: &Path) -> Vec<String> {
    let moved = seen
        .iter()
        .filter(|(look, before)| look.again(base).is_some_and(|now| now != before.digest));
    let mut names: Vec<String> = moved
        .map(|(look, before)| name(look, before.secret))
        .collect();
    names.dedup();
    names
}

fn name(look: &Look, secret: bool) -> String {
    match look {
        Look::File(_) | Look::Presence(_) if secret => "a file whose name is sensitive".to_owned(),
        Look::Names(_) if secret => "the files that match a sensitive pattern".to_owned(),
        // The name of a function is followed by a digest of its arguments.
        Look::Answer(asked) => asked.split(' ').next().unwrap_or(asked).to_owned(),
        Look::Names(pattern) => format!("the files that match {pattern}"),
        Look::File(place) | Look::Presence(place) => place.clone(),
    }
}

//! What evaluation found outside of the configuration: files that functions read, names that
//! patterns match, answers of providers' functions. A stage is made by what was found; its deploy
//! goes by the same or not at all. Owned by one walk.

use crate::engine::mutex::lock;
use lang::functions::{Finding, Look};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

/// What was found, by what was looked at.
pub type Seen = BTreeMap<Look, Sight>;

/// What was found at one look.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sight {
    pub digest: String,
    /// Whether the place must not be shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
}

/// What is outside of the configuration is not what it was: nothing may rest on it. The words do
/// not name a place that must not be shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Changed {
    #[error(
        "changed {since}: {what}; stage again; where a resource of this configuration writes it, refer to that resource instead"
    )]
    Place { since: Since, what: String },
    /// What a function of a provider says.
    #[error("changed {since}: {what}; the provider answers otherwise now")]
    Answer { since: Since, what: String },
}

/// Since when something must stay as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// A stage was made by it, which is deployed.
    Stage,
    /// The same stage rests on it already.
    Look,
}

impl std::fmt::Display for Since {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Stage => "since it was staged",
            Self::Look => "while it was staged",
        })
    }
}

/// What is seen by one walk.
#[derive(Debug, Default)]
pub struct Sights {
    seen: Mutex<Seen>,
    /// Whether `seen` is what a stage was made by: what is not in it could not be known then, and
    /// is not kept.
    staged: bool,
}

impl Sights {
    /// Of a deploy: what its stage was made by.
    pub fn of_stage(seen: &Seen) -> Self {
        Self {
            seen: Mutex::new(seen.clone()),
            staged: true,
        }
    }

    /// All that was seen.
    pub fn seen(&self) -> Seen {
        lock(&self.seen).clone()
    }

    /// Takes note of what was found.
    ///
    /// # Errors
    /// It is not what was found before.
    pub fn found(&self, finding: Finding) -> Result<(), Changed> {
        let mut seen = lock(&self.seen);
        match seen.get_mut(&finding.look) {
            Some(before) => {
                before.secret |= finding.secret;
                if before.digest == finding.digest {
                    Ok(())
                } else {
                    Err(self.changed(&finding.look, before.secret))
                }
            }
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

    /// What a stage found of a file: that one was there, or was not, holds for its deploy, whatever
    /// the deploy itself makes of it. What it holds is another matter, and must be as it was.
    pub fn approved(&self, look: &Look) -> Option<String> {
        let kept = self.staged && matches!(look, Look::Presence(_) | Look::File(_));
        lock(&self.seen)
            .get(look)
            .filter(|_| kept)
            .map(|sight| sight.digest.clone())
    }

    /// Takes over all that others have found.
    ///
    /// # Errors
    /// As [`found`](Self::found).
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

/// What is not any more as a stage found it, seen from the workspace's folder: names, each once.
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
        // Behind the name of a function stands a digest of its arguments.
        Look::Answer(asked) => asked.split(' ').next().unwrap_or(asked).to_owned(),
        Look::Names(pattern) => format!("the files that match {pattern}"),
        Look::File(place) | Look::Presence(place) => place.clone(),
    }
}

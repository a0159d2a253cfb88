//! What evaluation found outside of the configuration: files that functions read, names that patterns match, answers of
//! providers' functions. A stage is made by what was found; its deploy goes by the same or not at all. Owned by one walk.

use crate::engine::calls::lock;
use lang::functions::{Finding, Look};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

/// Digests by what was looked at.
pub type Seen = BTreeMap<Look, String>;

/// What is seen by one walk.
#[derive(Debug, Default)]
pub struct Sights {
    seen: Mutex<Seen>,
    /// Whether `seen` is what a stage was made by: what is not in it could not be known then, and is not kept.
    staged: bool,
}

impl Sights {
    /// Of a deploy: what its stage was made by.
    pub fn of_stage(seen: &Seen) -> Self {
        Self { seen: Mutex::new(seen.clone()), staged: true }
    }

    /// All that was seen.
    pub fn seen(&self) -> Seen {
        lock(&self.seen).clone()
    }

    /// Takes note of what was found.
    ///
    /// # Errors
    /// It is not what was found before, in words.
    pub fn found(&self, finding: Finding) -> Result<(), String> {
        let mut seen = lock(&self.seen);
        match seen.get(&finding.look) {
            Some(before) if *before != finding.digest => Err(self.changed(&finding.look)),
            Some(_) => Ok(()),
            None if self.staged => Ok(()),
            None => {
                seen.insert(finding.look, finding.digest);
                Ok(())
            }
        }
    }

    /// Takes over all that others have found.
    ///
    /// # Errors
    /// As [`found`](Self::found).
    pub fn take(&self, others: Self) -> Result<(), String> {
        let others = others.seen.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        others.into_iter().try_for_each(|(look, digest)| self.found(Finding { look, digest }))
    }

    fn changed(&self, look: &Look) -> String {
        let when = if self.staged { "since it was staged" } else { "while it was staged" };
        let hint = match look {
            Look::Answer(_) => "the provider answers otherwise now",
            _ => "stage again; where a resource of this configuration writes it, refer to that resource instead",
        };
        format!("changed {when}: {}; {hint}", name(look))
    }
}

/// What is not any more as a stage found it, seen from the workspace's folder: names, each once.
pub fn moved_on(seen: &Seen, base: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        seen.iter().filter(|(look, before)| look.again(base).is_some_and(|now| now != **before)).map(|(look, _)| name(look)).collect();
    names.dedup();
    names
}

fn name(look: &Look) -> String {
    match look {
        // Behind the name of a function stands a digest of its arguments.
        Look::Answer(asked) => asked.split(' ').next().unwrap_or(asked).to_owned(),
        Look::Names(pattern) => format!("the files that match {pattern}"),
        Look::File(place) | Look::Presence(place) => place.clone(),
    }
}

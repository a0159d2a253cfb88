//! External inputs of a walk: files that functions read, matches of patterns, answers of provider
//! functions. A stage records them, and its deploy must use the same ones. Owned by one walk.

use lang::functions::{ExternalInput, RecordedInput};
use lang::stored::StoredConfiguration;
use model::mutex::lock;
use std::collections::{BTreeMap, BTreeSet};
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

/// Returns the names of changed inputs, relative to the workspace's directory, sorted and without
/// repetitions: a file is one input by its content and another one by its presence. Inputs that a
/// stored configuration contains do not change.
pub fn changed_inputs(
    seen: &RecordedInputs,
    stored: Option<&StoredConfiguration>,
    base: &Path,
) -> Vec<String> {
    let moved = seen.iter().filter(|(look, before)| {
        let is_stored = || stored.is_some_and(|stored| stored.contains(look));
        look.current_digest(base)
            .is_some_and(|now| now != before.digest && !is_stored())
    });
    names(moved)
}

/// Returns the names of inputs of which a stored configuration has no result, like
/// [`changed_inputs`].
pub fn unstored_inputs(seen: &RecordedInputs, stored: &StoredConfiguration) -> Vec<String> {
    names(seen.iter().filter(|(look, _)| {
        !matches!(look, ExternalInput::Answer(_)) && !stored.inputs.contains_key(look)
    }))
}

fn names<'a>(inputs: impl Iterator<Item = (&'a ExternalInput, &'a InputDigest)>) -> Vec<String> {
    let names: BTreeSet<String> = inputs
        .map(|(look, found)| name(look, found.secret))
        .collect();
    names.into_iter().collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> ExternalInput {
        ExternalInput::File(name.to_owned())
    }

    fn finding(input: ExternalInput, digest: &str, secret: bool) -> RecordedInput {
        let digest = digest.to_owned();
        RecordedInput {
            input,
            digest,
            secret,
        }
    }

    /// Looks up one input twice; returns the error of the second lookup.
    fn second(inputs: &ExternalInputs, input: ExternalInput, digest: &str) -> Option<String> {
        let error = inputs.record(finding(input, digest, false)).err();
        error.map(|error| error.to_string())
    }

    #[test]
    fn plan_refuses_an_input_that_changes_between_two_lookups() {
        let answer = || ExternalInput::Answer("provider::lab::f 12ab".to_owned());
        let names = || ExternalInput::Names("*.txt".to_owned());
        let presence = || ExternalInput::Presence("a".to_owned());
        for (input, secret, text) in [
            (file("a"), false, "a changed while the stage was planned"),
            (presence(), false, "a changed while the stage was planned"),
            (names(), false, "the files that match *.txt changed while"),
            (file("a"), true, "a file whose name is sensitive changed"),
            (presence(), true, "a file whose name is sensitive changed"),
            (names(), true, "the files that match a sensitive pattern"),
            (answer(), false, "function provider::lab::f changed while"),
        ] {
            let inputs = ExternalInputs::default();
            let first = finding(input.clone(), "1", secret);
            assert_eq!(inputs.record(first), Ok(()));
            assert_eq!(second(&inputs, input.clone(), "1"), None);
            let error = second(&inputs, input, "2").expect("a change");
            assert!(error.contains(text), "{error}");
        }
    }

    #[test]
    fn deploy_compares_recorded_inputs_and_ignores_new_ones() {
        let seen = ExternalInputs::default();
        for (input, digest) in [(file("a"), "1"), (file("b"), "2")] {
            seen.record(finding(input, digest, false)).expect("first");
        }
        let deploy = ExternalInputs::of_stage(&seen.recorded());
        assert_eq!(second(&deploy, file("a"), "1"), None);
        assert_eq!(second(&deploy, file("new"), "9"), None);
        assert_eq!(deploy.recorded(), seen.recorded(), "nothing is added");
        let error = second(&deploy, file("b"), "9").expect("a change");
        assert!(error.contains("since the stage was planned"), "{error}");
        // Only files count as recorded: the deploy itself may write them.
        assert_eq!(deploy.approved(&file("a")), Some("1".to_owned()));
        assert_eq!(deploy.approved(&file("new")), None);
        assert_eq!(seen.approved(&file("a")), None, "a plan looks itself");
    }

    #[test]
    fn sets_of_inputs_are_merged_unless_they_contradict() {
        let set = |all: &[(&str, &str)]| {
            let inputs = ExternalInputs::default();
            for (name, digest) in all {
                let one = finding(file(name), digest, false);
                inputs.record(one).expect("distinct");
            }
            inputs
        };
        let inputs = set(&[("a", "1")]);
        assert_eq!(inputs.record_all(set(&[("a", "1"), ("b", "2")])), Ok(()));
        assert_eq!(inputs.recorded().len(), 2);
        assert!(inputs.record_all(set(&[("b", "3")])).is_err());
    }

    #[test]
    fn sensitive_lookup_hides_the_place_of_other_lookups() {
        let inputs = ExternalInputs::default();
        for secret in [false, true, false] {
            let one = finding(file("a"), "1", secret);
            inputs.record(one).expect("equal");
        }
        assert!(inputs.recorded()[&file("a")].secret);
    }

    #[test]
    fn changed_file_is_named_once_although_it_is_two_inputs() {
        let dir = tempfile::tempdir().expect("a directory");
        let now = |name: &str| {
            let path = ExternalInput::Presence(name.to_owned());
            path.current_digest(dir.path()).expect("a digest")
        };
        std::fs::write(dir.path().join("same"), "").expect("write");
        let digest = |digest: &str, secret| InputDigest {
            digest: digest.to_owned(),
            secret,
        };
        let presence = |name: &str| ExternalInput::Presence(name.to_owned());
        // In the order of the map: files by content, then files by presence.
        let seen: RecordedInputs = [
            (file("b"), digest("old", false)),
            (file("a"), digest("old", false)),
            (presence("a"), digest("old", false)),
            (presence("b"), digest("old", false)),
            (presence("same"), digest(&now("same"), false)),
            (file("hidden"), digest("old", true)),
        ]
        .into();
        let names = changed_inputs(&seen, None, dir.path());
        assert_eq!(names, ["a", "a file whose name is sensitive", "b"]);
    }
}

//! Unknown outcomes beside a remote state, so that a deploy from another checkout finds them. The
//! text is JSON: a title, the unknown outcomes, and the keys of settled ones, which other checkouts
//! may still have as unknown. It has no sensitive values.

use super::{StateError, StateOfRecord};
use model::mutex::lock;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use store::records::{IntentKey, SharedDeploy, SharedOutcome};
use thiserror::Error;

const TITLE: &str = "flightdeck unknown outcomes";
const VERSION: u32 = 1;
/// Maximum size of the text, in bytes, and of one outcome's facts.
const MAX_TEXT: usize = 1 << 20;
const MAX_DETAIL: usize = 8 << 10;
/// Maximum number of unknown and of settled outcomes. The oldest settled ones are dropped.
const MAX_OUTCOMES: usize = 1_000;
/// Maximum length of an address and of a step, in bytes.
const MAX_NAME: usize = 4 << 10;

/// Text beside a state that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SharedError {
    #[error("it is larger than {MAX_TEXT} bytes")]
    TooLarge,
    #[error("it is not a list of unknown outcomes: {0}")]
    Syntax(String),
    #[error("it has version {0}, and this flightdeck knows version {VERSION}; use a newer one")]
    Version(u32),
    #[error("the outcome of {0:.200} in it is invalid")]
    Outcome(String),
}

/// Content of the text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedOutcomes {
    format: String,
    version: u32,
    pub unknown: Vec<SharedOutcome>,
    settled: Vec<IntentKey>,
}

impl Default for SharedOutcomes {
    fn default() -> Self {
        Self {
            format: TITLE.to_owned(),
            version: VERSION,
            unknown: Vec::new(),
            settled: Vec::new(),
        }
    }
}

/// Work that makes a store and the text agree.
#[derive(Debug, PartialEq)]
pub struct Agreement {
    /// Outcomes that the store lacks.
    pub import: Vec<SharedOutcome>,
    /// Unknown outcomes of the store that another checkout has settled.
    pub settle: Vec<IntentKey>,
    /// New content of the text.
    pub text: SharedOutcomes,
}

impl SharedOutcomes {
    /// Reads the text; an empty one has no outcomes.
    ///
    /// # Errors
    /// The text is damaged, too large, or of another version.
    pub fn read(text: &[u8]) -> Result<Self, SharedError> {
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        if text.is_empty() {
            return Ok(Self::default());
        }
        if text.len() > MAX_TEXT {
            return Err(SharedError::TooLarge);
        }
        let syntax = |e: serde_json::Error| SharedError::Syntax(e.to_string());
        let Head { version } = serde_json::from_slice(text).map_err(syntax)?;
        if version != VERSION {
            return Err(SharedError::Version(version));
        }
        let read: Self = serde_json::from_slice(text).map_err(syntax)?;
        if read.format != TITLE {
            return Err(SharedError::Syntax("it has another title".to_owned()));
        }
        let mut unknown = read.unknown.iter();
        match unknown.find(|outcome| !is_valid(outcome)) {
            Some(bad) => Err(SharedError::Outcome(bad.key.address.clone())),
            None => Ok(read),
        }
    }

    /// Returns the text; empty if there is nothing to store.
    pub fn to_text(&self) -> String {
        match self.unknown.is_empty() && self.settled.is_empty() {
            true => String::new(),
            false => serde_json::to_string(self).unwrap_or_default() + "\n",
        }
    }

    /// Compares with a store: `open` are its unknown outcomes, `recorded` the intents of the text
    /// that it has, also those with an outcome.
    pub fn agree(&self, open: &[SharedOutcome], recorded: &BTreeSet<IntentKey>) -> Agreement {
        let settled: BTreeSet<&IntentKey> = self.settled.iter().collect();
        let open_keys: BTreeSet<&IntentKey> = open.iter().map(|outcome| &outcome.key).collect();
        let (known, new): (Vec<_>, Vec<_>) = self
            .unknown
            .iter()
            .filter(|outcome| !settled.contains(&outcome.key))
            .partition(|outcome| recorded.contains(&outcome.key));
        let settled_here = known
            .into_iter()
            .map(|outcome| &outcome.key)
            .filter(|key| !open_keys.contains(key));
        let mut all_settled = self.settled.clone();
        all_settled.extend(settled_here.cloned());
        let oldest = all_settled.len().saturating_sub(MAX_OUTCOMES);
        let still_open = open
            .iter()
            .filter(|outcome| !settled.contains(&outcome.key) && is_valid(outcome));
        let import: Vec<SharedOutcome> = new.into_iter().cloned().collect();
        let mut unknown: Vec<SharedOutcome> = still_open.chain(&import).cloned().collect();
        // The same text from each checkout, so that none is written again.
        unknown.sort_by(|a, b| a.key.cmp(&b.key));
        unknown.truncate(MAX_OUTCOMES);
        let settle = open_keys.into_iter().filter(|key| settled.contains(key));
        Agreement {
            settle: settle.cloned().collect(),
            text: Self {
                unknown,
                settled: all_settled.split_off(oldest),
                ..Self::default()
            },
            import,
        }
    }
}

fn is_valid(outcome: &SharedOutcome) -> bool {
    let key = &outcome.key;
    let names = [&key.address, &key.deposed, &key.step];
    names.into_iter().all(|name| name.len() <= MAX_NAME)
        && !key.address.is_empty()
        && key.step.parse::<model::OperationStep>().is_ok()
        && outcome.detail.is_object()
        && outcome.detail.to_string().len() <= MAX_DETAIL
        && outcome.deploy.who.len() + outcome.deploy.host.len() <= MAX_NAME
}

impl StateOfRecord {
    /// Brings the store up to date with the unknown outcomes beside the state. Needs the open
    /// state. Returns the deploys of those that were new here.
    ///
    /// # Errors
    /// The text cannot be read, or is not such a text; or the store cannot be written.
    pub async fn receive_outcomes(&self) -> Result<BTreeSet<SharedDeploy>, StateError> {
        let Some(text) = self.read_outcomes().await? else {
            return Ok(BTreeSet::new());
        };
        let Agreement { import, settle, .. } = self.agree(&text).await?;
        let new: BTreeSet<SharedDeploy> = import.iter().map(|o| o.deploy.clone()).collect();
        if !import.is_empty() {
            self.copy.import_outcomes(import).await?;
        }
        if !settle.is_empty() {
            let unknown = self.copy.unknown_outcomes().await?.into_iter();
            let settled = unknown.filter(|outcome| settle.contains(&outcome.key()));
            let settled = settled.map(|outcome| outcome.id).collect();
            let how = "resolved in another checkout";
            self.copy.settle_unknown(settled, how).await?;
        }
        *lock(&self.shared) = Some(text);
        Ok(new)
    }

    /// Stores the unknown outcomes beside the state, if they differ. Needs the open state. Without
    /// locks it does nothing, because another process may write, too.
    ///
    /// # Errors
    /// The text cannot be read or written.
    pub async fn share_outcomes(&self) -> Result<(), StateError> {
        if !self.locks || !self.is_open() {
            return Ok(());
        }
        let received = lock(&self.shared).take();
        let before = match received {
            Some(text) => text,
            // A command without a text and without unknown outcomes has nothing to store.
            None if self.copy.unknown_outcomes().await?.is_empty() => return Ok(()),
            None => match self.read_outcomes().await? {
                Some(text) => text,
                None => return Ok(()),
            },
        };
        let text = self.agree(&before).await?.text;
        if text == before {
            return Ok(());
        }
        self.state_manager().write_beside(text.to_text()).await
    }

    /// Returns `None` if the location has no room for them.
    async fn read_outcomes(&self) -> Result<Option<SharedOutcomes>, StateError> {
        let home = self.state_manager();
        let Some(text) = home.read_beside().await? else {
            return Ok(None);
        };
        let place = || format!("the unknown outcomes beside {}", home.place());
        let read = SharedOutcomes::read(&text);
        read.map(Some)
            .map_err(|why| StateError::remote("read", place(), why))
    }

    async fn agree(&self, text: &SharedOutcomes) -> Result<Agreement, StateError> {
        let keys = text.unknown.iter().map(|outcome| outcome.key.clone());
        let recorded = self.copy.recorded_intents(keys.collect()).await?;
        let open = self.copy.shared_outcomes().await?;
        Ok(text.agree(&open, &recorded))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::*;
    use serde_json::json;

    fn outcome(address: &str) -> SharedOutcome {
        SharedOutcome {
            key: IntentKey {
                address: address.to_owned(),
                deposed: String::new(),
                step: "create".to_owned(),
                at: 7,
            },
            detail: json!({"type": "t", "provider": "p", "values": {"name": "n"}}),
            deploy: SharedDeploy {
                who: "ann".to_owned(),
                host: "runner".to_owned(),
                began: 5,
            },
        }
    }

    fn keys(outcomes: &[SharedOutcome]) -> Vec<&str> {
        let addresses = outcomes.iter().map(|outcome| outcome.key.address.as_str());
        addresses.collect()
    }

    /// Text with these unknown outcomes, as another checkout has written it.
    fn text(unknown: &[&str]) -> SharedOutcomes {
        let open: Vec<_> = unknown.iter().map(|address| outcome(address)).collect();
        SharedOutcomes::default()
            .agree(&open, &BTreeSet::new())
            .text
    }

    #[test]
    fn store_and_text_agree() {
        // Text, open here, settled here: imported, in the new text.
        let table: [(&[&str], &[&str], &[&str], &[&str], &[&str]); 5] = [
            (&[], &["a"], &[], &[], &["a"]),
            (&["a"], &[], &[], &["a"], &["a"]),
            (&["a"], &["a"], &[], &[], &["a"]),
            (&["a"], &[], &["a"], &[], &[]),
            (&["a", "c"], &["b"], &["c"], &["a"], &["a", "b"]),
        ];
        for (there, open, settled, import, after) in table {
            let recorded = open.iter().chain(settled).map(|a| outcome(a).key).collect();
            let open: Vec<_> = open.iter().map(|a| outcome(a)).collect();
            let agreement = text(there).agree(&open, &recorded);
            let name = format!("{there:?} {settled:?}");
            assert_eq!(keys(&agreement.import), import, "{name}");
            assert_eq!(keys(&agreement.text.unknown), after, "{name}");
            assert!(agreement.settle.is_empty(), "{name}");
        }
    }

    #[test]
    fn outcome_settled_in_one_checkout_is_settled_in_another() {
        let recorded = [outcome("a").key].into();
        let settled = text(&["a"]).agree(&[], &recorded).text;
        let read = SharedOutcomes::read(settled.to_text().as_bytes()).unwrap();
        let agreement = read.agree(&[outcome("a")], &recorded);
        assert_eq!(agreement.settle, [outcome("a").key]);
        assert_eq!(agreement.text, read);
    }

    #[test]
    fn text_that_is_no_list_of_outcomes_is_refused() {
        let whole = text(&["a"]).to_text();
        assert_eq!(
            keys(&SharedOutcomes::read(whole.as_bytes()).unwrap().unknown),
            ["a"]
        );
        let long = "x".repeat(MAX_NAME + 1);
        let table = [
            ("{}".to_owned(), "missing field"),
            (whole.replace("\"version\":1", "\"version\":2"), "version 2"),
            (whole.replace(TITLE, "other"), "another title"),
            (
                whole.replace("\"create\"", "\"melt\""),
                "the outcome of a in it",
            ),
            (whole.replace("\"a\"", "\"\""), "is invalid"),
            (whole.replace("\"ann\"", &format!("{long:?}")), "is invalid"),
            (
                whole.replace("\"n\"", &format!("{:?}", long.repeat(3))),
                "is invalid",
            ),
            (whole.clone() + &" ".repeat(MAX_TEXT), "larger than"),
            ("\u{0}".to_owned(), "not a list"),
        ];
        for (text, why) in table {
            let refused = SharedOutcomes::read(text.as_bytes())
                .unwrap_err()
                .to_string();
            assert!(refused.contains(why), "{why}: {refused}");
        }
    }

    #[test]
    fn text_is_bounded() {
        let many: Vec<_> = (0..MAX_OUTCOMES + 5)
            .map(|n| outcome(&format!("a{n}")))
            .collect();
        let recorded = many.iter().map(|outcome| outcome.key.clone()).collect();
        let text = SharedOutcomes::default().agree(&many, &recorded).text;
        assert_eq!(text.unknown.len(), MAX_OUTCOMES);
        let settled = text.agree(&[], &recorded).text;
        assert!(settled.unknown.is_empty());
        assert_eq!(settled.settled.len(), MAX_OUTCOMES);
        assert!(settled.to_text().len() < MAX_TEXT);
    }
}

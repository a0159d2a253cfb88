//! What an operation's call does to the world beside its own object, since its plugin asked another
//! for it; and the locks that plugins take meanwhile.

use super::{Action, CallId, PluginId, UnixMs};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The phases of a link, which stand as kinds in its operation's record: types of plugins have a
/// slash.
pub const LINK_PHASES: [&str; 3] = ["resource_a", "resource_b", "intermediaries"];

/// What a plugin asks of another through us: an object that is in no state. Or one of the phases in
/// which a link is made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Deed {
    /// Creates, updates or destroys it.
    pub action: Action,
    /// The type as plugins write it: `aws/iam/role`.
    pub kind: String,
    /// What the plugin that asks calls the object.
    pub name: String,
}

impl fmt::Display for Deed {
    /// `create of aws/iam/role "reader"`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { action, kind, name } = self;
        write!(f, "{} of {kind} {}", action.word(), in_quotes(name))
    }
}

impl Deed {
    /// Whether it is a phase of a link.
    pub fn is_of_link(&self) -> bool {
        LINK_PHASES.contains(&&*self.kind)
    }

    /// What it makes may be there twice where it is made again.
    pub fn is_creation(&self) -> bool {
        self.action == Action::Create
    }

    /// The deed that is written so.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (action, rest) = text.split_once(" of ")?;
        let action = Action::of_apply(action)?;
        // What is quoted has no quote in it that is not escaped, and a type has none.
        let (kind, name) = rest.split_once(" \"")?;
        Some(Self {
            action,
            kind: kind.to_owned(),
            name: serde_json::from_str(&format!("\"{name}")).ok()?,
        })
    }

    /// The same in a form that can be written down and read: types of plugins have neither quotes
    /// nor spaces in them, and what comes over the wire may.
    #[must_use]
    pub fn fit(mut self) -> Self {
        let odd = |c: char| c == '"' || c.is_whitespace() || c.is_control();
        self.kind = self.kind.replace(odd, "_");
        self
    }
}

/// In quotes, with what is in it escaped.
fn in_quotes(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What became of a deed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "end", content = "why")]
pub enum DeedEnd {
    /// It goes on.
    Open,
    Done,
    /// It was not done, and why.
    Failed(String),
    /// Whether it was done is not known, and why.
    Unknown(String),
}

/// One deed of an operation, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// Its place among those of the operation, from 1.
    pub place: u32,
    #[serde(flatten)]
    pub deed: Deed,
    /// Who asked for it, in words: `bluelink/aws`.
    pub asked_by: String,
    pub began: UnixMs,
    pub took_ms: Option<u64>,
    #[serde(flatten)]
    pub end: DeedEnd,
}

impl Beside {
    /// `create of aws/iam/role "reader", asked for by bluelink/aws: done`.
    pub fn text(&self) -> String {
        let end = match &self.end {
            DeedEnd::Open => "under way".to_owned(),
            DeedEnd::Done => "done".to_owned(),
            DeedEnd::Failed(why) => format!("failed: {why}"),
            DeedEnd::Unknown(why) => format!("the outcome is unknown: {why}"),
        };
        format!("{}, asked for by {}: {end}", self.deed, self.asked_by)
    }
}

/// A lock that a plugin has taken on a resource for as long as one of its calls lasts. Said again
/// when somebody begins or ceases to wait for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLock {
    /// Its number: another one with each holder.
    pub lock: u64,
    /// What is locked, as the plugin names it.
    pub name: String,
    /// Whose call holds it: the address of an operation, with what that asked for in turn.
    pub holder: String,
    pub plugin: PluginId,
    /// That call.
    pub call: Option<CallId>,
    pub since: UnixMs,
    /// Who waits for it, in line.
    pub waiters: Vec<String>,
    /// False once, when it is given back.
    pub held: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deed_is_read_as_it_is_written_whatever_its_object_is_called() {
        for name in ["reader", "", "a \"b\" of c", "ä\\\n (1)", " of \"x\""] {
            let deed = Deed {
                action: Action::Destroy,
                kind: "aws/iam/\"odd role".to_owned(),
                name: name.to_owned(),
            }
            .fit();
            assert_eq!(Deed::parse(&deed.to_string()), Some(deed.clone()), "{deed}");
        }
        assert_eq!(Deed::parse("read of aws/iam/role \"x\""), None);
    }
}

//! Calls that an operation's plugin requests from other plugins, about objects that are in no
//! state; phases of links; and resource locks of plugins.

use super::{Action, CallId, PluginId, UnixMs};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Phases of a link, recorded like types of requested objects. Plugin types contain a slash, so the
/// names cannot collide.
pub const LINK_PHASES: [&str; 3] = ["resource_a", "resource_b", "intermediaries"];

/// Action that a plugin requests from another one, on an object that is in no state; or a phase in
/// which a link is made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SideEffect {
    /// Create, update or destroy.
    pub action: Action,
    /// Type as plugins write it: `aws/iam/role`.
    pub kind: String,
    /// Name that the requesting plugin gives the object.
    pub name: String,
}

impl fmt::Display for SideEffect {
    /// `create of aws/iam/role "reader"`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { action, kind, name } = self;
        write!(f, "{} of {kind} {}", action.label(), in_quotes(name))
    }
}

impl SideEffect {
    /// Returns true for a phase of a link.
    pub fn is_of_link(&self) -> bool {
        LINK_PHASES.contains(&&*self.kind)
    }

    /// Returns true for a create, which could make a second object if repeated.
    pub fn is_creation(&self) -> bool {
        self.action == Action::Create
    }

    /// Parses the display form.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (action, rest) = text.split_once(" of ")?;
        let action = Action::of_apply(action)?;
        // Quotes in the name are escaped, and a type contains none.
        let (kind, name) = rest.split_once(" \"")?;
        Some(Self {
            action,
            kind: kind.to_owned(),
            name: serde_json::from_str(&format!("\"{name}")).ok()?,
        })
    }

    /// Replaces characters of the type that the display form cannot represent. Plugin types have no
    /// quotes or spaces, but data from the wire may.
    #[must_use]
    pub fn sanitized(mut self) -> Self {
        let odd = |c: char| c == '"' || c.is_whitespace() || c.is_control();
        self.kind = self.kind.replace(odd, "_");
        self
    }
}

/// Quotes and escapes a text.
fn in_quotes(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Outcome of a requested action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "end", content = "why")]
pub enum SideEffectOutcome {
    /// In progress.
    Open,
    Done,
    /// Not done, with the reason.
    Failed(String),
    /// Unknown outcome, with the reason.
    Unknown(String),
}

/// Requested action of an operation, with its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedCall {
    /// Position among those of the operation, from 1.
    pub place: u32,
    #[serde(flatten)]
    pub deed: SideEffect,
    /// Requesting plugin, as text: `bluelink/aws`.
    pub asked_by: String,
    pub began: UnixMs,
    pub took_ms: Option<u64>,
    #[serde(flatten)]
    pub end: SideEffectOutcome,
}

impl RequestedCall {
    /// `create of aws/iam/role "reader", requested by bluelink/aws: done`.
    pub fn text(&self) -> String {
        let end = match &self.end {
            SideEffectOutcome::Open => "in progress".to_owned(),
            SideEffectOutcome::Done => "done".to_owned(),
            SideEffectOutcome::Failed(why) => format!("failed: {why}"),
            SideEffectOutcome::Unknown(why) => format!("unknown outcome: {why}"),
        };
        format!("{}, requested by {}: {end}", self.deed, self.asked_by)
    }
}

/// Lock that a plugin holds on a resource during one of its calls. Emitted again when its waiters
/// change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLock {
    /// Number of the lock; each owner gets another one.
    pub lock: u64,
    /// Locked resource, as named by the plugin.
    pub name: String,
    /// Owner: address of the operation, and the request that it made, if any.
    pub holder: String,
    pub plugin: PluginId,
    /// Call of the owner.
    pub call: Option<CallId>,
    pub since: UnixMs,
    /// Waiters, in order.
    pub waiters: Vec<String>,
    /// False in the last event, when the lock is released.
    pub held: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn side_effect_text_round_trips_with_any_object_name() {
        for name in ["reader", "", "a \"b\" of c", "ä\\\n (1)", " of \"x\""] {
            let deed = SideEffect {
                action: Action::Destroy,
                kind: "aws/iam/\"odd role".to_owned(),
                name: name.to_owned(),
            }
            .sanitized();
            assert_eq!(
                SideEffect::parse(&deed.to_string()),
                Some(deed.clone()),
                "{deed}"
            );
        }
        assert_eq!(SideEffect::parse("read of aws/iam/role \"x\""), None);
    }
}

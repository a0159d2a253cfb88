//! What can be made to go wrong in the lab: the faults themselves, where they come from, and which
//! of them strike a given call. How often each has struck is kept in the lab file, so that it
//! survives the process.

use serde::{Deserialize, Serialize};

use super::cloud::Change;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The call takes longer, by `ms`.
    Latency,
    /// An error that goes away after `times` tries (default 2).
    Transient,
    /// An error that does not go away.
    Permanent,
    /// The cloud refuses an attribute: a diagnostic with that attribute's path.
    BadInput,
    /// No answer until the provider is asked to stop.
    Hang,
    /// The process dies with the text of a panic.
    Crash,
    /// A create that fails half-way: an error, and an object all the same.
    Partial,
    /// A result that contradicts the plan.
    Inconsistent,
}

impl Kind {
    /// All of them, in the order of the documentation.
    pub const ALL: [Kind; 8] = [
        Kind::Latency,
        Kind::Transient,
        Kind::Permanent,
        Kind::BadInput,
        Kind::Hang,
        Kind::Crash,
        Kind::Partial,
        Kind::Inconsistent,
    ];

    /// The word for it in configuration and in the control file.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Latency => "latency",
            Kind::Transient => "transient",
            Kind::Permanent => "permanent",
            Kind::BadInput => "bad_input",
            Kind::Hang => "hang",
            Kind::Crash => "crash",
            Kind::Partial => "partial",
            Kind::Inconsistent => "inconsistent",
        }
    }

    /// The kind with this word.
    pub fn parse(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Which call a fault strikes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// The making of an object.
    Create,
    /// The reading of an object.
    Read,
    /// The change of an object.
    Update,
    /// The removal of an object.
    Delete,
    /// Create, update and delete.
    #[default]
    Change,
    /// Every call that reaches the cloud.
    Any,
}

impl On {
    /// All of them.
    pub const ALL: [On; 6] = [
        On::Create,
        On::Read,
        On::Update,
        On::Delete,
        On::Change,
        On::Any,
    ];

    /// The word for it in configuration and in the control file.
    pub fn as_str(self) -> &'static str {
        match self {
            On::Create => "create",
            On::Read => "read",
            On::Update => "update",
            On::Delete => "delete",
            On::Change => "change",
            On::Any => "any",
        }
    }

    /// The call or group of calls with this word.
    pub fn parse(word: &str) -> Option<On> {
        On::ALL.into_iter().find(|on| on.as_str() == word)
    }

    fn covers(self, call: On) -> bool {
        self == On::Any || self == call || (self == On::Change && call != On::Read)
    }
}

/// One fault, and what it strikes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Names the fault in the control file; given when it is set there.
    #[serde(default)]
    pub id: String,
    /// What goes wrong.
    pub kind: Kind,
    /// Which calls it strikes.
    #[serde(default)]
    pub on: On,
    /// Only resources of this type, as `lab_server`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Only objects with this name; `*` stands for any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How often it strikes before it goes away; without it: always (a transient error: twice).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// Of a latency: how long, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
    /// The words of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Of a bad input or inconsistent result: which attribute (default `name`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// Of a hang or crash: only after the cloud has done its work, so that the outcome is unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub after: bool,
}

impl Fault {
    /// A fault of a kind that strikes every change of everything.
    pub fn new(kind: Kind) -> Fault {
        Fault {
            id: String::new(),
            kind,
            on: On::Change,
            resource: None,
            name: None,
            times: None,
            ms: None,
            text: None,
            attribute: None,
            after: false,
        }
    }

    /// How often it strikes before it lets a call through; none: always.
    pub fn limit(&self) -> Option<u32> {
        self.times.or(if self.kind == Kind::Transient {
            Some(2)
        } else {
            None
        })
    }

    fn strikes(&self, call: On, resource: &str, name: &str) -> bool {
        self.on.covers(call)
            && self.resource.as_deref().is_none_or(|only| only == resource)
            && self
                .name
                .as_deref()
                .is_none_or(|pattern| matches(pattern, name))
    }
}

/// Where a fault was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The resource's own configuration; counted by object, and again from the start once a call
    /// has got through.
    Resource,
    /// The provider's configuration; counted as that of a resource.
    Provider,
    /// The control file; counted once for all objects, and spent when its number is reached.
    Control,
}

/// The faults that strike one call, counted in the lab. A fault that has struck often enough lets
/// this call through.
pub(super) fn select(
    change: &mut Change<'_>,
    call: On,
    resource: &str,
    name: &str,
    faults: &[(Origin, Fault)],
) -> Vec<Fault> {
    let mut struck = Vec::new();
    for (origin, fault) in faults {
        if !fault.strikes(call, resource, name) {
            continue;
        }
        let Some(limit) = fault.limit() else {
            struck.push(fault.clone());
            continue;
        };
        let key = match origin {
            Origin::Control => format!("control/{}", fault.id),
            _ => format!(
                "{resource}/{name}/{}/{}",
                fault.kind.as_str(),
                call.as_str()
            ),
        };
        let count = change.fired.get(&key).copied().unwrap_or(0);
        if count < limit {
            change.count(&key, Some(count + 1));
            struck.push(fault.clone());
        } else if *origin != Origin::Control {
            change.count(&key, None);
        }
    }
    struck
}

/// Whether `*`-patterns match; there is nothing else special in a pattern.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::super::cloud::Cloud;
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, text, yes) in [
            ("web", "web", true),
            ("web", "web-1", false),
            ("web-*", "web-1", true),
            ("*-1", "web-1", true),
            ("w*b*1", "web-1", true),
            ("*", "", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, text), yes, "{pattern} on {text}");
        }
    }

    #[test]
    fn a_transient_error_lets_the_third_call_through_and_starts_again() {
        let mut cloud = Cloud::default();
        let change = &mut Change::new(&mut cloud);
        let faults = [(
            Origin::Resource,
            Fault {
                on: On::Create,
                ..Fault::new(Kind::Transient)
            },
        )];
        let mut strike = || !select(change, On::Create, "lab_server", "web", &faults).is_empty();
        assert_eq!(
            [strike(), strike(), strike(), strike()],
            [true, true, false, true]
        );
    }

    #[test]
    fn a_fault_of_the_control_file_is_spent_once_for_all_objects() {
        let mut cloud = Cloud::default();
        let change = &mut Change::new(&mut cloud);
        let faults = [(
            Origin::Control,
            Fault {
                id: "f1".into(),
                times: Some(1),
                ..Fault::new(Kind::Crash)
            },
        )];
        assert_eq!(
            select(change, On::Read, "lab_server", "a", &faults).len(),
            0,
            "a read is no change"
        );
        assert_eq!(
            select(change, On::Update, "lab_server", "a", &faults).len(),
            1
        );
        assert_eq!(
            select(change, On::Update, "lab_server", "b", &faults).len(),
            0
        );
    }

    #[test]
    fn only_what_is_named_is_struck() {
        let mut cloud = Cloud::default();
        let change = &mut Change::new(&mut cloud);
        let fault = Fault {
            resource: Some("lab_bucket".into()),
            name: Some("logs*".into()),
            ..Fault::new(Kind::Permanent)
        };
        let faults = [(Origin::Provider, fault)];
        assert_eq!(
            select(change, On::Create, "lab_bucket", "logs-eu", &faults).len(),
            1
        );
        assert_eq!(
            select(change, On::Create, "lab_bucket", "data", &faults).len(),
            0
        );
        assert_eq!(
            select(change, On::Create, "lab_server", "logs-eu", &faults).len(),
            0
        );
    }
}

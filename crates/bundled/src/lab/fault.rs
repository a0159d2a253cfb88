//! Faults of the lab, their origins, and the selection of the faults of a call. Counters are in the
//! lab file, so they survive the process.

use serde::{Deserialize, Serialize};

use super::cloud::Change;

/// Effect of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The call takes `ms` longer.
    Latency,
    /// Error that disappears after `times` attempts (default 2).
    Transient,
    /// Error that does not disappear.
    Permanent,
    /// The cloud rejects an attribute; the diagnostic has its path.
    BadInput,
    /// No response until the provider is asked to stop.
    Hang,
    /// The process exits with the output of a panic.
    Crash,
    /// A create or update fails half-way: it returns an error, but the object exists, or has all
    /// changes but one.
    Partial,
    /// The result contradicts the plan.
    Inconsistent,
}

impl Kind {
    /// All kinds, in the order of the documentation.
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

    /// Returns the name in the configuration and the control file.
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

    /// Parses the name of a kind.
    pub fn parse(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Calls that a fault affects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// Create calls.
    Create,
    /// Read calls.
    Read,
    /// Update calls.
    Update,
    /// Delete calls.
    Delete,
    /// Create, update and delete calls.
    #[default]
    Change,
    /// Every call that reaches the cloud.
    Any,
}

impl On {
    /// All variants.
    pub const ALL: [On; 6] = [
        On::Create,
        On::Read,
        On::Update,
        On::Delete,
        On::Change,
        On::Any,
    ];

    /// Returns the name in the configuration and the control file.
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

    /// Parses the name of a call or group of calls.
    pub fn parse(word: &str) -> Option<On> {
        On::ALL.into_iter().find(|on| on.as_str() == word)
    }

    fn includes(self, call: On) -> bool {
        self == On::Any || self == call || (self == On::Change && call != On::Read)
    }
}

/// Fault with its scope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Id in the control file; assigned when it is set.
    #[serde(default)]
    pub id: String,
    /// Effect.
    pub kind: Kind,
    /// Affected calls.
    #[serde(default)]
    pub on: On,
    /// Affects only resources of this type, such as `lab_server`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Affects only objects with this name; `*` matches any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of occurrences until it disappears; unlimited by default (twice for a transient
    /// error).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// Delay of a latency fault in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
    /// Text of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Attribute of a bad input or inconsistent result (default `name`), or the one that a partial
    /// update does not change (default: the last that would).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// For a hang or crash: occurs after the cloud has done its work, so that the outcome is
    /// unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub after: bool,
}

impl Fault {
    /// Creates a fault that affects every change of every object.
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

    /// Returns the number of occurrences before a call succeeds; `None` if unlimited.
    pub fn limit(&self) -> Option<u32> {
        self.times.or(if self.kind == Kind::Transient {
            Some(2)
        } else {
            None
        })
    }

    fn applies_to(&self, call: On, resource: &str, name: &str) -> bool {
        self.on.includes(call)
            && self.resource.as_deref().is_none_or(|only| only == resource)
            && self
                .name
                .as_deref()
                .is_none_or(|pattern| matches(pattern, name))
    }
}

/// Origin of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Configuration of the resource. Counted per object; the count restarts after a call that
    /// succeeded.
    Resource,
    /// Configuration of the provider. Counted like that of a resource.
    Provider,
    /// Control file. Counted once for all objects; the fault ends at its limit.
    Control,
}

/// Returns the faults that affect a call, and counts them. A fault that has reached its limit lets
/// this call through.
pub(super) fn select(
    change: &mut Change<'_>,
    call: On,
    resource: &str,
    name: &str,
    faults: &[(Origin, Fault)],
) -> Vec<Fault> {
    let mut struck = Vec::new();
    // In the order of their origins: resource, provider, control file.
    for (origin, fault) in faults {
        if !fault.applies_to(call, resource, name) {
            continue;
        }
        let Some(limit) = fault.limit() else {
            // Without a limit there is nothing to count.
            struck.push(fault.clone());
            continue;
        };
        // Faults of a configuration have no id, so they are counted by object, kind and call.
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
        // Restarts the count, so that the next series of calls fails again.
        } else if *origin != Origin::Control {
            change.count(&key, None);
        }
    }
    struck
}

/// Matches a pattern with `*` wildcards; no other character is special.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        // Without a `*` the whole text must equal the pattern.
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
    fn fault_patterns_match_whole_names() {
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
    fn transient_fault_passes_every_third_call() {
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
    fn control_file_fault_with_a_limit_fires_once_across_objects() {
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
    fn fault_applies_only_to_the_named_resource() {
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

//! Groups as `*.flightdeck.hcl` files declare them: the values of their settings, checked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use lang::addr::ConfigResource;
use lang::config::{Group, GroupHook, GroupSettings, GroupUpdate, Module};
use lang::diag::Diagnostics;
use lang::source::Span;

use crate::drift::Mode;
use crate::policy::{
    Amount, DrainPolicy, HealthPolicy, OnUnhealthy, Order, PolicyError, Threshold, UpdatePolicy,
    parse_duration, threshold,
};
use crate::{ConfigHash, MemberKey};

/// Time limit of a drain without `timeout`.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(120);
/// Shortest interval of the reconcile loop.
pub const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);

/// Policy of the reconcile loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReconcilePolicy {
    /// Part of the drift that is corrected.
    pub mode: Mode,
    /// Time between two polls.
    pub every: Duration,
    /// Largest random deviation from `every`, in percent.
    pub jitter: u32,
    /// Destroys and replaces without an approval.
    pub allow_replace: bool,
}

impl Default for ReconcilePolicy {
    fn default() -> Self {
        ReconcilePolicy {
            mode: Mode::default(),
            every: Duration::from_secs(300),
            jitter: 20,
            allow_replace: false,
        }
    }
}

/// A declared group.
#[derive(Clone, Debug)]
pub struct DeclaredGroup {
    /// Its name.
    pub name: Arc<str>,
    /// Resource whose instances are the members.
    pub instance: ConfigResource,
    /// Resources with the same keys, which survive a rolling update.
    pub dedicated: Vec<ConfigResource>,
    /// Resources that all members share.
    pub global: Vec<ConfigResource>,
    /// Policy of rolling updates.
    pub policy: UpdatePolicy,
    /// Runs before a member is changed or destroyed.
    pub drain: Option<GroupHook>,
    /// Decides when a changed member is ready.
    pub health: Option<GroupHook>,
    /// Policy of the reconcile loop.
    pub reconcile: ReconcilePolicy,
    /// Keys of the members by the addresses of their instances, for a committed group: each
    /// instance is a resource of its own. `None` for a group of the configuration.
    pub committed: Option<BTreeMap<String, MemberKey>>,
    /// Keys of a committed group's members by the addresses of the other resources that live and
    /// die with their instances.
    pub parts: BTreeMap<String, MemberKey>,
    /// Hashes of the configurations of a committed group's members. Members of a group of the
    /// configuration have the hash of their evaluated arguments instead.
    pub hashes: BTreeMap<MemberKey, ConfigHash>,
}

/// Reads all groups of a root module. A group with an error is missing from the result.
pub fn declared_groups(root: &Module) -> (Vec<DeclaredGroup>, Diagnostics) {
    let mut diags = Diagnostics::new();
    let mut groups = Vec::new();
    for group in root.groups.values() {
        let mut found = Diagnostics::new();
        let declared = declared(group, &mut found);
        if !found.has_errors() {
            groups.push(declared);
        }
        diags.append(found);
    }
    (groups, diags)
}

fn declared(group: &Group, diags: &mut Diagnostics) -> DeclaredGroup {
    let resources = |named: &[lang::config::GroupResource]| -> Vec<ConfigResource> {
        named.iter().map(|named| named.address.clone()).collect()
    };
    let update = group.update.as_ref();
    DeclaredGroup {
        name: group.name.clone(),
        instance: group.instance.address.clone(),
        dedicated: resources(&group.dedicated),
        global: resources(&group.global),
        policy: update.map_or_else(UpdatePolicy::default, |update| policy(update, diags)),
        drain: update.and_then(|update| update.drain.clone()),
        health: update.and_then(|update| update.health.clone()),
        reconcile: match &group.reconcile {
            Some(settings) => reconcile(settings, diags),
            None => ReconcilePolicy::default(),
        },
        committed: None,
        parts: BTreeMap::new(),
        hashes: BTreeMap::new(),
    }
}

fn policy(update: &GroupUpdate, diags: &mut Diagnostics) -> UpdatePolicy {
    let mut read = Settings {
        settings: &update.settings,
        diags,
    };
    let default = UpdatePolicy::default();
    let policy = UpdatePolicy {
        batch: read.amount("batch").unwrap_or(default.batch),
        max_unavailable: read.amount("max_unavailable"),
        surge: read.flag("surge").unwrap_or_default(),
        order: read.word("order", &ORDERS).unwrap_or_default(),
        pause_between: read.duration("pause_between").unwrap_or_default(),
        on_unhealthy: read.word("on_unhealthy", &REACTIONS).unwrap_or_default(),
        drain: update.drain.as_ref().map(|hook| drain(hook, diags)),
        health: update.health.as_ref().map(|hook| health(hook, diags)),
        max_parallel: default.max_parallel,
    };
    // While values are missing, the policy is made up of defaults.
    let complete = update.settings.is_complete()
        && update.health.iter().all(|hook| hook.settings.is_complete());
    for error in policy.validate().into_iter().filter(|_| complete) {
        let at = place(update, error.argument);
        diags.error(at, "Invalid update policy", error.to_string());
    }
    policy
}

const ORDERS: [(&str, Order); 3] = [
    ("outdated_first", Order::OutdatedFirst),
    ("oldest", Order::Oldest),
    ("key", Order::Key),
];

const REACTIONS: [(&str, OnUnhealthy); 3] = [
    ("pause", OnUnhealthy::Pause),
    ("abort", OnUnhealthy::Abort),
    ("continue", OnUnhealthy::Continue),
];

/// Modes of the reconcile loop, as groups, specifications and types write them.
pub const MODES: [(&str, Mode); 3] = [
    ("observe", Mode::Observe),
    ("enforce", Mode::Enforce),
    ("paused", Mode::Paused),
];

/// Source position of an argument such as `batch` or `health.timeout`.
fn place(update: &GroupUpdate, argument: &str) -> Span {
    let hook = |hook: &Option<GroupHook>| hook.as_ref().map(|hook| hook.settings.clone());
    let (settings, name) = match argument.split_once('.') {
        Some(("drain", name)) => (hook(&update.drain), name),
        Some(("health", name)) => (hook(&update.health), name),
        _ => (Some(update.settings.clone()), argument),
    };
    let settings = settings.unwrap_or_else(|| update.settings.clone());
    let value = settings.values.get(name);
    value.map_or(settings.span, |(_, span)| *span)
}

fn drain(hook: &GroupHook, diags: &mut Diagnostics) -> DrainPolicy {
    let mut read = Settings {
        settings: &hook.settings,
        diags,
    };
    DrainPolicy {
        timeout: read.duration("timeout").unwrap_or(DRAIN_TIMEOUT),
    }
}

fn health(hook: &GroupHook, diags: &mut Diagnostics) -> HealthPolicy {
    let mut read = Settings {
        settings: &hook.settings,
        diags,
    };
    let default = HealthPolicy::default();
    let consecutive = read.count("consecutive");
    let lasting = read.duration("duration");
    let interval = read.duration("interval");
    let timeout = read.duration("timeout");
    let threshold = threshold(consecutive, lasting).unwrap_or_else(|error: PolicyError| {
        let at = hook.settings.span;
        diags.error(at, "Invalid update policy", error.to_string());
        None
    });
    HealthPolicy {
        // An explicit 0 is reported by the check of the whole policy.
        threshold: match consecutive {
            Some(0) => Threshold::Consecutive(0),
            _ => threshold.unwrap_or(default.threshold),
        },
        interval: interval.unwrap_or(default.interval),
        timeout: timeout.unwrap_or(default.timeout),
    }
}

fn reconcile(settings: &GroupSettings, diags: &mut Diagnostics) -> ReconcilePolicy {
    let default = ReconcilePolicy::default();
    let mut read = Settings { settings, diags };
    let policy = ReconcilePolicy {
        mode: read.word("mode", &MODES).unwrap_or_default(),
        every: read.duration("every").unwrap_or(default.every),
        jitter: match read.amount("jitter") {
            Some(Amount::Percent(percent)) => percent,
            Some(Amount::Count(_)) => read.wrong("jitter", "give a percentage such as \"20%\""),
            None => default.jitter,
        },
        allow_replace: read.flag("allow_replace").unwrap_or_default(),
    };
    if policy.every < SHORTEST_INTERVAL {
        read.wrong::<()>("every", "use 1 second or more, for example \"5m\"");
    }
    if policy.jitter > 100 {
        read.wrong::<()>("jitter", "a percentage is from 0% to 100%");
    }
    policy
}

/// Arguments of one block.
struct Settings<'a> {
    settings: &'a GroupSettings,
    diags: &'a mut Diagnostics,
}

impl Settings<'_> {
    fn text(&mut self, name: &str) -> Option<String> {
        let (value, _) = self.settings.values.get(name)?;
        let (value, _) = value.clone().unmark_deep();
        // Numbers and texts are both common for amounts.
        let text = match value.as_str() {
            Some(text) => Some(text.to_owned()),
            None => value.as_number().map(ToString::to_string),
        };
        text.or_else(|| {
            self.wrong::<()>(name, "give a text or a number");
            None
        })
    }

    fn amount(&mut self, name: &str) -> Option<Amount> {
        let text = self.text(name)?;
        let amount = Amount::parse(&text);
        if amount.is_none() {
            let problem = format!("{text:?} is no amount; give a number such as 2, or \"25%\"");
            self.wrong::<()>(name, &problem);
        }
        amount
    }

    fn count(&mut self, name: &str) -> Option<u32> {
        let text = self.text(name)?;
        let count = text.parse().ok();
        if count.is_none() {
            self.wrong::<()>(
                name,
                &format!("{text:?} is no whole number; give for example 3"),
            );
        }
        count
    }

    fn duration(&mut self, name: &str) -> Option<Duration> {
        let text = self.text(name)?;
        match parse_duration(&text) {
            Ok(duration) => Some(duration),
            Err(problem) => {
                self.wrong::<()>(name, &problem);
                None
            }
        }
    }

    fn flag(&mut self, name: &str) -> Option<bool> {
        let (value, _) = self.settings.values.get(name)?;
        let flag = value.clone().unmark_deep().0.as_bool();
        if flag.is_none() {
            self.wrong::<()>(name, "give true or false");
        }
        flag
    }

    fn word<T: Copy>(&mut self, name: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(name)?;
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let all: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
            let problem = format!("{text:?} is unknown; use one of {}", all.join(", "));
            self.wrong::<()>(name, &problem);
        }
        found.map(|(_, value)| *value)
    }

    /// Reports an argument and returns a value to go on with.
    fn wrong<T: Default>(&mut self, name: &str, problem: &str) -> T {
        let given = self.settings.values.get(name);
        let at = given.map_or(self.settings.span, |(_, span)| *span);
        let summary = format!("Invalid value of \"{name}\"");
        let detail = format!("{}.", problem.trim_end_matches('.'));
        self.diags.error(at, summary, detail);
        T::default()
    }
}

#[cfg(test)]
mod tests;

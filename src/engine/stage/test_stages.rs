//! Builders of changes and stages for tests.

use super::change::{Act, Change, Details, Digests, Object, Recorded, Stage};
use super::conditions::Statuses;
use super::config_json::Configuration;
use super::plan_json::plan_json;
use cty::{Path, Type, Value};
use lang::config::Module;
use lang::source::SourceMap;
use model::{Action, ConfigKey, StageRequest};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use store::records::State;

/// Builds a change of `address` between two objects.
pub fn change(address: &str, action: Action, before: Value, after: Value) -> Change {
    Change {
        address: address.parse().expect("an address"),
        deposed: None,
        previous: None,
        provider: ConfigKey::parse("provider[\"example.com/acme/thing\"]").expect("a provider"),
        act: Act::of(action, Details::default()),
        reason: None,
        before: Object::from_value(before),
        after: Object::from_value(after),
        schema_version: 0,
        dependencies: Default::default(),
        needs: Default::default(),
        recorded: Recorded {
            needs: None,
            ..Recorded::unrecorded()
        },
        drifted: false,
    }
}

/// Builds a change without values.
pub fn bare(address: &str, action: Action, needs: &[&str], needed_before: &[&str]) -> Change {
    let null = Value::null(Type::Dynamic);
    let mut bare = change(address, action, null.clone(), null);
    bare.dependencies = Arc::new(needs.iter().map(|s| (*s).to_owned()).collect());
    bare.needs = needs.iter().map(|s| (*s).to_owned()).collect();
    bare.recorded.dependencies = needed_before.iter().map(|s| (*s).to_owned()).collect();
    bare
}

/// Builds a replacement forced by these paths.
pub fn replacing(paths: Vec<Path>) -> Act {
    let details = Details {
        replace_paths: paths,
        ..Details::default()
    };
    Act::of(Action::Replace, details)
}

/// Builds a stage of these changes.
pub fn stage(changes: Vec<Change>) -> Stage {
    Stage {
        id: 7,
        request: StageRequest::default(),
        at: 1_700_000_000_123,
        took_ms: 5,
        digests: Digests {
            config: "c".into(),
            plugins: "p".into(),
        },
        external_inputs: Default::default(),
        origin: Default::default(),
        state_serial: 3,
        changes,
        deselected: Vec::new(),
        outputs: Vec::new(),
        drift: Vec::new(),
        reads: Vec::new(),
        groups: Vec::new(),
        edits: Vec::new(),
        statuses: Statuses::default(),
        checked: Default::default(),
        connected_modules: Default::default(),
        relevant: Vec::new(),
        overridden: Default::default(),
        variables: BTreeMap::new(),
        secrets: Default::default(),
    }
}

/// Builds the plan representation of a stage with an empty configuration.
pub fn represented(stage: &Stage, state: &State) -> serde_json::Value {
    let nothing = Module::default();
    let configuration = Configuration {
        declared: &nothing,
        root: &nothing,
        sources: &SourceMap::new(),
        schemas: &HashMap::new(),
    };
    plan_json(stage, state, &configuration)
}

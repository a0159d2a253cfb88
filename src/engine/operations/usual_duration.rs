//! Usual durations of operations: as settings of the resource type give them, otherwise those of
//! the history.

use crate::stage::change::Change;
use calls::{Kind, Method};
use model::{Action, PluginId};
use provider::pool::Pool;
use types::TypeSettings;

/// Usual duration of a change, in milliseconds; `None` if it is unknown.
pub(super) fn usual_duration(
    plugin: &PluginId,
    change: &Change,
    pool: &Pool,
    settings: &TypeSettings,
) -> Option<u64> {
    given_duration(settings, change.action()).or_else(|| recorded_duration(plugin, change, pool))
}

/// Usual duration of this action that settings of the resource type give, in milliseconds.
fn given_duration(settings: &TypeSettings, action: Action) -> Option<u64> {
    let of = |operation| {
        let given = settings.usual.get(operation)?;
        u64::try_from(given.value.as_millis()).ok()
    };
    match action {
        Action::Create => of("create"),
        Action::Update => of("update"),
        Action::Destroy => of("delete"),
        Action::Read => of("read"),
        Action::Replace | Action::ReplaceCreateFirst => Some(of("delete")? + of("create")?),
        Action::NoOp | Action::Forget => None,
    }
}

/// Median of the history for this action on this resource type, in milliseconds.
fn recorded_duration(plugin: &PluginId, change: &Change, pool: &Pool) -> Option<u64> {
    let resource_type = &*change.address.resource.kind;
    let of = |action| {
        Some(
            pool.usual_latency(plugin, &Kind::apply(resource_type, action))?
                .p50_ms,
        )
    };
    match change.action() {
        action @ (Action::Create | Action::Update | Action::Destroy) => of(action),
        Action::Replace | Action::ReplaceCreateFirst => {
            Some(of(Action::Destroy)? + of(Action::Create)?)
        }
        Action::Read => {
            let kind = Kind {
                method: Method::ReadData,
                resource_type: resource_type.into(),
                action: None,
            };
            Some(pool.usual_latency(plugin, &kind)?.p50_ms)
        }
        Action::NoOp | Action::Forget => None,
    }
}

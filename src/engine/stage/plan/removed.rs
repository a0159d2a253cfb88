//! Finds the `removed` block that matches an instance, and derives `count` and `each` of an
//! undeclared instance from its key.

use crate::stage::values::Repetition;
use cty::Value;
use lang::addr::{AbsInstance, InstanceKey, ModuleInstance, Target};
use lang::config::Module;

/// Returns the `removed` block that matches an instance, with its module. The last match counts.
pub fn removed<'m>(
    root: &'m Module,
    address: &AbsInstance,
) -> Option<(&'m Module, &'m lang::config::Removed)> {
    let mut answer = None;
    for module in root.all() {
        for removed in &module.removed {
            let n = module.path.0.len();
            if address.module.0.len() < n || address.module.path().0[..n] != module.path.0[..] {
                continue;
            }
            let inner = AbsInstance {
                module: ModuleInstance(address.module.0[n..].to_vec()),
                ..address.clone()
            };
            if removed.from.contains(&inner)
                || matches!(&removed.from, Target::Resource(r) if *r == inner.abs())
            {
                answer = Some((module, removed));
            }
        }
    }
    answer
}

/// Returns `count` and `each` as far as the key determines them.
pub fn repetition(key: &InstanceKey) -> Repetition {
    match key {
        InstanceKey::None => Repetition::default(),
        InstanceKey::Int(n) => Repetition {
            count_index: Some(Value::number(*n)),
            ..Repetition::default()
        },
        InstanceKey::Str(s) => Repetition {
            each_key: Some(Value::string(s)),
            each_value: Some(Value::dynamic()),
            ..Repetition::default()
        },
    }
}

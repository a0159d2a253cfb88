//! Evaluated values of one walk, each evaluated once and then shared. Locks are held only for
//! single look-ups.

use cty::Value;
use lang::addr::{AbsResource, InstanceKey, ModuleInstance, ModulePath};
use model::mutex::lock;
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// Module instances that a step of a walk covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// This instance, with the instances of the modules that it calls.
    Within(ModuleInstance),
    /// Like `Within`, but without some instances, which have steps of their own.
    Except(ModuleInstance, Arc<BTreeSet<ModuleInstance>>),
}

impl Extent {
    /// All instances of all modules.
    pub fn all() -> Self {
        Self::Within(ModuleInstance::root())
    }

    fn covers(&self, instance: &ModuleInstance) -> bool {
        match self {
            Self::Within(first) => instance.starts_with(first),
            Self::Except(first, others) => {
                let mut enclosing = instance.enclosing();
                instance.starts_with(first) && !enclosing.any(|outer| others.contains(&outer))
            }
        }
    }
}

/// `each` and `count`, if set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Repetition {
    pub count_index: Option<Value>,
    pub each_key: Option<Value>,
    pub each_value: Option<Value>,
}

/// Repetition of a module call or resource.
#[derive(Debug, Clone, PartialEq)]
pub enum Expansion {
    Single,
    /// `enabled` is false.
    Disabled,
    Count(u64),
    Each(Vec<(Arc<str>, Value)>),
    /// Not known while validating; `count` is true for `count`, false for `for_each`.
    Unknown {
        count: bool,
    },
}

impl Expansion {
    /// Returns the instances, each with its `each` and `count`.
    pub fn instances(&self) -> Vec<(InstanceKey, Repetition)> {
        match self {
            Self::Single => vec![(InstanceKey::None, Repetition::default())],
            Self::Disabled => Vec::new(),
            Self::Count(n) => (0..*n)
                .map(|i| {
                    (
                        InstanceKey::Int(i),
                        Repetition {
                            count_index: Some(Value::number(i)),
                            ..Repetition::default()
                        },
                    )
                })
                .collect(),
            Self::Each(items) => items
                .iter()
                .map(|(key, value)| {
                    let repetition = Repetition {
                        each_key: Some(Value::string(key)),
                        each_value: Some(value.clone()),
                        ..Repetition::default()
                    };
                    (InstanceKey::Str(key.clone()), repetition)
                })
                .collect(),
            // Placeholder instance; its key is not used.
            Self::Unknown { count: true } => {
                vec![(
                    InstanceKey::None,
                    Repetition {
                        count_index: Some(Value::unknown(cty::Type::Number)),
                        ..Repetition::default()
                    },
                )]
            }
            Self::Unknown { count: false } => vec![(
                InstanceKey::None,
                Repetition {
                    each_key: Some(Value::unknown(cty::Type::String)),
                    each_value: Some(Value::dynamic()),
                    ..Repetition::default()
                },
            )],
        }
    }
}

struct Map<K, V>(Mutex<HashMap<K, V>>);

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> Map<K, V> {
    fn get(&self, key: &K) -> Option<V> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(key)
            .cloned()
    }

    fn insert(&self, key: K, value: V) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key, value);
    }
}

impl<K: Eq + Hash, V: Default> Map<K, V> {
    fn update(&self, key: K, change: impl FnOnce(&mut V)) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(all.entry(key).or_default());
    }
}

type Named = (ModuleInstance, Arc<str>);

/// Published value of a node.
pub enum PublishedValue {
    Variable(ModuleInstance, Arc<str>, Value),
    Local(ModuleInstance, Arc<str>, Value),
    Output(ModuleInstance, Arc<str>, Value),
    Resource(AbsResource, Value),
    /// Repetition of a call in every instance of the calling module.
    Calls(ModulePath, Arc<str>, Vec<(ModuleInstance, Expansion)>),
}

/// All values of one walk.
#[derive(Default)]
pub struct Values {
    variables: Map<Named, Value>,
    locals: Map<Named, Value>,
    outputs: Map<Named, Value>,
    resources: Map<AbsResource, Value>,
    /// Repetition of a call, by the instance of the calling module.
    calls: Map<Named, Arc<Expansion>>,
    /// Instances of each module.
    modules: Map<ModulePath, Arc<Vec<ModuleInstance>>>,
    /// `each` and `count` in the call of a module instance.
    repetitions: Map<ModuleInstance, Repetition>,
    /// Whole objects of calls, built on first use.
    call_objects: Map<Named, Value>,
    /// Held while a value is assembled and published.
    assembling: Mutex<()>,
}

macro_rules! named {
    ($get:ident, $field:ident, $what:literal) => {
        #[doc = concat!("Returns the value of ", $what, " in a module instance; `None` if it is not evaluated (yet).")]
        pub fn $get(&self, module: &ModuleInstance, name: &Arc<str>) -> Option<Value> {
            self.$field.get(&(module.clone(), name.clone()))
        }
    };
}

impl Values {
    named!(variable, variables, "a variable");
    named!(local, locals, "a local value");
    named!(output, outputs, "an output");
    named!(whole_call, call_objects, "a module call as a whole");

    /// Caches the value of a module call as a whole, which consists of its outputs.
    pub fn cache_call_value(&self, module: &ModuleInstance, name: &Arc<str>, value: Value) {
        self.call_objects
            .insert((module.clone(), name.clone()), value);
    }

    /// Publishes the value of a resource that `assemble` returns. One at a time: several steps
    /// assemble the same resource while its instances change, and the newest value must stay.
    pub fn publish_assembled(&self, resource: AbsResource, assemble: impl FnOnce() -> Value) {
        let _held = lock(&self.assembling);
        self.resources.insert(resource, assemble());
    }

    /// Publishes values.
    pub fn publish(&self, all: impl IntoIterator<Item = PublishedValue>) {
        for one in all {
            match one {
                PublishedValue::Variable(module, name, value) => {
                    self.variables.insert((module, name), value)
                }
                PublishedValue::Local(module, name, value) => {
                    self.locals.insert((module, name), value)
                }
                PublishedValue::Output(module, name, value) => {
                    self.outputs.insert((module, name), value)
                }
                PublishedValue::Resource(resource, value) => self.resources.insert(resource, value),
                PublishedValue::Calls(parent, name, expansions) => {
                    self.put_calls(&parent, &name, expansions)
                }
            }
        }
    }

    /// Returns the value of a resource: an object, or a tuple or object of its instances.
    pub fn resource(&self, resource: &AbsResource) -> Option<Value> {
        self.resources.get(resource)
    }

    /// Returns the repetition of a call.
    pub fn call(&self, module: &ModuleInstance, name: &Arc<str>) -> Option<Arc<Expansion>> {
        self.calls.get(&(module.clone(), name.clone()))
    }

    /// Returns the instances of a module; the root has one.
    pub fn instances(&self, module: &ModulePath) -> Arc<Vec<ModuleInstance>> {
        if module.is_root() {
            return Arc::new(vec![ModuleInstance::root()]);
        }
        // A call that is not evaluated has no instances.
        self.modules.get(module).unwrap_or_default()
    }

    /// Returns the instances of a module within an extent.
    pub fn instances_in(&self, module: &ModulePath, within: &Extent) -> Arc<Vec<ModuleInstance>> {
        match within {
            Extent::Within(first) if first.is_root() => self.instances(module),
            // The usual case is not searched for among thousands of instances.
            Extent::Within(first) if first.0.len() == module.0.len() => {
                let exists = self.repetitions.get(first).is_some();
                Arc::new(exists.then(|| first.clone()).into_iter().collect())
            }
            _ => {
                let all = self.instances(module);
                let covered = all.iter().filter(|instance| within.covers(instance));
                Arc::new(covered.cloned().collect())
            }
        }
    }

    /// Returns the instances of a module if its call is evaluated.
    pub fn evaluated_instances(&self, module: &ModulePath) -> Option<Arc<Vec<ModuleInstance>>> {
        self.modules.get(module)
    }

    /// Returns true if the instances of a module are evaluated and do not include this one.
    pub fn excludes_instance(&self, instance: &ModuleInstance) -> bool {
        let all = self.evaluated_instances(&instance.path());
        all.is_some_and(|all| !all.contains(instance))
    }

    /// Returns `each` and `count` in the call of a module instance.
    pub fn repetition(&self, module: &ModuleInstance) -> Repetition {
        self.repetitions.get(module).unwrap_or_default()
    }

    fn put_calls(
        &self,
        parent: &ModulePath,
        name: &Arc<str>,
        expansions: Vec<(ModuleInstance, Expansion)>,
    ) {
        // One list for all instances of the calling module, because a path names the module in all
        // of them.
        let mut all = Vec::new();
        let mut replaced = BTreeSet::new();
        for (module, expansion) in expansions {
            for (key, repetition) in expansion.instances() {
                let child = module.child(name, key);
                self.repetitions.insert(child.clone(), repetition);
                all.push(child);
            }
            let known = (module.clone(), name.clone());
            if self.calls.get(&known).is_some() {
                replaced.insert(module);
            }
            self.calls.insert(known, Arc::new(expansion));
        }
        self.modules.update(parent.child(name), |list| {
            let list = Arc::make_mut(list);
            if !replaced.is_empty() {
                list.retain(|child| child.parent().is_none_or(|of| !replaced.contains(&of)));
            }
            // The instances of the calling module may be evaluated one by one, in any order.
            let added = !list.is_empty();
            list.extend(all);
            if added {
                list.sort();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn value_assembled_from_older_objects_never_replaces_a_newer_one() {
        let values = Values::default();
        let resource: AbsResource = AbsResource {
            module: ModuleInstance::root(),
            resource: "x_y.a".parse::<lang::addr::AbsInstance>().unwrap().resource,
        };
        let objects = AtomicU64::new(1);
        let (read, has_read) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                values.publish_assembled(resource.clone(), || {
                    let old = objects.load(Ordering::SeqCst);
                    read.send(()).unwrap();
                    // Time for the other step to publish in between.
                    std::thread::sleep(Duration::from_millis(100));
                    Value::number(old)
                });
            });
            has_read.recv().unwrap();
            objects.store(2, Ordering::SeqCst);
            values.publish_assembled(resource.clone(), || {
                Value::number(objects.load(Ordering::SeqCst))
            });
        });
        assert_eq!(values.resource(&resource), Some(Value::number(2_u64)));
    }
}

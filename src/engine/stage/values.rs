//! Values as a walk works them out: each once, then shared. Owned by one walk; locks are held for a
//! look-up only.

use cty::Value;
use lang::addr::{AbsResource, InstanceKey, ModuleInstance, ModulePath};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// `each` and `count` where they are given.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Repetition {
    pub count_index: Option<Value>,
    pub each_key: Option<Value>,
    pub each_value: Option<Value>,
}

/// How often a module call or resource is there.
#[derive(Debug, Clone, PartialEq)]
pub enum Expansion {
    Single,
    /// `enabled` is false.
    Disabled,
    Count(u64),
    Each(Vec<(Arc<str>, Value)>),
    /// Not known while validating; whether it is of `count`, and not of `for_each`.
    Unknown {
        count: bool,
    },
}

impl Expansion {
    /// The instances, each with what `each` and `count` are in it.
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
            // One stand-in, whose key is not looked at.
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

    fn put(&self, key: K, value: V) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key, value);
    }
}

type Named = (ModuleInstance, Arc<str>);

/// What a node has worked out for others to refer to.
pub enum Worked {
    Variable(ModuleInstance, Arc<str>, Value),
    Local(ModuleInstance, Arc<str>, Value),
    Output(ModuleInstance, Arc<str>, Value),
    Resource(AbsResource, Value),
    /// How often a call is there, in every instance of the calling module.
    Calls(ModulePath, Arc<str>, Vec<(ModuleInstance, Expansion)>),
}

/// All values of one walk.
#[derive(Default)]
pub struct Values {
    variables: Map<Named, Value>,
    locals: Map<Named, Value>,
    outputs: Map<Named, Value>,
    resources: Map<AbsResource, Value>,
    /// How often a call is there, by the calling module's instance.
    calls: Map<Named, Arc<Expansion>>,
    /// Instances of each module.
    modules: Map<ModulePath, Arc<Vec<ModuleInstance>>>,
    /// What `each` and `count` are in the call of a module instance.
    repetitions: Map<ModuleInstance, Repetition>,
    /// Whole objects of a call, built when first asked for.
    whole: Map<Named, Value>,
}

macro_rules! named {
    ($get:ident, $field:ident, $what:literal) => {
        #[doc = concat!("The value of ", $what, " in a module instance; `None` where it is not (yet) worked out.")]
        pub fn $get(&self, module: &ModuleInstance, name: &Arc<str>) -> Option<Value> {
            self.$field.get(&(module.clone(), name.clone()))
        }
    };
}

impl Values {
    named!(variable, variables, "a variable");
    named!(local, locals, "a local value");
    named!(output, outputs, "an output");
    named!(whole_call, whole, "a module call as a whole");

    /// Keeps the value of a module call as a whole, which is that of its outputs.
    pub fn put_whole_call(&self, module: &ModuleInstance, name: &Arc<str>, value: Value) {
        self.whole.put((module.clone(), name.clone()), value);
    }

    /// Lets what was worked out be seen.
    pub fn absorb(&self, all: impl IntoIterator<Item = Worked>) {
        for one in all {
            match one {
                Worked::Variable(module, name, value) => self.variables.put((module, name), value),
                Worked::Local(module, name, value) => self.locals.put((module, name), value),
                Worked::Output(module, name, value) => self.outputs.put((module, name), value),
                Worked::Resource(resource, value) => self.resources.put(resource, value),
                Worked::Calls(parent, name, expansions) => {
                    self.put_calls(&parent, &name, expansions)
                }
            }
        }
    }

    /// The value of a resource: one object, or a tuple or object of its instances.
    pub fn resource(&self, resource: &AbsResource) -> Option<Value> {
        self.resources.get(resource)
    }

    /// How often a call is there.
    pub fn call(&self, module: &ModuleInstance, name: &Arc<str>) -> Option<Arc<Expansion>> {
        self.calls.get(&(module.clone(), name.clone()))
    }

    /// Instances of a module; the root has one.
    pub fn instances(&self, module: &ModulePath) -> Arc<Vec<ModuleInstance>> {
        if module.is_root() {
            return Arc::new(vec![ModuleInstance::root()]);
        }
        self.modules.get(module).unwrap_or_default()
    }

    /// Whether the instances of a module are worked out and this is none of them.
    pub fn lacks(&self, instance: &ModuleInstance) -> bool {
        let all = self.modules.get(&instance.path());
        all.is_some_and(|all| !all.contains(instance))
    }

    /// What `each` and `count` are in the call of a module instance.
    pub fn repetition(&self, module: &ModuleInstance) -> Repetition {
        self.repetitions.get(module).unwrap_or_default()
    }

    fn put_calls(
        &self,
        parent: &ModulePath,
        name: &Arc<str>,
        expansions: Vec<(ModuleInstance, Expansion)>,
    ) {
        let mut all = Vec::new();
        for (module, expansion) in expansions {
            for (key, repetition) in expansion.instances() {
                let child = module.child(name, key);
                self.repetitions.put(child.clone(), repetition);
                all.push(child);
            }
            self.calls.put((module, name.clone()), Arc::new(expansion));
        }
        self.modules.put(parent.child(name), Arc::new(all));
    }
}

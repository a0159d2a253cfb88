//! State at the start of a stage: objects by resource and instance, with moves applied. Owned by
//! one walk.

use super::renames::Renames;
use cty::{Marks, Path, PathStep, Value};
use lang::addr::{AbsInstance, AbsResource, ConfigResource, InstanceKey};
use model::ConfigKey;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use store::records::{State, StateEdit, StateObject, StateOutput};

/// Objects of one resource instance.
#[derive(Debug, Clone, Default)]
pub struct Objects {
    pub current: Option<StateObject>,
    pub deposed: Vec<StateObject>,
    /// Address before a move.
    pub previous: Option<AbsInstance>,
}

/// Indexed state.
#[derive(Debug, Clone, Default)]
pub struct PriorState {
    pub serial: i64,
    pub resources: BTreeMap<AbsResource, BTreeMap<InstanceKey, Objects>>,
    pub outputs: BTreeMap<String, StateOutput>,
    /// State edits from moves and provider address changes.
    pub moves: Vec<StateEdit>,
    /// Addresses that moves have changed.
    pub renames: Renames,
}

/// Provider address in configuration or state → resolved address.
pub type ResolvedProviders = HashMap<Arc<str>, Arc<str>>;

impl PriorState {
    /// Indexes a state. Objects with an invalid address are ignored.
    pub fn new(state: &State) -> Self {
        let mut out = Self {
            serial: state.serial,
            ..Self::default()
        };
        for object in &state.objects {
            let Ok(address) = object.address.parse::<AbsInstance>() else {
                continue;
            };
            let objects = out
                .resources
                .entry(address.abs())
                .or_default()
                .entry(address.key)
                .or_default();
            if object.deposed.is_empty() {
                objects.current = Some(object.clone());
            } else {
                objects.deposed.push(object.clone());
            }
        }
        out.outputs = state
            .outputs
            .iter()
            .map(|o| (o.name.clone(), o.clone()))
            .collect();
        out
    }

    /// Replaces provider addresses by the resolved ones: a state of another tool may use another
    /// default host.
    pub fn translate(&mut self, meant: &ResolvedProviders) {
        let objects = self.resources.values_mut().flat_map(BTreeMap::values_mut);
        for object in objects.flat_map(|o| o.current.iter_mut().chain(&mut o.deposed)) {
            let Some(key) = ConfigKey::parse(&object.provider) else {
                continue;
            };
            if let Some(address) = meant.get(&key.address).filter(|a| **a != key.address) {
                let address = address.clone();
                object.provider = ConfigKey { address, ..key }.to_string();
                // The deploy writes the resolved address into the state, as `tofu apply` does.
                self.moves.push(StateEdit::Put(Box::new(object.clone())));
            }
        }
    }

    /// Returns the resources that have objects.
    pub fn config_resources(&self) -> BTreeSet<ConfigResource> {
        self.resources
            .iter()
            .filter(|(_, i)| !i.is_empty())
            .map(|(r, _)| r.config())
            .collect()
    }

    /// Returns the provider configuration of each resource, as recorded.
    pub fn providers(&self) -> BTreeMap<ConfigResource, ConfigKey> {
        let mut out = BTreeMap::new();
        for (resource, instances) in &self.resources {
            let object = instances
                .values()
                // An instance may have deposed objects only.
                .find_map(|o| o.current.as_ref().or(o.deposed.first()));
            if let Some(key) = object.and_then(|o| ConfigKey::parse(&o.provider)) {
                out.insert(resource.config(), key);
            }
        }
        out
    }

    /// Returns the instances of a resource in all instances of its module.
    pub fn of_config<'a>(
        &'a self,
        resource: &'a ConfigResource,
    ) -> impl Iterator<Item = (&'a AbsResource, &'a BTreeMap<InstanceKey, Objects>)> {
        self.resources.iter().filter(move |(r, _)| {
            r.resource == resource.resource && r.module.path() == resource.module
        })
    }

    /// Returns the objects of one instance.
    pub fn objects(&self, address: &AbsInstance) -> Option<&Objects> {
        self.resources.get(&address.abs())?.get(&address.key)
    }

    /// Returns the addresses of moved objects before their move.
    pub fn former_addresses(&self) -> impl Iterator<Item = &AbsInstance> {
        let objects = self.resources.values().flat_map(BTreeMap::values);
        objects.filter_map(|objects| objects.previous.as_ref())
    }

    /// Completes the moves: computes the renames and applies them to the ends of links.
    pub(super) fn finish_moves(&mut self) {
        let all = || {
            self.resources.iter().flat_map(|(resource, instances)| {
                let one = |(key, objects)| (resource.instance(InstanceKey::clone(key)), objects);
                instances.iter().map(one)
            })
        };
        let moved: Vec<(AbsInstance, AbsInstance)> = all()
            .filter_map(|(to, objects): (_, &Objects)| Some((objects.previous.clone()?, to)))
            .collect();
        let stays = all().filter(|(_, objects)| objects.previous.is_none());
        let renames = Renames::new(moved.iter().map(|(a, b)| (a, b)), stays.map(|(a, _)| a));
        if renames.is_empty() {
            return;
        }
        let objects = self.resources.values_mut().flat_map(BTreeMap::values_mut);
        for object in objects.filter_map(|objects| objects.current.as_mut()) {
            if let Some(followed) = renames.link(object) {
                object.attributes = followed;
                self.moves.push(StateEdit::Put(Box::new(object.clone())));
            }
        }
        self.renames = renames;
    }

    /// Renames an instance unless the target exists; returns true if it did.
    pub fn rename(&mut self, from: &AbsInstance, to: &AbsInstance) -> bool {
        // Deposed objects block a move too: it would drop them from the plan.
        if self.objects(to).is_some() {
            return false;
        }
        let Some(instances) = self.resources.get_mut(&from.abs()) else {
            return false;
        };
        let Some(mut objects) = instances.remove(&from.key) else {
            return false;
        };
        // A resource without instances must not count as one that the state has.
        if instances.is_empty() {
            self.resources.remove(&from.abs());
        }
        // Chained moves keep the first address; a move back removes it.
        objects.previous.get_or_insert_with(|| from.clone());
        if objects.previous.as_ref() == Some(to) {
            objects.previous = None;
        }
        for object in objects.current.iter_mut().chain(&mut objects.deposed) {
            object.address = to.to_string();
        }
        self.moves.push(StateEdit::Move {
            from: from.to_string(),
            to: to.to_string(),
        });
        self.resources
            .entry(to.abs())
            .or_default()
            .insert(to.key.clone(), objects);
        true
    }
}

/// Encodes paths like state version 4.
pub fn paths_to_json(paths: &[Path]) -> String {
    let all: Vec<serde_json::Value> = paths
        .iter()
        .map(|p| serde_json::Value::Array(p.steps().iter().map(step_to_json).collect()))
        .collect();
    serde_json::Value::Array(all).to_string()
}

fn step_to_json(step: &PathStep) -> serde_json::Value {
    match step {
        PathStep::Attr(name) => serde_json::json!({"type": "get_attr", "value": &**name}),
        PathStep::Index(key) => {
            let (ty, value) = match (key.as_str(), key.as_number()) {
                (Some(text), _) => ("string", serde_json::Value::from(text)),
                (None, Some(n)) => (
                    "number",
                    n.to_i64().map_or(serde_json::Value::Null, Into::into),
                ),
                // The element's value cannot be encoded, so the path is not precise.
                _ => ("dynamic", serde_json::Value::Null),
            };
            serde_json::json!({"type": "index", "value": {"value": value, "type": ty}})
        }
    }
}

/// Decodes the output of [`paths_to_json`]. An invalid step ends its path early, so that more is
/// marked sensitive, not less.
pub fn paths_from_json(text: &str) -> Vec<Path> {
    let Ok(serde_json::Value::Array(all)) = serde_json::from_str(text) else {
        // An unreadable record hides the whole value.
        return vec![Path::root()];
    };
    all.iter()
        .map(|path| {
            Path::new(
                path.as_array()
                    .into_iter()
                    .flatten()
                    .map_while(step_from_json)
                    .collect(),
            )
        })
        .collect()
}

fn step_from_json(step: &serde_json::Value) -> Option<PathStep> {
    let value = step.get("value")?;
    if step.get("type")? == "get_attr" {
        return Some(PathStep::Attr(value.as_str()?.into()));
    }
    match value.get("value")? {
        serde_json::Value::String(key) => Some(PathStep::Index(Value::string(key))),
        serde_json::Value::Number(n) => Some(PathStep::Index(Value::int(n.as_i64()?))),
        _ => None,
    }
}

/// Marks a value at the sensitive paths of the state.
pub fn marked(value: Value, sensitive: &str) -> Value {
    let paths: Vec<(Path, Marks)> = paths_from_json(sensitive)
        .into_iter()
        .map(|p| (p, Marks::sensitive()))
        .collect();
    if paths.is_empty() {
        value
    } else {
        value.mark_with_paths(&paths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::testing::state;

    fn prior(lines: &[&str]) -> PriorState {
        PriorState::new(&state(lines).0)
    }

    fn instance(address: &str) -> AbsInstance {
        address.parse().expect("an address")
    }

    #[test]
    fn objects_are_indexed_by_resource_and_key() {
        let prior = prior(&[
            "lab_thing.a[0]",
            "lab_thing.a[1]",
            "lab_thing.a[0] id=old !deposed=0badcafe",
            "module.m[\"k\"].lab_thing.a",
            "data.lab_data.d name=x",
            "output.o=1",
        ]);
        let resources: Vec<String> = prior.resources.keys().map(ToString::to_string).collect();
        assert_eq!(
            resources,
            [
                "data.lab_data.d",
                "lab_thing.a",
                "module.m[\"k\"].lab_thing.a"
            ]
        );
        let first = prior.objects(&instance("lab_thing.a[0]")).expect("objects");
        assert!(first.current.is_some() && first.deposed.len() == 1);
        assert!(prior.objects(&instance("lab_thing.a[2]")).is_none());
        assert!(prior.outputs.contains_key("o"));
        let config: Vec<String> = prior
            .config_resources()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert!(
            config.contains(&"module.m.lab_thing.a".to_owned()),
            "{config:?}"
        );
    }

    /// Rows: state, move, result, addresses afterwards.
    #[test]
    fn rename_moves_all_objects_unless_the_target_has_some() {
        for (lines, from, to, moves, after) in [
            (
                &["lab_thing.a"][..],
                "lab_thing.a",
                "lab_thing.b",
                true,
                &["lab_thing.b"][..],
            ),
            (
                &["lab_thing.a"],
                "lab_thing.x",
                "lab_thing.b",
                false,
                &["lab_thing.a"],
            ),
            (
                &["lab_thing.a[0]", "lab_thing.a[1]"],
                "lab_thing.a[1]",
                "lab_thing.b",
                true,
                &["lab_thing.a[0]", "lab_thing.b"],
            ),
            (
                &["lab_thing.a", "lab_thing.b"],
                "lab_thing.a",
                "lab_thing.b",
                false,
                &["lab_thing.a", "lab_thing.b"],
            ),
            // Deposed objects of the target are objects too.
            (
                &["lab_thing.a", "lab_thing.b !deposed=0badcafe"],
                "lab_thing.a",
                "lab_thing.b",
                false,
                &["lab_thing.a", "lab_thing.b"],
            ),
        ] {
            let mut prior = prior(lines);
            let label = format!("{lines:?}: {from} to {to}");
            assert_eq!(
                prior.rename(&instance(from), &instance(to)),
                moves,
                "{label}"
            );
            let all = prior.resources.iter().flat_map(|(resource, instances)| {
                instances
                    .keys()
                    .map(|key| resource.instance(key.clone()).to_string())
            });
            assert_eq!(all.collect::<Vec<_>>(), after, "{label}");
            assert_eq!(prior.moves.len(), usize::from(moves), "{label}");
        }
    }

    #[test]
    fn chain_of_moves_keeps_the_first_address_and_a_move_back_none() {
        let [a, b, c] = ["lab_thing.a", "lab_thing.b", "lab_thing.c"].map(instance);
        let mut prior = prior(&["lab_thing.a", "lab_thing.a id=old !deposed=0badcafe"]);
        assert!(prior.rename(&a, &b) && prior.rename(&b, &c));
        let moved = prior.objects(&c).expect("objects");
        assert_eq!(moved.previous.as_ref(), Some(&a));
        let addresses = moved
            .current
            .iter()
            .chain(&moved.deposed)
            .map(|o| &*o.address);
        assert_eq!(addresses.collect::<Vec<_>>(), ["lab_thing.c"; 2]);
        assert_eq!(prior.former_addresses().collect::<Vec<_>>(), [&a]);
        assert!(prior.rename(&c, &a));
        assert_eq!(prior.former_addresses().count(), 0);
    }

    #[test]
    fn dependencies_follow_a_move_as_long_as_no_instance_stays() {
        for (lines, from, to, before, after) in [
            (&["x.a"][..], "x.a", "x.b", &["x.a"][..], &["x.b"][..]),
            (
                &["x.a", "x.c"],
                "x.a",
                "x.b",
                &["x.a", "x.c"],
                &["x.b", "x.c"],
            ),
            // One instance stays, so its resource is still a dependency.
            (
                &["x.a[0]", "x.a[1]"],
                "x.a[0]",
                "x.b",
                &["x.a"],
                &["x.a", "x.b"],
            ),
            (
                &["x.a"],
                "x.a",
                "module.m[0].x.a",
                &["x.a"],
                &["module.m.x.a"],
            ),
        ] {
            let lines: Vec<String> = lines.iter().map(|l| format!("{l} !version=0")).collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let mut prior = prior(&lines);
            assert!(prior.rename(&instance(from), &instance(to)));
            prior.finish_moves();
            let names: Vec<String> = before.iter().map(|n| (*n).to_owned()).collect();
            let renamed = prior.renames.dependencies(&names);
            assert_eq!(renamed.iter().collect::<Vec<_>>(), after, "{lines:?}");
        }
    }

    #[test]
    fn needs_and_links_follow_the_instance() {
        let mut prior = prior(&[
            "lab_thing.a",
            "lab_thing.c",
            "link.l from=lab_thing.a to=lab_thing.c !version=0",
        ]);
        assert!(prior.rename(&instance("lab_thing.a"), &instance("lab_thing.b")));
        prior.finish_moves();
        let needs = ["lab_thing.a".to_owned(), "lab_thing.c".to_owned()];
        let needs = prior.renames.rename_needs(&needs);
        assert_eq!(
            needs.iter().collect::<Vec<_>>(),
            ["lab_thing.b", "lab_thing.c"]
        );
        let link = prior.objects(&instance("link.l")).expect("objects");
        let record: serde_json::Value =
            serde_json::from_str(&link.current.as_ref().expect("a link").attributes).expect("JSON");
        assert_eq!(
            (&record["from"], &record["to"]),
            (&"lab_thing.b".into(), &"lab_thing.c".into())
        );
    }

    #[test]
    fn provider_addresses_are_replaced_by_the_resolved_ones() {
        let (old, new) = (
            "registry.terraform.io/hashicorp/lab",
            "registry.opentofu.org/hashicorp/lab",
        );
        let by = format!("!by=provider[\"{old}\"].east");
        let mut prior = prior(&[
            &format!("lab_thing.a {by}"),
            &format!("lab_thing.a {by} !deposed=0badcafe"),
            "lab_thing.b",
        ]);
        prior.translate(
            &[
                (Arc::from(old), Arc::from(new)),
                (Arc::from(new), Arc::from(new)),
            ]
            .into(),
        );
        let providers: BTreeSet<String> = prior
            .providers()
            .values()
            .map(ToString::to_string)
            .collect();
        let expected = [
            format!("provider[\"{new}\"]"),
            format!("provider[\"{new}\"].east"),
        ];
        assert_eq!(providers, expected.into());
        assert_eq!(prior.moves.len(), 2, "only the two objects change");
    }

    #[test]
    fn sensitive_paths_are_encoded_like_state_version_4() {
        for (path, json) in [
            (
                Path::root().attr("a"),
                r#"[[{"type":"get_attr","value":"a"}]]"#,
            ),
            (
                Path::root().attr("a").index_str("k").index_int(2),
                r#"[[{"type":"get_attr","value":"a"},{"type":"index","value":{"value":"k","type":"string"}},{"type":"index","value":{"value":2,"type":"number"}}]]"#,
            ),
        ] {
            assert_eq!(paths_to_json(std::slice::from_ref(&path)), json);
            assert_eq!(paths_from_json(json), [path]);
        }
        // Records that cannot be read hide more, not less.
        for (json, paths) in [
            ("", vec![Path::root()]),
            ("{}", vec![Path::root()]),
            ("[]", vec![]),
            (
                r#"[[{"type":"get_attr","value":"a"},{"type":"other"}]]"#,
                vec![Path::root().attr("a")],
            ),
            (
                r#"[[{"type":"index","value":{"type":"dynamic","value":null}}]]"#,
                vec![Path::root()],
            ),
        ] {
            assert_eq!(paths_from_json(json), paths, "{json}");
        }
    }
}

//! In-memory contents of the lab, and changes of them; `lab_file` stores them. Only a [`Change`]
//! modifies a cloud. It records the ids that it modified, so its cost does not depend on the size
//! of the cloud.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::addresses::Addresses;

/// Contents of the lab.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Kept")]
pub struct Cloud {
    /// Incremented by each change that the lab itself makes.
    pub serial: u64,
    /// Objects by id.
    pub objects: BTreeMap<String, Object>,
    /// Number of occurrences of each fault since it last let a call through.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fired: BTreeMap<String, u32>,
    #[serde(skip)]
    index: Index,
}

/// Object in the lab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Object {
    /// Resource type, such as `lab_server`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Name; unique only for some types.
    pub name: String,
    /// Attributes. An operator can edit them by hand, which causes drift.
    pub attributes: serde_json::Map<String, serde_json::Value>,
    /// Time until which a new object has the status `creating`, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_at: Option<u64>,
}

/// Serialized form of a cloud.
#[derive(Deserialize)]
struct Kept {
    #[serde(default)]
    serial: u64,
    #[serde(default)]
    objects: BTreeMap<String, Object>,
    #[serde(default)]
    fired: BTreeMap<String, u32>,
}

impl From<Kept> for Cloud {
    fn from(kept: Kept) -> Cloud {
        let mut index = Index::default();
        kept.objects
            .iter()
            .for_each(|(id, object)| index.add(id, object));
        Cloud {
            serial: kept.serial,
            objects: kept.objects,
            fired: kept.fired,
            index,
        }
    }
}

/// Indices for lookups other than by id.
#[derive(Clone, Debug, Default, PartialEq)]
struct Index {
    /// Type, name and id of each object.
    names: BTreeSet<[String; 3]>,
    /// Members of each network, by its id.
    networks: BTreeMap<String, Members>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Members {
    ids: BTreeSet<String>,
    addresses: Addresses,
}

impl Index {
    fn add(&mut self, id: &str, object: &Object) {
        self.names
            .insert([object.kind.clone(), object.name.clone(), id.to_owned()]);
        let Some(network) = object.text("network_id") else {
            return;
        };
        let members = self.networks.entry(network.to_owned()).or_default();
        members.ids.insert(id.to_owned());
        // Addresses can be edited by hand, so an invalid one is ignored.
        object
            .address()
            .into_iter()
            .for_each(|address| members.addresses.add(address.into()));
    }

    fn remove(&mut self, id: &str, object: &Object) {
        self.names
            .remove(&[object.kind.clone(), object.name.clone(), id.to_owned()]);
        let Some(network) = object.text("network_id") else {
            return;
        };
        let Some(members) = self.networks.get_mut(network) else {
            return;
        };
        members.ids.remove(id);
        object
            .address()
            .into_iter()
            .for_each(|address| members.addresses.remove(address.into()));
        // Otherwise deleted networks would stay in the index.
        if members.ids.is_empty() {
            self.networks.remove(network);
        }
    }
}

impl Object {
    fn text(&self, attribute: &str) -> Option<&str> {
        self.attributes.get(attribute)?.as_str()
    }

    fn address(&self) -> Option<Ipv4Addr> {
        self.text("private_ip")?.parse().ok()
    }
}

impl Cloud {
    /// Returns the first object of this type and name.
    pub fn find(&self, kind: &str, name: &str) -> Option<(&String, &Object)> {
        // The empty id sorts before all others, so the range starts at the first object of that
        // name.
        let from = [kind.to_owned(), name.to_owned(), String::new()];
        let [its_kind, its_name, id] = self.index.names.range(from..).next()?;
        if its_kind == kind && its_name == name {
            self.objects.get_key_value(id)
        } else {
            None
        }
    }

    /// Iterates over the objects in a network, by id.
    pub fn members(&self, network: &str) -> impl Iterator<Item = &Object> {
        let members = self.index.networks.get(network);
        members
            .into_iter()
            .flat_map(|members| &members.ids)
            .filter_map(|id| self.objects.get(id))
    }

    /// Returns the lowest private address from `first` on that no object in the network has.
    pub(super) fn free_address(&self, network: &str, first: Ipv4Addr) -> Option<Ipv4Addr> {
        let Some(members) = self.index.networks.get(network) else {
            return Some(first);
        };
        members
            .addresses
            .free_from(first.into())
            .map(Ipv4Addr::from)
    }

    /// Applies a recorded change. Returns the entry that reverts it.
    pub(super) fn apply(&mut self, entry: Entry) -> Entry {
        let mut undo = Entry {
            serial: self.serial,
            ..Entry::default()
        };
        self.serial = entry.serial;
        // Each entry is applied through `set`, which keeps the indices in step.
        for (id, object) in entry.objects {
            let before = self.set(&id, object);
            undo.objects.insert(id, before);
        }
        for (key, count) in entry.fired {
            let before = set(&mut self.fired, &key, count);
            undo.fired.insert(key, before);
        }
        undo
    }

    fn set(&mut self, id: &str, object: Option<Object>) -> Option<Object> {
        let before = set(&mut self.objects, id, object);
        // Removed first, because the old and the new object can share index entries.
        if let Some(before) = &before {
            self.index.remove(id, before);
        }
        if let Some(now) = self.objects.get(id) {
            self.index.add(id, now);
        }
        before
    }
}

fn set<V>(map: &mut BTreeMap<String, V>, key: &str, value: Option<V>) -> Option<V> {
    match value {
        Some(value) => map.insert(key.to_owned(), value),
        None => map.remove(key),
    }
}

/// Recorded change: new values of the modified objects and counters; `None` for a removed one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// Serial of the cloud after the change.
    pub(super) serial: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    objects: BTreeMap<String, Option<Object>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    fired: BTreeMap<String, Option<u32>>,
}

/// Change in progress.
#[derive(Debug)]
pub struct Change<'a> {
    cloud: &'a mut Cloud,
    before: Entry,
}

impl Deref for Change<'_> {
    type Target = Cloud;

    fn deref(&self) -> &Cloud {
        self.cloud
    }
}

impl<'a> Change<'a> {
    pub(super) fn new(cloud: &'a mut Cloud) -> Change<'a> {
        let before = Entry {
            serial: cloud.serial,
            ..Entry::default()
        };
        Change { cloud, before }
    }

    /// Inserts an object, or replaces the one with this id.
    pub fn put(&mut self, id: impl Into<String>, object: Object) {
        self.set(id.into(), Some(object));
    }

    /// Removes an object; returns false if it does not exist.
    pub fn remove(&mut self, id: &str) -> bool {
        let there = self.cloud.objects.contains_key(id);
        if there {
            self.set(id.to_owned(), None);
        }
        there
    }

    fn set(&mut self, id: String, object: Option<Object>) {
        let before = self.cloud.set(&id, object);
        // Only the first modification records the value before the change.
        self.before.objects.entry(id).or_insert(before);
    }

    /// Sets the number of occurrences of a fault; `None` resets it.
    pub(super) fn count(&mut self, key: &str, count: Option<u32>) {
        let before = set(&mut self.cloud.fired, key, count);
        self.before.fired.entry(key.to_owned()).or_insert(before);
    }

    /// Ends the change and increments the serial; `None` if nothing differs from before.
    pub(super) fn finish(self) -> Option<Entry> {
        let (cloud, before) = (self.cloud, self.before);
        let mut entry = Entry {
            serial: cloud.serial + 1,
            ..Entry::default()
        };
        // Values that were modified back to the old ones are no change.
        for (id, old) in before.objects {
            let new = cloud.objects.get(&id);
            if new != old.as_ref() {
                entry.objects.insert(id, new.cloned());
            }
        }
        for (key, old) in before.fired {
            let new = cloud.fired.get(&key).copied();
            if new != old {
                entry.fired.insert(key, new);
            }
        }
        if entry.objects.is_empty() && entry.fired.is_empty() {
            return None;
        }
        cloud.serial = entry.serial;
        Some(entry)
    }

    /// Reverts the change.
    pub(super) fn revert(self) {
        self.cloud.apply(self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn member(name: &str, network: &str, address: &str) -> Object {
        let attributes = json!({"network_id": network, "private_ip": address});
        Object {
            kind: "lab_server".into(),
            name: name.into(),
            attributes: attributes.as_object().unwrap().clone(),
            ready_at: None,
        }
    }

    /// Returns a cloud after writing and reading it.
    fn read_again(cloud: &Cloud) -> Cloud {
        serde_json::from_slice(&serde_json::to_vec(cloud).unwrap()).unwrap()
    }

    #[test]
    fn index_lookups_follow_every_change() {
        let mut cloud = Cloud::default();
        let mut change = Change::new(&mut cloud);
        change.put("b", member("web", "net", "10.0.0.11"));
        change.put("a", member("web", "net", "10.0.0.10"));
        change.put("c", member("db", "other", "no address"));
        assert_eq!(change.find("lab_server", "web").unwrap().0, "a");
        assert!(
            change.find("lab_server", "we").is_none() && change.find("lab_serve", "web").is_none()
        );
        assert_eq!(
            change
                .members("net")
                .map(|one| &one.name)
                .collect::<Vec<_>>(),
            ["web", "web"]
        );
        assert_eq!(
            change.free_address("net", Ipv4Addr::new(10, 0, 0, 10)),
            Some(Ipv4Addr::new(10, 0, 0, 12))
        );
        assert_eq!(
            change.free_address("other", Ipv4Addr::new(10, 0, 0, 10)),
            Some(Ipv4Addr::new(10, 0, 0, 10))
        );
        assert_eq!(change.members("other").count(), 1);
        change.put("a", member("renamed", "other", "10.0.0.10"));
        assert_eq!(change.find("lab_server", "web").unwrap().0, "b");
        assert!(change.remove("b") && !change.remove("b"));
        assert!(change.find("lab_server", "web").is_none());
        assert_eq!(change.members("net").count(), 0);
        assert!(change.finish().is_some());
        assert_eq!(cloud, read_again(&cloud), "as if it had been read");
    }

    #[test]
    fn undone_change_restores_the_previous_cloud() {
        let mut cloud = Cloud::default();
        let mut change = Change::new(&mut cloud);
        change.put("a", member("web", "net", "10.0.0.10"));
        change.count("f", Some(1));
        change.finish().unwrap();
        let before = cloud.clone();
        let mut change = Change::new(&mut cloud);
        change.put("a", member("other", "net2", "10.0.0.11"));
        change.remove("a");
        change.put("b", member("new", "net", "10.0.0.12"));
        change.count("f", None);
        change.count("g", Some(7));
        change.revert();
        assert_eq!(cloud, before);
    }

    #[test]
    fn journal_entry_applied_to_a_copy_makes_it_equal() {
        let mut cloud = Cloud::default();
        let mut copy = cloud.clone();
        for step in 0..3 {
            let mut change = Change::new(&mut cloud);
            change.put("a", member(&format!("a-{step}"), "net", "10.0.0.10"));
            change.put(format!("b-{step}"), member("b", "net", "10.0.0.11"));
            change.remove(&format!("b-{}", step - 1));
            change.count("f", (step < 2).then_some(step as u32));
            let line = serde_json::to_vec(&change.finish().unwrap()).unwrap();
            copy.apply(serde_json::from_slice(&line).unwrap());
            assert_eq!((&copy, copy.serial), (&cloud, step as u64 + 1));
        }
    }

    #[test]
    fn change_without_net_effect_produces_no_entry() {
        let mut cloud = Cloud::default();
        let mut change = Change::new(&mut cloud);
        change.put("a", member("web", "net", "10.0.0.10"));
        change.remove("a");
        change.count("f", None);
        assert_eq!(change.finish(), None);
        assert_eq!(cloud, Cloud::default());
    }
}

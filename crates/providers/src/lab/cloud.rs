//! What exists in the lab, and one change of it. Plain memory: how it is kept is the business of
//! `lab_file`. Only a [`Change`] alters a cloud, and it knows which ids it touched, so that a
//! change costs what it touches and not what exists.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::addresses::Addresses;

/// Everything that exists in the lab.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Kept")]
pub struct Cloud {
    /// Grows with every change that the lab itself makes.
    pub serial: u64,
    /// What exists, by id.
    pub objects: BTreeMap<String, Object>,
    /// How often each fault has struck since it was last let through.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fired: BTreeMap<String, u32>,
    #[serde(skip)]
    index: Index,
}

/// One thing in the lab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Object {
    /// Its resource type, as `lab_server`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its name; unique only where the type says so.
    pub name: String,
    /// Its attributes. An operator may change them here, by hand: that is drift.
    pub attributes: serde_json::Map<String, serde_json::Value>,
}

/// A cloud as it is read.
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

/// What is asked of a cloud other than by id.
#[derive(Clone, Debug, Default, PartialEq)]
struct Index {
    /// Type, name and id of each object.
    names: BTreeSet<[String; 3]>,
    /// Who is in a network, by its id.
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
    /// The first object of a type with a name.
    pub fn find(&self, kind: &str, name: &str) -> Option<(&String, &Object)> {
        let from = [kind.to_owned(), name.to_owned(), String::new()];
        let [its_kind, its_name, id] = self.index.names.range(from..).next()?;
        if its_kind == kind && its_name == name {
            self.objects.get_key_value(id)
        } else {
            None
        }
    }

    /// The objects in a network, by id.
    pub fn members(&self, network: &str) -> impl Iterator<Item = &Object> {
        let members = self.index.networks.get(network);
        members
            .into_iter()
            .flat_map(|members| &members.ids)
            .filter_map(|id| self.objects.get(id))
    }

    /// The lowest private address in a network, from one on, that no object there has.
    pub(super) fn free_address(&self, network: &str, first: Ipv4Addr) -> Option<Ipv4Addr> {
        let Some(members) = self.index.networks.get(network) else {
            return Some(first);
        };
        members
            .addresses
            .free_from(first.into())
            .map(Ipv4Addr::from)
    }

    /// Makes everything that `entry` names as it says; the answer would undo that.
    pub(super) fn apply(&mut self, entry: Entry) -> Entry {
        let mut undo = Entry {
            serial: self.serial,
            ..Entry::default()
        };
        self.serial = entry.serial;
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

/// What a change makes of the things that it touches; none: it is gone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// The cloud's serial from then on.
    pub(super) serial: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    objects: BTreeMap<String, Option<Object>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    fired: BTreeMap<String, Option<u32>>,
}

/// A change of a cloud while it is made.
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

    /// Puts an object there, in the place of the one with this id if there is one.
    pub fn put(&mut self, id: impl Into<String>, object: Object) {
        self.set(id.into(), Some(object));
    }

    /// Removes an object; false where there is none.
    pub fn remove(&mut self, id: &str) -> bool {
        let there = self.cloud.objects.contains_key(id);
        if there {
            self.set(id.to_owned(), None);
        }
        there
    }

    fn set(&mut self, id: String, object: Option<Object>) {
        let before = self.cloud.set(&id, object);
        self.before.objects.entry(id).or_insert(before);
    }

    /// Sets how often a fault has struck; none: as if it never had.
    pub(super) fn count(&mut self, key: &str, count: Option<u32>) {
        let before = set(&mut self.cloud.fired, key, count);
        self.before.fired.entry(key.to_owned()).or_insert(before);
    }

    /// Ends the change and counts it; none where nothing is other than before.
    pub(super) fn end(self) -> Option<Entry> {
        let (cloud, before) = (self.cloud, self.before);
        let mut entry = Entry {
            serial: cloud.serial + 1,
            ..Entry::default()
        };
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

    /// Gives the change up: the cloud is as before.
    pub(super) fn undo(self) {
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
        }
    }

    /// What a cloud is once it has been written and read.
    fn read_again(cloud: &Cloud) -> Cloud {
        serde_json::from_slice(&serde_json::to_vec(cloud).unwrap()).unwrap()
    }

    #[test]
    fn what_is_looked_up_follows_every_change() {
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
        assert!(change.end().is_some());
        assert_eq!(cloud, read_again(&cloud), "as if it had been read");
    }

    #[test]
    fn a_change_that_is_given_up_leaves_everything_as_it_was() {
        let mut cloud = Cloud::default();
        let mut change = Change::new(&mut cloud);
        change.put("a", member("web", "net", "10.0.0.10"));
        change.count("f", Some(1));
        change.end().unwrap();
        let before = cloud.clone();
        let mut change = Change::new(&mut cloud);
        change.put("a", member("other", "net2", "10.0.0.11"));
        change.remove("a");
        change.put("b", member("new", "net", "10.0.0.12"));
        change.count("f", None);
        change.count("g", Some(7));
        change.undo();
        assert_eq!(cloud, before);
    }

    #[test]
    fn an_entry_makes_another_copy_the_same() {
        let mut cloud = Cloud::default();
        let mut copy = cloud.clone();
        for step in 0..3 {
            let mut change = Change::new(&mut cloud);
            change.put("a", member(&format!("a-{step}"), "net", "10.0.0.10"));
            change.put(format!("b-{step}"), member("b", "net", "10.0.0.11"));
            change.remove(&format!("b-{}", step - 1));
            change.count("f", (step < 2).then_some(step as u32));
            let line = serde_json::to_vec(&change.end().unwrap()).unwrap();
            copy.apply(serde_json::from_slice(&line).unwrap());
            assert_eq!((&copy, copy.serial), (&cloud, step as u64 + 1));
        }
    }

    #[test]
    fn what_ends_as_it_began_is_no_change() {
        let mut cloud = Cloud::default();
        let mut change = Change::new(&mut cloud);
        change.put("a", member("web", "net", "10.0.0.10"));
        change.remove("a");
        change.count("f", None);
        assert_eq!(change.end(), None);
        assert_eq!(cloud, Cloud::default());
    }
}

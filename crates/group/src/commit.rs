//! Commit of a specification: the members that follow from it, and the files that declare them. A
//! new configuration rolls a member: its successor is another instance with the same sets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use lang::addr::{ConfigResource, Mode, ModulePath, Resource};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::attachment::{Attachments, EndReason};
use crate::declared::DeclaredGroup;
use crate::order::{self, Configuration, Member, RolloutPlan, choose_shrink};
use crate::policy::{Threshold, UpdatePolicy};
use crate::scope::{FileSet, next_instance};
use crate::spec::{DeclaredInstance, GroupSpec, NewMember};
use crate::{Allocation, ConfigHash, MemberKey};

/// Members of a committed group, and its files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Committed {
    /// Members, in the order of their keys.
    pub members: Vec<CommittedMember>,
    /// Members that a smaller size removes, until their instances are destroyed.
    #[serde(default)]
    pub removed: Vec<CommittedMember>,
    /// Texts of the files that declare the group, by name.
    pub files: BTreeMap<String, String>,
    /// Files that the commit removes when its new ones are taken in.
    #[serde(default)]
    pub ended: BTreeSet<String>,
    /// Lowest number for a new instance.
    pub next: u64,
}

/// Member of a committed group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommittedMember {
    /// Its key.
    pub key: MemberKey,
    /// Number of its instance.
    pub number: u64,
    /// Address of its instance.
    pub address: String,
    /// Hash of the configuration that its instance has.
    pub hash: ConfigHash,
    /// Key of the attached set for each dedicated scope.
    pub attached: BTreeMap<String, String>,
    /// Addresses of its former instances, until they are destroyed.
    #[serde(default)]
    pub former: Vec<String>,
    /// Hashes of the configurations of its former instances, by address. An instance of an earlier
    /// flightdeck has none.
    #[serde(default)]
    pub former_hashes: BTreeMap<String, ConfigHash>,
}

/// Files of a workspace that declare groups, and the addresses in its state.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    /// Texts by name without `.new`; a new declaration stands for the one that it replaces.
    pub files: BTreeMap<String, String>,
    /// Names in `files` whose text is in a file that ends in `.new`.
    pub new: BTreeSet<String>,
    /// Texts that other groups committed, by name of the file.
    pub others: BTreeMap<String, String>,
    /// Addresses in the state.
    pub state: BTreeSet<String>,
}

impl Directory {
    /// Error about a file that flightdeck did not write.
    pub fn foreign(&self, file: &str) -> CommitError {
        let suffix = if self.new.contains(file) { ".new" } else { "" };
        CommitError::Foreign(format!("{file}{suffix}"))
    }
}

/// Planned commit.
#[derive(Clone, Debug, PartialEq)]
pub struct CommitPlan {
    /// Changes of the members.
    pub rollout: RolloutPlan,
    /// InfraKit's sentence about the plan.
    pub text: String,
    /// Files to write, by name without `.new`.
    pub write: BTreeMap<String, String>,
    /// The group after the commit.
    pub committed: Committed,
}

/// Reasons why a specification cannot be committed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// A change of the members that a commit does not allow.
    #[error(transparent)]
    Allocation(#[from] crate::allocation::AllocationError),
    /// No order of the changes exists.
    #[error(transparent)]
    Order(#[from] order::OrderError),
    /// The file is not from flightdeck, or was changed.
    #[error(
        "the file {0} exists, and is not as flightdeck wrote it; move it away, or restore its text, and commit again"
    )]
    Foreign(String),
    /// Resources of a member that the group does not lack are imported.
    #[error(
        "the group lacks no member{}; scale the group, or name a member that it lacks",
        .0.as_ref().map_or_else(String::new, |key| format!(" {key:?}"))
    )]
    NoMember(Option<String>),
    /// Another group has the file with another content.
    #[error(
        "the file {0} belongs to another group, which declares it differently; use the same text for shared resources, or another scope"
    )]
    Shared(String),
}

impl CommitPlan {
    /// Returns true if the commit changes nothing.
    pub fn is_noop(&self) -> bool {
        self.rollout.is_empty() && self.write.is_empty() && self.committed.ended.is_empty()
    }
}

impl Committed {
    /// Returns the group that a directory of InfraKit declares: the instances with its tag, and
    /// the files that these are attached to.
    pub fn adopt(id: &str, directory: &Directory) -> Committed {
        let mut adopted = Committed::default();
        let documents = instances(&directory.files);
        let own = documents
            .values()
            .filter(|instance| instance.tags.get("infrakit.group").is_some_and(|g| g == id));
        for (at, instance) in own.enumerate() {
            let sets = instance.attached();
            let keys = sets.iter().filter_map(|set| match set {
                FileSet::Dedicated { scope, key } => Some((scope.clone(), key.clone())),
                _ => None,
            });
            let index = MemberKey::Index(at as u64 + 1);
            let hash = instance.hash();
            adopted.members.push(CommittedMember {
                key: instance.logical_id().unwrap_or(index),
                number: instance.number,
                address: instance.address(),
                hash: hash.unwrap_or_else(|| ConfigHash::from_text("")),
                attached: keys.collect(),
                former: Vec::new(),
                former_hashes: BTreeMap::new(),
            });
            for set in sets.into_iter().chain([FileSet::Instance(instance.number)]) {
                let file = set.file();
                let text = directory.files.get(&file);
                adopted.files.extend(text.map(|text| (file, text.clone())));
            }
        }
        adopted
    }

    /// Returns the group for stages and deploys. Its flavors are no plugins of flightdeck, so it
    /// has neither drains nor health checks: a required time of health is a pause between two
    /// members.
    pub fn declared(&self, spec: &GroupSpec) -> DeclaredGroup {
        let kind: Arc<str> = spec.instance().kind.as_str().into();
        let resource = Resource {
            mode: Mode::Managed,
            kind,
            name: spec.id.as_str().into(),
        };
        let pause = match spec.threshold {
            Some(Threshold::Lasting(time)) => time,
            _ => Duration::ZERO,
        };
        DeclaredGroup {
            name: spec.id.as_str().into(),
            instance: ConfigResource {
                module: ModulePath::root(),
                resource,
            },
            dedicated: Vec::new(),
            global: Vec::new(),
            policy: UpdatePolicy {
                health: None,
                pause_between: pause,
                ..spec.update_policy()
            },
            drain: None,
            health: None,
            reconcile: spec.reconcile.clone(),
            committed: Some(self.addresses()),
            parts: self.parts(),
            hashes: self
                .members
                .iter()
                .map(|member| (member.key.clone(), member.hash.clone()))
                .collect(),
        }
    }

    /// Keys of all members by the addresses of their instances, former ones included.
    pub fn addresses(&self) -> BTreeMap<String, MemberKey> {
        let members = self.members.iter().chain(&self.removed);
        let pairs = members.flat_map(|member| {
            let all = member.former.iter().chain([&member.address]);
            all.map(|address| (address.clone(), member.key.clone()))
        });
        pairs.collect()
    }

    /// Keys of the members by the addresses of the resources in the files of their instances.
    fn parts(&self) -> BTreeMap<String, MemberKey> {
        let resources = self.members.iter().flat_map(|member| {
            let text = self.files.get(&FileSet::Instance(member.number).file());
            let all = resources(text.map_or("", String::as_str)).into_iter();
            let others = all.filter(|address| *address != member.address);
            others.map(|address| (address, member.key.clone()))
        });
        resources.collect()
    }
}

/// Addresses of the resources that a document declares.
pub fn resources(text: &str) -> Vec<String> {
    let document: Value = serde_json::from_str(text).unwrap_or_default();
    let kinds = document["resource"].as_object().into_iter().flatten();
    let named = kinds.flat_map(|(kind, names)| {
        let names = names.as_object().into_iter().flatten();
        names.map(move |(name, _)| format!("{kind}.{name}"))
    });
    named.collect()
}

/// Dedicated sets of a specification's scopes that no instance of the directory uses.
pub fn orphaned_sets(spec: &GroupSpec, directory: &Directory) -> Vec<FileSet> {
    let scopes = spec.dedicated_scopes();
    let mut orphans = attachments(directory).orphans();
    orphans.retain(|set| match set {
        FileSet::Dedicated { scope, .. } => scopes.contains(scope.as_str()),
        _ => false,
    });
    orphans
}

fn attachments(directory: &Directory) -> Attachments {
    let files = directory.files.keys();
    let sets = files.filter_map(|file| FileSet::from_file(file));
    let declared = instances(&directory.files);
    let attached = declared.iter().map(|(number, i)| (*number, i.attached()));
    Attachments::new(sets.map(|(set, _)| set), attached)
}

/// Declared instances of a directory, by number.
fn instances(files: &BTreeMap<String, String>) -> BTreeMap<u64, DeclaredInstance> {
    let read = |(file, text): (&String, &String)| {
        let (FileSet::Instance(number), _) = FileSet::from_file(file)? else {
            return None;
        };
        let document: Value = serde_json::from_str(text).ok()?;
        Some((number, DeclaredInstance::read(number, &document)?))
    };
    files.iter().filter_map(read).collect()
}

/// Plans the commit of a specification. `before` is the committed group with the allocation of its
/// specification.
///
/// # Errors
/// The members cannot change this way, or a file is not flightdeck's own.
pub fn plan(
    spec: &GroupSpec,
    before: Option<(&Allocation, &Committed)>,
    directory: &Directory,
) -> Result<CommitPlan, CommitError> {
    let nothing = Committed::default();
    let (allocation, committed) = before.unwrap_or((&spec.allocation, &nothing));
    allocation.check_change(&spec.allocation)?;
    let mut change = Change::new(spec, committed, directory);
    change.restore_former_instances();
    let present = |member: &&CommittedMember| {
        let file = FileSet::Instance(member.number).file();
        directory.files.contains_key(&file) || change.rendered.contains_key(&file)
    };
    let members: Vec<Member> = change
        .committed
        .members
        .iter()
        .map(|member| {
            let compared = Configuration::compare(Some(&member.hash), &spec.hash);
            let mut observed = Member::new(member.key.clone(), compared);
            observed.exists = present(&member);
            observed
        })
        .collect();
    let surplus = match &spec.allocation {
        Allocation::Size(size) => choose_shrink(&members, *size as usize),
        Allocation::Keys(_) => Vec::new(),
    };
    let kept = members.iter().filter(|m| m.exists).map(|m| m.key.clone());
    let kept: Vec<MemberKey> = kept.filter(|key| !surplus.contains(key)).collect();
    let desired = spec.allocation.desired_keys(&kept, 1);
    let rollout = order::plan(&members, &desired, &spec.update_policy())?;
    let sizes = before.map(|(allocation, _)| allocation.size());
    let text = rollout.infrakit_text(sizes, spec.allocation.size());
    change.apply(&rollout);
    let write = change.files_to_write()?;
    Ok(CommitPlan {
        rollout,
        text,
        write,
        committed: change.committed,
    })
}

/// Chooses the member that resources are imported for: the one whose instance has the number, the
/// one with the key, or else the first that the group lacks. The rest of the group stays.
///
/// # Errors
/// The group has no such member, or it has all of them.
pub fn member_to_import(
    spec: &GroupSpec,
    committed: &Committed,
    directory: &Directory,
    (key, number): (Option<&str>, Option<u64>),
) -> Result<CommittedMember, CommitError> {
    let of_number = |member: &&CommittedMember| Some(member.number) == number;
    if let Some(member) = committed.members.iter().find(of_number) {
        return Ok(member.clone());
    }
    let existing: Vec<MemberKey> = committed.members.iter().map(|m| m.key.clone()).collect();
    let desired = spec.allocation.desired_keys(&existing, 1);
    let mut free = desired.iter().filter(|key| !existing.contains(key));
    let chosen = match key {
        Some(text) => free.find(|free| free.to_string() == text),
        None => free.next(),
    };
    let key = chosen.ok_or_else(|| CommitError::NoMember(key.map(str::to_owned)))?;
    let mut change = Change::new(spec, committed, directory);
    let name = match key {
        MemberKey::Name(name) => Some(&**name),
        MemberKey::Index(_) => None,
    };
    let number = number.unwrap_or(change.committed.next);
    let attached = change.attachments.attach(spec.dedicated_scopes(), name);
    Ok(CommittedMember {
        key: key.clone(),
        number,
        address: format!("{}.{}", spec.instance().kind, FileSet::Instance(number)),
        hash: spec.hash.clone(),
        attached,
        former: Vec::new(),
        former_hashes: BTreeMap::new(),
    })
}

/// Commit in progress: the group so far.
struct Change<'c> {
    spec: &'c GroupSpec,
    directory: &'c Directory,
    /// Files of the group before the commit.
    own: &'c BTreeMap<String, String>,
    attachments: Attachments,
    committed: Committed,
    /// Texts of the rendered files.
    rendered: BTreeMap<String, String>,
}

impl<'c> Change<'c> {
    fn new(spec: &'c GroupSpec, before: &'c Committed, directory: &'c Directory) -> Self {
        let names = directory.files.keys().map(String::as_str);
        let mut committed = before.clone();
        committed.next = next_instance(names, before.next.max(1));
        let in_state = |address: &String| directory.state.contains(address);
        for member in committed.members.iter_mut().chain(&mut committed.removed) {
            member.former.retain(in_state);
            let former = &member.former;
            member
                .former_hashes
                .retain(|address, _| former.contains(address));
        }
        committed
            .removed
            .retain(|member| in_state(&member.address) || !member.former.is_empty());
        Change {
            spec,
            directory,
            own: &before.files,
            attachments: attachments(directory),
            committed,
            rendered: BTreeMap::new(),
        }
    }

    /// Gives members their former instance again, if it has the configuration of the specification
    /// and its successor was never created: a rollback leaves those members alone that the rollout
    /// had not reached.
    fn restore_former_instances(&mut self) {
        for mut member in self.committed.members.clone() {
            let successor = FileSet::Instance(member.number);
            let address = member.former.last();
            let former = address.and_then(|a| Some((a, FileSet::parse(a.rsplit_once('.')?.1)?)));
            let Some((address, FileSet::Instance(number))) = former else {
                continue;
            };
            let scopes = self.spec.dedicated_scopes().into_iter();
            if member.former_hashes.get(address) != Some(&self.spec.hash)
                || self.directory.state.contains(&member.address)
                || !scopes.eq(member.attached.keys().map(String::as_str))
            {
                continue;
            }
            self.attachments.pass_on(member.number, number);
            self.end_file(&successor);
            self.render(&NewMember {
                key: &member.key,
                number,
                attached: &member.attached,
            });
            member.number = number;
            member.address = member.former.pop().unwrap_or_default();
            member.hash = self.spec.hash.clone();
            member.former_hashes.remove(&member.address);
            let members = &mut self.committed.members;
            members.retain(|other| other.key != member.key);
            members.push(member);
        }
        self.committed.members.sort_by(|a, b| a.key.cmp(&b.key));
    }

    fn apply(&mut self, rollout: &RolloutPlan) {
        for key in &rollout.shrink {
            self.remove(key);
        }
        let rolling: Vec<&MemberKey> = rollout.batches.iter().flatten().collect();
        // Successors keep the sets, so nobody else takes one of these.
        for key in &rolling {
            if let Some(member) = self.member(key).cloned() {
                self.attachments
                    .end(member.number, EndReason::RollingUpdate);
                self.attachments.keep(&member.attached);
                self.end_file(&FileSet::Instance(member.number));
            }
        }
        for key in rolling.into_iter().chain(&rollout.grow) {
            self.provision(key);
        }
        self.committed.members.sort_by(|a, b| a.key.cmp(&b.key));
    }

    fn member(&self, key: &MemberKey) -> Option<&CommittedMember> {
        self.committed.members.iter().find(|m| m.key == *key)
    }

    fn end_file(&mut self, set: &FileSet) {
        let file = set.file();
        self.committed.files.remove(&file);
        self.committed.ended.insert(file);
    }

    /// Removes a member with the sets that no other one uses.
    fn remove(&mut self, key: &MemberKey) {
        let members = &mut self.committed.members;
        let Some(at) = members.iter().position(|member| member.key == *key) else {
            return;
        };
        let member = members.remove(at);
        let sets = self.attachments.end(member.number, EndReason::Terminate);
        for set in sets.iter().chain([&FileSet::Instance(member.number)]) {
            self.end_file(set);
        }
        self.committed.removed.push(member);
    }

    /// Renders a new instance of a member: its first one, or a successor with the same sets.
    fn provision(&mut self, key: &MemberKey) {
        let earlier = self.member(key).cloned();
        let name = match key {
            MemberKey::Name(name) => Some(&**name),
            MemberKey::Index(_) => None,
        };
        let mut attached = earlier
            .as_ref()
            .map(|m| m.attached.clone())
            .unwrap_or_default();
        let scopes = self.spec.dedicated_scopes();
        attached.retain(|scope, _| scopes.contains(scope.as_str()));
        let missing = scopes
            .into_iter()
            .filter(|scope| !attached.contains_key(*scope));
        let missing: Vec<&str> = missing.collect();
        attached.extend(self.attachments.attach(missing, name));
        let number = self.committed.next;
        self.committed.next += 1;
        self.render(&NewMember {
            key,
            number,
            attached: &attached,
        });
        let mut former = Vec::new();
        let mut former_hashes = BTreeMap::new();
        if let Some(earlier) = earlier {
            self.committed.members.retain(|member| member.key != *key);
            former = earlier.former;
            former_hashes = earlier.former_hashes;
            if self.directory.state.contains(&earlier.address) {
                former_hashes.insert(earlier.address.clone(), earlier.hash);
                former.push(earlier.address);
            }
        }
        let kind = &self.spec.instance().kind;
        self.committed.members.push(CommittedMember {
            key: key.clone(),
            number,
            address: format!("{kind}.{}", FileSet::Instance(number)),
            hash: self.spec.hash.clone(),
            attached,
            former,
            former_hashes,
        });
    }

    fn render(&mut self, member: &NewMember<'_>) {
        for document in self.spec.render(member) {
            let file = document.set.file();
            self.committed.ended.remove(&file);
            self.rendered.insert(file, document.text());
        }
    }

    /// Returns the rendered files that differ from those of the directory, and records them.
    fn files_to_write(&mut self) -> Result<BTreeMap<String, String>, CommitError> {
        let is_own = |file: &String| {
            let found = self.directory.files.get(file);
            found.is_none_or(|found| self.own.get(file) == Some(found))
        };
        let ended = self.committed.ended.iter();
        if let Some(file) = ended.into_iter().find(|file| !is_own(file)) {
            return Err(self.directory.foreign(file));
        }
        let mut write = BTreeMap::new();
        for (file, text) in &self.rendered {
            match self.directory.others.get(file) {
                Some(other) if other != text => return Err(CommitError::Shared(file.clone())),
                _ => {}
            }
            let found = self.directory.files.get(file);
            if found != Some(text) {
                if !is_own(file) {
                    return Err(self.directory.foreign(file));
                }
                write.insert(file.clone(), text.clone());
            }
            self.committed.files.insert(file.clone(), text.clone());
        }
        // Files of other groups stay.
        let others = &self.directory.others;
        self.committed
            .ended
            .retain(|file| !others.contains_key(file));
        Ok(write)
    }
}

#[cfg(test)]
mod tests;

//! Files of a group through the life of its members, and the tags in them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lang::source::SourceMap;
use serde_json::{Value, json};

use super::tests::{attached, managers, rendered, spec};
use super::*;
use crate::MemberKey;
use crate::attachment::{Attachments, EndReason};
use crate::drift::Mode;
use crate::scope::{FileSet, next_instance};

/// A directory with the files of one group.
struct Directory {
    spec: GroupSpec,
    files: BTreeMap<FileSet, Value>,
}

impl Directory {
    fn new(allocation: Value) -> Directory {
        let text = json!({"ID": "g", "Properties": {
            "Allocation": allocation,
            "Instance": {"Properties": {"resource": {
                "aws_instance": {"host": {"ami": "1"}},
                "block": {"data": {"@scope": "@dedicated-g", "gb": 1}},
                "nfs": {"shared": {"@scope": "g", "gb": 1}},
            }}},
        }});
        let text = text.to_string();
        let (spec, _) = parse(&text, SourceMap::new().add("g.json", text.as_str()));
        let spec = spec.unwrap();
        let files = BTreeMap::new();
        Directory { spec, files }
    }

    /// Instances that the files declare, with their attached sets.
    fn attachments(&self) -> Attachments {
        let instances = self.files.iter().filter_map(|(set, json)| match set {
            FileSet::Instance(number) => {
                let declared = DeclaredInstance::read(*number, json)?;
                Some((*number, declared.attached()))
            }
            _ => None,
        });
        Attachments::new(self.files.keys().cloned(), instances)
    }

    /// Provisions a member as a rolling update or an addition does.
    fn provision(&mut self, key: &str) -> u64 {
        let names: Vec<String> = self.files.keys().map(FileSet::file).collect();
        let number = next_instance(names.iter().map(String::as_str), 1);
        let (key, name) = match key.parse() {
            Ok(index) => (MemberKey::Index(index), None),
            Err(_) => (MemberKey::name(key), Some(key)),
        };
        let attached = self
            .attachments()
            .attach(self.spec.dedicated_scopes(), name);
        let member = NewMember {
            key: &key,
            number,
            attached: &attached,
        };
        let documents = self.spec.render(&member).into_iter();
        self.files
            .extend(documents.map(|document| (document.set, document.json)));
        number
    }

    fn end(&mut self, number: u64, reason: EndReason) {
        let ended = self.attachments().end(number, reason);
        self.files
            .retain(|set, _| *set != FileSet::Instance(number) && !ended.contains(set));
    }

    fn names(&self) -> BTreeSet<String> {
        self.files.keys().map(FileSet::to_string).collect()
    }
}

fn names(text: &str) -> BTreeSet<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// InfraKit: ProvisionDescribeDestroyScope, with and without logical ids: two members have five
/// files, then three, then none.
#[test]
fn files_end_with_their_last_member() {
    for (allocation, keys, one) in [
        (
            json!({"Size": 2}),
            ["1", "2"],
            "instance-2 g_dedicated_2 g_global",
        ),
        (
            json!({"LogicalIDs": ["a", "b"]}),
            ["a", "b"],
            "instance-2 g_dedicated_b g_global",
        ),
    ] {
        let mut directory = Directory::new(allocation);
        let numbers = keys.map(|key| directory.provision(key));
        assert_eq!(directory.files.len(), 5, "{keys:?}");
        directory.end(numbers[0], EndReason::Terminate);
        assert_eq!(directory.names(), names(one));
        directory.end(numbers[1], EndReason::Terminate);
        assert_eq!(directory.files.len(), 0, "{keys:?}");
    }
}

/// S3-13. InfraKit: DestroyRollingUpdate, with and without logical ids: the dedicated sets have the
/// same text, and the new instances are attached to them.
#[test]
fn rolling_update_gives_new_instances_the_same_dedicated_sets() {
    for (allocation, keys, dedicated) in [
        (json!({"Size": 3}), ["1", "2", "3"], ["1", "2", "3"]),
        (
            json!({"LogicalIDs": ["a", "b", "c"]}),
            ["a", "b", "c"],
            ["a", "b", "c"],
        ),
    ] {
        let mut directory = Directory::new(allocation);
        let old = keys.map(|key| directory.provision(key));
        let before = directory.files.clone();
        // InfraKit attaches a random orphan if there are several.
        for at in [1, 0, 2] {
            directory.end(old[at], EndReason::RollingUpdate);
            let new = directory.provision(keys[at]);
            let attached = DeclaredInstance::read(new, &directory.files[&FileSet::Instance(new)]);
            let set = FileSet::parse(&format!("g_dedicated_{}", dedicated[at])).unwrap();
            assert_eq!(attached.unwrap().attached()[0], set);
        }
        for (set, json) in &directory.files {
            match set {
                FileSet::Instance(_) => assert!(!before.contains_key(set), "{set} is new"),
                _ => assert_eq!(before.get(set), Some(json), "{set} is the same"),
            }
        }
        assert_eq!(directory.files.len(), 7);
    }
}

/// InfraKit: ProvisionUpdateDedicatedGlobal.
#[test]
fn new_specification_updates_dedicated_and_global_sets_in_place() {
    let mut directory = Directory::new(json!({"Size": 1}));
    let old = directory.provision("1");
    for resource in &mut directory.spec.resources[1..] {
        resource.body["gb"] = json!(2);
    }
    directory.end(old, EndReason::RollingUpdate);
    directory.provision("1");
    assert_eq!(
        directory.names(),
        names("instance-1 g_dedicated_1 g_global")
    );
    let dedicated = FileSet::parse("g_dedicated_1").unwrap();
    assert_eq!(
        directory.files[&dedicated]["resource"]["block"]["g-1-data"]["gb"],
        2
    );
}

#[test]
fn s3_06_instances_have_tags_and_are_filtered_by_all_of_them() {
    for kind in ["aws_instance", "ibm_compute_vm_instance", "local_process"] {
        let spec = spec(&managers(kind));
        let files = rendered(&spec, &MemberKey::name("mgr1"), 12, &[("managers", "mgr1")]);
        let found = DeclaredInstance::read(12, &files["instance-12.tf.json"]).unwrap();
        let has = |pairs: &[(&str, &str)]| found.has_tags(&attached(pairs));
        let (tier, group) = (("tier", "Web"), ("infrakit.group", "managers"));
        for (tags, matches) in [
            (vec![], true),
            (vec![tier], true),
            (vec![tier, group], true),
            (vec![tier, ("infrakit.group", "other")], false),
            (vec![group, ("missing", "")], false),
        ] {
            assert_eq!(has(&tags), matches, "{kind}: {tags:?}");
        }
    }
}

/// InfraKit has one mode only, so the section is ours.
#[test]
fn reconcile_becomes_a_policy() {
    let parsed = |reconcile: serde_json::Value| {
        let text = json!({"ID": "g", "Properties": {
            "Allocation": {"Size": 1},
            "Instance": {"Properties": {"resource": {"aws_instance": {"host": {}}}}},
            "Reconcile": reconcile,
        }})
        .to_string();
        let file = SourceMap::new().add("g.json", text.as_str());
        let (spec, diags) = parse(&text, file);
        let problems: Vec<String> = diags.errors().map(|d| d.detail.to_string()).collect();
        spec.map(|spec| spec.reconcile).ok_or(problems.join("; "))
    };
    assert_eq!(parsed(json!({})), Ok(ReconcilePolicy::default()));
    let all = json!({"Mode": "enforce", "Every": "30s", "AllowReplace": true});
    let policy = ReconcilePolicy {
        mode: Mode::Enforce,
        every: Duration::from_secs(30),
        allow_replace: true,
        ..ReconcilePolicy::default()
    };
    assert_eq!(parsed(all), Ok(policy));
    for (reconcile, part) in [
        (
            json!({"Mode": "force"}),
            "use one of observe, enforce, paused",
        ),
        (json!({"Every": "10ms"}), "1 second or more"),
        (json!({"AllowReplace": "yes"}), "write true or false"),
        (json!([]), "write an object"),
    ] {
        let problems = parsed(reconcile.clone()).unwrap_err();
        assert!(problems.contains(part), "{reconcile}: {problems}");
    }
}

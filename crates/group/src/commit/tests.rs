//! Directories of committed groups through commits.

use lang::source::SourceMap;
use serde_json::json;

use super::*;

/// A workspace with one committed group.
#[derive(Default)]
struct Workspace {
    directory: Directory,
    committed: Option<(Allocation, Committed)>,
}

/// Specification with an instance, a dedicated and a global resource.
fn spec(allocation: &Value, ami: &str) -> GroupSpec {
    let text = json!({"ID": "g", "Properties": {
        "Allocation": allocation,
        "Instance": {"Properties": {"resource": {
            "aws_instance": {"host": {"ami": ami}},
            "block": {"data": {"@scope": "@dedicated-g", "gb": 1}},
            "nfs": {"shared": {"@scope": "g", "gb": 1}},
        }}},
    }});
    let text = text.to_string();
    let (spec, diags) = crate::spec::parse(&text, SourceMap::new().add("g.json", text.as_str()));
    assert!(!diags.has_errors(), "{diags:?}");
    spec.unwrap()
}

impl Workspace {
    fn plan(&self, allocation: Value, ami: &str) -> Result<CommitPlan, CommitError> {
        let before = self.committed.as_ref();
        let before = before.map(|(allocation, committed)| (allocation, committed));
        plan(&spec(&allocation, ami), before, &self.directory)
    }

    /// Commits, takes in the files, and deploys.
    fn commit(&mut self, allocation: Value, ami: &str) -> CommitPlan {
        let planned = self.plan(allocation.clone(), ami).unwrap();
        self.directory.files.extend(planned.write.clone());
        for file in &planned.committed.ended {
            self.directory.files.remove(file);
        }
        let mut committed = planned.committed.clone();
        committed.ended.clear();
        let members = committed.members.iter();
        self.directory.state = members.map(|member| member.address.clone()).collect();
        self.committed = Some((spec(&allocation, ami).allocation, committed));
        planned
    }

    fn files(&self) -> String {
        let names = self.directory.files.keys();
        let names = names.map(|file| file.strip_suffix(".tf.json").unwrap());
        names.collect::<Vec<_>>().join(" ")
    }
}

/// S3-10, S3-11. InfraKit: ProvisionDescribeDestroyScope.
#[test]
fn s3_11_commit_declares_members_in_the_documented_files() {
    let mut cattle = Workspace::default();
    let planned = cattle.commit(json!({"Size": 2}), "1");
    assert_eq!(planned.text, "Managing 2 instances");
    assert_eq!(
        cattle.files(),
        "g_dedicated_1 g_dedicated_2 g_global instance-1 instance-2"
    );
    let mut pets = Workspace::default();
    pets.commit(json!({"LogicalIDs": ["a", "b"]}), "1");
    assert_eq!(
        pets.files(),
        "g_dedicated_a g_dedicated_b g_global instance-1 instance-2"
    );
    let again = pets.commit(json!({"LogicalIDs": ["b", "a"]}), "1");
    assert!(again.is_noop() && again.text == "Noop", "{again:?}");
}

/// S3-10, S3-13: a new configuration replaces the instances, and keeps the other sets.
#[test]
fn s3_13_rolling_commit_attaches_successors_to_the_same_sets() {
    let mut cattle = Workspace::default();
    cattle.commit(json!({"Size": 3}), "1");
    let before = cattle.directory.files.clone();
    let planned = cattle.commit(json!({"Size": 3}), "2");
    assert_eq!(planned.text, "Performing a rolling update on 3 instances");
    assert_eq!(
        cattle.files(),
        "g_dedicated_1 g_dedicated_2 g_dedicated_3 g_global instance-4 instance-5 instance-6"
    );
    for (file, text) in &cattle.directory.files {
        let is_instance = file.starts_with("instance");
        assert_eq!(before.get(file) == Some(text), !is_instance, "{file}");
    }
    let member = &planned.committed.members[1];
    assert_eq!(member.attached["g"], "2");
    assert_eq!(member.former, ["aws_instance.instance-2"]);
    let keys = planned.committed.addresses();
    assert_eq!(keys["aws_instance.instance-2"], MemberKey::Index(2));
    assert_eq!(keys["aws_instance.instance-5"], MemberKey::Index(2));
}

/// S3-13: a successor keeps its set, and a new member gets one of its own.
#[test]
fn s3_13_new_member_takes_no_set_of_a_rolled_one() {
    let mut cattle = Workspace::default();
    cattle.commit(json!({"Size": 2}), "1");
    let planned = cattle.commit(json!({"Size": 3}), "2");
    let members = planned.committed.members.iter();
    let sets: Vec<&str> = members.map(|member| &*member.attached["g"]).collect();
    assert_eq!(sets, ["1", "2", "3"]);
}

/// A rollback keeps the instances that the rollout had not replaced yet.
#[test]
fn rollback_keeps_instances_that_were_not_replaced() {
    let mut cattle = Workspace::default();
    cattle.commit(json!({"Size": 3}), "1");
    let before = cattle.directory.files.clone();
    cattle.commit(json!({"Size": 3}), "2");
    // Instance 1 was replaced by 4; instance 2 was destroyed, and 5 could not be created.
    let state = ["aws_instance.instance-3", "aws_instance.instance-4"];
    cattle.directory.state = state.map(str::to_owned).into();
    let planned = cattle.commit(json!({"Size": 3}), "1");
    assert_eq!(planned.text, "Performing a rolling update on 2 instances");
    assert_eq!(
        cattle.files(),
        "g_dedicated_1 g_dedicated_2 g_dedicated_3 g_global instance-3 instance-7 instance-8"
    );
    let file = "instance-3.tf.json";
    assert_eq!(cattle.directory.files[file], before[file]);
    let members = &planned.committed.members;
    assert_eq!(members[0].former, ["aws_instance.instance-4"]);
    assert_eq!((members[2].number, &*members[2].attached["g"]), (3, "3"));
    let again = cattle.plan(json!({"Size": 3}), "1").unwrap();
    assert!(again.is_noop(), "{again:?}");
    // A smaller group removes the restored instance with its set.
    let shrunk = cattle.plan(json!({"Size": 2}), "1").unwrap();
    assert_eq!(shrunk.committed.removed[0].number, 7);
}

/// S3-10, S3-12: sizes of cattle change without a rolling update, lists of pets never.
#[test]
fn s3_12_size_of_cattle_changes_and_the_list_of_pets_does_not() {
    let mut cattle = Workspace::default();
    cattle.commit(json!({"Size": 3}), "1");
    let shrunk = cattle.commit(json!({"Size": 1}), "1");
    assert_eq!(
        shrunk.text,
        "Terminating 2 instances to reduce the group size to 1"
    );
    assert_eq!(cattle.files(), "g_dedicated_3 g_global instance-3");
    let removed: Vec<&str> = shrunk
        .committed
        .removed
        .iter()
        .map(|m| m.address.as_str())
        .collect();
    assert_eq!(
        removed,
        ["aws_instance.instance-1", "aws_instance.instance-2"]
    );
    let grown = cattle.commit(json!({"Size": 2}), "1");
    assert_eq!(
        grown.text,
        "Adding 1 instances to increase the group size to 2"
    );
    // The number of an instance is never used again.
    assert_eq!(
        cattle.files(),
        "g_dedicated_1 g_dedicated_3 g_global instance-3 instance-4"
    );
    let mut pets = Workspace::default();
    pets.commit(json!({"LogicalIDs": ["a"]}), "1");
    let refused = pets.plan(json!({"LogicalIDs": ["b"]}), "1").unwrap_err();
    assert!(
        refused.to_string().contains("removed a; added b"),
        "{refused}"
    );
    let sized = pets.plan(json!({"Size": 3}), "1").unwrap_err();
    assert!(matches!(sized, CommitError::Allocation(_)), "{sized}");
}

#[test]
fn shared_file_of_another_group_is_not_changed() {
    let mut cattle = Workspace::default();
    cattle.commit(json!({"Size": 1}), "1");
    let global = "g_global.tf.json".to_owned();
    cattle
        .directory
        .others
        .insert(global.clone(), "other".to_owned());
    let refused = cattle.plan(json!({"Size": 2}), "2").unwrap_err();
    assert_eq!(refused, CommitError::Shared(global));
}

#[test]
fn vanished_declaration_of_a_member_is_written_again() {
    let mut cattle = Workspace::default();
    cattle.commit(json!({"Size": 2}), "1");
    cattle.directory.files.remove("instance-1.tf.json");
    let planned = cattle.plan(json!({"Size": 2}), "1").unwrap();
    assert_eq!(planned.text, "Adding 1 missing instances");
    let written: Vec<&String> = planned.write.keys().collect();
    assert_eq!(written, ["instance-3.tf.json"]);
    // The orphaned set is used again.
    let member = &planned.committed.members[0];
    assert_eq!(member.attached["g"], "1");
}

#[test]
fn files_that_flightdeck_did_not_write_are_never_changed() {
    let mut fresh = Workspace::default();
    let mine = "{\"resource\": {}}".to_owned();
    let file = "g_global.tf.json".to_owned();
    fresh.directory.files.insert(file.clone(), mine.clone());
    let refused = fresh.plan(json!({"Size": 1}), "1").unwrap_err();
    assert_eq!(refused, CommitError::Foreign(file));
    let mut edited = Workspace::default();
    edited.commit(json!({"Size": 1}), "1");
    let file = "instance-1.tf.json".to_owned();
    let text = edited.directory.files[&file].replace("\"1\"", "\"9\"");
    edited.directory.files.insert(file.clone(), text);
    let refused = edited.plan(json!({"Size": 1}), "2").unwrap_err();
    assert_eq!(refused, CommitError::Foreign(file));
}

/// S3-16: a directory of InfraKit is taken over, and members of the same hash do not roll.
#[test]
fn s3_16_directory_of_infrakit_is_adopted() {
    let mut theirs = Workspace::default();
    theirs.commit(json!({"Size": 2}), "1");
    let (allocation, own) = theirs.committed.take().unwrap();
    let adopted = Committed::adopt("g", &theirs.directory);
    assert_eq!(adopted.members, own.members);
    assert_eq!(adopted.files, own.files);
    assert_eq!(
        Committed::adopt("other", &theirs.directory),
        Committed::default()
    );
    theirs.committed = Some((allocation, adopted));
    let planned = theirs.plan(json!({"Size": 2}), "1").unwrap();
    assert!(planned.is_noop(), "{planned:?}");
}

#[test]
fn sets_without_an_instance_are_orphaned() {
    let mut group = Workspace::default();
    let spec = spec(&json!({"Size": 2}), "1");
    group.commit(json!({"Size": 2}), "1");
    assert_eq!(orphaned_sets(&spec, &group.directory), []);
    // The file of a member is deleted by hand; the group has no such other scope.
    let files = &mut group.directory.files;
    files.remove("instance-1.tf.json");
    files.insert("other_dedicated_1.tf.json".to_owned(), "{}".to_owned());
    let orphan = FileSet::parse("g_dedicated_1").unwrap();
    assert_eq!(orphaned_sets(&spec, &group.directory), [orphan]);
}

#[test]
fn resources_in_the_file_of_an_instance_are_its_parts() {
    let text = json!({"ID": "g", "Properties": {
        "Allocation": {"LogicalIDs": ["a"]},
        "Instance": {"Properties": {"resource": {
            "aws_instance": {"host": {}},
            "aws_volume_attachment": {"data": {}},
            "nfs": {"shared": {"@scope": "g"}},
        }}},
    }})
    .to_string();
    let (spec, _) = crate::spec::parse(&text, SourceMap::new().add("g.json", text.as_str()));
    let spec = spec.unwrap();
    let planned = plan(&spec, None, &Directory::default()).unwrap();
    let parts = planned.committed.declared(&spec).parts;
    let parts: Vec<(&str, String)> = parts.iter().map(|(a, k)| (&**a, k.to_string())).collect();
    assert_eq!(parts, [("aws_volume_attachment.a-data", "a".to_owned())]);
}

//! Specifications of InfraKit's documents, with their files, and mistakes with their places.

use std::collections::BTreeMap;

use lang::source::SourceMap;
use serde_json::{Value, json};

use super::*;
use crate::MemberKey;
use crate::scope::FileSet;

fn parsed(text: &str) -> (Option<GroupSpec>, String) {
    let sources = SourceMap::new();
    let file = sources.add("group.json", text);
    let (spec, diags) = parse(text, file);
    let rendered: Vec<String> = diags.0.iter().map(|d| d.render(&sources)).collect();
    (spec, rendered.join(""))
}

pub(super) fn spec(value: &Value) -> GroupSpec {
    let (spec, problems) = parsed(&value.to_string());
    assert_eq!(problems, "");
    spec.unwrap()
}

/// The document's example of pets, with `INSTANCE` as the type of the instance.
pub(super) fn managers(kind: &str) -> Value {
    json!({
        "ID": "managers",
        "Properties": {
            "Allocation": {"LogicalIDs": ["mgr1", "mgr2", "mgr3"]},
            "Instance": {
                "Plugin": "instance-terraform",
                "Properties": {"resource": {
                    kind: {"host": {"cores": 2, "user_data": "#!/bin/sh"}},
                    "ibm_storage_block": {
                        "my_block_storage": {"@scope": "@dedicated-managers", "gb": 20},
                    },
                    "ibm_storage_file": {"my_file_storage": {"@scope": "managers", "gb": 100}},
                }},
            },
            "Flavor": {
                "Plugin": "flavor-swarm/worker",
                "Properties": {
                    "Init": [
                        "echo ${ibm_storage_file.managers-my_file_storage.id}",
                        "echo ${ibm_storage_block.managers-{{ var \"/self/logicalId\" }}-my_block_storage.id}",
                    ],
                    "Tags": {"tier": "Web"},
                },
            },
        },
    })
}

/// The document's example of cattle.
fn workers() -> Value {
    let mut value = managers("aws_instance");
    let text = value.to_string().replace("managers", "workers");
    value = serde_json::from_str(&text.replace(
        "var \\\"/self/logicalId\\\"",
        "var `/self/dedicated/attachId`",
    ))
    .unwrap();
    value["Properties"]["Allocation"] = json!({"Size": 3});
    value
}

pub(super) fn attached(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(scope, key)| ((*scope).to_owned(), (*key).to_owned()))
        .collect()
}

/// Rendered documents by file.
pub(super) fn rendered(
    spec: &GroupSpec,
    key: &MemberKey,
    number: u64,
    pairs: &[(&str, &str)],
) -> BTreeMap<String, Value> {
    let attached = attached(pairs);
    let member = NewMember {
        key,
        number,
        attached: &attached,
    };
    let documents = spec.render(&member);
    documents
        .into_iter()
        .map(|document| (document.set.file(), document.json))
        .collect()
}

/// S3-05, S3-06, S3-11, S3-12: the example of the document for pets.
#[test]
fn pets_are_rendered_with_their_names() {
    let spec = spec(&managers("aws_instance"));
    let files = rendered(&spec, &MemberKey::name("mgr1"), 12, &[("managers", "mgr1")]);
    assert_eq!(
        files,
        BTreeMap::from([
            (
                "instance-12.tf.json".to_owned(),
                json!({"resource": {"aws_instance": {"instance-12": {
                    "cores": 2,
                    "user_data": "#!/bin/sh\necho ${ibm_storage_file.managers-my_file_storage.id}\necho ${ibm_storage_block.managers-mgr1-my_block_storage.id}",
                    "tags": {
                        "tier": "Web",
                        "infrakit.group": "managers",
                        "infrakit.config.hash": spec.hash.as_str(),
                        "infrakit.logical_id": "mgr1",
                        "infrakit.instance.name": "instance-12",
                        "infrakit.attach": "managers_dedicated_mgr1,managers_global",
                    },
                }}}})
            ),
            (
                "managers_dedicated_mgr1.tf.json".to_owned(),
                json!({"resource": {"ibm_storage_block": {
                    "managers-mgr1-my_block_storage": {"gb": 20},
                }}})
            ),
            (
                "managers_global.tf.json".to_owned(),
                json!({"resource": {"ibm_storage_file": {
                    "managers-my_file_storage": {"gb": 100},
                }}})
            ),
        ])
    );
}

/// S3-11, S3-12: the example of the document for cattle. InfraKit: RenderInstVars.
#[test]
fn cattle_are_rendered_with_the_index_of_their_dedicated_set() {
    let spec = spec(&workers());
    let files = rendered(&spec, &MemberKey::Index(1), 7, &[("workers", "2")]);
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "instance-7.tf.json",
            "workers_dedicated_2.tf.json",
            "workers_global.tf.json"
        ]
    );
    let instance = &files["instance-7.tf.json"]["resource"]["aws_instance"]["instance-7"];
    let init = instance["user_data"].as_str().unwrap();
    assert!(
        init.ends_with("${ibm_storage_block.workers-2-my_block_storage.id}"),
        "{init}"
    );
    assert_eq!(instance["tags"].get("infrakit.logical_id"), None);
}

/// S3-05. Rows named Decompose*, MergeInitScript* and MergeTagsIntoVMProps* are InfraKit's.
#[test]
#[rustfmt::skip]
fn s3_05_tags_and_init_go_where_the_type_has_them() {
    let sets = [("managers", "mgr1")];
    let one = |kind: &str| {
        let files = rendered(&spec(&managers(kind)), &MemberKey::name("mgr1"), 3, &sets);
        let file = files["instance-3.tf.json"].clone();
        (file["resource"][kind]["instance-3"].clone(), file)
    };
    let (ibm, file) = one("ibm_compute_vm_instance");
    let tags = ibm["tags"].as_array().unwrap();
    for tag in [
        "tier:web", "infrakit.attach:managers_dedicated_mgr1 managers_global",
    ] {
        assert!(tags.contains(&json!(tag)), "{tags:?}");
    }
    assert_eq!(ibm["hostname"], "mgr1");
    assert!(ibm["user_metadata"].as_str().unwrap().starts_with("echo "));
    // The exact text of lower-case tags is in a comment.
    assert_eq!(file["//"]["tags"]["tier"], "Web");
    let mut own = managers("ibm_compute_vm_instance");
    own["Properties"]["Instance"]["Properties"]["resource"]["ibm_compute_vm_instance"]["host"]
        ["tags"] = json!(["Tier:own", "x"]);
    let files = rendered(&spec(&own), &MemberKey::name("mgr1"), 3, &sets);
    let ibm = &files["instance-3.tf.json"]["resource"]["ibm_compute_vm_instance"]["instance-3"];
    let tags = ibm["tags"].as_array().unwrap();
    assert!(tags.contains(&json!("x")) && !tags.contains(&json!("tier:own")), "{tags:?}");
    let (azure, file) = one("azurerm_virtual_machine");
    assert!(azure["os_profile"]["custom_data"].as_str().unwrap().starts_with("echo "));
    assert_eq!(azure["tags"]["tier"], "Web");
    assert_eq!(file.get("//"), None);
    let (google, file) = one("google_compute_instance");
    assert!(google["metadata_startup_script"].as_str().unwrap().starts_with("echo "));
    assert_eq!(
        (google.get("tags"), &file["//"]["tags"]["infrakit.group"]),
        (None, &json!("managers"))
    );
    // Any other type can be an instance.
    let (process, file) = one("local_process");
    assert!(process["user_data"].as_str().unwrap().starts_with("#!/bin/sh\necho "));
    assert_eq!(file["//"]["tags"]["infrakit.logical_id"], "mgr1");
}

/// InfraKit: DecomposeVMOnly, DecomposeMultipleDefaultResources,
/// DecomposeMultipleResourcesScopeTypes, DecomposeMultipleResDedicatedWith(out)LogicalID.
#[test]
#[rustfmt::skip]
fn resources_are_split_into_files_by_scope() {
    let build = |resources: Value, allocation: Value| {
        spec(&json!({"ID": "g", "Properties": {
            "Allocation": allocation,
            "Instance": {"Properties": {"resource": resources}},
        }}))
    };
    let size = || json!({"Size": 1});
    let vm = || json!({"host": {}});
    let pets = || json!({"LogicalIDs": ["mgr1"]});
    let storage = |scope: &str| json!({"worker_fs": {"@scope": scope}});
    for (name, resources, allocation, expected) in [
        ("VMOnly", json!({"aws_instance": vm()}), size(), "instance-1: aws_instance.instance-1"),
        (
            "MultipleDefaultResources",
            json!({"aws_instance": vm(), "fs": {"worker_fs": {}}}),
            size(),
            "instance-1: aws_instance.instance-1 fs.instance-1-worker_fs",
        ),
        (
            "default resources of a named member",
            json!({"aws_instance": vm(), "fs": {"worker_fs": {}}}),
            pets(),
            "instance-1: aws_instance.instance-1 fs.mgr1-worker_fs",
        ),
        (
            "MultipleResourcesScopeTypes",
            json!({
                "aws_instance": {"host": {"@scope": "@default"}},
                "fs": storage("@dedicated"),
                "bs": storage("managers"),
                "other": {"b": {"@scope": "@dedicated"}},
            }),
            size(),
            "default_dedicated_1: fs.default-1-worker_fs other.default-1-b; instance-1: aws_instance.instance-1; managers_global: bs.managers-worker_fs",
        ),
        (
            "MultipleResDedicatedWithLogicalID",
            json!({"aws_instance": vm(), "fs": storage("@dedicated-workers"), "bs": storage("@dedicated-workers")}),
            pets(),
            "instance-1: aws_instance.instance-1; workers_dedicated_mgr1: bs.workers-mgr1-worker_fs fs.workers-mgr1-worker_fs",
        ),
        (
            "MultipleResDedicatedWithoutLogicalID",
            json!({"aws_instance": vm(), "fs": storage("@dedicated"), "bs": storage("@dedicated")}),
            size(),
            "default_dedicated_1: bs.default-1-worker_fs fs.default-1-worker_fs; instance-1: aws_instance.instance-1",
        ),
    ] {
        let spec = build(resources, allocation);
        let (key, set) = match &spec.allocation {
            Allocation::Keys(keys) => (MemberKey::name(&keys[0]), keys[0].clone()),
            Allocation::Size(_) => (MemberKey::Index(1), "1".to_owned()),
        };
        let scopes: Vec<(&str, &str)> = spec
            .dedicated_scopes()
            .into_iter()
            .map(|scope| (scope, set.as_str()))
            .collect();
        let mut files = Vec::new();
        for (file, json) in rendered(&spec, &key, 1, &scopes) {
            let mut all = Vec::new();
            for (kind, names) in json["resource"].as_object().unwrap() {
                all.extend(names.as_object().unwrap().keys().map(|name| format!("{kind}.{name}")));
            }
            all.sort();
            files.push(format!("{}: {}", file.replace(".tf.json", ""), all.join(" ")));
        }
        assert_eq!(files.join("; "), expected, "{name}");
    }
}

/// InfraKit: Label*.
#[test]
fn s3_03_declared_instance_is_described_from_its_file() {
    for kind in ["aws_instance", "ibm_compute_vm_instance", "local_process"] {
        let spec = spec(&managers(kind));
        let files = rendered(&spec, &MemberKey::name("mgr1"), 12, &[("managers", "mgr1")]);
        let found = DeclaredInstance::read(12, &files["instance-12.tf.json"]).unwrap();
        assert_eq!(found.address(), format!("{kind}.instance-12"));
        assert_eq!(found.hash().as_ref(), Some(&spec.hash));
        assert_eq!(found.logical_id(), Some(MemberKey::name("mgr1")));
        let sets =
            ["managers_dedicated_mgr1", "managers_global"].map(|set| FileSet::parse(set).unwrap());
        assert_eq!(found.attached(), sets);
        let other = DeclaredInstance::read(13, &files["instance-12.tf.json"]);
        assert_eq!(other, None);
    }
    // InfraKit's own files have a list with spaces, and no comment.
    let tags = json!(["infrakit.attach:a_dedicated_1 a_global", "x"]);
    let file = json!({"resource": {"ibm_compute_vm_instance": {"instance-1": {"tags": tags}}}});
    let attached = DeclaredInstance::read(1, &file).unwrap().attached();
    assert_eq!(attached.len(), 2, "{attached:?}");
}

/// InfraKit: PlatformSpecificUpdates*.
#[test]
fn identity_of_a_member_is_set_in_the_instance() {
    let build = |kind: &str, body: Value, allocation: Value| {
        let spec = spec(&json!({"ID": "g", "Properties": {
            "Allocation": allocation,
            "Instance": {"Properties": {"resource": {kind: {"host": body}}}},
        }}));
        let key = match &spec.allocation {
            Allocation::Keys(keys) => MemberKey::name(&keys[0]),
            Allocation::Size(_) => MemberKey::Index(1),
        };
        rendered(&spec, &key, 12, &[])["instance-12.tf.json"]["resource"][kind]["instance-12"]
            .clone()
    };
    let (size, pets) = (json!({"Size": 1}), json!({"LogicalIDs": ["10.0.0.1"]}));
    for (prefix, allocation, hostname) in [
        (json!({}), &size, "instance-12"),
        (json!({}), &pets, "10.0.0.1"),
        (json!({"@hostname_prefix": "web"}), &size, "web-12"),
        (json!({"@hostname_prefix": " "}), &pets, "10.0.0.1"),
    ] {
        let body = build(
            "softlayer_virtual_guest",
            prefix.clone(),
            allocation.clone(),
        );
        assert_eq!(body["hostname"], hostname, "{prefix}");
        assert_eq!(body.get("@hostname_prefix"), None);
    }
    let address = json!({"private_ip": "INSTANCE_LOGICAL_ID"});
    assert_eq!(
        build("aws_instance", address.clone(), pets)["private_ip"],
        "10.0.0.1"
    );
    assert_eq!(build("aws_instance", address, size).get("private_ip"), None);
}

/// A resize or an order of keys changes no hash; instance and flavor do.
#[test]
#[rustfmt::skip]
fn hash_ignores_the_allocation() {
    let base = spec(&workers());
    let changed = |pointer: &str, value: Value| {
        let mut other = workers();
        *other.pointer_mut(pointer).unwrap() = value;
        spec(&other).hash
    };
    assert_eq!(changed("/Properties/Allocation/Size", json!(8)), base.hash);
    let resource = "/Properties/Instance/Properties/resource/aws_instance/host";
    assert_eq!(changed(resource, json!({"user_data": "#!/bin/sh", "cores": 2.0})), base.hash);
    assert_ne!(changed(resource, json!({"user_data": "#!/bin/sh", "cores": 3})), base.hash);
    assert_ne!(changed("/Properties/Flavor/Properties/Tags/tier", json!("Db")), base.hash);
}

#[test]
fn updating_becomes_a_policy() {
    let with = |updating: Value| {
        let mut value = workers();
        value["Properties"]["Updating"] = updating;
        spec(&value)
    };
    assert_eq!(
        with(json!({"Count": 2})).threshold,
        Some(Threshold::Consecutive(2))
    );
    let lasting = Threshold::Lasting(std::time::Duration::from_secs(20));
    let found = with(json!({"Duration": "20s", "Count": 0, "SkipBeforeInstanceDestroy": "drain"}));
    assert_eq!((found.threshold, found.skip_drain), (Some(lasting), true));
    assert_eq!(found.update_policy().health.unwrap().threshold, lasting);
    let policy = spec(&workers()).update_policy();
    assert!(policy.health.is_none() && policy.validate().is_empty());
}

/// S3-04, S3-12. Each mistake has its place and a remedy.
#[test]
#[rustfmt::skip]
fn mistakes_have_a_place_and_a_remedy() {
    let group = |allocation: &str, resources: &str, more: &str| {
        format!(
            "{{\"ID\": \"g\", \"Properties\": {{\"Allocation\": {allocation},\n\"Instance\": \
             {{\"Properties\": {{\"resource\": {resources}}}}}{more}}}}}"
        )
    };
    let size = "{\"Size\": 3}";
    let vm = "{\"aws_instance\": {\"host\": {}}}";
    let with = |property: &str| format!("{{\"aws_instance\": {{\"host\": {{{property}}}}}}}");
    let dedicated = |more: &str| {
        format!(
            "{{\"aws_instance\": {{\"h\": {{{more}}}}}, \"fs\": {{\"a\": {{\"@scope\": \
             \"@dedicated\"}}, \"b\": {{\"@scope\": \"@dedicated-o\"}}}}}}"
        )
    };
    let global = "{\"aws_instance\": {\"h\": {}}, \"fs\": {\"a\": {\"@scope\": \"x\", \"n\": \
                  \"{{ var `/self/instId` }}\"}}}";
    let attach = "\"{{ var `/self/dedicated/attachId` }}\"";
    let valid = || group(size, vm, "");
    // The place is the source text of an error.
    let cases: Vec<(&str, String, &str, &str)> = vec![
        ("ValidateInvalidJSON", "{\"ID\" 1}".to_owned(), "1", "A colon must appear"),
        ("ValidateNoGroupID", "{\"Properties\": {}}".to_owned(), "{", "has no \"ID\"; add one"),
        (
            "an id with a space",
            valid().replace("\"g\"", "\"a b\""),
            "\"a b\"",
            "use letters, digits",
        ),
        ("no properties", "{\"ID\": \"g\"}".to_owned(), "{", "has no \"Properties\""),
        ("ValidateNoAllocations", group("{}", vm, ""), "{", "give either a size"),
        (
            "ValidateMultipleAllocations",
            group("{\"Size\": 1, \"LogicalIDs\": [\"a\"]}", vm, ""),
            "[",
            "only one allocation method is allowed",
        ),
        ("a negative size", group("{\"Size\": -1}", vm, ""), "-1", "whole number of 0 or more"),
        ("a size as text", group("{\"Size\": \"3\"}", vm, ""), "\"3\"", "Size is a text"),
        (
            "ValidateMultipleUpdating",
            group(size, vm, ", \"Updating\": {\"Count\": 1, \"Duration\": \"1s\"}"),
            "{",
            "Count and Duration are exclusive",
        ),
        (
            "a bad duration",
            group(size, vm, ", \"Updating\": {\"Duration\": \"soon\"}"),
            "\"soon\"",
            "is not a duration",
        ),
        (
            "two instances of known types",
            group(size, "{\"aws_instance\": {\"a\": {}, \"b\": {}}}", ""),
            "\"b\"",
            "aws_instance.a, aws_instance.b",
        ),
        (
            "ProvisionNoVM",
            group(size, "{\"fs\": {\"a\": {\"@scope\": \"x\"}}}", ""),
            "{",
            "the group has no instance",
        ),
        ("no resources", group(size, "{}", ""), "{", "the group has no instance"),
        (
            "several unknown types",
            group(size, "{\"p\": {\"a\": {}}, \"q\": {\"b\": {}}}", ""),
            "\"b\"",
            "name the type of the instance in Instance.Type",
        ),
        (
            "a bad scope",
            group(size, &with("\"@scope\": \"@global\""), ""),
            "\"@global\"",
            "names with @ are reserved",
        ),
        (
            "a name of a pet in cattle",
            group(size, &with("\"x\": \"{{ var `/self/logicalId` }}\""), ""),
            "\"{{ var `/self/logicalId` }}\"",
            "use /self/dedicated/attachId",
        ),
        (
            "no dedicated set",
            group(size, &with(&format!("\"x\": [{attach}]")), ""),
            attach,
            "no resource has a dedicated scope",
        ),
        (
            "several dedicated scopes",
            group(size, &dedicated(&format!("\"x\": {attach}")), ""),
            attach,
            "several dedicated scopes (default, o)",
        ),
        (
            "an unknown variable",
            group(size, &with("\"x\": \"{{ var `/y` }}\""), ""),
            "\"{{ var `/y` }}\"",
            "\"/y\" is unknown",
        ),
        (
            "another expression",
            group(size, &with("\"{{ source `y` }}\": 1"), ""),
            "\"{{ source `y` }}\"",
            "is not supported",
        ),
        (
            "an open expression",
            group(size, &with("\"x\": \"{{ var\""), ""),
            "\"{{ var\"",
            "has no }}",
        ),
        (
            "a member's variable in a global set",
            group(size, global, ""),
            "\"{{ var `/self/instId` }}\"",
            "is shared by all members",
        ),
        (
            "a logical id that begins with a digit",
            group("{\"LogicalIDs\": [\"1a\"]}", "{\"aws_instance\": {\"h\": {}}, \"fs\": {\"a\": {}}}", ""),
            "{",
            "\"1a\" cannot be a part",
        ),
        (
            "a logical id with dots in names",
            group("{\"LogicalIDs\": [\"10.0.0.1\"]}", &dedicated(""), ""),
            "{",
            "\"10.0.0.1\" cannot be a part",
        ),
        ("tags as text", group(size, &with("\"tags\": \"a\""), ""), "\"host\"", "write an object"),
        (
            "Init without a place",
            group(
                size,
                "{\"p\": {\"a\": {}}}",
                ", \"Flavor\": {\"Properties\": {\"Init\": [\"x\"]}}",
            ),
            "[",
            "which argument of p takes the init script",
        ),
        (
            "a property twice",
            group(size, &with("\"a\": 1, \"a\": 2"), ""),
            "\"a\"",
            "has \"a\" twice",
        ),
    ];
    for (name, text, place, part) in cases {
        let sources = SourceMap::new();
        let (spec, diags) = parse(&text, sources.add("group.json", text.as_str()));
        assert_eq!(spec, None, "{name}");
        let at_place = |d: &&lang::diag::Diagnostic| {
            d.subject.map(|s| sources.snippet(s)).as_deref() == Some(place)
        };
        let found = diags
            .0
            .iter()
            .filter(at_place)
            .any(|d| d.is_error() && d.detail.to_lowercase().contains(&part.to_lowercase()));
        assert!(found, "{name}: {diags:#?}");
    }
}

/// Unknown fields warn, because InfraKit ignores them as well.
#[test]
fn unknown_fields_are_warnings() {
    let mut value = workers();
    value["Properties"]["Flavor"]["Properties"]["Size"] = json!(3);
    value["Properties"]["Extra"] = json!(1);
    let (spec, problems) = parsed(&value.to_string());
    assert!(spec.is_some(), "{problems}");
    assert!(
        problems.contains("set Properties.Allocation.Size"),
        "{problems}"
    );
    assert!(
        problems.contains("\"Extra\" in Properties, and ignores it"),
        "{problems}"
    );
    assert!(!problems.contains("error"), "{problems}");
}

/// Any type can be the instance: the declared one, or the only one of the default scope.
#[test]
fn type_of_the_instance_can_be_named() {
    let mut value = json!({"ID": "g", "Properties": {
        "Allocation": {"Size": 1},
        "Instance": {"Properties": {"resource": {"p": {"a": {}}, "q": {"b": {}}}}},
    }});
    value["Properties"]["Instance"]["Type"] = json!("q");
    assert_eq!(spec(&value).instance().kind, "q");
    // Names of properties are in any case, as Go reads them.
    let lower = value
        .to_string()
        .replace("Size", "size")
        .replace("ID", "id");
    assert!(parsed(&lower).0.is_some());
    value["Properties"]["Instance"]["Type"] = json!("z");
    let (_, problems) = parsed(&value.to_string());
    assert!(
        problems.contains("has the type \"z\"; candidates are: p.a, q.b"),
        "{problems}"
    );
}

#[test]
fn doubled_braces_are_written_as_a_literal() {
    let mut value = workers();
    value["Properties"]["Flavor"]["Properties"]["Init"] =
        json!("docker ps --format '{{ \"{{\" }}.ID}}'");
    let files = rendered(&spec(&value), &MemberKey::Index(1), 1, &[("workers", "1")]);
    let init = &files["instance-1.tf.json"]["resource"]["aws_instance"]["instance-1"]["user_data"];
    assert_eq!(init, "#!/bin/sh\ndocker ps --format '{{.ID}}'");
}

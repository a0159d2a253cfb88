//! Tests of the record of a link and its form for plugins.

use super::keep::Kept;
use super::record::{Made, Record, object};
use super::schema::link_schema;
use super::sides::name_of;
use crate::engine::provider::bluelink::convert::{Unknown, encode};
use cty::{Type, Value};
use proto::bluelink::schema::MappingNode;
use proto::bluelink::sharedtypesv1::{FieldChange, LinkChanges};

fn node(members: &[(&str, Value)]) -> MappingNode {
    let object = Value::object(members.iter().map(|(name, v)| (*name, v.clone())));
    encode(&object, None, Unknown::Omitted).unwrap()
}

fn record() -> Record {
    let secret = [
        ("token", Value::string("hush")),
        ("open", Value::string("told")),
    ];
    let made = Made {
        kind: "fake/box".into(),
        spec: node(&[("key", Value::string("hush")), ("size", Value::int(3))]),
    };
    Record {
        parts: [
            node(&[("a", Value::object(secret))]),
            node(&[("b", Value::bool(true))]),
            MappingNode::default(),
        ],
        made: [("box-1".to_owned(), made)].into(),
        unfinished: vec!["resource_b".into()],
    }
}

#[test]
fn what_is_kept_of_a_link_is_read_as_it_was_with_what_is_sensitive_of_it() {
    let hidden = ["a.token", "intermediary_resources.box-1.spec.key"];
    let hidden = hidden.map(str::to_owned).into();
    let config = Value::object([
        ("from", Value::string("fake_box.a")),
        ("to", Value::string("fake_box.b")),
        ("annotations", Value::null(Type::Dynamic)),
    ]);
    let ids = [Value::string("a-1"), Value::string("b-1")];
    let kept = object(&config, ids, record().attributes(&hidden));
    assert_eq!(Record::of(&kept), record());
    let open = |name: &str| format!("{:?}", kept.get_attr(name).unwrap());
    for name in ["resource_a", "intermediary_resources"] {
        assert!(!open(name).contains("hush"), "{}", open(name));
    }
    assert!(open("resource_a").contains("told"));
    let schema = link_schema();
    let conform = cty::convert(&kept, schema.implied_type());
    assert!(conform.is_ok(), "{conform:?}");
    assert!(schema.block.attributes["sensitive_data"].sensitive);
}

#[test]
fn what_the_plugin_has_staged_goes_with_the_plan_and_is_the_same_for_the_same_changes() {
    let change = |path: &str, to: Value| FieldChange {
        field_path: path.into(),
        new_value: encode(&to, None, Unknown::Omitted),
        ..FieldChange::default()
    };
    let (x, y) = (
        change("a.x", Value::int(1)),
        change("a.y", Value::string("v")),
    );
    let all = |new_fields: Vec<FieldChange>| LinkChanges {
        new_fields,
        removed_fields: vec!["a.z".into()],
        ..LinkChanges::default()
    };
    let kept = Kept::of(b"");
    let one = kept.clone().with_staged(&all(vec![x.clone(), y.clone()]));
    let other = kept.clone().with_staged(&all(vec![y.clone(), x.clone()]));
    assert_eq!(one.bytes(), other.bytes());
    let mut read = Kept::of(&one.bytes());
    assert_eq!(read.take_staged(), all(vec![x, y]));
    assert_eq!(read, kept, "and is not kept any longer than that");
}

#[test]
fn an_address_becomes_a_name_that_can_stand_in_a_path() {
    for (address, name) in [
        ("fake_box.a", "fake_box_a"),
        ("module.x.fake_box.a[\"k\"]", "module_x_fake_box_a__k"),
        ("fake_box.a[3]", "fake_box_a_3"),
    ] {
        assert_eq!(name_of(address), name);
    }
}

//! Tests of the record of a link and its form for plugins.

use super::ends::name_of;
use super::private_data::LinkPrivate;
use super::record::{PhaseResult, Record, object};
use super::schema::link_schema;
use crate::bluelink::convert::{Unknown, encode};
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
    let made = PhaseResult {
        kind: "fake/box".into(),
        spec: node(&[("key", Value::string("hush")), ("size", Value::int(3))]),
    };
    Record {
        parts: [
            node(&[("a", Value::object(secret))]),
            node(&[("b", Value::bool(true))]),
            MappingNode::default(),
        ],
        intermediaries: [("box-1".to_owned(), made)].into(),
        unfinished: vec!["resource_b".into()],
    }
}

#[test]
fn link_record_round_trips_with_its_sensitive_parts_marked() {
    let hidden = ["a.token", "intermediary_resources.box-1.spec.key"];
    let hidden = hidden.map(str::to_owned).into();
    let config = Value::object([
        ("from", Value::string("fake_box.a")),
        ("to", Value::string("fake_box.b")),
        ("annotations", Value::null(Type::Dynamic)),
    ]);
    let ids = [Value::string("a-1"), Value::string("b-1")];
    let kept = object(&config, ids, record().attributes(&hidden));
    assert_eq!(Record::from_object(&kept), record());
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
fn staged_link_changes_are_stored_in_a_canonical_order() {
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
    let kept = LinkPrivate::decode(b"");
    let one = kept.clone().with_staged(&all(vec![x.clone(), y.clone()]));
    let other = kept.clone().with_staged(&all(vec![y.clone(), x.clone()]));
    assert_eq!(one.bytes(), other.bytes());
    let mut read = LinkPrivate::decode(&one.bytes());
    assert_eq!(read.take_staged(), all(vec![x, y]));
    assert_eq!(read, kept, "and is not kept any longer than that");
}

#[test]
fn link_name_is_derived_from_the_resource_address() {
    for (address, name) in [
        ("fake_box.a", "fake_box_a"),
        ("module.x.fake_box.a[\"k\"]", "module_x_fake_box_a__k"),
        ("fake_box.a[3]", "fake_box_a_3"),
    ] {
        assert_eq!(name_of(address), name);
    }
}

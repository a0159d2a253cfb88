//! Tests of the computations of the adapter: values, plans, changes and merges, including pitfalls
//! of the protocol.

use super::changes::changes;
use super::convert::{Unknown, decode, encode, member_of, scalar};
use super::drift::merge_observed;
use super::merge::Spec;
use super::plan::plan;
use super::schema::{Definition, ty, type_name};
use super::state::{PrivateState, fit_to_type};
use crate::Bytes;
use cty::{Type, Value};
use model::Severity;
use proto::bluelink::schema::MappingNode;
use proto::bluelink::schema::scalar_value::Value as Scalar;
use proto::bluelink::sharedtypesv1::ResourceDefinitionsSchema as Node;

fn of(kind: &str) -> Node {
    Node {
        r#type: kind.to_owned(),
        ..Node::default()
    }
}

fn list(items: Node) -> Node {
    Node {
        items: Some(Box::new(items)),
        ..of("array")
    }
}

fn object(attributes: &[(&str, Node)]) -> Node {
    let all = attributes.iter().cloned();
    Node {
        attributes: all.map(|(name, node)| (name.to_owned(), node)).collect(),
        ..of("object")
    }
}

/// Returns the schema with a name that requires replacement, an id, a size with a default,
/// endpoints with a computed address, and labels.
fn definition() -> Definition {
    let computed = Node {
        computed: true,
        ..of("string")
    };
    let name = Node {
        must_recreate: true,
        ..of("string")
    };
    let size = Node {
        default_value: Some(scalar(Scalar::IntValue(3))),
        ..of("integer")
    };
    let endpoint = object(&[("port", of("integer")), ("address", computed.clone())]);
    let labels = Node {
        map_values: Some(Box::new(of("string"))),
        ..of("map")
    };
    Definition {
        wire: "fake/box".to_owned(),
        node: object(&[
            ("id", computed.clone()),
            ("seen", computed),
            ("name", name),
            ("size", size),
            ("endpoints", list(endpoint)),
            ("labels", labels),
        ]),
        id_field: "id".to_owned(),
    }
}

/// Returns the value of the definition's type from JSON.
fn value(json: &str) -> Value {
    let wanted = ty(&definition().node);
    let json = fit_to_type(serde_json::from_str(json).expect("JSON"), &wanted);
    cty::json::decode_value(&json, &wanted).expect("a value")
}

fn null() -> Value {
    Value::null(ty(&definition().node))
}

#[test]
fn resource_type_names_and_union_types_are_mapped() {
    assert_eq!(type_name("aws/lambda/function"), "aws_lambda_function");
    let union = Node {
        one_of: vec![of("string"), of("integer")],
        ..of("union")
    };
    assert_eq!(ty(&union), Type::Dynamic);
    assert_eq!(
        ty(&list(union)),
        Type::Dynamic,
        "a list of such things is none that has one type"
    );
    assert_eq!(ty(&list(of("float"))), Type::list(Type::Number));
}

#[test]
fn empty_node_decodes_to_the_prior_empty_value_or_null() {
    let numbers = list(of("integer"));
    let wanted = Type::list(Type::Number);
    let empty = Value::list(Type::Number, Vec::new());
    let some = Value::list(Type::Number, vec![Value::int(1)]);
    let null = Value::null(wanted);
    let node = MappingNode::default();
    for (like, expected) in [(&empty, &empty), (&null, &null), (&some, &null)] {
        let present = decode(Some(&node), &numbers, like, "spec").expect("decoded");
        let absent = decode(None, &numbers, like, "spec").expect("decoded");
        assert!(
            present.raw_equals(expected) && absent.raw_equals(expected),
            "{like:?}"
        );
    }
}

#[test]
fn integers_and_floats_differ_when_sent_and_not_when_received() {
    let three = Value::int(3);
    let sent = |kind: &str| encode(&three, Some(&of(kind)), Unknown::Omitted).expect("a node");
    assert_eq!(sent("integer"), scalar(Scalar::IntValue(3)));
    assert_eq!(sent("float"), scalar(Scalar::FloatValue(3.0)));
    for node in [Scalar::IntValue(3), Scalar::FloatValue(3.0)].map(scalar) {
        let back = decode(Some(&node), &of("integer"), &three, "spec").expect("decoded");
        assert!(back.raw_equals(&three));
    }
    let wrong = decode(
        Some(&scalar(Scalar::StringValue("x".into()))),
        &of("integer"),
        &three,
        "spec.size",
    );
    assert!(
        wrong
            .expect_err("no number")
            .to_string()
            .starts_with("spec.size is not of type integer")
    );
}

#[test]
fn null_members_are_omitted_from_the_encoded_node() {
    let all = value(r#"{"name": "a", "labels": {"x": "1"}}"#);
    let node = encode(&all, Some(&definition().node), Unknown::Omitted).expect("a node");
    let mut names: Vec<&String> = node.fields.keys().collect();
    names.sort();
    assert_eq!(names, ["labels", "name"]);
}

#[test]
fn plan_fills_defaults_and_leaves_computed_fields_unknown() {
    let planned = plan(
        &definition(),
        &null(),
        &value(r#"{"name": "a", "endpoints": [{"port": 1}]}"#),
        false,
    );
    let planned = planned.expect("a plan").value;
    let at = |name: &str| planned.get_attr(name).expect("an attribute");
    assert!(!at("id").is_known() && !at("seen").is_known());
    assert!(at("size").raw_equals(&Value::int(3)));
    let endpoint = at("endpoints").as_slice().expect("a list")[0].clone();
    assert!(!endpoint.get_attr("address").expect("one").is_known());
}

const THERE: &str = r#"{"id": "i", "seen": "s", "name": "a", "size": 3, "endpoints": [{"port": 1, "address": "x"}]}"#;

#[test]
fn no_op_plan_has_no_unknown_values_and_an_update_keeps_the_id() {
    let there = value(THERE);
    let same = plan(
        &definition(),
        &there,
        &value(r#"{"name": "a", "endpoints": [{"port": 1}]}"#),
        false,
    );
    assert!(same.expect("a plan").value.raw_equals(&there));
    let other = plan(
        &definition(),
        &there,
        &value(r#"{"name": "a", "size": 4, "endpoints": [{"port": 1}]}"#),
        false,
    );
    let other = other.expect("a plan");
    assert!(other.requires_replace.is_empty());
    let at = |name: &str| other.value.get_attr(name).expect("an attribute");
    assert!(at("id").raw_equals(&Value::string("i")) && !at("seen").is_known());
}

#[test]
fn replacement_is_required_by_changed_but_not_added_or_removed_fields() {
    let replaced = |prior: &str, config: &str| {
        let planned = plan(&definition(), &value(prior), &value(config), false).expect("a plan");
        let sent = changes(&definition(), &value(prior), &planned.value);
        assert_eq!(sent.must_recreate, !planned.requires_replace.is_empty());
        planned.requires_replace.len()
    };
    assert_eq!(replaced(THERE, r#"{"name": "b"}"#), 1);
    assert_eq!(
        replaced(r#"{"id": "i"}"#, r#"{"name": "b"}"#),
        0,
        "it is new"
    );
    assert_eq!(replaced(THERE, r#"{"size": 4}"#), 0, "it goes away");
}

#[test]
fn changes_list_computed_fields_at_any_depth() {
    let definition = definition();
    let config = value(r#"{"name": "a", "labels": {"odd.name": "1"}, "endpoints": [{"port": 2}]}"#);
    let there = value(
        r#"{"id": "i", "seen": "s", "name": "a", "size": 3, "labels": {"x": "1"}, "endpoints": [{"port": 1, "address": "x"}]}"#,
    );
    let planned = plan(&definition, &there, &config, false)
        .expect("a plan")
        .value;
    let all = changes(&definition, &there, &planned);
    assert_eq!(
        all.computed_fields,
        ["spec.endpoints[0].address", "spec.id", "spec.seen"]
    );
    let paths = |all: &[proto::bluelink::sharedtypesv1::FieldChange]| {
        all.iter().map(|c| c.field_path.clone()).collect::<Vec<_>>()
    };
    assert_eq!(paths(&all.modified_fields), ["spec.endpoints[0].port"]);
    assert_eq!(paths(&all.new_fields), [r#"spec.labels["odd.name"]"#]);
    assert_eq!(all.removed_fields, ["spec.labels.x"]);
    assert_eq!(all.unchanged_fields, ["spec.name", "spec.size"]);
}

#[test]
fn only_computed_fields_are_merged_and_others_cause_a_warning() {
    let definition = definition();
    let planned = plan(
        &definition,
        &null(),
        &value(r#"{"name": "a", "endpoints": [{"port": 1}]}"#),
        false,
    );
    let planned = planned.expect("a plan").value;
    let mut spec =
        Spec::new(encode(&planned, Some(&definition.node), Unknown::Omitted).expect("a node"));
    let text = |text: &str| scalar(Scalar::StringValue(text.into()));
    let set = [
        ("spec.id", "i"),
        ("spec.endpoints[0].address", "x"),
        ("spec.name", "somebody"),
        ("spec.nothing", "x"),
    ];
    let set = set.map(|(path, value)| (path.to_owned(), text(value)));
    spec.merge(&definition, set.into());
    let object = spec.object(&definition, &planned).expect("an object");
    let expected =
        value(r#"{"id": "i", "name": "a", "size": 3, "endpoints": [{"port": 1, "address": "x"}]}"#);
    assert!(object.raw_equals(&expected), "{object:?}");
    let told: Vec<&str> = spec.warnings.iter().map(|w| w.summary.as_str()).collect();
    assert_eq!(
        told,
        [
            "The plugin set spec.name, which only the configuration may set",
            "The plugin set spec.nothing, which is not in its schema"
        ]
    );
    assert!(
        spec.warnings
            .iter()
            .all(|w| w.severity == Severity::Warning)
    );
}

#[test]
fn unknown_computed_fields_are_learned_from_the_observed_object() {
    let node = definition().node;
    let seen = value(r#"{"id": "i", "seen": "now", "name": "a"}"#);
    let before = value(r#"{"id": "i", "seen": "then", "name": "a"}"#);
    assert!(merge_observed(&node, &before, &seen).raw_equals(&before));
    let unknown = value(r#"{"id": "i", "name": "a"}"#);
    assert!(merge_observed(&node, &unknown, &seen).raw_equals(&seen));
}

/// Returns the spec after an update to which the provider answers without values.
fn left(definition: &Definition, prior: &str, planned: &str) -> Value {
    let (prior, planned) = (value(prior), value(planned));
    let wire = |value: &Value| encode(value, Some(&definition.node), Unknown::Omitted);
    let spec = wire(&planned).expect("a node");
    let spec = Spec::for_update(definition, spec, &wire(&prior).expect("a node"));
    spec.object(definition, &planned).expect("an object")
}

#[test]
fn computed_values_stay_with_their_list_element_on_update() {
    let table = [
        (
            "an element that stays in its place",
            r#"[{"port": 1, "address": "x"}, {"port": 2, "address": "y"}]"#,
            r#"[{"port": 1}, {"port": 2}]"#,
            r#"[{"port": 1, "address": "x"}, {"port": 2, "address": "y"}]"#,
        ),
        (
            "elements that move up as the first one goes",
            r#"[{"port": 1, "address": "x"}, {"port": 2, "address": "y"}]"#,
            r#"[{"port": 2}]"#,
            r#"[{"port": 2, "address": "y"}]"#,
        ),
        (
            "an element that changes in its place",
            r#"[{"port": 1, "address": "x"}, {"port": 2, "address": "y"}]"#,
            r#"[{"port": 1}, {"port": 3}]"#,
            r#"[{"port": 1, "address": "x"}, {"port": 3, "address": "y"}]"#,
        ),
        (
            "an element that is new",
            r#"[{"port": 1, "address": "x"}]"#,
            r#"[{"port": 1}, {"port": 1}]"#,
            r#"[{"port": 1, "address": "x"}, {"port": 1}]"#,
        ),
        (
            "a new element before others",
            r#"[{"port": 1, "address": "x"}]"#,
            r#"[{"port": 3}, {"port": 1}]"#,
            r#"[{"port": 3}, {"port": 1, "address": "x"}]"#,
        ),
    ];
    let object = |endpoints: &str, seen: &str| {
        format!(r#"{{"id": "i", {seen} "name": "a", "endpoints": {endpoints}}}"#)
    };
    for (what, prior, planned, expected) in table {
        let found = left(
            &definition(),
            &object(prior, r#""seen": "then","#),
            &object(planned, ""),
        );
        let expected = value(&object(expected, r#""seen": "then","#));
        assert!(found.raw_equals(&expected), "{what}: {found:?}");
    }
}

#[test]
fn computed_values_stay_with_their_key_in_an_unordered_list() {
    let mut definition = definition();
    let endpoints = definition.node.attributes.get_mut("endpoints");
    endpoints.expect("the field").sort_array_by_field = "port".into();
    let found = left(
        &definition,
        r#"{"name": "a", "endpoints": [{"port": 1, "address": "x"}, {"port": 2, "address": "y"}]}"#,
        r#"{"name": "a", "endpoints": [{"port": 3}, {"port": 2}]}"#,
    );
    let expected =
        value(r#"{"name": "a", "endpoints": [{"port": 3}, {"port": 2, "address": "y"}]}"#);
    assert!(found.raw_equals(&expected), "{found:?}");
}

#[test]
fn removed_configured_values_do_not_remain_after_an_update() {
    let found = left(
        &definition(),
        r#"{"name": "a", "labels": {"x": "1", "y": "2"}, "endpoints": [{"port": 1}]}"#,
        r#"{"name": "a", "labels": {"x": "1"}}"#,
    );
    assert!(
        found.raw_equals(&value(r#"{"name": "a", "labels": {"x": "1"}}"#)),
        "{found:?}"
    );
}

#[test]
fn null_from_an_update_applies_only_once_the_object_is_stable() {
    let definition = definition();
    let prior = value(r#"{"id": "i", "seen": "then", "name": "a"}"#);
    let wire = encode(&prior, Some(&definition.node), Unknown::Omitted).expect("a node");
    let mut spec = Spec::for_update(&definition, wire.clone(), &wire);
    let nulls = [("spec.seen".to_owned(), MappingNode::default())];
    spec.merge(&definition, nulls.into());
    let object = |spec: &Spec| spec.object(&definition, &prior).expect("an object");
    let without = value(r#"{"id": "i", "name": "a"}"#);
    assert!(object(&spec).raw_equals(&without));
    spec.restore_cleared();
    assert!(object(&spec).raw_equals(&prior));
}

#[test]
fn unstable_object_is_planned_as_an_update_that_keeps_its_id() {
    let definition = definition();
    let prior = value(r#"{"id": "i", "seen": "then", "name": "a", "size": 3}"#);
    let config = value(r#"{"name": "a", "size": 3}"#);
    let planned = |unstable| plan(&definition, &prior, &config, unstable).expect("a plan");
    assert!(planned(false).value.raw_equals(&prior));
    let update = planned(true);
    assert!(update.requires_replace.is_empty());
    assert_eq!(member_of(&update.value, "id").as_str(), Some("i"));
    assert!(!member_of(&update.value, "seen").is_known());
}

#[test]
fn stored_values_are_fitted_to_the_type_and_the_instance_name_is_kept() {
    let fitted = fit_to_type(
        serde_json::json!({"name": "a", "gone": 1}),
        &ty(&definition().node),
    );
    assert_eq!(
        (&fitted["name"], &fitted["gone"]),
        (&"a".into(), &serde_json::Value::Null)
    );
    assert_eq!(fitted["endpoints"], serde_json::Value::Null);
    let first = PrivateState::decode(&Bytes::new());
    assert_eq!(PrivateState::decode(&first.bytes()), first);
    assert_ne!(PrivateState::decode(&Bytes::new()), first);
}

//! Tests of values: marks, refinements, sets, operators, paths, and the speed of large ones.

mod schemas;

use std::time::{Duration, Instant};

use cty::schema::{Attribute, Block};
use cty::{Mark, Number, Path, Type, Value};

fn n(i: i64) -> Value {
    Value::int(i)
}

fn secret(v: Value) -> Value {
    v.mark(Mark::Sensitive)
}

#[test]
fn set_elements_are_in_the_displayed_order() {
    let numbers = Value::set(
        Type::Number,
        vec![
            n(10),
            n(2),
            Value::null(Type::Number),
            n(2),
            Value::unknown(Type::Number),
        ],
    );
    assert_eq!(
        format!("{numbers:?}"),
        "set([2, 10, unknown(number), null(number)])"
    );
    let object = |i| Value::object([("a", n(i))]);
    let objects = Value::set(Type::Dynamic, vec![object(2), object(10), object(2)]);
    assert_eq!(format!("{objects:?}"), "set([{a = 10}, {a = 2}])");
    let unknown = Value::unknown(Type::String);
    assert_eq!(
        Value::set(Type::String, vec![unknown.clone(), unknown]).len(),
        Some(2)
    );
}

#[test]
fn marks_of_set_elements_move_to_the_set() {
    let set = Value::set(Type::String, vec!["a".into(), secret("b".into())]);
    assert!(
        set.has_mark(&Mark::Sensitive)
            && set.as_slice().unwrap().iter().all(|e| !e.contains_marked())
    );
}

#[test]
fn elements_keep_the_marks_of_their_container() {
    let object = secret(Value::object([(
        "list",
        Value::list(Type::Number, vec![n(1), n(2)]),
    )]));
    let found = Path::root()
        .attr("list")
        .index_int(1)
        .apply(&object)
        .unwrap();
    assert_eq!(found, secret(n(2)));
    assert!(
        Path::root()
            .attr("list")
            .index_int(2)
            .apply(&object)
            .unwrap_err()
            .to_string()
            .contains(".list[2]")
    );
    assert_eq!(object.get_attr("none"), None);
    assert_eq!(object.index(&"x".into()), None);
}

#[test]
fn parts_of_unknown_containers_are_unknown() {
    let ty = Type::object([("a", Type::list(Type::String))]);
    let a = Value::unknown(ty).get_attr("a").unwrap();
    assert_eq!(a, Value::unknown(Type::list(Type::String)));
    assert_eq!(a.index(&n(7)), Some(Value::unknown(Type::String)));
    assert_eq!(Value::dynamic().index(&n(7)), Some(Value::dynamic()));
    let tuple = Value::tuple(vec![n(1)]);
    assert_eq!(
        tuple.index(&Value::unknown(Type::Number)),
        Some(Value::dynamic())
    );
    assert_eq!(Value::unknown(tuple.ty().clone()).index(&n(1)), None);
    assert_eq!(tuple.has_index(&n(1)).as_bool(), Some(false));
}

#[test]
fn equality_is_unknown_only_while_it_is_undecided() {
    let unknown = Value::unknown(Type::String);
    assert!(!unknown.equals(&"a".into()).is_known());
    assert!(!unknown.equals(&Value::null(Type::String)).is_known());
    assert_eq!(
        unknown.refine_not_null().equals(&Value::null(Type::Number)),
        Value::bool(false)
    );
    assert_eq!(
        unknown
            .refine()
            .string_prefix_full("ab")
            .build()
            .unwrap()
            .equals(&"xyz".into()),
        Value::bool(false)
    );
    assert_eq!(n(1).equals(&"1".into()), Value::bool(false));
    assert_eq!(
        Value::null(Type::Number).equals(&Value::null(Type::String)),
        Value::bool(true)
    );
    assert_eq!(secret(n(1)).equals(&n(1)), secret(Value::bool(true)));
    // In order: a pair after an undecided one decides nothing, a pair before it does.
    let (unknown, pair) = (Value::unknown(Type::Number), |a, b| {
        Value::tuple(vec![a, b])
    });
    assert!(
        !pair(unknown.clone(), n(2))
            .equals(&pair(n(1), n(3)))
            .is_known()
    );
    assert_eq!(
        pair(n(2), unknown).equals(&pair(n(3), n(1))),
        Value::bool(false)
    );
}

#[test]
fn refinements_narrow_to_a_single_known_value() {
    let number = Value::unknown(Type::Number).refine().not_null();
    let five = Number::from(5);
    assert_eq!(
        number
            .clone()
            .number_min(five.clone(), true)
            .number_max(five.clone(), true)
            .build(),
        Ok(n(5))
    );
    assert!(
        number
            .clone()
            .number_min(Number::from(6), true)
            .number_max(five.clone(), true)
            .build()
            .is_err()
    );
    assert!(
        number
            .number_min(five.clone(), false)
            .number_max(five, true)
            .build()
            .is_err()
    );
    let list = Value::unknown(Type::list(Type::Bool)).refine().not_null();
    assert_eq!(
        list.clone().length(0).build(),
        Ok(Value::list(Type::Bool, vec![]))
    );
    assert_eq!(list.clone().length(2).build().unwrap().len(), Some(2));
    assert!(list.length_min(3).length_max(2).build().is_err());
    assert_eq!(
        Value::unknown(Type::Bool).refine().null().build(),
        Ok(Value::null(Type::Bool))
    );
    assert_eq!(
        Value::dynamic().refine().not_null().build(),
        Ok(Value::dynamic())
    );
    assert!(
        Value::unknown(Type::Bool)
            .refine()
            .length(1)
            .build()
            .is_err()
    );
    assert!(
        Value::string("abc")
            .refine()
            .string_prefix_full("x")
            .build()
            .is_err()
    );
    let kept = secret(Value::unknown(Type::String))
        .refine()
        .not_null()
        .build()
        .unwrap();
    assert!(kept.marks().is_sensitive() && kept.is_definitely_not_null());
}

#[test]
fn safe_prefix_drops_characters_that_could_combine() {
    assert_eq!(&*cty::safe_prefix("hello-"), "hello-");
    assert_eq!(&*cty::safe_prefix("hello"), "hell");
    assert_eq!(&*cty::safe_prefix("e\u{301}"), "");
    assert_eq!(&*cty::safe_prefix(""), "");
}

#[test]
fn operators_propagate_bounds_and_marks() {
    let between = |a, b| {
        Value::unknown(Type::Number)
            .refine()
            .not_null()
            .number_min(Number::from(a), true)
            .number_max(Number::from(b), true)
            .build()
            .unwrap()
    };
    let sum = between(1, 2).add(&secret(n(10))).unwrap();
    assert!(sum.marks().is_sensitive());
    let range = sum.range();
    assert_eq!(range.number_min().unwrap().0, Number::from(11));
    assert_eq!(range.number_max().unwrap().0, Number::from(12));
    assert_eq!(between(1, 2).less_than(&n(3)), Value::bool(true));
    assert_eq!(between(1, 2).greater_than(&n(3)), Value::bool(false));
    assert!(!between(1, 2).less_than(&n(2)).is_known());
    assert_eq!(Value::unknown(Type::Number).mul(&n(0)).unwrap(), n(0));
    assert_eq!(
        Value::unknown(Type::Bool).and(&Value::bool(false)),
        Value::bool(false)
    );
    assert_eq!(
        Value::unknown(Type::Bool).or(&Value::bool(true)),
        Value::bool(true)
    );
    assert!(n(0).div(&n(0)).is_err());
}

#[test]
fn lengths_of_partly_unknown_collections_have_bounds() {
    let set = Value::set(Type::Number, vec![n(1), Value::unknown(Type::Number)]);
    let length = set.length().unwrap();
    assert_eq!(
        (
            length.range().number_min().unwrap().0.clone(),
            length.range().number_max().unwrap().0.clone()
        ),
        (1.into(), 2.into())
    );
    assert_eq!(
        Value::unknown(Type::tuple([Type::Bool])).length().unwrap(),
        n(1)
    );
    assert_eq!(Value::null(Type::list(Type::Bool)).length(), None);
}

#[test]
fn strings_are_nfc_normalized() {
    assert_eq!(Value::string("e\u{301}"), Value::string("é"));
    assert_eq!(
        Value::object([("e\u{301}", n(1))]).get_attr("é"),
        Some(n(1))
    );
}

#[test]
fn with_at_replaces_one_element_and_keeps_the_rest() {
    let value = Value::object([
        ("a", Value::list(Type::Number, vec![n(1), n(2)])),
        ("b", secret("x".into())),
    ]);
    let changed = value
        .with_at(&Path::root().attr("a").index_int(0), n(9))
        .unwrap();
    assert_eq!(
        format!("{changed:?}"),
        r#"{a = list([9, 2]), b = "x".mark{Sensitive}}"#
    );
    assert_eq!(changed.to_string(), "{a = [9, 2], b = (sensitive)}");
    assert_eq!(value.with_at(&Path::root().attr("c"), n(9)), None);
    let nulled = Value::tuple(vec![Value::unknown(Type::Bool), n(1)]).unknown_as_null();
    assert_eq!(nulled, Value::tuple(vec![Value::null(Type::Bool), n(1)]));
}

#[test]
fn paths_round_trip_through_json_and_reject_bad_steps() {
    let path = Path::root()
        .attr("rule")
        .index_int(0)
        .attr("tags")
        .index_str("Name");
    assert_eq!(path.to_string(), r#".rule[0].tags["Name"]"#);
    let json = path.to_json_value().unwrap();
    assert_eq!(
        json[1].to_string(),
        r#"{"type":"index","value":{"value":0,"type":"number"}}"#
    );
    assert_eq!(Path::from_json_value(&json).unwrap(), path);
    assert!(Path::from_json_value(&serde_json::json!([{"type": "other"}])).is_err());
}

/// Time limit: generous for a slow machine in a debug build, and far below the cost of quadratic
/// work.
const QUICK: Duration = Duration::from_secs(300);

#[test]
fn operations_on_ten_thousand_elements_are_fast() {
    let began = Instant::now();
    let size = 10_000usize;
    let element = |i: usize| {
        Value::object([
            ("name", Value::string(format!("n{i}"))),
            ("port", Value::number(i)),
        ])
    };
    let tuple = secret(Value::tuple((0..size).map(element).collect()));
    for i in 0..size {
        let found = tuple
            .index(&Value::number(i))
            .unwrap()
            .get_attr("port")
            .unwrap();
        assert_eq!(found.as_number().and_then(Number::to_usize), Some(i));
    }
    let mixed = Value::tuple(
        (0..size)
            .map(|i| {
                if i % 2 == 0 {
                    Value::number(i)
                } else {
                    Value::string(i.to_string())
                }
            })
            .collect(),
    );
    assert_eq!(
        mixed.convert(&Type::list(Type::Dynamic)).unwrap().len(),
        Some(size)
    );
    let (bare, _) = tuple.unmark();
    let set = bare.convert(&Type::set(Type::Dynamic)).unwrap();
    let other = Value::set(Type::Dynamic, (1..=size).map(element).collect());
    assert_eq!(set.len(), Some(size));
    assert_eq!(set.equals(&other), Value::bool(false));
    assert_eq!(set.equals(&set.clone()), Value::bool(true));
    let block = Block {
        attributes: [("set".into(), Attribute::optional(set.ty().clone()))].into(),
        ..Block::default()
    };
    let holder = |v: &Value| Value::object([("set", v.clone())]);
    assert!(cty::plan::assert_object_compatible(&block, &holder(&set), &holder(&set)).is_empty());
    assert_eq!(
        cty::plan::assert_object_compatible(&block, &holder(&set), &holder(&other)).len(),
        1
    );
    assert!(began.elapsed() < QUICK, "{:?}", began.elapsed());
}

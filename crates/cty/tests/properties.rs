//! Property tests of all values: encodings round-trip, conversions keep their promise, and no bytes
//! cause a panic.

#![allow(clippy::unwrap_used)]

use cty::{Mark, Marks, Number, Path, Type, Value, convert, json, msgpack, unify, unify_unsafe};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

fn name() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-d]", 1 => "[a-z_é<&]{1,5}"]
}

/// Generates types of values, or constraints with optional attributes and dynamic parts.
fn any_type(constraint: bool) -> BoxedStrategy<Type> {
    let leaf = prop_oneof![4 => Just(Type::String), 3 => Just(Type::Number), 2 => Just(Type::Bool), 1 => Just(Type::Dynamic)];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            inner.clone().prop_map(Type::list),
            inner.clone().prop_map(Type::set),
            inner.clone().prop_map(Type::map),
            vec(inner.clone(), 0..4).prop_map(Type::tuple),
            (btree_map(name(), inner, 0..4), vec(any::<bool>(), 4)).prop_map(
                move |(attributes, optional)| {
                    let names: Vec<String> = attributes
                        .keys()
                        .zip(optional)
                        .filter(|(_, o)| constraint && *o)
                        .map(|(n, _)| n.clone())
                        .collect();
                    Type::object_with_optional(attributes, names)
                }
            ),
        ]
    })
    .boxed()
}

fn any_number() -> impl Strategy<Value = Number> {
    prop_oneof![
        3 => any::<i64>().prop_map(Number::from),
        2 => (-100i64..100).prop_map(Number::from),
        2 => any::<f64>().prop_filter_map("nan", |f| Number::from_f64(f).ok()),
        2 => "-?[0-9]{1,30}(\\.[0-9]{1,30})?(e-?[0-9]{1,2})?".prop_map(|t| Number::parse(&t).unwrap()),
    ]
}

/// Generates numbers whose text is exact and unambiguous. The text of a huge float is not exact. -0
/// equals 0 but is another set element until it is sent to a plugin; go-cty has the same property.
fn exact_number() -> impl Strategy<Value = Number> {
    any_number().prop_filter("inexact text", |n| {
        let negative_zero = n.is_negative() && n.is_zero();
        !negative_zero
            && !n.is_infinite()
            && Number::parse(&n.to_text()).is_ok_and(|back| back == *n)
    })
}

/// Generates values of exactly this type. Lists with dynamic elements have the type that their
/// elements imply.
fn value_of(ty: Type, unknowns: bool) -> BoxedStrategy<Value> {
    let known: BoxedStrategy<Value> = match &ty {
        Type::String => prop_oneof![3 => "\\PC{0,12}", 1 => "[a-zA-Z\\n\\t\"\\\\<>&\u{301}\u{2028}]{0,6}", 1 => "-?[0-9]{1,3}"]
            .prop_map(Value::string)
            .boxed(),
        Type::Number => exact_number().prop_map(Value::number).boxed(),
        Type::Bool => any::<bool>().prop_map(Value::bool).boxed(),
        Type::Dynamic => Just(Value::null(Type::Dynamic)).boxed(),
        Type::List(e) => {
            let element = (**e).clone();
            vec(value_of(element.clone(), unknowns), 0..4).prop_map(move |v| Value::list(element.clone(), v)).boxed()
        }
        Type::Set(e) => {
            let element = (**e).clone();
            vec(value_of(element.clone(), unknowns), 0..4).prop_map(move |v| Value::set(element.clone(), v)).boxed()
        }
        Type::Map(e) => {
            let element = (**e).clone();
            btree_map(name(), value_of(element.clone(), unknowns), 0..4).prop_map(move |v| Value::map(element.clone(), v)).boxed()
        }
        Type::Tuple(types) => types.iter().map(|t| value_of(t.clone(), unknowns)).collect::<Vec<_>>().prop_map(Value::tuple).boxed(),
        Type::Object(o) => {
            let names: Vec<String> = o.attributes.keys().map(|n| n.to_string()).collect();
            let values: Vec<_> = o.attributes.values().map(|t| value_of(t.clone(), unknowns)).collect();
            values.prop_map(move |v| Value::object(names.iter().cloned().zip(v))).boxed()
        }
    };
    let null = Just(Value::null(ty.clone()));
    if !unknowns {
        return prop_oneof![6 => known, 1 => null].boxed();
    }
    prop_oneof![6 => known, 1 => null, 1 => unknown_of(ty)].boxed()
}

fn unknown_of(ty: Type) -> BoxedStrategy<Value> {
    (
        any::<bool>(),
        "[a-zé-]{0,6}",
        -9i64..9,
        any::<bool>(),
        0usize..3,
        0usize..4,
    )
        .prop_map(move |(not_null, prefix, bound, inclusive, least, more)| {
            let mut b = Value::unknown(ty.clone()).refine();
            if not_null {
                b = b.not_null();
            }
            match &ty {
                Type::String => b.string_prefix_full(&prefix),
                Type::Number => b
                    .number_min(Number::from(bound), inclusive)
                    .number_max(Number::from(bound + 5), !inclusive),
                t if t.is_collection() => b.length_min(least).length_max(least + more),
                _ => b,
            }
            .build()
            .unwrap()
        })
        .boxed()
}

fn any_value(unknowns: bool) -> impl Strategy<Value = Value> {
    any_type(false).prop_flat_map(move |ty| value_of(ty, unknowns))
}

fn marked(value: Value) -> impl Strategy<Value = Value> {
    let mut paths: Vec<Path> = Vec::new();
    value.walk(&mut |p, v| {
        paths.push(p.clone());
        !v.ty().is_set()
    });
    let count = paths.len();
    vec((0..count, 0i64..3), 0..3).prop_map(move |picks| {
        let marks: Vec<(Path, Marks)> = picks
            .into_iter()
            .map(|(i, m)| (paths[i].clone(), Marks::one(Mark::Custom(m))))
            .collect();
        value.clone().mark_with_paths(&marks)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn msgpack_round_trips_any_value(value in any_value(true)) {
        let bytes = msgpack::encode(&value, value.ty()).unwrap();
        prop_assert_eq!(&msgpack::decode(&bytes, value.ty()).unwrap(), &value);
        prop_assert_eq!(msgpack::encode(&msgpack::decode(&bytes, value.ty()).unwrap(), value.ty()).unwrap(), bytes);
        let bytes = msgpack::encode(&value, &Type::Dynamic).unwrap();
        let expected = if value.is_dynamic_unknown() { Value::dynamic() } else { value };
        prop_assert_eq!(msgpack::decode(&bytes, &Type::Dynamic).unwrap(), expected);
    }

    #[test]
    fn json_round_trips_any_value(value in any_value(false)) {
        let text = json::encode(&value, value.ty()).unwrap();
        prop_assert_eq!(&json::decode(text.as_bytes(), value.ty()).unwrap(), &value);
        let text = json::encode(&value, &Type::Dynamic).unwrap();
        prop_assert_eq!(json::decode(text.as_bytes(), &Type::Dynamic).unwrap(), value);
    }

    #[test]
    fn msgpack_output_is_readable_by_another_decoder(value in any_value(true)) {
        let bytes = msgpack::encode(&value, value.ty()).unwrap();
        let mut rest = bytes.as_slice();
        rmpv::decode::read_value(&mut rest).unwrap();
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn conversion_result_conforms_to_the_requested_type(value in any_value(true).prop_flat_map(marked), want in any_type(true)) {
        if let Ok(converted) = convert(&value, &want) {
            prop_assert!(converted.ty().conforms_to(&want.without_optional()), "{value:?} to {want:?} gave {converted:?}");
            let again = convert(&converted, &want);
            prop_assert_eq!(again, Ok(converted));
        }
    }

    #[test]
    fn conversion_to_the_own_type_or_dynamic_changes_nothing(value in any_value(true).prop_flat_map(marked)) {
        prop_assert_eq!(convert(&value, value.ty()), Ok(value.clone()));
        prop_assert_eq!(convert(&value, &Type::Dynamic), Ok(value));
    }

    #[test]
    fn unified_values_conform_to_the_unified_type(values in vec(any_value(true), 1..4), loose in any::<bool>()) {
        let types: Vec<Type> = values.iter().map(|v| v.ty().clone()).collect();
        let unified = if loose { unify_unsafe(&types) } else { unify(&types) };
        if let Some(unified) = unified {
            for (i, v) in values.iter().enumerate() {
                match unified.convert(i, v) {
                    Ok(converted) => prop_assert!(converted.ty().conforms_to(&unified.ty), "{v:?} as {:?} gave {converted:?}", unified.ty),
                    Err(e) => prop_assert!(loose || unified.ty.has_dynamic(), "{v:?} as {:?}: {e}", unified.ty),
                }
            }
        }
    }

    #[test]
    fn unified_type_does_not_depend_on_the_order(types in vec(any_type(false), 2..4), by in 1usize..3) {
        let mut turned = types.clone();
        turned.rotate_left(by % types.len());
        prop_assert_eq!(unify(&types).map(|u| u.ty), unify(&turned).map(|u| u.ty), "{:?}", types);
    }

    #[test]
    fn conversion_of_an_unknown_value_includes_the_known_result(value in any_value(false), want in any_type(true)) {
        let unknown = Value::unknown(value.ty().clone());
        if let (Ok(early), Ok(late)) = (convert(&unknown, &want), convert(&value, &want)) {
            // If the map lacks an optional attribute of any type, the attribute is null of dynamic
            // type, as in go-cty.
            let late = convert(&late, early.ty()).unwrap();
            prop_assert_ne!(early.range().includes(&late), Some(false), "{:?} and {:?} as {:?}", early, late, want);
        }
        // An impossible conversion is reported at once, and only an impossible one.
        prop_assert!(convert(&unknown, &want).is_ok() || convert(&value, &want).is_err() || value.is_null(), "{:?} as {:?}", value, want);
    }

    #[test]
    fn set_keeps_each_element_once_in_any_insertion_order(ty in any_type(false), seed in any::<u64>(), n in 0usize..6) {
        let ty = if ty.has_dynamic() { Type::String } else { ty };
        let mut runner = proptest::test_runner::TestRunner::new_with_rng(
            ProptestConfig::default(),
            proptest::test_runner::TestRng::from_seed(proptest::test_runner::RngAlgorithm::ChaCha, &[seed.to_le_bytes(); 4].concat()),
        );
        let strategy = vec(value_of(ty.clone(), false), n);
        let elements = strategy.new_tree(&mut runner).unwrap().current();
        let set = Value::set(ty.clone(), elements.clone());
        let mut back = elements.clone();
        back.reverse();
        back.extend(elements.iter().cloned());
        prop_assert_eq!(&Value::set(ty.clone(), back), &set);
        prop_assert_eq!(&Value::set(ty, set.as_slice().unwrap().to_vec()), &set);
        for element in &elements {
            prop_assert_eq!(set.has_element(element).as_bool(), Some(true), "{:?} in {:?}", element, set);
            prop_assert_eq!(Path::root().index(element.clone()).apply(&set), Ok(element.clone()));
        }
        let all = set.as_slice().unwrap();
        for (i, a) in all.iter().enumerate() {
            prop_assert!(all[i + 1..].iter().all(|b| !a.raw_equals(b)), "twice in {:?}", set);
        }
    }

    #[test]
    fn types_and_paths_round_trip_through_json(ty in any_type(true), value in any_value(false)) {
        prop_assert_eq!(&Type::from_json(ty.to_json().as_bytes()).unwrap(), &ty);
        let mut paths = Vec::new();
        value.walk(&mut |path, _| {
            paths.push(path.clone());
            true
        });
        for path in paths {
            let json = path.to_json_value().unwrap();
            prop_assert_eq!(Path::from_json_value(&json).unwrap(), path, "{}", json);
        }
    }

    #[test]
    fn applying_any_path_returns_a_value_or_an_error_message(value in any_value(true).prop_flat_map(marked), of in any_value(true), step in any_value(true), at in any::<prop::sample::Index>()) {
        let mut paths = vec![Path::root()];
        of.walk(&mut |path, _| {
            paths.push(path.clone());
            true
        });
        let path = paths[at.index(paths.len())].index(step);
        match path.apply(&value) {
            Ok(found) => prop_assert!(value.marks().is_empty() || found.is_marked(), "marks on the way come along"),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn marks_round_trip_through_unmark_and_mark(value in any_value(true).prop_flat_map(marked)) {
        let (bare, marks) = value.clone().unmark_deep_with_paths();
        prop_assert!(!bare.contains_marked());
        prop_assert_eq!(bare.mark_with_paths(&marks), value);
    }

    #[test]
    fn equality_is_symmetric_and_reflexive(a in any_value(true), b in any_value(true)) {
        prop_assert_eq!(a.equals(&b), b.equals(&a));
        prop_assert!(a.raw_equals(&a));
        if a.is_wholly_known() {
            prop_assert_eq!(a.equals(&a).as_bool(), Some(true));
        } else {
            prop_assert_ne!(a.equals(&a).as_bool(), Some(false));
        }
    }

    #[test]
    fn identity_transform_changes_nothing(value in any_value(true).prop_flat_map(marked)) {
        let same: Result<Value, std::convert::Infallible> = value.transform(&mut |_, v| Ok(v));
        prop_assert_eq!(same.unwrap(), value.clone());
        let mut all = true;
        value.walk(&mut |path, v| {
            all &= path.apply(&value).is_ok_and(|found| found.clone().unmark().0.raw_equals(&v.clone().unmark().0));
            true
        });
        prop_assert!(all);
    }

    #[test]
    fn decoding_random_bytes_does_not_panic(bytes in vec(any::<u8>(), 0..200), ty in any_type(true)) {
        let _ = msgpack::decode(&bytes, &ty);
        let _ = json::decode(&bytes, &ty);
        let _ = json::decode_implied(&bytes);
        let _ = Type::from_json(&bytes);
    }

    #[test]
    fn decoding_damaged_bytes_does_not_panic(value in any_value(true), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let mut bytes = msgpack::encode(&value, value.ty()).unwrap();
        let i = at.index(bytes.len());
        bytes[i] = byte;
        if cut {
            bytes.truncate(i);
        }
        let _ = msgpack::decode(&bytes, value.ty());
        let _ = msgpack::decode(&bytes, &Type::Dynamic);
    }

    #[test]
    fn number_text_round_trips(n in any_number()) {
        let text = n.to_text();
        prop_assert_eq!(Number::parse_at(&text, n.precision()).unwrap().compare(&n), std::cmp::Ordering::Equal, "{}", text);
    }

    #[test]
    fn arithmetic_laws_hold(a in exact_number(), b in exact_number(), x in any::<i64>(), y in any::<i64>()) {
        if let (Ok(ab), Ok(ba)) = (a.add(&b), b.add(&a)) {
            prop_assert_eq!(ab.compare(&ba), std::cmp::Ordering::Equal);
        }
        prop_assert_eq!(a.compare(&b), b.compare(&a).reverse());
        prop_assert!(a.sub(&a).unwrap().is_zero());
        if y != 0 {
            let rest = Number::from(x).modulo(&Number::from(y)).unwrap();
            prop_assert_eq!(rest.to_i64(), Some(x.wrapping_rem(y)));
        }
    }
}

//! Tests of numbers: text, precision and arithmetic.

#![allow(clippy::unwrap_used)]

use cty::Number;

fn n(text: &str) -> Number {
    Number::parse(text).unwrap()
}

#[test]
fn numbers_print_their_shortest_text() {
    for (given, want) in [
        ("0.1", "0.1"),
        ("3.14159265359", "3.14159265359"),
        ("1e3", "1000"),
        ("1.50", "1.5"),
        ("-0", "-0"),
        ("9.999e+99", "9999".to_string().as_str()),
        (".5", "0.5"),
        ("1180591620717411303424", "1180591620717411303424"),
        ("0.000001", "0.000001"),
    ] {
        let want = if given.contains("e+99") {
            format!("9999{}", "0".repeat(96))
        } else {
            want.to_string()
        };
        assert_eq!(n(given).to_text(), want, "{given}");
    }
}

#[test]
fn decimal_literals_add_without_binary_artifacts() {
    assert_eq!(n("0.1").add(&n("0.2")).unwrap().to_text(), "0.3");
    let third = n("1").div(&n("3")).unwrap().to_text();
    assert_eq!(third.len(), 2 + 155, "{third}");
}

#[test]
fn precision_depends_on_the_source_of_the_number() {
    assert_eq!(
        Number::from(1).div(&Number::from(3)).unwrap().to_text(),
        "0.33333333333333333334"
    );
    assert_eq!(
        Number::from_f64(2f64.powi(100)).unwrap().to_text(),
        "1267650600228229400000000000000"
    );
    let product = Number::from(i64::MAX).mul(&Number::from(i64::MAX)).unwrap();
    assert_eq!(product.to_text(), "85070591730234615847396907784232501249");
    assert_eq!(product.precision(), 126);
}

#[test]
fn floats_round_trip_and_inexact_conversion_is_reported() {
    for f in [
        0.1,
        1.5,
        -2.75e300,
        5e-324,
        2.2250738585072014e-308,
        1.7976931348623157e308,
        4.94e-322,
        123456.789,
    ] {
        assert_eq!(Number::from_f64(f).unwrap().to_f64(), (f, true), "{f}");
    }
    assert_eq!(n("0.1").to_f64(), (0.1, false));
    assert_eq!(n("1e400").to_f64().0, f64::INFINITY);
    assert_eq!(n("1e-400").to_f64().0, 0.0);
}

#[test]
fn fractions_are_equal_when_their_text_is_equal() {
    assert_eq!(Number::from_f64(0.1).unwrap(), n("0.1"));
    assert_ne!(n("0.1"), n("0.10000000000000000000001"));
    assert_eq!(n("-0"), n("0"));
}

#[test]
fn floor_ceil_truncate_and_modulo_match_expected_values() {
    for (given, floor, ceil, cut) in [
        ("1.5", "1", "2", "1"),
        ("-1.5", "-2", "-1", "-1"),
        ("3", "3", "3", "3"),
        ("-0.2", "-1", "-0", "-0"),
    ] {
        assert_eq!(
            (n(given).floor().to_text(), n(given).ceil().to_text()),
            (floor.into(), ceil.into()),
            "{given}"
        );
        assert_eq!(n(given).truncated().to_text(), cut);
    }
    assert_eq!(n("10").modulo(&n("3")).unwrap().to_text(), "1");
    assert_eq!(n("-10").modulo(&n("3")).unwrap().to_text(), "-1");
    assert_eq!(n("5.5").modulo(&n("2")).unwrap().to_text(), "1.5");
}

#[test]
fn far_apart_operands_are_rounded_and_bad_number_text_is_rejected() {
    let huge = n("1e3000");
    assert_eq!(huge.add(&n("1")).unwrap().to_text(), huge.to_text());
    assert_eq!(huge.sub(&n("1")).unwrap().to_text(), huge.to_text());
    assert!(Number::parse("1e999999999").is_err());
    assert!(Number::parse("1e-999999999").unwrap().is_zero());
    for bad in [
        "", "-", ".", "1e", "0x10", "1_000", " 1", "NaN", "1e+", "--1",
    ] {
        assert!(Number::parse(bad).is_err(), "{bad}");
    }
}

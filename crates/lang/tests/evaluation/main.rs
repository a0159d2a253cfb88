//! Unknown, null and marked values in expressions and functions. Evaluation never panics on input
//! that parses.
#![allow(clippy::unwrap_used)]

mod expressions;
mod steps;

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::{Mark, Marks, Type, Value};
use lang::diag::Diagnostics;
use lang::eval::{Bindings, Scope, evaluate, evaluate_as};
use lang::source::SourceMap;
use lang::syntax::{Traversal, parse_expression};

/// Values of all difficult kinds.
fn names() -> BTreeMap<Arc<str>, Value> {
    let strings =
        |items: &[&str]| Value::list(Type::String, items.iter().map(Value::string).collect());
    let object = Value::object([
        ("a", Value::int(1)),
        ("b", strings(&["x", "y"])),
        ("c", Value::null(Type::Bool)),
    ]);
    [
        ("n", Value::int(3)),
        ("s", Value::string("text")),
        ("t", Value::bool(true)),
        ("l", strings(&["a", "b", "a"])),
        (
            "m",
            Value::map(Type::Number, [("k", Value::int(1)), ("z", Value::int(2))]),
        ),
        (
            "st",
            Value::set(Type::Number, vec![Value::int(2), Value::int(1)]),
        ),
        ("o", object.clone()),
        ("e", Value::empty_tuple()),
        ("nil", Value::null(Type::Dynamic)),
        ("nils", Value::null(Type::String)),
        ("nill", Value::null(Type::list(Type::String))),
        ("dyn", Value::dynamic()),
        ("un", Value::unknown(Type::Number)),
        (
            "us",
            Value::unknown(Type::String)
                .refine()
                .not_null()
                .string_prefix_full("ami-")
                .finish(),
        ),
        (
            "ul",
            Value::unknown(Type::list(Type::String))
                .refine()
                .not_null()
                .length_min(1)
                .length_max(2)
                .finish(),
        ),
        ("um", Value::unknown(Type::map(Type::String))),
        ("uo", Value::unknown(Type::object([("a", Type::String)]))),
        (
            "ulist",
            Value::list(Type::String, vec!["a".into(), Value::unknown(Type::String)]),
        ),
        ("ss", Value::string("secret").mark(Mark::Sensitive)),
        ("sn", Value::int(2).mark(Mark::Sensitive)),
        ("sl", strings(&["p", "q"]).mark(Mark::Sensitive)),
        ("so", object.mark(Mark::Ephemeral)),
        (
            "deep",
            Value::object([
                ("pw", Value::string("x").mark(Mark::Sensitive)),
                ("ok", Value::string("y")),
            ]),
        ),
        ("su", Value::unknown(Type::String).mark(Mark::Sensitive)),
    ]
    .into_iter()
    .map(|(name, value)| (Arc::from(name), value))
    .collect()
}

fn run(text: &str) -> (Value, Diagnostics) {
    let sources = SourceMap::new();
    let (expr, parsed) = parse_expression(text, "test", &sources);
    assert!(!parsed.has_errors(), "{text}: {parsed:?}");
    evaluate(&expr, &Bindings::new(names()))
}

fn value(text: &str) -> Value {
    let (value, diags) = run(text);
    assert!(!diags.has_errors(), "{text}: {diags:?}");
    value
}

#[test]
fn unknown_operands_give_unknown_results_of_the_right_type() {
    for (text, ty) in [
        ("un + 1", Type::Number),
        ("un > 1", Type::Bool),
        ("!(un > 1)", Type::Bool),
        ("-un", Type::Number),
        ("\"x${un}\"", Type::String),
        ("t ? un : 1", Type::Number),
        ("un > 1 ? \"a\" : \"b\"", Type::String),
        ("ul[0]", Type::String),
        ("um.any", Type::String),
        ("uo.a", Type::String),
        ("upper(us)", Type::String),
        ("length(ul)", Type::Number),
        ("split(\",\", us)", Type::list(Type::String)),
        ("keys(um)", Type::list(Type::String)),
        ("concat(ul, l)", Type::list(Type::String)),
        ("merge(um, um)", Type::map(Type::String)),
        ("tolist(ul)", Type::list(Type::Dynamic)),
        ("jsonencode(uo)", Type::String),
        ("ul[*]", Type::list(Type::String)),
        ("dyn.anything[0].else", Type::Dynamic),
        ("[for x in dyn : x]", Type::Dynamic),
        ("[for x in ul : x]", Type::Dynamic),
        ("element([1, \"a\"], un)", Type::Dynamic),
        ("try(un, \"other\")", Type::Dynamic),
        ("lookup(um, \"k\", \"d\")", Type::String),
        ("format(\"a-%s\", us)", Type::String),
        ("templatestring(us, {})", Type::Dynamic),
        ("sum([1, un])", Type::Number),
        ("contains(ulist, \"z\")", Type::Bool),
    ] {
        let got = value(text);
        assert!(!got.is_known(), "{text} is {got:?}");
        assert_eq!(*got.ty(), ty, "{text}");
    }
}

#[test]
fn refinements_of_unknown_values_decide_results() {
    for (text, want) in [
        ("startswith(us, \"ami-\")", true),
        ("startswith(us, \"xyz\")", false),
        ("us == \"other\"", false),
        ("us == null", false),
        ("length(ul) > 0", true),
        ("length(ul) > 3", false),
        ("length(us) > 3", true),
        ("un > 1 && false", false),
        ("true || un > 1", true),
        ("contains(ulist, \"a\")", true),
        ("length([un, dyn]) == 2", true),
        ("{ a = un }.a == null || true", true),
        ("can(un)", true),
    ] {
        let got = value(text);
        if text == "can(un)" {
            assert!(!got.is_known());
        } else {
            assert_eq!(got.as_bool(), Some(want), "{text} is {got:?}");
        }
    }
    assert_eq!(value("\"ami-x-${us}\"").range().string_prefix(), "ami-x-");
    assert_eq!(
        value("format(\"web-%s\", us)").range().string_prefix(),
        "web-"
    );
    assert!(value("un > 1 ? [\"a\"] : [\"b\"]").is_definitely_not_null());
}

#[test]
fn marks_propagate_through_expressions() {
    for text in [
        "ss",
        "\"x${ss}\"",
        "upper(ss)",
        "sn + 1",
        "sn > 1",
        "-sn",
        "sn > 1 ? 1 : 2",
        "t ? ss : \"plain\"",
        "sl[0]",
        "sl[*]",
        "[for x in sl : 1]",
        "[for x in l : x if sn > 5]",
        "{ for x in sl : x => 1 }",
        "{ (ss) = 1 }",
        "length(sl)",
        "join(\",\", sl)",
        "contains([ss], \"q\")",
        "md5(ss)",
        "deep == { pw = \"x\", ok = \"y\" }",
        "max(1, sn)",
        "max([1, sn]...)",
        "su == \"x\"",
        "jsonencode(deep)",
        "format(\"%s\", ss)",
        "templatestring(\"$${x}\", { x = ss })",
        "toset([ss, \"b\"])",
        "deep.pw",
        "sensitive(1)",
        "\"%{ if sn > 1 }a%{ endif }\"",
    ] {
        let got = value(text);
        assert!(got.has_mark(&Mark::Sensitive), "{text} is {got:?}");
    }
    for text in [
        "deep",
        "[ss]",
        "{ a = ss }",
        "tolist([ss])",
        "merge({ a = ss }, {})",
        "concat([ss], [1])",
        "values(deep)",
        "zipmap([\"a\"], [ss])",
    ] {
        let got = value(text);
        assert!(
            got.contains_marked() && !got.is_marked(),
            "{text} is {got:?}"
        );
    }
    for text in [
        "deep.ok",
        "nonsensitive(ss)",
        "[ss, 1][1]",
        "length([ss])",
        "{ a = ss, b = 1 }.b",
        "can(ss)",
        "issensitive(ss)",
        "keys(deep)",
    ] {
        let got = value(text);
        assert!(!got.contains_marked(), "{text} is {got:?}");
    }
    assert_eq!(*value("so.a").marks(), Marks::one(Mark::Ephemeral));
    assert!(value("ephemeralasnull(so)").is_null());
}

#[test]
fn evaluation_errors_have_the_reference_summaries() {
    for (text, summary) in [
        ("o.nothing", "Unsupported attribute"),
        ("nil.a", "Attempt to get attribute from null value"),
        ("nil[0]", "Attempt to index null value"),
        ("l[9]", "Invalid index"),
        ("l[nil]", "Invalid index"),
        ("m.nothing", "Missing map element"),
        ("st[0]", "Invalid index"),
        ("s.a", "Unsupported attribute"),
        ("nill[*]", "Splat of null value"),
        ("nil ? 1 : 2", "Null condition"),
        ("l ? 1 : 2", "Incorrect condition type"),
        ("t ? [1] : {}", "Inconsistent conditional result types"),
        ("1 + l", "Invalid operand"),
        ("1 + nil", "Operation failed"),
        ("!s", "Invalid operand"),
        ("[for x in 5 : x]", "Iteration over non-iterable value"),
        ("[for x in nil : x]", "Iteration over null value"),
        ("{ for x in l : x => 1 }", "Duplicate object key"),
        ("{ for x in l : nils => 1 }", "Invalid object key"),
        ("[for x in l : x if nil]", "Condition is null"),
        ("\"a${nil}\"", "Invalid template interpolation value"),
        ("\"a${l}\"", "Invalid template interpolation value"),
        ("{ (nil) = 1 }", "Null value as key"),
        ("{ ([]) = 1 }", "Incorrect key type"),
        ("{ o.a = 1 }", "Ambiguous attribute key"),
        ("nothing", "Unknown variable"),
        ("nothing(1)", "Call to unknown function"),
        ("other::nothing(1)", "Unknown function namespace"),
        ("core::nothing(1)", "Call to unknown function"),
        ("provider::x(1)", "Invalid function format"),
        ("upper()", "Not enough function arguments"),
        ("upper(1, 2)", "Too many function arguments"),
        ("upper([])", "Invalid function argument"),
        ("upper(nil)", "Invalid function argument"),
        ("upper(s...)", "Invalid expanding argument value"),
        ("try(nil.a, nil.b)", "Error in function call"),
        ("regex(\"x\", \"y\")", "Error in function call"),
        ("rsadecrypt(\"x\", \"y\")", "Invalid function argument"),
        ("convert(\"1\", \"x\")", "Call to unknown function"),
    ] {
        let (_, diags) = run(text);
        let found: Vec<&str> = diags.errors().map(|d| d.summary.as_str()).collect();
        assert_eq!(found, [summary], "{text}");
        assert!(
            diags
                .iter()
                .all(|d| d.subject.is_some() && !d.detail.is_empty()),
            "{text}"
        );
    }
}

#[test]
fn conversion_error_is_reported_at_the_expression() {
    let sources = SourceMap::new();
    let (expr, _) = parse_expression("[1, \"a\"]", "test", &sources);
    let (value, diags) = evaluate_as(&expr, &Type::list(Type::String), &Bindings::new(names()));
    assert!(diags.is_empty() && *value.ty() == Type::list(Type::String));
    let (value, diags) = evaluate_as(&expr, &Type::Number, &Bindings::new(names()));
    assert!(
        !value.is_known() && diags.len() == 1 && diags.iter().all(|d| d.subject == Some(expr.span))
    );
}

#[test]
fn random_and_time_functions_are_unknown_while_planning() {
    struct Planning;
    impl Scope for Planning {
        fn resolve(&self, traversal: &Traversal) -> Result<(Value, usize), Diagnostics> {
            Bindings::new(BTreeMap::new()).resolve(traversal)
        }
        fn planning(&self) -> bool {
            true
        }
        fn plan_timestamp(&self) -> Option<String> {
            Some("2026-01-02T03:04:05Z".into())
        }
    }
    let sources = SourceMap::new();
    let evaluated = |text: &str| evaluate(&parse_expression(text, "test", &sources).0, &Planning).0;
    for text in ["timestamp()", "uuid()", "bcrypt(\"x\")"] {
        let got = evaluated(text);
        assert!(!got.is_known() && *got.ty() == Type::String, "{text}");
        assert!(value(text).is_known(), "{text}");
    }
    assert_eq!(
        evaluated("plantimestamp()").as_str(),
        Some("2026-01-02T03:04:05Z")
    );
}

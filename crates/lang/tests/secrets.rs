//! Messages never quote sensitive or ephemeral values. Redaction follows the marks of values, so
//! even the shortest secret is covered. One row per message that quotes a value, then all functions
//! with secrets in all arguments.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::{Mark, Type, Value};
use lang::diag::Diagnostics;
use lang::eval::{Bindings, evaluate};
use lang::source::SourceMap;
use lang::syntax::parse_expression;

/// Three characters that no message contains.
const SECRET: &str = "q#7";

fn names(mark: &Mark) -> BTreeMap<Arc<str>, Value> {
    let secret = |text: &str| Value::string(text).mark(mark.clone());
    let list =
        |texts: &[&str]| Value::list(Type::String, texts.iter().map(Value::string).collect());
    let map =
        |texts: &[&str]| Value::map(Type::String, texts.iter().map(|t| (*t, Value::string(t))));
    [
        ("s", secret("q#7")),
        ("cidr", secret("10.0.q#7.0/8")),
        ("json", secret("{\"q#7\": q#7")),
        ("yaml", secret("q#7: [q#7\n - q#7: {")),
        ("tag", secret("!!int q#7")),
        ("csv", secret("q#7,q#7\na,b\n")),
        ("csv2", secret("a,b\n\"q#7\" q#7,\n")),
        ("verb", secret("%q#7 %!q#7 %[9]q#7")),
        ("date", secret("2026-q#7-01T00:00:00Z")),
        ("duration", secret("1q#7")),
        ("regex", secret("(q#7")),
        ("escape", secret("%q#7")),
        ("template", secret("${q#7} ${nothing_q#7} ${")),
        (
            "big",
            Value::number(cty::Number::parse("7770777").unwrap()).mark(mark.clone()),
        ),
        ("l", list(&["q#7", "q#7"]).mark(mark.clone())),
        ("m", map(&["q#7", "q#7x"]).mark(mark.clone())),
        (
            "deep",
            Value::object([
                (
                    "list",
                    Value::tuple(vec![secret("q#7"), secret("10.0.q#7.0/8")]),
                ),
                ("open", Value::string("x")),
            ]),
        ),
        ("inside", Value::map(Type::String, [("k", secret("q#7"))])),
        (
            "o",
            Value::object([("q#7", Value::object([("q#7", Value::bool(true))]))])
                .mark(mark.clone()),
        ),
        (
            "lo",
            Value::list(Type::map(Type::String), vec![map(&["q#7"])]).mark(mark.clone()),
        ),
        ("x", Value::string("x")),
        ("n", Value::int(10)),
        ("plain", list(&["a", "b"])),
    ]
    .into_iter()
    .map(|(name, value)| (Arc::from(name), value))
    .collect()
}

fn run(text: &str, names: &BTreeMap<Arc<str>, Value>) -> Diagnostics {
    evaluated(text, names).1
}

fn evaluated(text: &str, names: &BTreeMap<Arc<str>, Value>) -> (Value, Diagnostics) {
    let sources = SourceMap::new();
    let (expr, parsed) = parse_expression(text, "test", &sources);
    assert!(!parsed.has_errors(), "{text}: {parsed:?}");
    evaluate(&expr, &Bindings::new(names.clone()))
}

fn told(diags: &Diagnostics) -> bool {
    diags.iter().any(|d| {
        [SECRET, "q7", "7770777"]
            .iter()
            .any(|secret| d.summary.contains(secret) || d.detail.contains(secret))
    })
}

/// Failing expressions whose messages would quote a secret.
const ROWS: &[&str] = &[
    "{ for v in l : v => 1 }",
    "{ for v in plain : s => 1 }",
    "{ for k, v in m : v => parseint(v, 10) }",
    "[ for v in plain : parseint(s, 10) ]",
    "[ for v in l : parseint(v, 10) ]",
    "[ for v in l : [ for w in plain : cidrhost(v, 1) ] ]",
    "l[*].nothing",
    "[ for v in lo : tonumber(v[\"q#7\"]) ]",
    "deep.list[*].q7",
    "true ? o : { a = 1 }",
    "x ? o : { a = 1 }",
    "\"a${o}\"",
    "\"%{ for v in l }${parseint(v, 10)}%{ endfor }\"",
    "o[0]",
    "m[big]",
    "plain[s]",
    "plain[big]",
    "-s",
    "s + 1",
    "parseint(s, 10)",
    "parseint(\"z\", big)",
    "parseint(inside.k, 10)",
    "cidrsubnet(cidr, 1, 1)",
    "cidrsubnet(\"10.0.0.0/8\", big, 1)",
    "cidrsubnet(\"10.0.0.0/8\", 1, big)",
    "cidrsubnets(cidr, 1)",
    "cidrsubnets(\"10.0.0.0/8\", big)",
    "cidrhost(cidr, 1)",
    "cidrhost(\"10.0.0.0/30\", big)",
    "cidrnetmask(cidr)",
    "cidrcontains(\"10.0.0.0/8\", cidr)",
    "timeadd(date, \"1h\")",
    "timeadd(\"2026-01-01T00:00:00Z\", duration)",
    "timecmp(date, date)",
    "formatdate(\"YYYY\", date)",
    "formatdate(\"q#7\", date)",
    "formatdate(s, \"2026-01-01T00:00:00Z\")",
    "lookup({ a = 1 }, s)",
    "lookup(tomap({ a = 1 }), s)",
    "lookup(m, \"${s}y\")",
    "[ for v in l : lookup({ a = 1 }, v) ]",
    "file(s)",
    "filebase64(s)",
    "filesha256(s)",
    "filemd5(s)",
    "[ for v in l : file(v) ]",
    "templatefile(s, {})",
    "templatestring(template, {})",
    "templatestring(\"$${parseint(v, 10)}\", { v = s })",
    "templatestring(\"$${v}\", m)",
    "templatestring(\"$${v}\", { (s) = 1 })",
    "regexall(regex, \"x\")",
    "regex(regex, \"x\")",
    "replace(\"x\", \"/${regex}/\", \"y\")",
    "jsondecode(json)",
    "yamldecode(yaml)",
    "yamldecode(tag)",
    "csvdecode(csv)",
    "csvdecode(csv2)",
    "base64decode(s)",
    "[ for v in l : base64decode(v) ]",
    "base64gunzip(s)",
    "textdecodebase64(s, \"UTF-8\")",
    "textencodebase64(\"x\", s)",
    "urldecode(escape)",
    "uuidv5(s, \"x\")",
    "bcrypt(\"x\", big)",
    "format(verb, 1)",
    "format(\"%d\", s)",
    "formatlist(verb, plain)",
    "formatlist(\"%d\", l)",
    "tonumber(s)",
    "tobool(s)",
    "tonumber(inside.k)",
    "[ for v in l : tonumber(v) ]",
    "[ for k, v in m : tobool(k) ]",
    "tolist(o)",
    "tomap(deep)",
    "index(plain, s)",
    "transpose({ (s) = null })",
    "zipmap([s], [])",
    "provider::terraform::decode_tfvars(s)",
    "provider::terraform::encode_tfvars({ (s) = 1 })",
    "try(parseint(s, 10), file(s))",
    "one([s, s])",
];

#[test]
fn diagnostics_never_quote_a_short_secret() {
    for mark in [Mark::Sensitive, Mark::Ephemeral] {
        let names = names(&mark);
        let mut wrong = Vec::new();
        for text in ROWS {
            let diags = run(text, &names);
            if !diags.has_errors() {
                wrong.push(format!("{text} does not fail"));
            }
            if told(&diags) {
                wrong.push(format!(
                    "{text} tells: {:?}",
                    diags
                        .iter()
                        .map(|d| (&d.summary, &d.detail))
                        .collect::<Vec<_>>()
                ));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// Objects with a secret as an attribute name.
const KEYED: &[&str] = &[
    "o",
    "{ (s) = 1 }",
    "[{ (s) = 1 }]",
    "{ (\"${s}x\") = 1 }",
    "{ a = { (s) = 1 } }",
    "{ for v in [s] : v => 1 }",
    "{ for v in l : v => 1... }",
    "{ for k, v in m : k => v }",
    "{ for v in plain : v => v if s != v }",
    "[ for k, v in o : k ]",
    "[ for k, v in { (s) = 1 } : { (k) = v } ]",
    "keys(o)",
    "keys({ (s) = 1 })",
    "values({ a = { (s) = 1 } })",
    "merge({ a = 1 }, { (s) = 1 })",
    "merge({ (s) = 1 }, { a = 1 }).a",
    "zipmap([s], [1])",
    "zipmap([\"a\"], [{ (s) = 1 }])",
    "tomap({ (s) = 1 })",
    "tolist([{ (s) = 1 }])",
    "toset([{ (s) = 1 }])",
    "transpose({ a = [s] })",
    "transpose({ (s) = [\"a\"] })",
    "setproduct([{ (s) = 1 }], plain)",
    "flatten([[{ (s) = 1 }]])",
    "concat([{ (s) = 1 }], [])",
    "chunklist([{ (s) = 1 }], 1)",
    "lookup({ a = { (s) = 1 } }, \"a\", {})",
    "element([{ (s) = 1 }], 0)",
    "one([{ (s) = 1 }])",
    "coalesce({ (s) = 1 })",
    "try({ (s) = 1 }, 1)",
    "true ? { (s) = 1 } : null",
    "false ? { (s) = 1 } : {}",
    "x == \"x\" ? { (s) = 1 } : { (s) = 2 }",
    "[{ (s) = 1 }][*]",
    "jsonencode({ (s) = 1 })",
    "yamlencode({ (s) = 1 })",
    "jsondecode(jsonencode({ (s) = 1 }))",
    "yamldecode(yamlencode({ (s) = 1 }))",
    "csvdecode(\"${s}\\n1\")",
    "regex(\"(?P<${x}>.*)\", s)",
    "templatestring(\"$${jsonencode(v)}\", { v = { (s) = 1 } })",
    "defaults_of_nothing ? 1 : { (s) = 1 }",
    "provider::terraform::decode_tfvars(\"${x} = \\\"${s}\\\"\")",
    "provider::terraform::encode_tfvars({ a = { (s) = 1 } })",
    "provider::terraform::encode_expr({ (s) = 1 })",
    "{ (s) = 1 } == { (s) = 2 }",
    "contains([{ (s) = 1 }], { a = 1 })",
    "{ (s) = 1 }[s]",
    "m[*]",
];

/// An object has the marks of its keys, and so do all values made from it.
#[test]
fn written_values_never_show_secret_keys() {
    for mark in [Mark::Sensitive, Mark::Ephemeral] {
        let names = names(&mark);
        for text in KEYED {
            let (value, diags) = evaluated(text, &names);
            assert!(!told(&diags), "{text} tells: {diags:?}");
            let shown = lang::literal::format_value(&value, 0);
            assert!(!shown.contains(SECRET), "{text} shows {shown}");
        }
    }
}

/// Checks the rows: without marks, most messages quote the value.
#[test]
fn diagnostics_quote_values_that_are_not_secret() {
    let open: BTreeMap<Arc<str>, Value> = names(&Mark::Sensitive)
        .into_iter()
        .map(|(name, value)| (name, value.unmark_deep().0))
        .collect();
    let telling = ROWS.iter().filter(|text| told(&run(text, &open))).count();
    assert!(
        telling * 2 > ROWS.len(),
        "only {telling} of {} messages quote anything",
        ROWS.len()
    );
}

/// Calls every function with every combination of secret arguments. No error quotes them, inside a
/// `for` either.
#[test]
fn functions_never_quote_a_secret_argument() {
    let names = names(&Mark::Sensitive);
    let secrets = [
        "s", "cidr", "json", "yaml", "verb", "date", "duration", "regex", "escape", "template",
        "big", "l", "m", "deep", "o",
    ];
    let others = ["x", "n", "plain", "\"10.0.0.0/8\"", "{}"];
    let mut failed = 0;
    for function in
        lang::functions::names().filter(|name| !["templatefile", "bcrypt"].contains(name))
    {
        for secret in secrets {
            let mut calls = vec![
                format!("{function}({secret})"),
                format!("[for v in [{secret}] : {function}(v)]"),
            ];
            for other in others {
                calls.push(format!("{function}({secret}, {other})"));
                calls.push(format!("{function}({other}, {secret})"));
                calls.push(format!("{function}({other}, {other}, {secret})"));
                calls.push(format!(
                    "[for v in sensitive([{other}]) : {function}(v, {secret})]"
                ));
            }
            for call in calls {
                let (value, diags) = evaluated(&call, &names);
                failed += usize::from(diags.has_errors());
                let shown = lang::literal::format_value(&value, 0);
                assert!(
                    function == "nonsensitive" || !shown.contains(SECRET),
                    "{call} shows {shown}"
                );
                assert!(
                    !told(&diags),
                    "{call} tells: {:?}",
                    diags
                        .iter()
                        .map(|d| (&d.summary, &d.detail))
                        .collect::<Vec<_>>()
                );
            }
        }
    }
    assert!(failed > 1000, "{failed}");
}

/// Without secrets, messages quote the values.
#[test]
fn diagnostics_about_secrets_keep_detail_that_reveals_nothing() {
    let names = names(&Mark::Sensitive);
    for (text, says) in [
        (
            "tonumber(s)",
            "Invalid value for \"v\" parameter: cannot convert this sensitive string to number.",
        ),
        (
            "cidrhost(cidr, 1)",
            "Call to function \"cidrhost\" failed: the details are hidden because they contain a sensitive value.",
        ),
        (
            "[ for v in l : nothing(v) ]",
            "There is no function named \"nothing\".",
        ),
        (
            "[ for v in l : nothing ]",
            "There is no variable named \"nothing\".",
        ),
        (
            "[ for v in l : v.nothing ]",
            "Can't access attributes on a primitive-typed value (string).",
        ),
        (
            "[ for v in l : length(v, 1) ]",
            "Function \"length\" expects only 1 argument(s).",
        ),
        (
            "lookup({ a = 1 }, s)",
            "Invalid value for \"inputMap\" parameter: the given object has no attribute (sensitive value).",
        ),
        (
            "[ for v in l : v + 1 ]",
            "Unsuitable value for left operand: a number is required.",
        ),
        (
            "{ for v in l : v => 1 }",
            "The details are hidden because they contain a sensitive value.",
        ),
    ] {
        let diags = run(text, &names);
        let details: Vec<&str> = diags.iter().map(|d| d.detail.as_str()).collect();
        assert!(details.contains(&says), "{text}: {details:?}");
    }
}

//! Sealed values: no secret is readable in them, and they open with the same secrets only.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;
use cty::Mark;

fn present(secrets: &[(&str, &str)]) -> BTreeMap<Arc<str>, ResolvedSecret> {
    let all = secrets.iter().map(|(name, text)| {
        let from = Arc::from(format!("env:{name}"));
        let text = Arc::from(*text);
        (Arc::from(*name), ResolvedSecret { from, text })
    });
    all.collect()
}

#[test]
fn s1_15_sensitive_parts_are_sealed_and_open_with_the_same_secrets() {
    let secrets = present(&[("pin", "4711"), ("password", "correct-horse")]);
    let stage = StageSecrets::new(&secrets).unwrap();
    let sealer = stage.sealer.as_deref().unwrap();
    let value = Value::object([
        ("name", Value::string("visible")),
        (
            "password",
            Value::string("correct-horse").mark(Mark::Sensitive),
        ),
        ("derived", Value::string("c0ffee").mark(Mark::Sensitive)),
        ("url", Value::string("postgres://app:correct-horse@db")),
        ("encoded", Value::string("Y29ycmVjdC1ob3JzZQ==")),
        ("pin", Value::number(4711)),
        (
            "set",
            Value::set(
                Type::String,
                vec![Value::string("correct-horse"), Value::string("b")],
            ),
        ),
        ("none", Value::null(Type::String).mark(Mark::Sensitive)),
        ("later", Value::unknown(Type::String).mark(Mark::Sensitive)),
    ]);
    let (plain, marks) = value.unmark_deep_with_paths();
    let (sealed, parts) = sealer.seal(plain.clone(), &marks).unwrap();
    let shown = format!("{sealed:?}{parts:?}");
    for text in ["correct-horse", "Y29ycmVj", "c0ffee", "4711"] {
        assert!(!shown.contains(text), "{text}: {shown}");
    }
    assert!(shown.contains("visible"), "{shown}");
    let again = stage.recorded.unlock(&secrets).unwrap();
    let mut opened = sealed;
    for (path, text) in parts {
        let ty = path.apply(&opened).unwrap().ty().clone();
        let part = again.sealer.as_ref().unwrap().open(&text, &ty).unwrap();
        opened = opened.with_at(&path, part).unwrap();
    }
    assert!(opened.raw_equals(&plain), "{opened:?}");
}

#[test]
fn s1_15_changed_secret_is_named_without_its_value() {
    let stage = StageSecrets::new(&present(&[("a", "first-value"), ("b", "other")])).unwrap();
    let error = stage
        .recorded
        .unlock(&present(&[("a", "first-value"), ("b", "changed-value")]))
        .unwrap_err();
    assert_eq!(
        error,
        "the secret b (from env:b) has changed since the stage was planned"
    );
    let record = serde_json::to_string(&stage.recorded).unwrap();
    assert!(!record.contains("first-value"), "{record}");
    assert!(stage.recorded.unlock(&present(&[])).is_err());
}

#[test]
fn s1_15_bytes_and_texts_are_sealed_only_with_a_secret_in_them() {
    let stage = StageSecrets::new(&present(&[("a", "first-value")])).unwrap();
    let sealer = stage.sealer.as_deref();
    for (bytes, is_sealed) in [(&b"{\"x\":\"first-value\"}"[..], true), (b"{}", false)] {
        let text = bytes_text(bytes, sealer).unwrap();
        assert_eq!(text.starts_with(PREFIX), is_sealed);
        assert_eq!(text_bytes(&text, sealer).unwrap(), bytes);
        assert_eq!(text_bytes(&text, None).unwrap().is_empty(), is_sealed);
    }
    let mut json = serde_json::json!({"a": ["first-value", "x first-value y", "z"]});
    sealer.unwrap().redact_json(&mut json);
    let expected = serde_json::json!({"a": ["(sensitive)", "x (sensitive) y", "z"]});
    assert_eq!(json, expected);
}

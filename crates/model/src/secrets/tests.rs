use super::*;
use base64::Engine as _;
use cty::schema::Attribute;
use cty::{Marks, Type};

#[test]
fn sensitive_text_is_redacted_in_each_encoding() {
    let secrets = Secrets::default();
    let secret = "pa\"ss\\wörd-93";
    assert_eq!(secrets.redact("nothing is known"), "nothing is known");
    secrets.register(&Value::string(secret).mark(Mark::Sensitive));
    assert_eq!(
        secrets.redact(&format!("a {secret} b {secret}")),
        "a (sensitive) b (sensitive)"
    );
    let json = |text: &str| serde_json::to_string(text).unwrap();
    assert_eq!(
        secrets.redact(&json(&format!("x{secret}y"))),
        "\"x(sensitive)y\""
    );
    assert_eq!(
        secrets.redact(&json(&json(secret))),
        "\"\\\"(sensitive)\\\"\""
    );
    let encoded = |digits: fn(u8) -> String| {
        let one = |b: u8| {
            if b.is_ascii_alphanumeric() {
                char::from(b).to_string()
            } else {
                digits(b)
            }
        };
        secret.bytes().map(one).collect::<String>()
    };
    let query = encoded(|b| format!("%{b:02x}"));
    let spelled = [
        json(&json(&json(secret))),
        format!("{secret:?}"),
        format!("{:?}", format!("{secret:?}")),
        // Go's `%+q`, and an encoder that also escapes for HTML.
        r#""pa\"ss\\w\u00f6rd-93""#.to_owned(),
        r#""pa\"ss\\w\xc3\xb6rd\u002d93""#.to_owned(),
        query.clone(),
        encoded(|b| format!("%{b:02X}")),
        query.replace('%', "%25"),
        json(&format!("https://u:{query}@h")),
        hex::encode(secret),
        hex::encode_upper(secret),
    ];
    for text in &spelled {
        let hidden = secrets.redact(text).into_owned();
        assert!(
            hidden.contains(MASK) && !hidden.contains("93"),
            "{text}: {hidden}"
        );
    }
    for prefix in ["", "u:", "user:", "another:"] {
        let encoded =
            base64::engine::general_purpose::STANDARD.encode(format!("{prefix}{secret}:after"));
        let hidden = secrets.redact(&encoded).into_owned();
        assert!(hidden.contains(MASK), "{prefix}: {hidden}");
    }
}

#[test]
fn plus_signs_match_spaces_and_surrounding_text_is_kept() {
    let secrets = Secrets::default();
    secrets.register_text("two words+100%");
    assert_eq!(
        secrets.redact("q=two+words%2B100%25&n=a+b%20c"),
        "q=(sensitive)&n=a+b%20c"
    );
    assert_eq!(
        secrets.redact("q=two%20words+100%25\\n\\q"),
        "q=(sensitive)\\n\\q"
    );
}

#[test]
fn redaction_never_panics_and_keeps_all_other_text() {
    let secrets = Secrets::default();
    secrets.register_text("ß\"secret\\");
    for text in [
        "\\",
        "\\u",
        "\\u{",
        "\\u{}",
        "\\u{1234567}",
        "\\uD83D",
        "\\ud83d\\ude00",
        "\\x",
        "\\xg1",
        "%",
        "%2",
        "%zz",
        "+",
        "\\U0000",
        "\\u{10ffff}é",
    ] {
        assert_eq!(secrets.redact(text), text);
        assert_eq!(
            secrets.redact(&format!("{text}ß\"secret\\")),
            format!("{text}(sensitive)"),
            "{text}"
        );
    }
}

/// Many escapes cost only a bounded number of passes: the searched bytes grow with the length of
/// the text alone.
#[test]
fn number_of_decoded_readings_is_bounded() {
    let text = "\\\\%25+".repeat(1000);
    let (mut readings, mut bytes) = (0, 0);
    encodings::unescaped_forms(&text, &mut |read| {
        (readings, bytes) = (readings + 1, bytes + read.bytes.len())
    });
    assert!(
        readings <= 20 && bytes <= 20 * text.len(),
        "{readings} readings of {bytes} bytes"
    );
}

#[test]
fn longest_secret_with_a_common_prefix_is_redacted() {
    let secrets = Secrets::default();
    for text in ["token-1", "token-12345", "token-123"] {
        secrets.register_text(text);
    }
    assert_eq!(
        secrets.redact("token-12345 token-1234 token-1"),
        "(sensitive) (sensitive)4 (sensitive)"
    );
}

#[test]
fn short_and_non_sensitive_texts_are_not_redacted() {
    let secrets = Secrets::default();
    let open = Value::string("open-and-visible");
    let value = Value::object([
        ("open", open),
        ("pin", Value::string("12345").mark(Mark::Sensitive)),
    ]);
    secrets.register(&value);
    assert_eq!(
        secrets.redact("open-and-visible 12345"),
        "open-and-visible 12345"
    );
}

#[test]
fn numbers_long_lines_and_nested_members_of_sensitive_values_are_redacted() {
    let secrets = Secrets::default();
    let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----\n";
    let inner = Value::object([
        ("port", Value::int(54_321_987)),
        ("key", Value::string(key)),
    ]);
    secrets.register(&inner.mark(Mark::Sensitive));
    assert_eq!(secrets.redact("54321987"), MASK);
    assert_eq!(
        secrets.redact("line hkiG9w0BAQEFAASC."),
        "line (sensitive)."
    );
    assert_eq!(secrets.redact("-----BEGIN KEY-----"), "-----BEGIN KEY-----");
}

#[test]
fn sensitive_and_write_only_attributes_are_learned_from_the_schema() {
    let secrets = Secrets::default();
    let mut block = Block::default();
    block.attributes.insert(
        "password".into(),
        Attribute::optional(Type::String).sensitive(),
    );
    block.attributes.insert(
        "once".into(),
        Attribute {
            write_only: true,
            ..Attribute::optional(Type::String)
        },
    );
    block
        .attributes
        .insert("name".into(), Attribute::optional(Type::String));
    let value = ["password", "once", "name"].map(|n| (n, Value::string(format!("the-{n}"))));
    secrets.register_by_schema(&block, &Value::object(value).with_marks(&Marks::default()));
    assert_eq!(
        secrets.redact("the-password the-once the-name"),
        "(sensitive) (sensitive) the-name"
    );
}

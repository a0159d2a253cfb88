use super::*;
use base64::Engine as _;
use cty::schema::Attribute;
use cty::{Marks, Type};

#[test]
fn a_learnt_text_is_hidden_in_every_spelling() {
    let secrets = Secrets::default();
    let secret = "pa\"ss\\wörd-93";
    assert_eq!(secrets.hide("nothing is known"), "nothing is known");
    secrets.learn(&Value::string(secret).mark(Mark::Sensitive));
    assert_eq!(
        secrets.hide(&format!("a {secret} b {secret}")),
        "a (sensitive) b (sensitive)"
    );
    let json = |text: &str| serde_json::to_string(text).unwrap();
    assert_eq!(
        secrets.hide(&json(&format!("x{secret}y"))),
        "\"x(sensitive)y\""
    );
    assert_eq!(
        secrets.hide(&json(&json(secret))),
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
        secret.bytes().map(|b| format!("{b:02x}")).collect(),
        secret.bytes().map(|b| format!("{b:02X}")).collect(),
    ];
    for text in &spelled {
        let hidden = secrets.hide(text).into_owned();
        assert!(
            hidden.contains(MASK) && !hidden.contains("93"),
            "{text}: {hidden}"
        );
    }
    for prefix in ["", "u:", "user:", "another:"] {
        let encoded =
            base64::engine::general_purpose::STANDARD.encode(format!("{prefix}{secret}:after"));
        let hidden = secrets.hide(&encoded).into_owned();
        assert!(hidden.contains(MASK), "{prefix}: {hidden}");
    }
}

#[test]
fn blanks_may_be_plus_signs_and_what_stands_around_stays() {
    let secrets = Secrets::default();
    secrets.learn_text("two words+100%");
    assert_eq!(
        secrets.hide("q=two+words%2B100%25&n=a+b%20c"),
        "q=(sensitive)&n=a+b%20c"
    );
    assert_eq!(
        secrets.hide("q=two%20words+100%25\\n\\q"),
        "q=(sensitive)\\n\\q"
    );
}

#[test]
fn any_text_is_read_without_a_panic_and_nothing_but_the_secret_goes() {
    let secrets = Secrets::default();
    secrets.learn_text("ß\"secret\\");
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
        assert_eq!(secrets.hide(text), text);
        assert_eq!(
            secrets.hide(&format!("{text}ß\"secret\\")),
            format!("{text}(sensitive)"),
            "{text}"
        );
    }
}

/// Many escapes cost only a bounded number of passes: the searched bytes grow with the length of
/// the text alone.
#[test]
fn a_text_of_escapes_is_read_some_times_and_no_more() {
    let text = "\\\\%25+".repeat(1000);
    let (mut readings, mut bytes) = (0, 0);
    spellings::readings(&text, &mut |read| {
        (readings, bytes) = (readings + 1, bytes + read.bytes.len())
    });
    assert!(
        readings <= 20 && bytes <= 20 * text.len(),
        "{readings} readings of {bytes} bytes"
    );
}

#[test]
fn the_longest_of_those_that_begin_alike_is_hidden_whole() {
    let secrets = Secrets::default();
    for text in ["token-1", "token-12345", "token-123"] {
        secrets.learn_text(text);
    }
    assert_eq!(
        secrets.hide("token-12345 token-1234 token-1"),
        "(sensitive) (sensitive)4 (sensitive)"
    );
}

#[test]
fn short_texts_and_what_is_not_sensitive_stay() {
    let secrets = Secrets::default();
    let open = Value::string("open-and-visible");
    let value = Value::object([
        ("open", open),
        ("pin", Value::string("12345").mark(Mark::Sensitive)),
    ]);
    secrets.learn(&value);
    assert_eq!(
        secrets.hide("open-and-visible 12345"),
        "open-and-visible 12345"
    );
}

#[test]
fn numbers_lines_of_longer_texts_and_the_inside_of_what_is_marked_are_hidden() {
    let secrets = Secrets::default();
    let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----\n";
    let inner = Value::object([
        ("port", Value::int(54_321_987)),
        ("key", Value::string(key)),
    ]);
    secrets.learn(&inner.mark(Mark::Sensitive));
    assert_eq!(secrets.hide("54321987"), MASK);
    assert_eq!(secrets.hide("line hkiG9w0BAQEFAASC."), "line (sensitive).");
    assert_eq!(secrets.hide("-----BEGIN KEY-----"), "-----BEGIN KEY-----");
}

#[test]
fn a_schema_says_what_is_sensitive_or_write_only() {
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
    secrets.learn_by(&block, &Value::object(value).with_marks(&Marks::default()));
    assert_eq!(
        secrets.hide("the-password the-once the-name"),
        "(sensitive) (sensitive) the-name"
    );
}

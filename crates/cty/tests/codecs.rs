//! Tests of both encodings: recorded bytes, and malformed bytes.

use base64::Engine;
use cty::testing::{ty, value, vectors};
use cty::{Type, Value, json, msgpack};

#[test]
fn msgpack_bytes_match_go_cty_recordings() {
    let Some(rows) = vectors("cty_msgpack.jsonl") else {
        return;
    };
    let mut wrong = Vec::new();
    for row in &rows {
        let (go, ty) = (
            row["value"].as_str().unwrap(),
            ty(row["type"].as_str().unwrap()),
        );
        let given = value(go);
        let want = base64::engine::general_purpose::STANDARD
            .decode(row["bytes"].as_str().unwrap())
            .unwrap();
        match msgpack::encode(&given, &ty) {
            Ok(got) if got == want => {}
            other => wrong.push(format!("{go}\n  want {want:02x?}\n  got  {other:02x?}")),
        }
        let back = msgpack::decode(&want, &ty);
        // A list of dynamic values takes the type of its elements, on the wire as in memory.
        if back.as_ref() != Ok(&given) {
            wrong.push(format!("{go} decoded as {back:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
    println!("{} rows", rows.len());
}

#[test]
fn msgpack_and_json_match_the_plan_recordings() {
    for file in [
        "proposed_new.jsonl",
        "plan_valid.jsonl",
        "object_compatible.jsonl",
        "normalize_legacy.jsonl",
    ] {
        let Some(rows) = vectors(file) else { return };
        let mut seen = 0;
        for member in rows
            .iter()
            .filter_map(|r| r.as_object())
            .flat_map(|r| r.values())
        {
            let (Some(go), Some(bytes)) = (member["go"].as_str(), member["msgpack"].as_str())
            else {
                continue;
            };
            let given = value(go);
            let ty = Type::from_json_value(&member["type"]).unwrap();
            let want = base64::engine::general_purpose::STANDARD
                .decode(bytes)
                .unwrap();
            assert_eq!(msgpack::encode(&given, &ty).unwrap(), want, "{file}: {go}");
            assert_eq!(msgpack::decode(&want, &ty).unwrap(), given, "{file}: {go}");
            if let Some(text) = member.get("json") {
                assert_eq!(
                    &serde_json::from_str::<serde_json::Value>(&json::encode(&given, &ty).unwrap())
                        .unwrap(),
                    text,
                    "{go}"
                );
                assert_eq!(
                    json::decode_value(text, &ty).unwrap(),
                    given,
                    "{file}: {go}"
                );
            }
            seen += 1;
        }
        assert!(seen > rows.len(), "{file}: only {seen} values seen");
    }
}

#[test]
fn numbers_use_the_msgpack_and_json_forms_of_go_cty() {
    let bytes = |v: &Value| msgpack::encode(v, &Type::Number).unwrap();
    let n = |t: &str| Value::number(cty::Number::parse(t).unwrap());
    assert_eq!(bytes(&n("0.1")), b"\xa30.1");
    assert_eq!(bytes(&n("1.5")), [0xcb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        bytes(&n("1180591620717411303424")),
        b"\xb61180591620717411303424"
    );
    assert_eq!(bytes(&n("-33")), [0xd0, 0xdf]);
    assert_eq!(json::encode(&n("0.1"), &Type::Number).unwrap(), "0.1");
}

#[test]
fn decode_errors_name_the_path() {
    let ty = Type::object([("rules", Type::list(Type::object([("port", Type::Number)])))]);
    let bad = b"\x81\xa5rules\x92\x81\xa4port\x01\x81\xa4port\xc3";
    let error = msgpack::decode(bad, &ty).unwrap_err();
    assert_eq!(error.to_string(), ".rules[1].port: number is required");
    let error = json::decode(br#"{"rules":[{"port":1},{"prot":2}]}"#, &ty).unwrap_err();
    assert_eq!(
        error.to_string(),
        ".rules[1]: unsupported attribute \"prot\""
    );
    let error = msgpack::decode(b"\x80", &ty).unwrap_err();
    assert_eq!(
        error.to_string(),
        "an object with 1 attributes is required (0 given)"
    );
    assert!(msgpack::decode(b"\x91", &ty).is_err());
}

#[test]
fn decoder_rejects_oversize_and_deeply_nested_input() {
    // A block of refinements of more than 1024 bytes.
    let mut long = vec![0xc8, 0x04, 0x10, 0x0c];
    long.extend(std::iter::repeat_n(0x80, 1040));
    assert_eq!(
        msgpack::decode(&long, &Type::String).unwrap_err().message,
        "oversize unknown value refinement"
    );
    // Dynamic inside dynamic inside dynamic, without end.
    let mut nested: Vec<u8> = Vec::new();
    for _ in 0..10_000 {
        nested.extend_from_slice(b"\x92\xc4\x09\"dynamic\"");
    }
    nested.push(0xc0);
    assert!(
        msgpack::decode(&nested, &Type::Dynamic)
            .unwrap_err()
            .message
            .contains("nests deeper")
    );
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    assert!(json::decode_implied(deep.as_bytes()).is_err());
    // A list that declares four billion elements.
    assert!(msgpack::decode(&[0xdd, 0xff, 0xff, 0xff, 0xff], &Type::list(Type::String)).is_err());
    // Unknown keys are skipped; other extensions are plain unknown values.
    let refined =
        msgpack::decode(&[0xc7, 5, 0x0c, 0x82, 0x63, 0x90, 1, 0xc2], &Type::String).unwrap();
    assert_eq!(refined, Value::unknown(Type::String).refine_not_null());
    assert_eq!(
        msgpack::decode(&[0xc7, 3, 7, 1, 2, 3], &Type::String).unwrap(),
        Value::unknown(Type::String)
    );
    // A declared length does not cause an allocation.
    let claim = msgpack::decode(
        &[
            0xc7, 13, 0x0c, 0x83, 1, 0xc2, 5, 0xce, 0xff, 0xff, 0xff, 0xff, 6, 0xce, 0xff, 0xff,
            0xff,
        ],
        &Type::Bool,
    );
    assert!(claim.is_err());
}

#[test]
fn long_string_prefixes_are_cut_at_a_safe_boundary() {
    let long = "é".repeat(200) + "-tail";
    let unknown = Value::unknown(Type::String)
        .refine()
        .string_prefix_full(&long)
        .build()
        .unwrap();
    let bytes = msgpack::encode(&unknown, &Type::String).unwrap();
    let back = msgpack::decode(&bytes, &Type::String).unwrap();
    let prefix = back.range().string_prefix().to_string();
    assert!(
        prefix.len() <= 255 && long.starts_with(&prefix) && !prefix.is_empty(),
        "{prefix}"
    );
}

#[test]
fn encoding_rejects_marked_and_unknown_values() {
    let marked = Value::object([("a", Value::string("x").mark(cty::Mark::Sensitive))]);
    assert_eq!(
        msgpack::encode(&marked, marked.ty())
            .unwrap_err()
            .path
            .to_string(),
        ".a"
    );
    assert!(json::encode(&marked, marked.ty()).is_err());
    assert!(json::encode(&Value::unknown(Type::String), &Type::String).is_err());
}

#[test]
fn dynamic_json_includes_the_type() {
    let v = Value::object([("a", Value::tuple(vec![Value::string("<x>"), Value::int(1)]))]);
    let ty = Type::object([("a", Type::Dynamic)]);
    let text = json::encode(&v, &ty).unwrap();
    assert_eq!(
        text,
        r#"{"a":{"value":["\u003cx\u003e",1],"type":["tuple",["string","number"]]}}"#
    );
    assert_eq!(json::decode(text.as_bytes(), &ty).unwrap(), v);
    assert_eq!(cty::decode_dynamic_value(b"", b"", &ty).unwrap(), None);
    assert_eq!(
        cty::decode_dynamic_value(b"", text.as_bytes(), &ty).unwrap(),
        Some(v)
    );
}

#[test]
fn types_round_trip_through_json_and_reject_bad_json() {
    for text in [
        r#""string""#,
        r#"["list",["map","dynamic"]]"#,
        r#"["object",{"a":"string","b":["set","bool"]},["b"]]"#,
        r#"["tuple",["number",["object",{}]]]"#,
    ] {
        assert_eq!(Type::from_json(text.as_bytes()).unwrap().to_json(), text);
    }
    for bad in [
        "",
        "1",
        "\"text\"",
        "[]",
        "[\"list\"]",
        "[\"list\",\"string\",1]",
        "[\"object\",{\"a\":\"string\"},[\"b\"]]",
        "{}",
    ] {
        assert!(Type::from_json(bad.as_bytes()).is_err(), "{bad}");
    }
    let deep = format!("{}\"string\"{}", "[\"list\",".repeat(400), "]".repeat(400));
    assert!(Type::from_json(deep.as_bytes()).is_err());
}

//! Tests of state files: files of OpenTofu round-trip byte for byte, and errors name their reason.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use statefile::{Key, ReadError, StateFile};

/// State file with every field of the format, in OpenTofu's order and formatting.
const WHOLE: &str = r#"{
  "version": 4,
  "terraform_version": "1.12.6",
  "serial": 3,
  "lineage": "8d2b4e7e-0000-1111-2222-333344445555",
  "outputs": {
    "html": {
      "value": "\u003ca\u003e \u0026 é",
      "type": "string",
      "sensitive": true,
      "deprecated": "use other"
    },
    "none": {
      "value": [],
      "type": [
        "tuple",
        []
      ]
    }
  },
  "resources": [
    {
      "mode": "data",
      "type": "x_y",
      "name": "d",
      "provider": "provider[\"registry.opentofu.org/a/x\"]",
      "instances": [
        {
          "schema_version": 0,
          "attributes": {
            "b": 1000000000000000000000000000000,
            "a": 0.1
          },
          "sensitive_attributes": []
        }
      ]
    },
    {
      "module": "module.m[\"k\"]",
      "mode": "managed",
      "type": "x_y",
      "name": "z",
      "provider": "provider[\"registry.opentofu.org/a/x\"].west",
      "instances": [
        {
          "index_key": 0,
          "status": "tainted",
          "schema_version": 2,
          "attributes": {
            "id": "i"
          },
          "sensitive_attributes": [
            [
              {
                "type": "get_attr",
                "value": "id"
              }
            ]
          ],
          "private": "bnVsbA==",
          "dependencies": [
            "x_y.b",
            "data.x_y.d"
          ],
          "create_before_destroy": true,
          "skip_destroy": true,
          "identity": {
            "id": "i"
          },
          "identity_schema_version": 0
        },
        {
          "index_key": 10,
          "deposed": "0011aabb",
          "schema_version": 2,
          "attributes": {},
          "sensitive_attributes": []
        }
      ]
    },
    {
      "mode": "managed",
      "type": "x_y",
      "name": "keyed",
      "instances": [
        {
          "index_key": "a\u003cb",
          "provider": "provider[\"registry.opentofu.org/a/x\"].by[\"k\"]",
          "schema_version": 0,
          "attributes": {},
          "sensitive_attributes": []
        }
      ]
    }
  ],
  "check_results": [
    {
      "object_kind": "check",
      "config_addr": "check.c",
      "status": "pass",
      "objects": [
        {
          "object_addr": "check.c",
          "status": "pass"
        }
      ]
    }
  ]
}

"#;

fn read(text: &str) -> StateFile {
    StateFile::read(text.as_bytes()).unwrap().unwrap()
}

#[test]
fn state_file_round_trips_byte_for_byte() {
    assert_eq!(read(WHOLE).to_local(), WHOLE);
}

#[test]
fn single_line_form_has_the_same_content() {
    let line = read(WHOLE).to_line();
    assert_eq!(line.lines().count(), 1);
    assert!(line.ends_with("}\n") && !line.ends_with("\n\n"));
    assert_eq!(read(&line).to_local(), WHOLE);
}

#[test]
fn unknown_fields_are_preserved_in_place() {
    let text = r#"{"version":4,"terraform_version":"9.9.9","serial":1,"lineage":"l","outputs":{"o":{"value":1,"type":"number","new":[1]}},
        "resources":[{"mode":"managed","type":"a","name":"b","provider":"p","instances":[{"schema_version":0,"attributes":{},"sensitive_attributes":[],"fresh":{"x":null}}],"extra":true}],
        "check_results":null,"footer":"<end>"}"#;
    let file = read(text);
    assert_eq!(file.unknown_fields.0[0].0, "footer");
    assert_eq!(
        file.resources[0].instances[0].unknown_fields.0[0].0,
        "fresh"
    );
    let expected: String = text
        .replace("\n        ", "")
        .replace("<end>", "\\u003cend\\u003e");
    assert_eq!(file.to_line(), expected + "\n");
}

#[test]
fn resources_sort_by_module_mode_type_name_and_key() {
    let mut file = read(WHOLE);
    file.sort();
    let order: Vec<String> = file.resources.iter().map(ToString::to_string).collect();
    let expected = ["data.x_y.d", "x_y.keyed", "module.m[\"k\"].x_y.z"];
    assert_eq!(order, expected);
    let keys: Vec<&Key> = file.resources[2].instances.iter().map(|i| &i.key).collect();
    assert_eq!(keys, [&Key::Number(0), &Key::Number(10)]);
}

#[test]
fn empty_input_is_no_state_and_a_lone_newline_is_an_error() {
    assert!(StateFile::read(b"").unwrap().is_none());
    assert!(matches!(StateFile::read(b"\n"), Err(ReadError::Json(_))));
}

#[test]
fn unusable_state_file_is_rejected_with_reason_and_position() {
    let top = |more: &str| {
        format!(r#"{{"version":4,"terraform_version":"1.12.6","serial":1,"lineage":"l"{more}}}"#)
    };
    let one = |instances: &str| {
        top(&format!(
            r#","resources":[{{"module":"module.m","mode":"managed","type":"a","name":"b","provider":"p","instances":[{instances}]}}]"#
        ))
    };
    let cases = [
        ("[]".to_owned(), "it is not a JSON object"),
        ("{".to_owned(), "it is not a JSON object"),
        ("{}".to_owned(), "has no format version"),
        (r#"{"version":"4"}"#.to_owned(), "has no format version"),
        (r#"{"version":0}"#.to_owned(), "has no format version"),
        (
            r#"{"version":2}"#.to_owned(),
            "it has format version 2, written by versions before 0.12",
        ),
        (
            r#"{"version":5,"terraform_version":"2.0.0"}"#.to_owned(),
            "newer than the supported version 4; it was written by version 2.0.0",
        ),
        (
            r#"{"serial":1,"lineage":"l","encrypted_data":"x"}"#.to_owned(),
            "it is encrypted",
        ),
        (
            top(r#","resources":[{"mode":"odd","type":"a","name":"b"}]"#),
            "resource 1, \"mode\" is \"odd\"",
        ),
        (
            top(r#","resources":[{"mode":"managed","name":"b"}]"#),
            "resource 1, \"type\" is missing",
        ),
        (
            top(r#","outputs":{"o":{"type":"string"}}"#),
            "output \"o\", \"value\" is missing",
        ),
        (
            one(r#"{"status":"odd"}"#),
            "module.m.a.b, \"status\" is \"odd\"",
        ),
        (
            one(r#"{"index_key":1,"deposed":"1"}"#),
            "module.m.a.b[1], \"deposed\" is \"1\"",
        ),
        (
            one(r#"{"index_key":true}"#),
            "module.m.a.b, \"index_key\" is \"true\"",
        ),
        (
            one(r#"{"index_key":-1}"#),
            "module.m.a.b, \"index_key\" is \"-1\"",
        ),
        (
            one(r#"{"index_key":1e300}"#),
            "module.m.a.b, \"index_key\" is \"1e+300\"",
        ),
        (
            one(r#"{"index_key":1},{"index_key":1.5}"#),
            "it contains module.m.a.b[1] twice",
        ),
        (
            one(r#"{"sensitive_attributes":[[{"type":"get_item","value":"x"}]]}"#),
            "module.m.a.b, \"sensitive_attributes\" is",
        ),
        (
            one(r#"{"sensitive_attributes":[[{"value":"x"}]]}"#),
            "the \"type\" of a step is \"get_attr\" or \"index\"",
        ),
        (
            one(r#"{"sensitive_attributes":[[{"type":"get_attr","value":1}]]}"#),
            "the \"value\" of a \"get_attr\" step is a name",
        ),
        (
            one(r#"{"sensitive_attributes":[[{"type":"index","value":"k"}]]}"#),
            "the \"value\" of an \"index\" step is a key with its type",
        ),
        (
            one(r#"{"sensitive_attributes":[{"type":"get_attr","value":"x"}]}"#),
            "module.m.a.b, \"sensitive_attributes\": invalid type",
        ),
        (
            one(r#"{"sensitive_attributes":{}}"#),
            "module.m.a.b, \"sensitive_attributes\": invalid type",
        ),
        (
            one(r#"{"private":"?"}"#),
            "module.m.a.b, \"private\" is \"?\"",
        ),
        (
            one(r#"{"schema_version":"x"}"#),
            "module.m.a.b, \"schema_version\": invalid type",
        ),
        (
            one(r#"{"index_key":"k"},{"index_key":"k"}"#),
            "it contains module.m.a.b[\"k\"] twice",
        ),
        (
            one(r#"{"index_key":"k"},{"index_key":0}"#),
            "number keys and string keys",
        ),
        (
            top(r#","resources":[{"mode":"managed","type":"a","name":"b","instances":[{}]}]"#),
            "a.b, \"provider\" is missing",
        ),
    ];
    for (text, expected) in cases {
        let said = StateFile::read(text.as_bytes()).unwrap_err().to_string();
        assert!(said.contains(expected), "{text}: {said}");
    }
}

#[test]
fn fractional_index_key_is_truncated() {
    let text = |key: &str| {
        format!(
            r#"{{"version":4,"serial":1,"lineage":"l","resources":[{{"mode":"managed","type":"a","name":"b","provider":"p","instances":[{{"index_key":{key}}}]}}]}}"#
        )
    };
    for (key, whole) in [
        ("0.5", 0),
        ("-0.5", 0),
        ("1.0", 1),
        ("2.999", 2),
        ("3e0", 3),
    ] {
        let file = read(&text(key));
        assert_eq!(
            file.resources[0].instances[0].key,
            Key::Number(whole),
            "{key}"
        );
    }
}

#[test]
fn sensitive_paths_are_accepted_in_each_form() {
    for paths in [
        "null",
        "[]",
        "[null]",
        r#"[[{"type":"get_attr","value":"x"},{"type":"index","value":{"value":"k","type":"string"}}]]"#,
    ] {
        let text = format!(
            r#"{{"version":4,"serial":1,"lineage":"l","resources":[{{"mode":"managed","type":"a","name":"b","provider":"p","instances":[{{"sensitive_attributes":{paths}}}]}}]}}"#
        );
        read(&text);
    }
}

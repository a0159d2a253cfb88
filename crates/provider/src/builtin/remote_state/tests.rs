use super::*;

fn config(backend: &str, settings: Value, defaults: Value, workspace: Option<&str>) -> Value {
    Value::object([
        ("backend", Value::string(backend)),
        ("config", settings),
        ("defaults", defaults),
        ("outputs", Value::null(Type::Dynamic)),
        (
            "workspace",
            workspace.map_or(Value::null(Type::String), Value::string),
        ),
    ])
}

fn none() -> Value {
    Value::null(Type::Dynamic)
}

fn path(p: &str) -> Value {
    Value::object([("path", Value::string(p))])
}

#[tokio::test]
async fn remote_state_outputs_are_read_with_types_and_override_defaults() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = r#"{"version": 4, "serial": 1, "outputs": {"v": {"value": ["b", "a"], "type": ["set", "string"], "sensitive": true}}, "resources": []}"#;
    std::fs::write(folder.path().join("up.json"), text).expect("written");
    let defaults = Value::object([("v", Value::string("default")), ("w", Value::int(1))]);
    let answer = read(
        &config("local", path("./up.json"), defaults, None),
        folder.path(),
        FileEncryption::default(),
    )
    .await;
    assert_eq!(answer.diagnostics, []);
    let outputs = attr(&answer.state, "outputs");
    assert_eq!(
        attr(&outputs, "v"),
        Value::set(Type::String, vec![Value::string("a"), Value::string("b")])
    );
    assert_eq!(attr(&outputs, "w"), Value::int(1));
    std::fs::create_dir_all(folder.path().join("terraform.tfstate.d/blue")).expect("a folder");
    std::fs::write(
        folder
            .path()
            .join("terraform.tfstate.d/blue/terraform.tfstate"),
        text,
    )
    .expect("written");
    assert_eq!(
        read(
            &config("local", none(), none(), Some("blue")),
            folder.path(),
            FileEncryption::default(),
        )
        .await
        .diagnostics,
        []
    );
}

#[tokio::test]
async fn unreadable_remote_state_is_reported_with_a_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = [
        ("absent", None, "there is nothing in absent"),
        ("old", Some(r#"{"version": 3}"#), "version 3"),
        ("unversioned", Some("{}"), "no state version"),
        (
            "encrypted",
            Some(r#"{"encrypted_data": "x", "meta": {}}"#),
            "encrypted",
        ),
        ("broken", Some("{"), "cannot be read"),
        (
            "badtype",
            Some(r#"{"version": 4, "outputs": {"x": {"value": 1, "type": "bag"}}}"#),
            "output \"x\"",
        ),
    ];
    for (name, text, words) in rows {
        if let Some(text) = text {
            std::fs::write(folder.path().join(name), text).expect("written");
        }
        let config = config("local", path(name), none(), None);
        let answer = read(&config, folder.path(), FileEncryption::default()).await;
        assert!(answer.state.is_null(), "{name}");
        assert!(
            answer.diagnostics[0].detail.contains(words),
            "{name}: {}",
            answer.diagnostics[0].detail
        );
    }
    let answer = read(
        &config("local", path("/dev/zero"), none(), None),
        folder.path(),
        FileEncryption::default(),
    )
    .await;
    assert!(
        answer.diagnostics[0].detail.contains("not a regular file"),
        "{}",
        answer.diagnostics[0].detail
    );
}

#[test]
fn remote_state_configuration_is_validated_when_known() {
    let errors = |c: Value| {
        validate(&c)
            .into_iter()
            .map(|d| format!("{}", d.path.expect("a place")))
            .collect::<Vec<_>>()
    };
    assert_eq!(errors(config("consul", none(), none(), None)), [".backend"]);
    assert_eq!(
        errors(config(
            "local",
            Value::object([("bucket", Value::string("b"))]),
            none(),
            None
        )),
        [".config"]
    );
    assert_eq!(errors(config("local", path(""), none(), None)), [".config"]);
    assert_eq!(
        errors(config("local", Value::int(1), Value::int(2), None)),
        [".config", ".defaults"]
    );
    assert_eq!(
        errors(config("local", Value::unknown(Type::Dynamic), none(), None)),
        Vec::<String>::new()
    );
    assert_eq!(
        errors(config("local", path("x"), Value::empty_object(), None)),
        Vec::<String>::new()
    );
}

#[test]
fn data_source_name_omits_its_type() {
    for (address, name) in [
        ("data.terraform_remote_state.a", "a"),
        ("data.terraform_remote_state.a[4]", "a[4]"),
        ("module.m[1].data.terraform_remote_state.a", "m[1].a"),
        (
            "module.m.module.n.data.terraform_remote_state.a[\"x\"]",
            "m.module.n.a[\"x\"]",
        ),
    ] {
        assert_eq!(name_of(address), name);
    }
}

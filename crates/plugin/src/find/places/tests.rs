use super::super::methods::MethodKind;
use super::*;

fn around(folder: &Path, more: &[(&str, &str)]) -> Environment {
    let mut variables: HashMap<String, OsString> =
        HashMap::from([("HOME".into(), folder.join("home").into())]);
    variables.extend(
        more.iter()
            .map(|(k, v)| ((*k).to_owned(), OsString::from(v))),
    );
    Environment {
        variables,
        executable: None,
    }
}

#[test]
fn implied_mirror_directories_are_used_without_configuration() {
    let folder = tempfile::tempdir().expect("folder");
    let places = Places::gather(folder.path(), &around(folder.path(), &[])).expect("gathered");
    let paths: Vec<PathBuf> = places.mirrors.iter().map(|m| m.path.clone()).collect();
    assert_eq!(paths[0], folder.path().join("terraform.d/plugins"));
    assert_eq!(paths[1], folder.path().join("home/.terraform.d/plugins"));
    assert_eq!(
        paths[2],
        folder.path().join("home/.local/share/opentofu/plugins")
    );
    assert!(paths.contains(&PathBuf::from("/usr/share/terraform/plugins")));
    assert_eq!(places.workspace, folder.path().join(".terraform/providers"));
    assert!(places.warnings.is_empty());
}

#[test]
fn configuration_file_replaces_the_implied_mirrors() {
    let folder = tempfile::tempdir().expect("folder");
    let home = folder.path().join("home");
    std::fs::create_dir(&home).expect("made");
    let text = "plugin_cache_dir = \"$HOME/cache\"\nprovider_installation {\n  filesystem_mirror {\n    path = \"/m\"\n    include = [\"hashicorp/*\", \"example.com/*/*\"]\n    exclude = [\"hashicorp/aws\"]\n  }\n  network_mirror { url = \"https://example.com/\" }\n  dev_overrides { \"acme/x\" = \"/dev/x\" }\n  direct {}\n}\n";
    std::fs::write(home.join(".terraformrc"), text).expect("written");
    let places = Places::gather(folder.path(), &around(folder.path(), &[])).expect("gathered");
    assert_eq!(
        places
            .mirrors
            .iter()
            .map(Mirror::describe)
            .collect::<Vec<_>>(),
        [
            "filesystem mirror /m".to_owned(),
            format!("plugin cache {}", home.join("cache").display())
        ]
    );
    let serves = |text: &str| places.mirrors[0].serves(&text.parse().expect("address"));
    assert!(
        serves("registry.terraform.io/hashicorp/null")
            && serves("registry.opentofu.org/hashicorp/null")
            && serves("example.com/a/b")
    );
    assert!(
        !serves("registry.terraform.io/hashicorp/aws")
            && !serves("registry.terraform.io/acme/x")
            && !serves("example.org/hashicorp/null")
    );
    assert_eq!(
        places.overrides.get(&"acme/x".parse().expect("address")),
        Some(&PathBuf::from("/dev/x"))
    );
    let methods = places.methods.as_deref().unwrap_or_default();
    assert!(matches!(
        methods,
        [
            Method {
                kind: MethodKind::Filesystem(_),
                ..
            },
            Method {
                kind: MethodKind::Network {
                    trust_all: false,
                    ..
                },
                ..
            },
            Method {
                kind: MethodKind::Direct,
                ..
            },
        ]
    ));
    // `.tofurc` precedes `.terraformrc`, and the variable precedes both.
    std::fs::write(home.join(".tofurc"), "provider_installation {}").expect("written");
    let places = Places::gather(
        folder.path(),
        &around(folder.path(), &[("TF_PLUGIN_CACHE_DIR", "/c")]),
    )
    .expect("gathered");
    assert_eq!(
        places
            .mirrors
            .iter()
            .map(Mirror::describe)
            .collect::<Vec<_>>(),
        ["plugin cache /c"]
    );
}

#[test]
fn missing_configuration_file_is_a_warning_and_a_damaged_one_an_error() {
    let folder = tempfile::tempdir().expect("folder");
    let gather = |file: &str| {
        Places::gather(
            folder.path(),
            &around(folder.path(), &[("TF_CLI_CONFIG_FILE", file)]),
        )
    };
    let places = gather("none.tfrc").expect("gathered");
    assert!(
        places.warnings[0].contains("none.tfrc") && places.warnings[0].contains("does not exist")
    );
    assert!(!places.mirrors.is_empty(), "the implied ones");
    for (text, what) in [
        (
            "provider_installation {\n  warp {}\n}",
            "line 2: unknown installation method `warp`",
        ),
        (
            "provider_installation { filesystem_mirror {} }",
            "requires `path`",
        ),
        (
            "provider_installation { filesystem_mirror { path = \"/a\" include = \"x\" } }",
            "list of strings",
        ),
        (
            "provider_installation { dev_overrides { \"a/b/c/d\" = \"/x\" } }",
            "not a provider address",
        ),
        ("x = ", "has a syntax error"),
    ] {
        std::fs::write(folder.path().join("rc"), text).expect("written");
        let error = gather("rc").expect_err(text).to_string();
        assert!(error.contains(what), "{error}");
    }
    std::fs::write(
        folder.path().join("rc.json"),
        r#"{"provider_installation":{"filesystem_mirror":{"path":"m"}}}"#,
    )
    .expect("written");
    assert_eq!(
        gather("rc.json").expect("gathered").mirrors[0].path,
        folder.path().join("m")
    );
}

#[test]
fn reattach_variable_describes_external_processes() {
    let text = r#"{"registry.terraform.io/hashicorp/time":{"Protocol":"grpc","ProtocolVersion":6,"Pid":7,"Test":true,"Addr":{"Network":"unix","String":"/tmp/p"}},"a/b":{"Addr":{"Network":"tcp","String":"127.0.0.1:1"}}}"#;
    let all = reattach(text).expect("read");
    let time = &all[&"registry.terraform.io/hashicorp/time"
        .parse()
        .expect("address")];
    assert_eq!((time.protocol, time.pid, time.test), (6, Some(7), true));
    assert_eq!(all[&"a/b".parse().expect("address")].protocol, 5);
    for wrong in [
        "{",
        r#"{"a/b":{}}"#,
        r#"{"a/b":{"Protocol":"netrpc","Addr":{"Network":"unix","String":"/x"}}}"#,
        r#"{"a/b":{"Addr":{"Network":"x","String":"/x"}}}"#,
    ] {
        assert!(
            reattach(wrong)
                .expect_err(wrong)
                .to_string()
                .starts_with("TF_REATTACH_PROVIDERS is invalid")
        );
    }
}

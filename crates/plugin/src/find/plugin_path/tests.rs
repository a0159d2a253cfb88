//! Directories of the plugin path, and the files in them that are plugins.

use super::*;

fn put(root: &Path, path: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(&path, "#!/bin/sh\n").expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path, mode).expect("executable");
}

fn around(pairs: &[(&str, &str)]) -> Environment {
    let variables = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).into()));
    Environment {
        variables: variables.collect(),
        executable: None,
    }
}

#[test]
fn s2_01_s2_03_plugin_path_variables_apply_in_order_or_default_roots_are_used() {
    let roots = |pairs: &[(&str, &str)]| {
        let all = plugin_roots(&around(pairs)).into_iter();
        all.map(|p| p.display().to_string()).collect::<Vec<_>>()
    };
    let home = ("HOME", "/h");
    assert_eq!(
        roots(&[home]),
        [
            "/h/.bluelink/engine/plugins/bin",
            "/h/.celerity/deploy-engine/plugins/bin"
        ]
    );
    let celerity = ("CELERITY_DEPLOY_ENGINE_PLUGIN_PATH", "/a:${HOME}/b");
    assert_eq!(roots(&[home, celerity]), ["/a", "/h/b"]);
    let bluelink = ("BLUELINK_DEPLOY_ENGINE_PLUGIN_PATH", "/c:/a");
    assert_eq!(roots(&[home, celerity, bluelink]), ["/c", "/a", "/h/b"]);
}

#[test]
fn s2_02_s2_04_s2_05_plugins_in_the_expected_layout_are_found_and_others_rejected() {
    let folder = tempfile::tempdir().expect("folder");
    let root = folder.path().join("bin");
    for path in [
        "providers/bluelink/aws/1.9.0/plugin",
        "providers/bluelink/aws/1.10.0/plugin",
        "providers/registry.example.com/acme/azure/0.1.0/plugin",
        "transformers/bluelink/run/1.0.0/plugin",
        "providers/bluelink/plugin",
        "providers/a/b/c/d/e/plugin",
        "providers/bluelink/gcp/1.0.0/plugin.exe",
        "things/bluelink/aws/1.0.0/plugin",
        "bluelink/installed/2.0.0/plugin",
        "bluelink/unknown/2.0.0/plugin",
    ] {
        put(&root, path);
    }
    std::os::unix::fs::symlink(root.join("providers"), root.join("linked")).expect("linked");
    let manifest =
        r#"{"plugins": {"registry.bluelink.dev/bluelink/installed": {"type": "provider"}}}"#;
    std::fs::write(folder.path().join("manifest.json"), manifest).expect("written");
    let seen = PluginPath::read(&[root.clone(), folder.path().join("nowhere")]);
    let named = |d: &Discovered| format!("{} {} {}", d.kind.word(), d.id, d.version);
    assert_eq!(
        seen.plugins.iter().map(named).collect::<Vec<_>>(),
        [
            "provider bluelink/installed 2.0.0",
            "provider bluelink/aws 1.10.0",
            "provider bluelink/aws 1.9.0",
            "provider registry.example.com/acme/azure 0.1.0",
            "transformer bluelink/run 1.0.0",
        ]
    );
    let rejected = |part: &str| {
        let found = seen.rejected.iter().find(|(p, _)| p.ends_with(part));
        found.map(|(_, why)| why.as_str()).unwrap_or_default()
    };
    assert_eq!(seen.rejected.len(), 6, "{:#?}", seen.rejected);
    assert!(
        rejected("providers/bluelink/plugin")
            .starts_with("the file is 2 directories below the plugin path")
    );
    assert!(
        rejected("e/plugin").is_empty()
            && rejected("c/d/e").starts_with("more than 5 directories deep")
    );
    assert!(rejected("plugin.exe").contains("must be named exactly `plugin`"));
    assert!(rejected("things/bluelink/aws/1.0.0/plugin").contains("neither the `providers`"));
    assert!(rejected("linked").contains("not followed"));
    assert!(rejected("unknown/2.0.0/plugin").contains("manifest.json"));
    let newest = seen.matching(PluginKind::Provider, |d| d.id == "bluelink/aws");
    assert_eq!(
        newest[0].version, "1.10.0",
        "and not 1.9.0, which is greater as a text"
    );
    let address = newest[0].address().expect("one").to_string();
    assert_eq!(address, "registry.bluelink.dev/bluelink/aws");
}

//! Tests of the search for plugins on the plugin path, and of the reports about unusable ones.

use crate::workspace::{HEAD, TestWorkspace, USUAL};

const BOX: &str = "resource \"fake_box\" \"a\" {\n  name = \"a\"\n}\n";

#[test]
fn newest_version_is_used_unless_another_is_required_and_all_are_listed() {
    let bench = TestWorkspace::empty(&format!("{HEAD}{BOX}"));
    for version in ["1.9.0", "1.10.0", "nightly"] {
        bench.install(&format!("providers/bluelink/fake/{version}"));
    }
    bench.install("transformers/bluelink/run/0.9.0");
    bench.install("transformers/bluelink/run/1.0.0");
    bench.install("providers/bluelink/fake");
    let shown = bench.run(&["plugins"]).expect(0).stdout;
    let root = bench.plugin_path().display().to_string();
    for line in [
        format!(
            "registry.bluelink.dev/bluelink/fake from plugin path {root}: newest of 3 versions, preferred to 1.9.0"
        ),
        "provider bluelink/fake 1.10.0: used".to_owned(),
        format!("provider bluelink/fake 1.9.0: shadowed by 1.10.0 in {root}"),
        "transformer bluelink/run 1.0.0: launched; a configuration cannot use transformers"
            .to_owned(),
        format!("transformer bluelink/run 0.9.0: shadowed by 1.0.0 in {root}"),
        format!(
            "rejected: {root}/providers/bluelink/fake/plugin: the file is 3 directories below the plugin path"
        ),
    ] {
        assert!(shown.contains(&line), "{line}\nis not in\n{shown}");
    }
    let pinned = HEAD.replace(
        "\"bluelink/fake\"",
        "\"bluelink/fake\", version = \"~> 1.9.0\"",
    );
    bench.workspace.write("main.tf", &format!("{pinned}{BOX}"));
    let (run, plugin) = bench.plugin();
    let result = run.expect(0).result();
    assert_eq!(plugin["found"]["version"], "1.9.0");
    assert_eq!(
        result["plugin_path"]["rejected"][0]["path"],
        format!("{root}/providers/bluelink/fake/plugin")
    );
    let none = HEAD.replace(
        "\"bluelink/fake\"",
        "\"bluelink/fake\", version = \"~> 3.0\"",
    );
    bench.workspace.write("main.tf", &format!("{none}{BOX}"));
    let refused = bench.run(&["stage"]);
    assert_ne!(refused.code, Some(0));
    assert!(
        refused
            .stderr
            .contains("the plugin path: 1.10.0, 1.9.0, nightly, not allowed by ~> 3.0"),
        "{refused:#?}"
    );
}

#[test]
fn version_that_the_constraint_refuses_gets_a_remedy_for_the_plugin_path() {
    let bench = TestWorkspace::with_plugin(BOX);
    let none = HEAD.replace(
        "\"bluelink/fake\"",
        "\"bluelink/fake\", version = \"~> 3.0\"",
    );
    bench.workspace.write("main.tf", &format!("{none}{BOX}"));
    for command in ["stage", "doctor"] {
        let run = bench.run(&[command]);
        assert_ne!(run.code, Some(0), "{run:#?}");
        let said = format!("{}{}", run.stdout, run.stderr);
        // Output lines may be wrapped.
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "1.0.0, not allowed by ~> 3.0",
            "change the version constraint in required_providers",
        ] {
            assert!(said.contains(part), "{command}: {part}: {run:#?}");
        }
        for wrong in ["flightdeck init", "terraform-provider-fake"] {
            assert!(!said.contains(wrong), "{command}: {wrong}: {run:#?}");
        }
    }
}

#[test]
fn directories_of_the_plugin_path_that_do_not_exist_are_named() {
    let mut bench = TestWorkspace::empty(&format!("{HEAD}{BOX}"));
    let variable = "BLUELINK_DEPLOY_ENGINE_PLUGIN_PATH";
    let list = format!("/nowhere/a:{}:/nowhere/b", bench.plugin_path().display());
    bench.set(variable, &list);
    let refused = bench.run(&["stage"]);
    assert_ne!(refused.code, Some(0));
    let line = "the plugin path, /nowhere/a, /nowhere/b: no such directory";
    assert!(refused.stderr.contains(line), "{refused:#?}");
    bench.install(USUAL);
    bench.run(&["stage"]).expect(0);
    let said = bench.run(&["doctor"]).stdout;
    for root in ["/nowhere/a", "/nowhere/b"] {
        let line = format!("{variable} names {root}, which does not exist");
        assert!(said.contains(&line), "{said}");
    }
    let there = format!("names {}", bench.plugin_path().display());
    assert!(!said.contains(&there), "{said}");
}

#[test]
fn all_variables_and_default_directories_of_both_product_names_are_searched() {
    let mut bench = TestWorkspace::with_plugin(BOX);
    let root = bench.plugin_path().display().to_string();
    bench.unset("BLUELINK_DEPLOY_ENGINE_PLUGIN_PATH");
    bench.set(
        "CELERITY_DEPLOY_ENGINE_PLUGIN_PATH",
        &format!("/nowhere:{root}"),
    );
    bench.stage().expect(0);
    bench.unset("CELERITY_DEPLOY_ENGINE_PLUGIN_PATH");
    assert_ne!(bench.stage().code, Some(0), "it lies nowhere now");
    for place in [
        ".bluelink/engine/plugins/bin",
        ".celerity/deploy-engine/plugins/bin",
    ] {
        let usual = bench.workspace.path().with_file_name(place);
        std::fs::create_dir_all(usual.parent().unwrap()).unwrap();
        // The directory itself may be a symbolic link; its contents may not.
        std::os::unix::fs::symlink(bench.plugin_path(), &usual).unwrap();
        bench.stage().expect(0);
        std::fs::remove_file(usual).unwrap();
    }
}

#[test]
fn plugin_id_may_have_a_host_and_types_start_with_its_last_part() {
    let bench = TestWorkspace::empty(
        "terraform {\n  required_providers {\n    azure = { source = \"registry.example.com/acme/azure\" }\n  }\n}\nresource \"azure_box\" \"a\" {\n  name = \"a\"\n}\n",
    );
    let place = "providers/registry.example.com/acme/azure/0.1.0";
    bench.install(place);
    let id = bench.plugin_path().join(place).join("id");
    std::fs::write(id, "registry.example.com/acme/azure\n").unwrap();
    bench.deploy().expect(0);
    let state = bench.workspace.read("terraform.tfstate");
    assert!(
        state.contains("provider[\\\"registry.example.com/acme/azure\\\"]"),
        "{state}"
    );
}

#[test]
fn unique_plugin_is_used_without_required_providers() {
    let bench = TestWorkspace::empty(BOX);
    bench.install(USUAL);
    bench.deploy().expect(0);
    let again = bench.stage().expect(0);
    assert_eq!(
        crate::workspace::change_counts(&again),
        "",
        "the state is of the same provider"
    );
    bench.install("providers/somebody/fake/9.0.0");
    let refused = bench.run(&["stage"]);
    assert_ne!(refused.code, Some(0));
    assert!(
        refused
            .stderr
            .contains("match; set the source in required_providers"),
        "{refused:#?}"
    );
}

#[test]
fn init_ignores_plugins_on_the_plugin_path() {
    let bench = TestWorkspace::with_plugin(BOX);
    let run = bench.run(&["init"]).expect(0);
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(
        said.contains("Providers are on the plugin path") && said.contains("bluelink/fake"),
        "{said}"
    );
    bench.deploy().expect(0);
}

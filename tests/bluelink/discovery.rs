//! Tests of the search for plugins on the plugin path, and of the reports about unusable ones.

use crate::bench::{Bench, HEAD, USUAL};

const BOX: &str = "resource \"fake_box\" \"a\" {\n  name = \"a\"\n}\n";

#[test]
fn the_newest_version_is_taken_unless_another_is_asked_for_and_the_rest_is_shown() {
    let bench = Bench::empty(&format!("{HEAD}{BOX}"));
    for version in ["1.9.0", "1.10.0", "nightly"] {
        bench.install(&format!("providers/bluelink/fake/{version}"));
    }
    bench.install("transformers/bluelink/run/0.9.0");
    bench.install("transformers/bluelink/run/1.0.0");
    bench.install("providers/bluelink/fake");
    let shown = bench.run(&["plugins"]).expect(0).stdout;
    let root = bench.root().display().to_string();
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
    let bench = Bench::new(BOX);
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
    let mut bench = Bench::empty(&format!("{HEAD}{BOX}"));
    let variable = "BLUELINK_DEPLOY_ENGINE_PLUGIN_PATH";
    let list = format!("/nowhere/a:{}:/nowhere/b", bench.root().display());
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
    let there = format!("names {}", bench.root().display());
    assert!(!said.contains(&there), "{said}");
}

#[test]
fn both_families_of_variables_and_of_usual_places_are_searched() {
    let mut bench = Bench::new(BOX);
    let root = bench.root().display().to_string();
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
        std::os::unix::fs::symlink(bench.root(), &usual).unwrap();
        bench.stage().expect(0);
        std::fs::remove_file(usual).unwrap();
    }
}

#[test]
fn an_id_may_have_a_host_and_the_types_begin_with_its_last_part() {
    let bench = Bench::empty(
        "terraform {\n  required_providers {\n    azure = { source = \"registry.example.com/acme/azure\" }\n  }\n}\nresource \"azure_box\" \"a\" {\n  name = \"a\"\n}\n",
    );
    let place = "providers/registry.example.com/acme/azure/0.1.0";
    bench.install(place);
    let id = bench.root().join(place).join("id");
    std::fs::write(id, "registry.example.com/acme/azure\n").unwrap();
    bench.deploy().expect(0);
    let state = bench.workspace.read("terraform.tfstate");
    assert!(
        state.contains("provider[\\\"registry.example.com/acme/azure\\\"]"),
        "{state}"
    );
}

#[test]
fn a_plugin_is_enough_where_nobody_says_which_provider_is_meant_and_none_other_has_the_name() {
    let bench = Bench::empty(BOX);
    bench.install(USUAL);
    bench.deploy().expect(0);
    let again = bench.stage().expect(0);
    assert_eq!(
        crate::bench::counts(&again),
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
fn init_leaves_alone_what_lies_on_the_plugin_path() {
    let bench = Bench::new(BOX);
    let run = bench.run(&["init"]).expect(0);
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(
        said.contains("Providers are on the plugin path") && said.contains("bluelink/fake"),
        "{said}"
    );
    bench.deploy().expect(0);
}

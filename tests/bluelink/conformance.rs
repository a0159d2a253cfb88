//! Tests of `plugin conform` with a Bluelink plugin, by its id and by its path.

use crate::workspace::TestWorkspace;

#[test]
fn plugin_of_the_plugin_path_passes_by_its_id_and_by_its_path() {
    let bench = TestWorkspace::with_plugin("");
    let path = bench.file("plugin");
    for name in ["bluelink/fake", path.to_str().unwrap()] {
        let run = bench.run(&["plugin", "conform", name, "--yes", "--json"]);
        assert_eq!(run.code, Some(0), "{run:#?}");
        let report = &run.result()["report"];
        assert_eq!(report["dialect"], "bluelink1.0");
        let types = report["types"].as_array().unwrap();
        assert!(types.len() > 1, "{report:#}");
        for of in types {
            let checks = of["checks"].as_array().unwrap();
            for id in [
                "create",
                "read",
                "no-op-plan",
                "import",
                "replace",
                "destroy",
                "read-after-destroy",
            ] {
                let check = checks.iter().find(|check| check["id"] == id).unwrap();
                assert_eq!(check["status"], "pass", "{of:#}");
            }
        }
    }
}

//! Tests of `doctor`: each problem is reported with its remedy, safe fixes are applied, and nothing
//! else changes.

use crate::orphaned_process::{KillGroupOnDrop, record_as_newest_launch, start_orphan};
use crate::support::{Run, Workspace};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

const PLAIN: &str = "resource \"terraform_data\" \"a\" { input = \"one\" }\n";

fn findings(run: &Run) -> Vec<Value> {
    run.result()["findings"].as_array().unwrap().clone()
}

/// The finding of an area whose text contains `words`.
fn of<'f>(found: &'f [Value], area: &str, words: &str) -> &'f Value {
    let fits = |f: &&Value| f["area"] == area && f["text"].as_str().unwrap().contains(words);
    let one = found.iter().find(fits);
    one.unwrap_or_else(|| panic!("{area}: {words}: {found:#?}"))
}

/// Problems, except those of the machine that runs the tests.
fn problems(found: &[Value]) -> Vec<&Value> {
    let ours = |f: &&Value| f["level"] != "fine" && f["area"] != "machine";
    found.iter().filter(ours).collect()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn healthy_workspace_has_no_findings_and_is_unchanged() {
    let w = Workspace::new(&[("main.tf", PLAIN)]);
    let run = w.run(&["doctor", "--json"]).expect(0);
    let found = findings(&run);
    assert_eq!(problems(&found), Vec::<&Value>::new());
    of(&found, "workspace", "1 module with 1 resource block");
    of(&found, "record", "no store yet");
    of(&found, "state", "no state yet");
    let names: Vec<_> = std::fs::read_dir(w.path()).unwrap().flatten().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let told = w.run(&["doctor"]).expect(0).stdout;
    assert!(told.contains("1 deploy recorded"), "{told}");
    assert!(told.contains("serial 1, 1 object"), "{told}");
}

#[test]
fn safe_fixes_are_applied_with_the_fix_flag() {
    let w = Workspace::new(&[("main.tf", PLAIN)]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let (store, state) = (w.store(), w.path().join("terraform.tfstate"));
    let word = w.path().join(".terraform.tfstate.lock.info");
    set_mode(&store, 0o644);
    set_mode(&state, 0o644);
    let left = r#"{"ID":"1","Operation":"OperationTypeApply","Info":"","Who":"ann@far","Version":"1.12.6","Created":"2026-01-01T00:00:00Z","Path":"terraform.tfstate"}"#;
    std::fs::write(&word, left).unwrap();

    let run = w.run(&["doctor", "--json"]).expect(0);
    let found = findings(&run);
    for (area, words, does) in [
        ("record", "flightdeck.db", "make_private"),
        ("state", "terraform.tfstate", "make_private"),
        ("state", "ann@far", "remove"),
    ] {
        let wrong: Vec<Value> = problems(&found).into_iter().cloned().collect();
        let one = of(&wrong, area, words);
        assert!(one["remedy"].is_string(), "{one}");
        if words != "terraform.tfstate" {
            assert_eq!(one["fix"]["do"], does, "{one}");
        }
    }
    assert_eq!((mode(&store), mode(&state)), (0o644, 0o644), "only told");

    let fixed = w.run(&["doctor", "--fix"]).expect(0).stdout;
    assert_eq!(fixed.matches("done: ").count(), 3, "{fixed}");
    assert_eq!((mode(&store), mode(&state)), (0o600, 0o600));
    assert!(!word.exists());
    let found = findings(&w.run(&["doctor", "--json"]).expect(0));
    assert_eq!(problems(&found), Vec::<&Value>::new());
}

#[test]
fn problems_are_errors_with_a_remedy() {
    let w = Workspace::new(&[
        ("main.tf", PLAIN),
        (
            "other.tf",
            "terraform {\n  required_providers {\n    none = { source = \"nobody/none\" }\n  }\n}\nresource \"none_thing\" \"a\" {}\nmodule \"m\" {\n  source = \"example.com/a/b/c\"\n}\n",
        ),
        ("terraform.tfstate", "{\"version\": 4, \"serial\""),
    ]);
    let run = w.run(&["doctor", "--json"]).expect(1);
    let found = findings(&run);
    let module = of(&found, "workspace", "the configuration is invalid");
    assert_eq!(module["level"], "error");
    assert!(
        module["remedy"]
            .as_str()
            .unwrap()
            .contains("flightdeck init")
    );
    assert_eq!(
        of(&found, "state", "cannot read the state")["level"],
        "error"
    );

    std::fs::remove_file(w.path().join("terraform.tfstate")).unwrap();
    let text = w.read("other.tf");
    w.write("other.tf", text.split("module ").next().unwrap());
    let run = w.run(&["doctor", "--json"]).expect(1);
    let missing = findings(&run);
    let missing = of(&missing, "plugins", "nobody/none");
    assert_eq!(missing["level"], "error");
    assert!(
        missing["remedy"]
            .as_str()
            .unwrap()
            .contains("flightdeck init")
    );
    let told = w.run(&["doctor"]).expect(1).stdout;
    assert!(told.contains("1 error"), "{told}");
    assert!(!told.contains("\\n"), "lines are lines: {told}");

    std::fs::write(w.path().join("other.tf"), "backend {").unwrap();
    w.run(&["doctor"]).expect(1);
}

#[test]
fn foreign_lock_is_reported_and_kept() {
    let w = Workspace::new(&[("main.tf", PLAIN)]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let state = w.path().join("terraform.tfstate");
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&state)
        .unwrap();
    rustix::fs::fcntl_lock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    let run = w.run(&["doctor", "--fix", "--json"]).expect(0);
    let found = findings(&run);
    let held = of(&found, "state", "is locked by");
    assert_eq!(held["level"], "warning");
    assert_eq!(held["fix"], Value::Null, "a lock is nobody's to break");
    drop(file);
    let found = findings(&w.run(&["doctor", "--json"]).expect(0));
    assert_eq!(problems(&found), Vec::<&Value>::new());
}

#[test]
fn unusable_store_is_reported_with_its_reason() {
    let w = Workspace::new(&[("main.tf", PLAIN)]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    std::fs::write(w.store(), "this is no database").unwrap();
    let run = w.run(&["doctor", "--json"]).expect(1);
    let found = findings(&run);
    assert_eq!(of(&found, "record", "flightdeck.db")["level"], "error");
    // The state in the backend is checked even without a usable store.
    of(&found, "state", "serial 1, 1 object");
}

#[test]
fn orphaned_plugin_process_is_reported_and_ended_on_request() {
    let lab = "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nprovider \"lab\" {\n  file = \"cloud.json\"\n}\n";
    let w = Workspace::new(&[("main.tf", lab)]);
    w.run(&["plugins"]).expect(0);
    let said = |w: &Workspace| w.run(&["plugins"]).expect(0).stderr;
    assert!(!said(&w).contains("orphaned plugin processes"));
    let (pid, start_time) = start_orphan();
    let _at_the_end = KillGroupOnDrop(pid);
    record_as_newest_launch(&w.store(), pid, start_time);
    let words = format!(
        "note: orphaned plugin processes of an earlier flightdeck still run: bundled/lab (process {pid}); run `flightdeck doctor` for details"
    );
    let told = said(&w);
    assert!(told.contains(&words), "{told}");
    let told = w.run(&["history"]).expect(0).stderr;
    assert!(
        !told.contains("orphaned plugin processes"),
        "who only reads says nothing: {told}"
    );
    let run = w.run(&["doctor", "--fix", "--json"]);
    let found = findings(&run);
    let evidence = format!("still runs as process {pid}");
    of(&found, "processes", &evidence);
    assert!(!said(&w).contains("orphaned plugin processes"));
}

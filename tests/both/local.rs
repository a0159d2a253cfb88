//! Tests with files and directories of this machine.

use crate::bench::{TestWorkspace, assert_equal_over_both_dialects};
use crate::support::mode;
use serde_json::{Value, json};

fn main(name: &str, content: &str) -> String {
    format!(
        "resource \"local_directory\" \"d\" {{\n  path = \"WORLD/d\"\n}}\n\
         resource \"local_file\" \"f\" {{\n  filename        = \"${{local_directory.d.path}}/{name}\"\n  content         = {content:?}\n  file_permission = \"0600\"\n}}\n\
         output \"sum\" {{\n  value = local_file.f.content_sha256\n}}\n"
    )
}

fn read(bench: &TestWorkspace, name: &str) -> Option<String> {
    std::fs::read_to_string(bench.objects_directory().join("d").join(name)).ok()
}

#[test]
fn file_is_created_restored_updated_replaced_imported_and_removed() {
    assert_equal_over_both_dialects(|bench| {
        bench.main(&main("a.txt", "one"));
        let mut seen = vec![json!(bench.stage())];
        assert_eq!(seen, ["create 2"]);
        bench.deploy().expect(0);
        let file = bench.objects_directory().join("d/a.txt");
        assert_eq!(
            (read(bench, "a.txt").as_deref(), mode(&file)),
            (Some("one"), 0o600)
        );
        seen.push(bench.objects());
        seen.push(json!(bench.stage()));
        assert_eq!(seen[2], "");

        // The file changes outside flightdeck.
        std::fs::write(&file, "other").unwrap();
        let shown = bench.text_output();
        assert!(shown.contains("\"one\" → \"other\""), "{shown}");
        seen.push(json!(bench.stage()));
        bench.deploy().expect(0);
        assert_eq!(
            (&seen[3], read(bench, "a.txt").as_deref()),
            (&json!("update 1"), Some("one"))
        );

        bench.main(&main("a.txt", "two"));
        seen.push(json!(bench.stage()));
        bench.deploy().expect(0);
        assert_eq!(
            (&seen[4], read(bench, "a.txt").as_deref()),
            (&json!("update 1"), Some("two"))
        );
        seen.push(bench.objects());
        let sum = bench.run(&["output", "-raw", "sum"]).expect(0).stdout;
        seen.push(json!(sum.trim()));

        // Another name replaces the file.
        bench.main(&main("b.txt", "two"));
        seen.push(json!(bench.stage()));
        bench.deploy().expect(0);
        assert_eq!(seen[7], "replace 1");
        assert_eq!(
            (read(bench, "a.txt"), read(bench, "b.txt").as_deref()),
            (None, Some("two"))
        );

        // The file exists, but is no longer in the state.
        bench.run(&["state", "rm", "local_file.f"]).expect(0);
        let import = "import {\n  to = local_file.f\n  id = \"WORLD/d/b.txt\"\n}\n";
        bench.main(&format!("{}{import}", main("b.txt", "two")));
        bench.deploy().expect(0);
        seen.push(bench.objects());
        seen.push(json!(bench.stage()));
        assert_eq!(seen[9], "");

        std::fs::remove_file(bench.objects_directory().join("d/b.txt")).unwrap();
        bench.main(&main("b.txt", "two"));
        seen.push(json!(bench.stage()));
        assert_eq!(seen[10], "create 1");
        bench.deploy().expect(0);
        bench.run(&["destroy", "--auto-approve"]).expect(0);
        assert!(!bench.objects_directory().join("d").exists());
        seen.push(Value::Object(bench.state()));
        seen
    });
}

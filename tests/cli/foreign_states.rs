//! Tests of states that other programs wrote, at the limits of the state format.

use crate::support::Workspace;

fn workspace(count: u32, key: &str, sensitive: &str) -> Workspace {
    let state = format!(
        r#"{{"version":4,"terraform_version":"1.12.6","serial":3,"lineage":"l","outputs":{{}},"resources":[{{"mode":"managed","type":"terraform_data","name":"a","provider":"provider[\"terraform.io/builtin/terraform\"]","instances":[{{"index_key":{key},"schema_version":0,"attributes":{{"id":"x","input":null,"output":null,"triggers_replace":null}},"sensitive_attributes":{sensitive}}}]}}],"check_results":null}}"#
    );
    let main = format!("resource \"terraform_data\" \"a\" {{\n  count = {count}\n}}\n");
    Workspace::new(&[("main.tf", &main), ("terraform.tfstate", &state)])
}

/// Change counts of a stage: no change, create, destroy.
fn counts(w: &Workspace) -> [u64; 3] {
    let run = w.run(&["stage", "--json"]).expect(0);
    let changes = run.result()["changes"].clone();
    ["no_op", "create", "destroy"].map(|name| changes[name].as_u64().unwrap())
}

#[test]
fn fractional_index_is_truncated() {
    assert_eq!(counts(&workspace(1, "0.5", "[]")), [1, 0, 0]);
    assert_eq!(counts(&workspace(1, "1.5", "[]")), [0, 1, 1]);
    assert_eq!(counts(&workspace(2, "1.0", "[]")), [1, 1, 0]);
}

#[test]
fn malformed_sensitive_path_is_refused_at_its_place() {
    for paths in [
        r#"[[{"type":"get_item","value":"input"}]]"#,
        r#"[[{"value":"input"}]]"#,
    ] {
        let run = workspace(1, "0", paths).run(&["stage"]).expect(1);
        assert!(
            run.stderr
                .contains("terraform_data.a[0], \"sensitive_attributes\""),
            "{run:?}"
        );
    }
}

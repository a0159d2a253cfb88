//! Tests of saved selections: saved from a stage, listed, loaded by `stage` and `deploy`, deleted.

use crate::deploy_lifecycle::workspace_with_two_resources;
use serde_json::json;

#[test]
fn saved_selection_limits_stages_and_deploys_until_it_is_deleted() {
    let w = workspace_with_two_resources();
    let run = w.run(&["selections"]).expect(0);
    assert_eq!(run.stdout, "no saved selections\n");
    w.run(&["stage", "--target", "terraform_data.a"]).expect(0);
    let run = w.run(&["selections", "save", "first"]).expect(0);
    assert!(run.stdout.contains("first  1 change"), "{run:?}");
    w.run(&["stage", "--out", "both"]).expect(0);
    w.run(&["selections", "save", "all", "--stage", "2"])
        .expect(0);
    let listed = w.run(&["selections", "--json"]).expect(0).result();
    let names = ["all", "first"].map(|name| json!(name));
    let selections = listed["selections"].as_array().unwrap();
    assert_eq!(
        [&selections[0]["name"], &selections[1]["name"]],
        [&names[0], &names[1]]
    );
    assert_eq!(selections[1]["addresses"], json!(["terraform_data.a"]));

    let run = w.run(&["stage", "--selection", "first"]).expect(0);
    assert!(run.stdout.contains("of which 1 deselected"), "{run:?}");
    let deploy = ["deploy", "--selection", "first", "--auto-approve", "--json"];
    let result = w.run(&deploy).expect(0).result();
    assert_eq!(result["operations"]["done"], 1);

    // One of its two changes is applied now, so the next stage lacks it.
    let run = w.run(&["stage", "--selection", "all"]).expect(0);
    assert!(
        run.stderr
            .contains("1 of 2 changes of the selection \"all\" are not in stage"),
        "{run:?}"
    );
    assert!(run.stderr.contains("terraform_data.a"), "{run:?}");

    w.run(&["selections", "delete", "all"]).expect(0);
    for (args, error) in [
        (
            vec!["selections", "delete", "all"],
            "there is no saved selection \"all\"",
        ),
        (
            vec!["stage", "--selection", "all"],
            "there is no saved selection \"all\"",
        ),
        (
            vec!["selections", "save", " "],
            "the name of a selection cannot be empty",
        ),
        (
            vec!["deploy", "--selection", "first", "--auto-approve"],
            "has no change of the selection \"first\"",
        ),
    ] {
        let run = w.run(&args).expect(1);
        assert!(run.stderr.contains(error), "{args:?}: {run:?}");
    }
    // The refused deploy applied nothing: the second resource is still to be created.
    let result = w.run(&["deploy", "--auto-approve", "--json"]).expect(0);
    assert_eq!(result.result()["operations"]["done"], 1);
}

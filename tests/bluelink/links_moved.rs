//! Tests of links whose ends have moved to other addresses.

use crate::links::{A, B, LINK, link_attributes, linked_workspace, names, recorded_link_phases};
use crate::workspace::{TestWorkspace, change_counts};
use serde_json::Value;

#[test]
fn link_follows_moved_ends_and_is_destroyed_at_the_new_addresses() {
    let moved = "moved {\n  from = fake_box.a\n  to   = fake_box.z\n}\n";
    let renamed = |text: &str| {
        let text = text.replace("\"fake_box\" \"a\"", "\"fake_box\" \"z\"");
        text.replace("fake_box.a", "fake_box.z")
    };
    let ends = renamed(&format!("{A}{B}"));
    let whole_now = format!("{ends}{}", renamed(LINK));
    let told = |bench: &TestWorkspace, method: &str| {
        let call = bench.calls(method).pop().expect("a call");
        (call["link"].clone(), call["data"].clone())
    };
    let is_taken_away = |bench: &TestWorkspace| {
        let made = told(bench, "UpdateLinkResourceA").0;
        assert_eq!(
            recorded_link_phases(bench)[3..],
            ["destroy A", "destroy B", "destroy between"]
        );
        let (link, data) = told(bench, "UpdateLinkResourceB");
        assert_eq!(link, made, "by the name that it was made by");
        assert_eq!(data["fake_box_a"]["label"], "b-3", "{data}");
    };

    // The end moves by a `moved` block or by `state mv`. The link follows, is removed in the same
    // deploy, or is destroyed with all.
    for by_hand in [false, true] {
        let begin = || {
            let bench = linked_workspace();
            bench.deploy().expect(0);
            if by_hand {
                let run = ["state", "mv", "fake_box.a", "fake_box.z"];
                bench.run(&run).expect(0);
            }
            bench
        };
        let with_move = |text: &str| match by_hand {
            true => text.to_owned(),
            false => format!("{moved}{text}"),
        };

        let bench = begin();
        bench.main(&with_move(&whole_now));
        let staged = bench.stage().expect(0);
        assert_eq!(change_counts(&staged), "", "{staged:#?}");
        assert!(staged.result()["drift"].is_null(), "{staged:#?}");
        bench.deploy().expect(0);
        assert_eq!(link_attributes(&bench)["from"], "fake_box.z");
        assert_eq!(recorded_link_phases(&bench).len(), 3);
        bench.main(&whole_now);
        assert_eq!(change_counts(&bench.stage().expect(0)), "");
        bench.run(&["destroy", "--auto-approve"]).expect(0);
        is_taken_away(&bench);
        assert_eq!(bench.plugin_objects(), Vec::<Value>::new());

        let bench = begin();
        bench.main(&with_move(&ends));
        let staged = bench.stage().expect(0);
        assert_eq!(change_counts(&staged), "destroy 1");
        assert!(staged.result()["drift"].is_null(), "{staged:#?}");
        bench.deploy().expect(0);
        is_taken_away(&bench);
        assert_eq!(names(&bench), ["a", "b"]);
        assert_eq!(change_counts(&bench.stage().expect(0)), "");

        let bench = begin();
        bench.main(&with_move(&whole_now));
        bench.run(&["destroy", "--auto-approve"]).expect(0);
        is_taken_away(&bench);
        assert_eq!(bench.plugin_objects(), Vec::<Value>::new());
    }
}

//! Tests of `flightdeck workspace`: separate states and histories, and the selection that other
//! programs share.

use crate::support::Workspace;
use serde_json::json;

const MAIN: &str = "resource \"terraform_data\" \"a\" { input = terraform.workspace }\noutput \"in\" { value = terraform.workspace }\n";

#[test]
fn workspace_is_created_selected_and_deleted_with_its_own_state() {
    let w = Workspace::new(&[("main.tf", MAIN)]);
    w.run(&["apply", "-auto-approve"]).expect(0);
    w.run(&["workspace", "new", "dev"]).expect(0);
    assert_eq!(w.read(".terraform/environment"), "dev");
    assert_eq!(w.run(&["workspace", "show"]).expect(0).stdout, "dev\n");
    let listed = w.run(&["workspace", "list"]).expect(0).stdout;
    assert_eq!(listed, "  default\n* dev\n");
    let listed = w.run(&["workspace", "list", "-json"]).expect(0);
    assert_eq!(
        listed.lines(),
        [json!({"workspaces": ["default", "dev"], "current_workspace": "dev"})]
    );
    assert_eq!(w.run(&["state", "list"]).expect(0).stdout, "");
    w.run(&["apply", "-auto-approve"]).expect(0);
    assert_eq!(w.run(&["output", "-raw", "in"]).expect(0).stdout, "dev");
    w.run(&["workspace", "select", "default"]).expect(0);
    assert_eq!(w.run(&["output", "-raw", "in"]).expect(0).stdout, "default");
    let refused = w.run(&["workspace", "delete", "dev"]).expect(1);
    assert!(refused.stderr.contains("objects"), "{refused:?}");
    w.run(&["workspace", "delete", "-force", "dev"]).expect(0);
    assert_eq!(
        w.run(&["workspace", "list"]).expect(0).stdout,
        "* default\n"
    );
}

#[test]
fn invalid_workspace_commands_are_refused_by_name() {
    let w = Workspace::new(&[("main.tf", MAIN)]);
    for (words, why) in [
        (&["workspace", "select", "dev"][..], "--or-create"),
        (&["workspace", "new", ".."], "not only dots"),
        (&["workspace", "new", "default"], "already"),
        (&["workspace", "delete", "default"], "cannot be deleted"),
        (&["workspace", "delete", "dev"], "no workspace"),
    ] {
        let run = w.run(words).expect(1);
        assert!(run.stderr.contains(why), "{words:?}: {run:?}");
    }
    w.run(&["workspace", "select", "-or-create", "dev"])
        .expect(0);
    let mut command = w.command(&["workspace", "select", "default"]);
    let run = command.env("TF_WORKSPACE", "dev").output().unwrap();
    assert_eq!(run.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&run.stderr).contains("TF_WORKSPACE"));
}

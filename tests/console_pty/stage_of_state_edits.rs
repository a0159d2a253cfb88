//! Tests of stages that change only the state: an import, a move and an output are on the Stage
//! screen and in the confirmation, and are applied alone.

use crate::console_workspace::*;
use crate::pty::Pty;

fn quit(mut c: Pty) {
    c.keys("q").unwrap();
    assert_eq!(c.end(LONG).unwrap().0, 0);
}

fn state_of(w: &Workspace) -> String {
    std::fs::read_to_string(w.path().join("terraform.tfstate")).unwrap_or_default()
}

#[test]
fn stage_with_one_import_only_is_shown_confirmed_and_applied() {
    let w = Workspace::of(
        "resource \"terraform_data\" \"x\" {}\n\
         import {\n  to = terraform_data.x\n  id = \"abc\"\n}\n",
    );
    let mut c = w.console();
    c.wait("lock: free", LONG).unwrap();
    c.keys("3s").unwrap();
    c.wait("stage #1 · 1 of 1 selected · ←1", LONG).unwrap();
    c.wait("[x]", SOON).unwrap();
    c.wait("import by id \"abc\"", SOON).unwrap();
    // Deselected, nothing is left to apply.
    c.keys(" ").unwrap();
    c.wait("0 of 1 selected", SOON).unwrap();
    c.keys("a").unwrap();
    c.wait("no change is selected", SOON).unwrap();
    c.keys(" ").unwrap();
    c.wait("1 of 1 selected", SOON).unwrap();
    c.keys("a").unwrap();
    c.wait("Apply stage #1?", SOON).unwrap();
    c.wait("←1 to import", SOON).unwrap();
    c.wait("terraform_data.x by id \"abc\"", SOON).unwrap();
    c.keys("y").unwrap();
    c.wait("✓ succeeded", LONG).unwrap();
    assert!(state_of(&w).contains("\"abc\""), "{}", state_of(&w));
    c.keys("3s").unwrap();
    c.wait("No changes.", LONG).unwrap();
    quit(c);
}

#[test]
fn stage_with_a_move_and_an_output_only_is_shown_confirmed_and_applied() {
    let w = Workspace::of("resource \"terraform_data\" \"old\" {}\n");
    let mut c = w.console();
    c.wait("lock: free", LONG).unwrap();
    c.keys("3s").unwrap();
    c.wait("1 of 1 selected", LONG).unwrap();
    c.keys("ay").unwrap();
    c.wait("✓ succeeded", LONG).unwrap();
    std::fs::write(
        w.path().join("main.tf"),
        "resource \"terraform_data\" \"new\" {}\n\
         moved {\n  from = terraform_data.old\n  to   = terraform_data.new\n}\n\
         output \"region\" {\n  value = \"north\"\n}\n",
    )
    .unwrap();
    c.keys("3s").unwrap();
    c.wait("stage #2 · 1 output · 1 moved", LONG).unwrap();
    c.wait("moved from terraform_data.old", SOON).unwrap();
    c.wait("+ output region", SOON).unwrap();
    c.keys("a").unwrap();
    c.wait("Apply stage #2?", SOON).unwrap();
    c.wait("terraform_data.old → terraform_data.new", SOON)
        .unwrap();
    c.wait("1: region", SOON).unwrap();
    c.keys("y").unwrap();
    c.wait("deploy #2", SOON).unwrap();
    c.wait("✓ succeeded", LONG).unwrap();
    c.keys("3s").unwrap();
    c.wait("stage #3", LONG).unwrap();
    c.wait("No changes.", LONG).unwrap();
    let state = state_of(&w);
    assert!(
        state.contains("\"new\"") && !state.contains("\"old\""),
        "{state}"
    );
    quit(c);
}

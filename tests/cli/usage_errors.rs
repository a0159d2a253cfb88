//! Tests of the command line itself: help, flags, confirmations, completions.

use crate::support::Workspace;
use serde_json::json;

#[test]
fn usage_error_exits_with_1() {
    let w = Workspace::new(&[]);
    for args in [
        vec!["stage", "--no-such-flag"],
        vec!["stage", "--var", "no_equals_sign"],
        vec!["stage", "--destroy", "--refresh-only"],
        vec!["stage", "--parallelism", "0"],
        vec!["failures", "--since", "yesterday"],
        vec!["state", "frobnicate"],
        vec!["history", "twelve"],
    ] {
        let run = w.run(&args).expect(1);
        assert!(run.stderr.contains("error:"), "{args:?}: {run:?}");
    }
}

#[test]
fn usage_error_with_json_has_a_result() {
    let run = Workspace::new(&[])
        .run(&["-C", ".", "stage", "--json", "--no-such-flag"])
        .expect(1);
    assert_eq!(
        run.result(),
        json!({"type": "result", "format_version": "1.0", "command": "stage", "outcome": "error", "exit_code": 1})
    );
}

#[test]
fn help_and_version_exit_with_0() {
    let w = Workspace::new(&[]);
    let help = w.run(&["--help"]).expect(0);
    for command in [
        "plugins",
        "stage",
        "deploy",
        "destroy",
        "history",
        "failures",
        "state",
        "logs",
        "demo",
        "completions",
    ] {
        assert!(help.stdout.contains(command), "{command}");
    }
    assert!(
        w.run(&["--version"])
            .expect(0)
            .stdout
            .starts_with("flightdeck ")
    );
    assert!(
        w.run(&["stage", "--help"])
            .expect(0)
            .stdout
            .contains("--detailed-exitcode")
    );
}

#[test]
fn unknown_word_suggests_the_nearest_command() {
    let run = Workspace::new(&[]).run(&["stgae"]).expect(1);
    assert!(
        run.stderr.contains("did you mean `flightdeck stage`?"),
        "{run:?}"
    );
}

#[test]
fn missing_directory_is_refused() {
    let run = Workspace::new(&[])
        .run(&["-C", "nowhere", "stage"])
        .expect(1);
    assert!(run.stderr.contains("nowhere"), "{run:?}");
}

#[test]
fn console_needs_a_terminal() {
    let w = Workspace::new(&[]);
    for args in [vec![], vec!["demo"]] {
        let run = w.run(&args).expect(1);
        assert!(run.stderr.contains("needs a terminal"), "{run:?}");
    }
}

#[test]
fn deploy_without_confirmation_applies_nothing() {
    let w = Workspace::new(&[("main.tf", "resource \"terraform_data\" \"a\" {}\n")]);
    for args in [vec!["deploy"], vec!["apply"], vec!["deploy", "--json"]] {
        let run = w.run(&args).expect(1);
        assert!(
            (run.stderr.clone() + &run.stdout).contains("--auto-approve"),
            "{run:?}"
        );
    }
    // A destroy of an empty state needs no confirmation.
    w.run(&["destroy"]).expect(0);
    assert_eq!(w.run(&["state", "list"]).expect(0).stdout, "");
}

#[test]
fn stored_stage_accepts_no_stage_flags() {
    let run = Workspace::new(&[])
        .run(&["deploy", "3", "--target", "a.b"])
        .expect(1);
    assert!(run.stderr.contains("--target"), "{run:?}");
}

#[test]
fn completions_and_manual_page_match_the_command_table() {
    let w = Workspace::new(&[]);
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            w.run(&["completions", shell])
                .expect(0)
                .stdout
                .contains("detailed-exitcode"),
            "{shell}"
        );
    }
    let man = w.run(&["man"]).expect(0).stdout;
    assert!(
        man.starts_with(".ie") || man.contains(".TH flightdeck"),
        "{}",
        &man[..80]
    );
    assert!(man.contains("auto\\-approve"));
}

#[test]
fn invalid_number_in_the_environment_is_named() {
    let w = Workspace::new(&[]);
    let output = w
        .command(&["history"])
        .env("FLIGHTDECK_SLOTS", "many")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("FLIGHTDECK_SLOTS")
    );
}

#[test]
fn logs_without_matching_lines_say_so() {
    let run = Workspace::new(&[]).run(&["logs"]).expect(0);
    assert_eq!(
        (run.stdout.as_str(), run.stderr.trim()),
        ("", "no matching log lines")
    );
}

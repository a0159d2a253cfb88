//! Tests of the Stage screen before a deploy: diagnostics, outputs, moves, commands, untrusted
//! plugins.

use super::Console;
use super::fixture;
use crate::app::msg::Effect;
use crate::app::state::Screen;
use model::*;

pub(super) fn warning(summary: &str, address: &str) -> EventKind {
    EventKind::Diagnostic(Diagnostic {
        severity: Severity::Warning,
        summary: summary.to_owned(),
        detail: "and this is why".to_owned(),
        address: Some(address.to_owned()),
        range: None,
        snippet: None,
        further: None,
        intent: None,
    })
}

/// Event of changed files of the configuration.
fn files(names: &[&str]) -> EventKind {
    EventKind::FilesChanged {
        stage: Some(12),
        files: names.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn changed_files_make_a_stage_out_of_date_until_it_is_staged_again() {
    let mut c = Console::staged(120, 40);
    c.press("3 a");
    c.shows("Apply stage #12?");
    c.event(files(&["main.tf"]));
    c.hides("Apply stage #12?");
    c.shows("out of date: main.tf changed since it was planned · s stages again");
    c.press("a");
    c.shows("stage #12 is out of date, s stages again");
    c.event(files(&[]));
    c.hides("out of date:");
    c.press("a");
    c.shows("Apply stage #12?");
}

#[test]
fn each_save_stages_again_and_the_differences_are_marked() {
    let mut c = Console::staged(120, 40);
    c.press("3 W");
    c.shows("stages at each save");
    c.event(files(&["main.tf"]));
    let request = Effect::Stage(StageRequest::default());
    assert_eq!(c.take_effects(), std::slice::from_ref(&request));
    let mut stage = StageSummary::clone(c.state.view.stage.as_ref().unwrap());
    stage.stage = 13;
    stage.changes[0].attributes[0].after = Some("\"another\"".into());
    let gone = stage
        .changes
        .iter()
        .position(|c| &*c.address == "aws_eip.old");
    stage.changes.remove(gone.unwrap());
    c.event(EventKind::Staged(stage.clone().into()));
    c.shows(" · • 1 differ from #12, 1 gone");
    let address = stage.changes[0].address.clone();
    assert!(c.line(&format!(" {address} ")).contains("  • "));
    stage.stage = 14;
    c.event(EventKind::Staged(stage.into()));
    c.shows(" · same changes as #13");
    c.hides("  • ");
    c.press("W");
    c.hides("stages at each save");
}

#[test]
fn stage_warnings_are_counted_in_the_title_and_opened_by_key() {
    for (width, height) in [(120, 40), (80, 24)] {
        let mut c = Console::staged(width, height);
        c.press("3");
        c.state.frame.toast = None;
        c.hides("warning");
        for event in [
            warning("Check block assertion failed", "check.health"),
            warning("Unknown outcome", "aws_eip.old"),
        ] {
            c.event(event.clone());
            // A repeated diagnostic counts once.
            c.event(event);
        }
        c.shows("6 selected · 2 warnings (d) · ");
        c.shows(" d warnings ");
        c.press("d");
        c.shows("Check block assertion failed");
        c.shows("in check.health");
        c.shows("Unknown outcome");
    }
}

fn outputs() -> Vec<OutputView> {
    let output =
        |name: &str, action, before: Option<&str>, after: Option<&str>, sensitive| OutputView {
            name: name.into(),
            action,
            before: before.map(Into::into),
            after: after.map(Into::into),
            sensitive,
            needs: Vec::new(),
        };
    vec![
        output(
            "address",
            Action::Update,
            Some("\"10.0.0.1\""),
            Some("\"10.0.0.2\""),
            false,
        ),
        output("password", Action::Create, None, Some("\"hunter2\""), true),
        output("same", Action::NoOp, Some("1"), Some("1"), false),
    ]
}

/// Creates a stage without resource changes.
fn quiet(outputs: Vec<OutputView>, moved: bool) -> Console {
    let mut c = Console::new(120, 40);
    fixture::plugins().into_iter().for_each(|e| c.event(e));
    let mut summary = fixture::summary();
    summary.changes.retain(|c| c.action == Action::NoOp);
    if moved {
        summary.changes[0].previous_address = Some("aws_vpc.old".into());
    }
    summary.outputs = outputs;
    summary.counts = Counts {
        no_op: 1,
        ..Counts::default()
    };
    c.event(EventKind::Staged(summary.into()));
    c.press("3");
    c
}

#[test]
fn title_counts_outputs_that_change_with_the_selection() {
    let mut c = Console::staged(120, 40);
    let mut summary = fixture::summary();
    summary.outputs = outputs();
    summary.outputs[0].needs = vec!["aws_s3_bucket.logs".into()];
    c.event(EventKind::Staged(summary.into()));
    c.press("3");
    c.shows("· 2 outputs");
    c.event(EventKind::Selected {
        stage: 12,
        taken: vec![],
        left: vec!["aws_s3_bucket.logs".into()],
    });
    c.shows("· 1 of 2 outputs");
}

#[test]
fn output_changes_are_rows_and_can_be_deployed_alone() {
    let mut c = quiet(outputs(), false);
    c.hides("No changes.");
    c.shows("· 2 outputs");
    assert!(
        c.line("~ output address").contains("update  \"10.0.0.2\""),
        "{}",
        c.frame()
    );
    c.shows("- \"10.0.0.1\"");
    c.shows("+ \"10.0.0.2\"");
    c.press("j");
    c.shows("output password");
    c.shows("(sensitive)");
    c.hides("hunter");
    c.hides("same");
    // Outputs cannot be selected or deselected.
    c.press("space");
    assert_eq!(c.take_effects(), []);
    c.press("a");
    c.shows("Apply stage #12?");
    c.shows("outputs      2: address, password");
    c.press("y");
    assert!(matches!(c.take_effects()[..], [Effect::Deploy(_)]));
    assert_eq!(c.state.screen, Screen::Deploy);
    c.event(fixture::started(vec![]));
    c.shows("No resource operations: this deploy changes only outputs");
}

#[test]
fn moved_objects_are_rows_and_can_be_deployed_alone() {
    let mut c = quiet(vec![], true);
    c.shows("· 1 moved");
    assert!(
        c.line("aws_vpc.main  move")
            .contains("moved from aws_vpc.old"),
        "{}",
        c.frame()
    );
    c.press("a");
    c.shows("moved        1 object to another address in the state");
    let mut c = quiet(vec![], false);
    c.shows("No changes.");
    c.press("a");
    c.shows("no change is selected");
}

#[test]
fn provisioner_commands_are_shown_in_row_detail_and_confirmation() {
    for (width, height) in [(120, 40), (80, 24)] {
        let mut c = Console::staged(width, height);
        let mut summary = fixture::summary();
        let create = summary
            .changes
            .iter()
            .position(|c| c.action == Action::Create)
            .unwrap();
        let command = |n: usize| CommandView {
            command: format!("echo {n}\nrm -rf /tmp/{n}\n"),
            interpreter: None,
            environment: vec![format!("N={n}")],
            working_dir: Some("scripts".into()),
            on_destroy: n == 0,
            host: (n == 8).then(|| "root@db".to_owned()),
            copies: false,
        };
        summary.changes[create].commands = (0..9).map(command).collect();
        let address = summary.changes[create].address.clone();
        c.event(EventKind::Staged(summary.into()));
        c.press("3 g");
        c.shows("runs 9 commands");
        while c.state.change().is_none_or(|c| c.address != address) {
            c.press("j");
        }
        c.press("enter");
        c.shows("runs on this machine");
        c.shows("before it is destroyed: N=0 echo 0");
        c.shows("rm -rf /tmp/0");
        c.press("esc a");
        c.shows("runs 8 commands on this machine and 1 on others:");
        c.shows(": before it is destroyed: N=0 echo 0");
        c.press("esc space");
        c.take_effects();
        c.event(EventKind::Selected {
            stage: 12,
            taken: Vec::new(),
            left: vec![address],
        });
        c.press("a");
        c.hides("on this machine and");
    }
}

#[test]
fn untrusted_workspace_plugin_requires_confirmation_before_launch() {
    let own = |changed| WorkspacePlugin {
        address: "registry.opentofu.org/acme/thing".into(),
        executable: "/clone/terraform.d/plugins/terraform-provider-thing".into(),
        digest: "h1:abc=".into(),
        changed,
    };
    for (width, height) in [(120, 40), (80, 24)] {
        let mut c = Console::new(width, height);
        c.event(EventKind::UntrustedPlugins {
            plugins: vec![own(false)],
        });
        for words in [
            "Launch the plugins shipped in this workspace?",
            "registry.opentofu.org/acme/thing",
            "/clone/terraform.d/",
            "h1:abc=",
        ] {
            c.shows(words);
        }
        // Keys meant for the screen do not confirm, and "no" does not either.
        c.press("y enter");
        c.press("esc");
        c.hides("Launch the plugins");
        assert_eq!(c.take_effects(), []);
        // The next search asks again, and recognises a changed file.
        c.event(EventKind::UntrustedPlugins {
            plugins: vec![own(true)],
        });
        c.shows("changed since you trusted it");
        c.press("t r u s t enter");
        assert_eq!(c.take_effects(), [Effect::Trust(vec![own(true)])]);
        c.hides("Launch the plugins");
        c.event(EventKind::UntrustedPlugins {
            plugins: Vec::new(),
        });
        c.hides("Launch the plugins");
    }
}

//! Tests of the Stage screen during and after the deploy of its stage.

use super::{Console, fixture};
use crate::app::msg::Effect;
use model::*;

/// Ends each operation of the fixture's deploy with a state.
fn end_operations(c: &mut Console, state: fn(&Operation) -> OperationState) {
    let all = c
        .state
        .view
        .deploy
        .iter()
        .flat_map(|d| d.operations.clone());
    for mut op in all.collect::<Vec<_>>() {
        op.state = state(&op);
        if op.state != OperationState::Failed {
            op.failure = None;
        }
        c.event(EventKind::Operation(op));
    }
}

fn error(summary: &str) -> EventKind {
    EventKind::Diagnostic(Diagnostic {
        severity: Severity::Error,
        summary: summary.to_owned(),
        detail: "by the provider".to_owned(),
        address: None,
        range: None,
        snippet: None,
        further: None,
        intent: None,
    })
}

/// Row of a change on the Stage screen, below its headings.
fn row(c: &mut Console, address: &str) -> String {
    let frame = c.frame();
    let mut rows = frame.lines().skip(4);
    let row = rows.find(|l| l.contains(address) && !l.contains("ACTION"));
    row.unwrap_or_else(|| panic!("no {address} in\n{frame}"))
        .to_owned()
}

#[test]
fn stage_shows_progress_while_it_is_applied() {
    let mut c = Console::deploying(160, 40);
    c.press("3");
    c.shows("stage #12 · ◐ deploy #31 is applying it");
    assert!(row(&mut c, "aws_db_instance.main").contains("◐"));
    c.hides("[x]");
    c.press("space");
    c.shows("deploy #31 of this stage is running");
    assert_eq!(c.take_effects(), []);
}

#[test]
fn applied_stage_shows_results_and_cannot_be_applied_again() {
    for (width, height) in [(160, 40), (80, 24)] {
        let mut c = Console::deploying(width, height);
        end_operations(&mut c, |_| OperationState::Done);
        c.event(EventKind::DeployFinished(fixture::finished(
            DeployOutcome::Succeeded,
        )));
        c.take_effects();
        c.press("3");
        c.shows("stage #12 · ✓ applied by deploy #31");
        c.hides("[x]");
        c.hides("selected");
        assert!(
            row(&mut c, "aws_s3_bucket.logs").contains("✓"),
            "{}",
            c.frame()
        );
        assert!(row(&mut c, "aws_s3_bucket.logs").contains("created"));
        let footer = c.frame().lines().last().unwrap().to_owned();
        for gone in ["apply…", "space select", "stage the rest"] {
            assert!(!footer.contains(gone), "{footer}");
        }
        for key in ["a", "space", "*", "I"] {
            c.press(key);
            c.shows("stage #12 was applied by deploy #31: s stages again");
            assert_eq!(c.take_effects(), [], "{key}");
        }
        // The next stage can be applied.
        let mut next = fixture::summary();
        next.stage = 13;
        c.event(EventKind::Staged(next.into()));
        c.shows("[x]");
        c.press("a");
        c.shows("Apply stage #13?");
    }
}

#[test]
fn partly_failed_stage_says_what_is_left_and_the_key_that_stages_it() {
    let mut c = Console::deploying(160, 40);
    end_operations(&mut c, |op| match op.address.as_str() {
        "aws_iam_role.app" => OperationState::Failed,
        "aws_instance.web" => OperationState::NotAttempted,
        _ => OperationState::Done,
    });
    c.event(error("Policy refused"));
    c.event(EventKind::DeployFinished(fixture::finished(
        DeployOutcome::Failed,
    )));
    c.take_effects();
    c.press("3");
    c.hides("stage #12: ");
    c.shows("stage #12 · ✗ deploy #31 failed · 2 changes not completed");
    c.shows("t stages the unfinished ones");
    assert!(row(&mut c, "aws_iam_role.app").contains("✗"));
    assert!(row(&mut c, "aws_iam_role.app").contains("policy is not valid JSON"));
    assert!(row(&mut c, "aws_instance.web").contains("not attempted"));
    // The errors belong to the deploy.
    c.hides("1 error");
    c.press("d");
    c.shows("the last staging had no errors or warnings");
    c.press("4 d");
    c.shows("Policy refused");
    c.press("esc 3 t");
    assert!(matches!(&c.take_effects()[..], [Effect::Stage(r)] if r.rest_of == Some(31)));
}

#[test]
fn changes_that_were_not_selected_remain_after_the_deploy() {
    let mut c = Console::deploying(160, 40);
    let mut summary = fixture::summary();
    let mut other = summary.changes[0].clone();
    other.address = "aws_s3_bucket.other".into();
    summary.changes.push(other);
    c.event(EventKind::Staged(summary.into()));
    c.event(EventKind::Selected {
        stage: 12,
        taken: vec![],
        left: vec!["aws_s3_bucket.other".into()],
    });
    end_operations(&mut c, |_| OperationState::Done);
    c.event(EventKind::DeployFinished(fixture::finished(
        DeployOutcome::Succeeded,
    )));
    c.press("3");
    c.shows("✓ applied by deploy #31 · ");
    c.shows("not selected · s stages again");
    assert!(row(&mut c, "aws_s3_bucket.other").contains("not selected"));
    c.press("t");
    c.shows("no unfinished operations");
}

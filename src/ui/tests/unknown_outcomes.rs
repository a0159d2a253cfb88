//! Tests of unknown outcomes: shown first, marked on their rows, a barrier to creating twice,
//! settled with keys.

use super::Console;
use super::fixture::{self, unknown};
use crate::app::msg::{Answer, Effect};
use model::*;

fn told(c: &mut Console, outcomes: Vec<Unknown>) {
    c.event(EventKind::UnknownOutcomes { outcomes });
}

fn started(width: u16, height: u16) -> Console {
    let mut c = Console::new(width, height);
    fixture::plugins().into_iter().for_each(|e| c.event(e));
    told(
        &mut c,
        vec![
            unknown("create", "aws_s3_bucket.logs", None),
            unknown("update", "aws_iam_role.app", None),
        ],
    );
    c
}

#[test]
fn unknown_outcomes_are_shown_once_and_counted_on_each_screen() {
    for (width, height) in [(120, 40), (80, 24)] {
        let mut c = started(width, height);
        // The console opens with them.
        c.shows("? unknown");
        c.shows("start · 3 to settle");
        // A narrow screen has space for the key only.
        let row = c.line("create of aws_s3_bucket.logs");
        let end = if width < 100 { "U" } else { "settles it" };
        assert!(row.trim_end().ends_with(end), "{row}");
        c.shows("update of aws_iam_role.app");
        c.shows("the create of aws_s3_bucket.logs was begun in deploy #3");
        c.press("enter");
        c.shows("2 operations have no recorded outcome");
        c.shows("? create aws_s3_bucket.logs   deploy #3");
        c.shows("state forget aws_s3_bucket.logs`");
        c.shows("i import it…  X discard the record…");
        c.press("j");
        c.shows("the update of aws_iam_role.app was begun");
        c.shows("s stage: read it back");
        c.press("esc 1");
        c.hides("no recorded outcome");
        for screen in 1..=7 {
            c.press(&screen.to_string());
            assert!(
                c.frame().contains("U ? 2 unknown outcomes") || c.frame().contains("U ?2"),
                "{}",
                c.frame()
            );
        }
        // The same outcomes do not open the popup again.
        told(&mut c, vec![unknown("create", "aws_s3_bucket.logs", None)]);
        c.hides("no recorded outcome");
        c.press("U");
        c.shows("1 operation has no recorded outcome");
        told(&mut c, vec![]);
        c.hides("unknown");
        c.press("U");
        c.shows("no unknown outcomes");
    }
}

#[test]
fn list_of_unknown_outcomes_opens_over_a_screen_that_the_operator_has_chosen() {
    let mut c = Console::new(120, 40);
    c.press("5");
    told(&mut c, vec![unknown("create", "aws_eip.new", None)]);
    c.shows("1 operation has no recorded outcome");
}

#[test]
fn unknown_create_is_imported_with_the_entered_id() {
    let mut c = started(120, 40);
    c.press("U");
    c.press("i");
    c.shows("Import aws_s3_bucket.logs into the state");
    c.press("enter");
    assert_eq!(c.take_effects(), []);
    c.type_text("bkt-7");
    c.press("enter");
    let object = ImportObject {
        address: "aws_s3_bucket.logs".into(),
        id: "bkt-7".into(),
        ..ImportObject::default()
    };
    assert_eq!(c.take_effects(), [Effect::Import(object)]);
    // A known id is filled in.
    told(
        &mut c,
        vec![unknown("create", "aws_s3_bucket.logs", Some("logs-1"))],
    );
    c.press("U i");
    c.shows("id: logs-1");
    // Only creates are imported; others are read back.
    told(&mut c, vec![unknown("update", "aws_iam_role.app", None)]);
    c.press("esc U i");
    c.hides("into the state");
    c.press("s");
    assert_eq!(c.take_effects(), [Effect::Stage(StageRequest::default())]);
}

#[test]
fn unknown_outcome_is_discarded_after_confirmation() {
    let mut c = started(120, 40);
    c.press("U");
    c.press("X");
    c.shows("Was aws_s3_bucket.logs never created?");
    c.press("enter");
    assert_eq!(c.take_effects(), []);
    c.press("U X y");
    assert_eq!(
        c.take_effects(),
        [Effect::Forget(vec!["aws_s3_bucket.logs".to_owned()])]
    );
    c.press("U j X");
    c.shows("Forget aws_iam_role.app?");
    c.shows("not destroyed");
    c.press("y");
    assert_eq!(
        c.take_effects(),
        [Effect::Forget(vec!["aws_iam_role.app".to_owned()])]
    );
}

#[test]
fn provisioner_with_unknown_outcome_can_be_rerun_or_accepted() {
    let mut c = started(120, 40);
    c.press("U");
    told(
        &mut c,
        vec![unknown("create provisioner 1", "aws_iam_role.app", None)],
    );
    c.shows("s stage: replace it  T keep the object…");
    c.press("T");
    c.shows("Did the provisioners of aws_iam_role.app complete?");
    c.press("enter");
    assert_eq!(c.take_effects(), []);
    c.press("U T y");
    assert_eq!(
        c.take_effects(),
        [Effect::Taint {
            address: "aws_iam_role.app".to_owned(),
            tainted: false,
        }]
    );
}

#[test]
fn change_with_unknown_outcome_is_marked_and_blocks_the_deploy() {
    let mut c = Console::staged(120, 40);
    c.press("3 X");
    c.shows("this change has no unknown creation");
    told(
        &mut c,
        vec![
            unknown("create", "aws_s3_bucket.logs", None),
            unknown("update", "aws_iam_role.app", None),
        ],
    );
    c.press("esc >  > > > >");
    assert!(
        c.line("aws_s3_bucket.logs ")
            .contains("? may exist already (U)"),
        "{}",
        c.frame()
    );
    assert!(
        c.line("aws_iam_role.app ")
            .contains("? its update in deploy #3"),
        "{}",
        c.frame()
    );
    c.press("a");
    c.shows("Not applied, because it could create objects twice");
    c.shows("? create aws_s3_bucket.logs");
    c.hides("Apply stage #12?");
    assert_eq!(c.take_effects(), []);
    c.press("esc g X");
    c.shows("Was aws_s3_bucket.logs never created?");
    c.press("n");
    // A deselected change does not prevent the deploy.
    c.event(EventKind::Selected {
        stage: 12,
        taken: vec![],
        left: vec!["aws_s3_bucket.logs".into()],
    });
    c.press("a");
    c.shows("Apply stage #12?");
}

#[test]
fn engine_refusal_is_shown_with_all_its_diagnostics() {
    let mut c = Console::staged(120, 40);
    let refused = Diagnostic {
        severity: Severity::Error,
        summary: "Nothing is created twice".into(),
        detail: "Look for it: `flightdeck state import aws_s3_bucket.logs ID` takes it in.".into(),
        address: Some("aws_s3_bucket.logs".into()),
        range: None,
        snippet: None,
        further: None,
        intent: None,
    };
    c.answer(Answer::Failed {
        what: crate::app::msg::Subject::Deploy,
        text: "Nothing is created twice".into(),
        diagnostics: vec![refused],
    });
    c.shows("in aws_s3_bucket.logs");
    c.shows("`flightdeck state import aws_s3_bucket.logs ID`");
}

#[test]
fn deploy_screen_shows_the_newest_recorded_deploy() {
    let mut c = Console::staged(120, 40);
    c.press("4");
    c.shows("No deploy yet");
    let mut interrupted = fixture::record();
    interrupted.summary.outcome = DeployOutcome::Interrupted;
    interrupted.operations[0].state = OperationState::Unknown;
    let mut all = fixture::history();
    all[0] = interrupted.summary.clone();
    c.take_effects();
    c.answer(Answer::History(all.clone()));
    assert_eq!(
        c.take_effects(),
        [Effect::LoadLast(31), Effect::LoadFailures]
    );
    c.answer(Answer::Last(Box::new(interrupted)));
    c.shows("deploy #31 · ! interrupted");
    c.shows(" · 1 unknown · ");
    assert!(
        c.line("aws_s3_bucket.logs ")
            .contains("? +   aws_s3_bucket.logs")
    );
    c.press("> > > >");
    assert!(
        c.line("aws_s3_bucket.logs ")
            .contains("no recorded outcome"),
        "{}",
        c.frame()
    );
    // The same deploy is not loaded again.
    c.answer(Answer::Failures(Vec::new()));
    c.answer(Answer::History(all));
    assert_eq!(c.take_effects(), []);
    c.press("t");
    assert!(matches!(&c.take_effects()[..], [Effect::Stage(r)] if r.rest_of == Some(31)));
}

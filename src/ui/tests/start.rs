//! Tests of the Start screen: what is to be settled, the keys that lead there, and what is next.

use super::{Console, fixture};
use crate::app::doc::Role;
use crate::app::msg::{Answer, Effect, Subject};
use crate::app::state::{Popup, Screen};
use crate::app::unsettled::unsettled;
use model::*;

fn ready() -> Console {
    let mut c = Console::new(120, 40);
    for e in fixture::plugins() {
        c.event(e);
    }
    c
}

/// Words and texts of all rows.
fn rows(c: &Console) -> Vec<String> {
    let all = unsettled(&c.state).into_iter();
    all.map(|u| format!("{} {}", u.word, u.text)).collect()
}

fn syntax_error() -> Diagnostic {
    let at = |column| SourcePosition {
        line: 3,
        column,
        byte: 0,
    };
    Diagnostic {
        severity: Severity::Error,
        summary: "Invalid expression".into(),
        detail: "Expected the start of an expression.".into(),
        address: None,
        range: Some(SourceRange {
            filename: "main.tf".into(),
            start: at(11),
            end: at(12),
        }),
        snippet: Some(Snippet {
            line: 3,
            text: "  input = }".into(),
            mark: (10, 11),
            whole: None,
        }),
        further: None,
        intent: None,
    }
}

fn load_failed(c: &mut Console) {
    c.event(EventKind::Diagnostic(syntax_error()));
    c.answer(Answer::Failed {
        what: Subject::Plugins,
        text: "Invalid expression".into(),
        diagnostics: vec![syntax_error()],
    });
}

fn deploy(outcome: DeployOutcome) -> Vec<DeploySummary> {
    vec![fixture::finished(outcome)]
}

fn drifted(what: DriftKind, n: usize) -> Vec<DriftView> {
    let one = |i| DriftView {
        address: format!("aws_eip.e{i}"),
        previous_address: None,
        resource_type: "aws_eip".into(),
        provider: String::new(),
        what,
        attributes: vec![],
        aspects: Vec::new(),
    };
    (0..n).map(one).collect()
}

/// Prepares a console, with the rows that follow.
type Case = (&'static str, fn(&mut Console), &'static [&'static str]);

#[test]
fn each_thing_to_settle_is_one_row_from_the_view() {
    let cases: &[Case] = &[
        ("nothing is known", |_| (), &[]),
        (
            "a successful deploy",
            |c| c.answer(Answer::History(deploy(DeployOutcome::Succeeded))),
            &[],
        ),
        (
            "a failed deploy",
            |c| {
                c.tick(372_000);
                c.answer(Answer::History(deploy(DeployOutcome::Failed)));
            },
            &["failed deploy #31, 5m00s ago: 3 done, 1 failed, 1 not attempted"],
        ),
        (
            "an interrupted deploy with an unknown outcome",
            |c| {
                c.answer(Answer::History(deploy(DeployOutcome::Interrupted)));
                c.event(EventKind::UnknownOutcomes {
                    outcomes: vec![fixture::unknown("create", "aws_eip.new", None)],
                });
            },
            &[
                "unknown create of aws_eip.new in deploy #3 has no recorded outcome",
                "interrupted deploy #31, 0 s ago: 3 done, 1 failed, 1 not attempted",
            ],
        ),
        (
            "a syntax error",
            load_failed,
            &["error the configuration cannot be used: main.tf:3:11: Invalid expression"],
        ),
        (
            "a load without a position",
            |c| {
                c.answer(Answer::Failed {
                    what: Subject::Plugins,
                    text: "the state cannot be read".into(),
                    diagnostics: vec![],
                })
            },
            &["error the plugins were not loaded: the state cannot be read"],
        ),
        (
            "a load after the error was mended",
            |c| {
                load_failed(c);
                c.answer(Answer::Loaded);
            },
            &[],
        ),
        (
            "warnings and drift of a stage",
            |c| {
                c.event(super::staged::warning("Deprecated", "aws_eip.a"));
                c.event(super::staged::warning("Deprecated", "aws_eip.b"));
                let mut summary = fixture::summary();
                summary.drift = drifted(DriftKind::Changed, 2);
                summary.drift.extend(drifted(DriftKind::Gone, 1));
                c.event(EventKind::Staged(summary.into()));
            },
            &[
                "drift 3 objects differ from the state: 2 changed, 1 deleted",
                "warning 2 warnings: Deprecated: and this is why",
            ],
        ),
        (
            "a failed stage",
            |c| {
                c.event(EventKind::Diagnostic(syntax_error()));
                c.event(EventKind::StageFailed {
                    stage: None,
                    errors: 1,
                    text: "Invalid expression".into(),
                });
            },
            &["error staging failed: main.tf:3:11: Invalid expression"],
        ),
        (
            "missing modules",
            |c| {
                c.event(EventKind::Absent(Absent {
                    modules: vec!["net".into(), "db".into()],
                    ..Absent::default()
                }))
            },
            &["missing not installed: 2 modules: net, db"],
        ),
    ];
    for (name, arrange, expected) in cases {
        let mut c = Console::new(120, 40);
        arrange(&mut c);
        assert_eq!(rows(&c), *expected, "{name}");
    }
}

#[test]
fn failed_plugin_names_the_resources_that_need_it() {
    let mut c = ready();
    assert_eq!(
        rows(&c),
        ["gave up acme/legacy: its resources cannot be staged or applied"]
    );
    c.event(EventKind::Staged(fixture::summary().into()));
    c.answer(Answer::State(Vec::new()));
    assert_eq!(
        rows(&c),
        ["gave up acme/legacy: neither stage #12 nor the state uses it"]
    );
    let mut summary = fixture::summary();
    for change in &mut summary.changes[..3] {
        change.provider = "registry.terraform.io/acme/legacy".into();
    }
    c.event(EventKind::Staged(summary.into()));
    let mut in_state = fixture::state_rows();
    in_state[0].provider = "provider[\"registry.terraform.io/acme/legacy\"].west".into();
    c.answer(Answer::State(in_state));
    assert_eq!(
        rows(&c),
        [
            "gave up acme/legacy: 4 resources cannot be staged or applied: aws_db_instance.main, \
             aws_iam_role.app, aws_s3_bucket.logs and 1 more"
        ]
    );
    c.press("0");
    c.shows("module.network.aws_vpc.main");
    c.press("enter");
    assert_eq!(c.state.plugin().map(|p| &*p.id.0), Some("acme/legacy"));
    c.shows("[launches]");
    c.press("esc");
    assert_eq!(c.state.screen, Screen::Start);
}

#[test]
fn console_opens_with_what_is_to_be_settled_unless_the_operator_has_acted() {
    for (width, height) in [(120, 40), (80, 24), (40, 12)] {
        let mut c = Console::new(width, height);
        assert_eq!(c.state.screen, Screen::Plugins);
        c.answer(Answer::History(fixture::history()));
        assert_eq!(c.state.screen, Screen::Start);
        c.shows("✗ failed");
        c.shows("deploy #31");
        // Nothing moves the operator away from a screen.
        c.press("2");
        c.event(EventKind::UnknownOutcomes {
            outcomes: vec![fixture::unknown("create", "aws_eip.new", None)],
        });
        assert_eq!(c.state.screen, Screen::Calls);
    }
    let mut c = Console::new(120, 40);
    c.press("j");
    c.answer(Answer::History(fixture::history()));
    assert_eq!(c.state.screen, Screen::Plugins);
}

#[test]
fn console_without_anything_to_settle_stays_on_the_plugins() {
    let mut c = ready();
    c.answer(Answer::History(deploy(DeployOutcome::Succeeded)));
    assert_eq!(c.state.screen, Screen::Plugins);
    // A plugin that gives up is shown there.
    c.shows("its resources, if any, cannot be staged or applied");
}

#[test]
fn rows_lead_to_their_place_and_name_the_keys_that_settle_them() {
    let mut c = ready();
    c.event(EventKind::UnknownOutcomes {
        outcomes: vec![fixture::unknown("create", "aws_eip.new", None)],
    });
    c.answer(Answer::History(fixture::history()));
    c.answer(Answer::Last(Box::new(fixture::record())));
    c.take_effects();
    c.shows("start · 3 to settle");
    assert!(c.line("? unknown").contains("settles it"));
    assert!(c.line("✗ failed").contains("stages the rest"));
    // The detail has the complete text and all keys.
    c.shows("the create of aws_eip.new was begun in deploy #3");
    c.shows("enter  opens the list of unknown outcomes");
    c.press("enter");
    assert!(matches!(
        c.state.frame.popup,
        Some(Popup::UnknownOutcomes(_))
    ));
    c.press("esc j enter");
    assert_eq!(c.state.screen, Screen::Deploy);
    c.shows("deploy #31 · ✗ failed");
    c.press("esc");
    assert_eq!(c.state.screen, Screen::Start);
    c.frame();
    assert!(
        c.state
            .selected()
            .is_some_and(|r| r.key.text() == Some("deploy"))
    );
    c.press("t");
    assert!(matches!(&c.take_effects()[..], [Effect::Stage(r)] if r.rest_of == Some(31)));
}

#[test]
fn settled_start_page_says_so_and_what_is_next() {
    let mut c = Console::new(120, 40);
    c.press("0");
    c.shows("Loading the history…");
    c.hides("Nothing to settle");
    c.answer(Answer::History(deploy(DeployOutcome::Succeeded)));
    c.shows("✓ Nothing to settle.");
    c.shows("last deploy  #31 ✓ succeeded");
    c.shows("stages the changes");
    c.take_effects();
    c.press("s");
    assert_eq!(c.take_effects(), [Effect::Stage(StageRequest::default())]);
    c.event(EventKind::Staged(fixture::summary().into()));
    c.press("0");
    c.shows("stage        #12 6 of 6 changes selected");
    c.shows("shows the stage; a there applies it");
}

#[test]
fn later_stage_without_changes_settles_a_failed_deploy() {
    let mut c = Console::new(120, 40);
    c.answer(Answer::History(fixture::history()));
    assert_eq!(rows(&c).len(), 1);
    let mut summary = fixture::summary();
    summary.changes.retain(|c| !c.has_effect());
    summary.at = fixture::NOW + 100_000;
    c.event(EventKind::Staged(summary.into()));
    assert_eq!(rows(&c), [""; 0]);
}

#[test]
fn syntax_error_at_the_start_is_shown_with_its_source_on_three_screens() {
    for (width, height) in [(120, 40), (80, 24)] {
        let mut c = Console::new(width, height);
        load_failed(&mut c);
        c.answer(Answer::History(vec![]));
        assert_eq!(c.state.screen, Screen::Start);
        for keys in ["0", "1", "3"] {
            c.press(keys);
            c.shows("main.tf:3:11");
            c.shows("Invalid expression");
            c.shows("input = }");
            c.shows("^");
            c.hides("names no provider");
            c.hides("No stage yet");
        }
        // The next load without errors clears it.
        c.press("1");
        c.answer(Answer::Loaded);
        c.tick(6_000);
        c.hides("Invalid expression");
    }
}

#[test]
fn greeting_notices_a_configuration() {
    let mut c = Console::new(120, 40);
    c.state.place.configured = false;
    c.press("0");
    c.shows("Welcome to flightdeck");
    c.take_effects();
    c.tick(1_000);
    assert_eq!(c.take_effects(), [Effect::FindConfiguration]);
    // One search at a time.
    c.tick(1_000);
    assert_eq!(c.take_effects(), []);
    c.answer(Answer::Configuration(None));
    c.tick(1_000);
    assert_eq!(c.take_effects(), [Effect::FindConfiguration]);
    c.answer(Answer::Configuration(Some("main.tf".into())));
    c.shows("found main.tf: reading the configuration");
    c.hides("Welcome to flightdeck");
    assert_eq!(c.take_effects(), [Effect::LoadPlugins]);
    c.tick(1_000);
    assert_eq!(c.take_effects(), []);
}

#[test]
fn tabs_keep_their_names_at_eighty_columns() {
    for width in [80, 100, 120] {
        let mut c = Console::staged(width, 24);
        let tabs = c.frame().lines().nth(1).unwrap().to_owned();
        for name in ["0 Start", "1 Plugins", "4 Deploy", "7 Logs", "8 Groups"] {
            assert!(tabs.contains(name), "{tabs}");
        }
        let badges = ["! ✗ 1 plugin gave up", "! ✗1", " !1"];
        assert!(badges.iter().any(|badge| tabs.contains(badge)), "{tabs}");
        if width == 80 {
            assert!(tabs.ends_with(" !1"), "{tabs}");
        }
    }
}

#[test]
fn plugin_that_nothing_uses_is_in_the_header_and_no_alarm() {
    let mut c = Console::staged(120, 40);
    let area = crate::app::layout::areas(&c.state).tabs;
    let role =
        |c: &Console| crate::app::layout::incident_badge(&c.state, area).map(|b| b.1[1].role);
    // Without the state, something may use it.
    assert_eq!(role(&c), Some(Role::Bad));
    c.answer(Answer::State(vec![]));
    assert_eq!(role(&c), None);
    let frame = c.frame();
    let header = frame.lines().next().unwrap();
    assert!(header.contains(" ✗ 1 gave up (unused) "), "{header}");
    c.press("0");
    c.shows("start · 1 to settle, not urgent");
    c.press("1");
    c.shows("1 gave up: nothing uses it");
}

#[test]
fn overview_names_the_deploys_since_the_last_console_and_open_failures() {
    let mut c = Console::new(120, 40);
    c.state.incident_log.since = fixture::NOW + 1;
    c.answer(Answer::History(fixture::history()));
    c.press("0");
    // The first console of the workspace.
    c.hides("meanwhile");
    let choices = crate::app::choices::Choices::of(&c.state);
    let reopened = |seen: i64| {
        let mut choices = choices.clone();
        assert_eq!(choices.seen_deploys.values().next(), Some(&31));
        choices.seen_deploys.values_mut().for_each(|n| *n = seen);
        let mut c = Console::new(120, 40);
        choices.apply(&mut c.state);
        c.state.incident_log.since = fixture::NOW + 1;
        c.answer(Answer::History(fixture::history()));
        c.press("0");
        c
    };
    let mut c = reopened(30);
    c.shows("meanwhile    1 deploy since you left: #31 ✗ failed ana@deck");
    // Its own deploys are later ones.
    c.answer(Answer::History(fixture::history()));
    c.shows("1 deploy since you left");
    c.hides("failures ");
    let mut failures = fixture::failures();
    failures[0].solved_in = None;
    c.answer(Answer::Failures(failures));
    c.shows("failures     1 open, newest bad input: policy is not valid JSON");
    let mut c = reopened(31);
    c.hides("meanwhile");
}

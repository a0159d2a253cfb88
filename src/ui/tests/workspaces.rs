//! Tests of workspaces, installation and the doctor.

use super::{Console, fixture, lines};
use crate::app::msg::{Answer, Effect};
use crate::app::state::Popup;
use engine::doctor::{Area, Finding, Fix, Level};
use model::*;

fn named(width: u16, height: u16, name: &str) -> Console {
    let mut c = Console::staged(width, height);
    c.state.place.workspace = name.to_owned();
    c
}

fn choosing(width: u16, height: u16) -> Console {
    let mut c = named(width, height, "staging");
    c.press("ctrl-w");
    assert_eq!(c.take_effects(), [Effect::LoadWorkspaces]);
    let names = ["default", "prod", "staging"].map(str::to_owned);
    c.answer(Answer::Workspaces(names.to_vec()));
    c
}

fn header(c: &mut Console) -> String {
    lines(&c.buffer())[0].clone()
}

#[test]
fn header_names_a_non_default_workspace_at_any_width() {
    for (width, part) in [
        (160, "workspace staging"),
        (120, "staging"),
        (80, "[staging]"),
        (40, "[staging]"),
    ] {
        let mut c = named(width, 24, "staging");
        let line = header(&mut c);
        assert!(line.contains(part), "{width}: {line}");
    }
    let mut c = Console::staged(160, 24);
    assert!(!header(&mut c).contains("default"), "{}", header(&mut c));
    // The default workspace is named if others are known.
    c.answer(Answer::Workspaces(vec!["default".into(), "prod".into()]));
    assert!(
        header(&mut c).contains("workspace default"),
        "{}",
        header(&mut c)
    );
}

#[test]
fn other_workspace_is_opened_from_the_list_and_keys_wait_for_it() {
    let mut c = choosing(120, 40);
    insta::assert_snapshot!("workspaces-120x40", c.frame());
    // The cursor is on the open workspace, so Enter stays there.
    c.press("enter");
    assert_eq!(c.take_effects(), []);
    assert!(c.state.frame.popup.is_none());
    let mut c = choosing(80, 24);
    c.press("up enter");
    let prod = Effect::Open {
        workspace: "prod".into(),
        create: false,
    };
    assert_eq!(c.take_effects(), [prod]);
    assert!(
        header(&mut c).contains("◐ opening workspace prod"),
        "{}",
        header(&mut c)
    );
    c.press("3 s");
    c.shows("workspace prod is being opened");
    c.press("ctrl-w");
    assert!(c.state.frame.popup.is_none());
    assert_eq!(c.take_effects(), []);
    assert!(!c.state.ending.other_opened);
    c.answer(Answer::Opened);
    assert!(c.state.ending.other_opened && !c.state.ending.quit);
}

#[test]
fn failed_workspace_switch_is_shown_and_the_current_one_stays_usable() {
    let mut c = choosing(120, 40);
    c.press("up enter");
    c.answer(Answer::Failed {
        what: crate::app::msg::Subject::Workspace,
        text: "its store is of a newer flightdeck".into(),
        diagnostics: Vec::new(),
    });
    c.shows("its store is of a newer flightdeck");
    assert!(!c.state.ending.quit && c.state.ending.opening_workspace.is_none());
    c.take_effects();
    c.press("3 s");
    assert!(matches!(c.take_effects()[..], [Effect::Stage(_)]));
}

#[test]
fn workspace_filter_selects_an_existing_or_creates_a_new_workspace() {
    let mut c = choosing(120, 40);
    c.type_text("pro");
    let frame = c.frame();
    assert!(
        frame.contains("   prod") && !frame.contains(" staging   current"),
        "{frame}"
    );
    c.shows("+ pro");
    // The existing workspace comes first.
    c.press("enter");
    assert!(
        matches!(&c.take_effects()[..], [Effect::Open { workspace, create: false }] if workspace == "prod")
    );

    let mut c = choosing(120, 40);
    c.type_text("pr-17");
    c.press("enter");
    c.shows("Create workspace pr-17 and switch to it?");
    c.press("enter");
    assert_eq!(c.take_effects(), [], "the answer is No by itself");
    let mut c = choosing(120, 40);
    c.type_text("pr-17");
    c.press("enter y");
    let made = Effect::Open {
        workspace: "pr-17".into(),
        create: true,
    };
    assert_eq!(c.take_effects(), [made]);
}

#[test]
fn workspace_cannot_be_switched_while_a_deploy_runs() {
    let mut c = Console::deploying(120, 40);
    c.press("ctrl-w");
    c.shows("a deploy is running: switch the workspace when it has ended");
    // Also if the deploy started while the list was open.
    let mut c = choosing(120, 40);
    for event in fixture::deploying() {
        c.event(event);
    }
    c.press("up enter");
    c.shows("a deploy is running: switch");
    assert_eq!(c.take_effects(), []);
    assert!(c.state.ending.opening_workspace.is_none());
}

fn lacking(width: u16, height: u16) -> Console {
    let mut c = Console::new(width, height);
    c.event(EventKind::Absent(Absent {
        modules: Vec::new(),
        providers: vec!["hashicorp/aws".into(), "acme/lab".into()],
        backend: None,
    }));
    c
}

#[test]
fn missing_providers_are_offered_once_and_installed_after_confirmation() {
    let mut c = lacking(120, 40);
    c.shows("Install missing modules and providers?");
    c.shows("2 providers are not installed:");
    insta::assert_snapshot!("missing-120x40", c.frame());
    c.press("enter");
    assert_eq!(c.take_effects(), [], "the answer is No by itself");
    assert!(
        header(&mut c).contains("i ✗ 2 not installed"),
        "{}",
        header(&mut c)
    );
    c.tick(1_000);
    assert!(c.state.frame.popup.is_none(), "it is asked once");
    c.press("i y");
    assert_eq!(c.take_effects(), [Effect::Install(StateMigration::Ask)]);
    c.event(EventKind::Install(InstallEvent::Began));
    for done in [10_000_000, 345_000_000] {
        c.event(EventKind::Install(InstallEvent::Step(InstallStep::Bytes {
            what: "hashicorp/aws".into(),
            done,
            total: Some(690_000_000),
        })));
    }
    c.shows("hashicorp/aws ▕██████░░░░░░▏ 345.0 MB of 690.0 MB");
    c.shows("c stop");
    c.press("esc 3 s");
    c.shows("an installation is running");
    assert_eq!(c.take_effects(), []);
    c.press("i");
    c.shows("345.0 MB of 690.0 MB");
    c.press("c");
    assert_eq!(c.take_effects(), [Effect::Cancel(CancelRung::StopStarting)]);
}

#[test]
fn workspace_is_reopened_after_an_installation_and_keeps_its_result() {
    let mut c = lacking(80, 24);
    c.press("y");
    c.event(EventKind::Install(InstallEvent::Began));
    c.take_effects();
    c.event(EventKind::Install(InstallEvent::Ended(InstallEnd::Done {
        modules: 1,
        providers: 2,
        told: vec!["the backend is s3 now".into()],
    })));
    let again = Effect::Open {
        workspace: "default".into(),
        create: false,
    };
    assert_eq!(c.take_effects(), [again]);
    c.answer(Answer::Opened);
    let mut next = Console::new(80, 24);
    next.state.take_over_view(c.state.clone());
    next.shows("✓ installed: 1 module, 2 providers");
    next.shows("the backend is s3 now");
    next.shows("installation complete");
    next.press("esc");
    assert!(next.state.frame.popup.is_none());
}

#[test]
fn failed_installation_shows_its_reason_and_can_be_restarted() {
    let mut c = lacking(120, 40);
    c.press("y");
    c.event(EventKind::Install(InstallEvent::Began));
    c.take_effects();
    c.event(EventKind::Install(InstallEvent::Ended(
        InstallEnd::Failed {
            text: "the registry does not answer".into(),
            diagnostics: Vec::new(),
        },
    )));
    c.shows("✗ installation failed");
    c.shows("the registry does not answer");
    assert_eq!(c.take_effects(), []);
    c.press("esc i");
    c.shows("Install missing modules and providers?");
}

#[test]
fn missing_modules_are_named_on_the_plugins_screen() {
    let mut c = Console::new(120, 40);
    c.event(EventKind::Absent(Absent {
        modules: vec!["network".into()],
        providers: Vec::new(),
        backend: None,
    }));
    c.press("esc 1");
    c.shows("calls modules that are not installed: network.");
    c.shows("installs them; asks first");
}

/// A directory whose backend differs from the initialized one.
fn moved(w: u16, h: u16) -> Console {
    let mut c = Console::new(w, h);
    c.event(EventKind::Absent(Absent {
        backend: Some("The block of the backend was changed.".into()),
        ..Absent::default()
    }));
    c
}

#[test]
fn changed_backend_offers_initialization_and_asks_before_copying_state() {
    let mut c = moved(120, 40);
    c.shows("i ✗ not initialized");
    c.shows("The backend is not initialized:");
    c.press("y");
    assert_eq!(c.take_effects(), [Effect::Install(StateMigration::Ask)]);
    let asked = || {
        EventKind::Install(InstallEvent::Ended(InstallEnd::Asks {
            from: "old.tfstate".into(),
            to: "s3".into(),
        }))
    };
    for (key, bring) in [("b", StateMigration::Copy), ("l", StateMigration::Leave)] {
        c.event(EventKind::Install(InstallEvent::Began));
        c.event(asked());
        c.shows("There is a state in old.tfstate, but the backend is now s3.");
        assert_eq!(c.take_effects(), []);
        c.press(key);
        assert_eq!(c.take_effects(), [Effect::Install(bring)]);
    }
    // Without an answer nothing changes, and the installation can be started again.
    c.event(EventKind::Install(InstallEvent::Began));
    c.event(asked());
    c.press("esc b");
    assert_eq!(c.take_effects(), []);
    c.press("i");
    c.shows("The backend is not initialized:");
}

#[test]
fn uninitialized_backend_shows_the_remedy() {
    let mut c = moved(80, 24);
    c.press("esc 1");
    c.shows("The block of the backend was changed.");
    c.shows("initializes it; asks first");
}

fn findings() -> Vec<Finding> {
    let of = |area, level, text: &str| Finding {
        area,
        level,
        text: text.into(),
        remedy: None,
        fix: None,
    };
    let process = model::process::ProcessIdentity::current().unwrap();
    vec![
        of(
            Area::Machine,
            Level::Fine,
            "20000 MB are free on the disk of the workspace",
        ),
        Finding {
            remedy: Some("`chmod 600 /w/.flightdeck/flightdeck.db`".into()),
            fix: Some(Fix::MakePrivate {
                path: "/w/.flightdeck/flightdeck.db".into(),
            }),
            ..of(Area::Record, Level::Warning, "others can read the record")
        },
        Finding {
            remedy: Some("end it".into()),
            fix: Some(Fix::Stop { process }),
            ..of(
                Area::Processes,
                Level::Error,
                "a plugin without an owner runs",
            )
        },
    ]
}

#[test]
fn doctor_lists_errors_first_with_fixes_and_confirms_unsafe_ones() {
    for (width, height) in [(120, 40), (80, 24)] {
        let mut c = Console::staged(width, height);
        c.press("H");
        c.shows("checking…");
        c.answer(Answer::Findings(findings()));
        c.shows("1 error, 1 warning");
        insta::assert_snapshot!(format!("doctor-{width}x{height}"), c.frame());
        c.take_effects();
        // Ending a process needs a confirmation.
        c.press("F");
        c.shows("End process");
        c.press("enter");
        assert_eq!(c.take_effects(), []);
        c.press("H");
        c.answer(Answer::Findings(findings()));
        c.take_effects();
        c.press("j F");
        let private = Fix::MakePrivate {
            path: "/w/.flightdeck/flightdeck.db".into(),
        };
        assert_eq!(c.take_effects(), [Effect::ApplyFix(private)]);
        // The doctor checks again, and the result of the fix is shown.
        c.answer(Answer::Mended("it is for its owner alone now".into()));
        assert_eq!(c.take_effects(), [Effect::RunDoctor]);
        c.shows("it is for its owner alone now");
        c.answer(Answer::Findings(findings()[..1].to_vec()));
        c.shows("✓ no problems found");
        c.press("F");
        c.shows("this finding has no automatic fix");
        assert!(matches!(c.state.frame.popup, Some(Popup::Doctor { .. })));
    }
}

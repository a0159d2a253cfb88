//! Tests of a running deploy: running and queued operations, blockers, and the calls of operations.

use super::Console;
use super::fixture::{self, NOW, id};
use model::*;

/// Starts another operation whose call is queued.
fn queue(c: &mut Console) {
    let mut op = fixture::operation(4, "aws_eip.old", Action::Destroy, OperationState::Running);
    (op.began, op.step, op.usual_ms) = (Some(NOW + 2_000), "destroying".into(), Some(5_000));
    c.event(EventKind::Operation(op));
}

#[test]
fn unchanged_import_is_shown_as_imported() {
    let mut c = Console::deploying(120, 40);
    let op = fixture::operation(4, "aws_eip.old", Action::NoOp, OperationState::Done);
    c.event(EventKind::Operation(op.clone()));
    c.press("4 j j j");
    assert!(
        c.line("aws_eip.old ").contains(" imported"),
        "{}",
        c.line("aws_eip.old ")
    );
    c.shows("imported in");
    c.event(EventKind::Operation(Operation {
        state: OperationState::Failed,
        ..op
    }));
    assert!(
        c.line("aws_eip.old ").contains(" import failed"),
        "{}",
        c.line("aws_eip.old ")
    );
}

#[test]
fn queued_operation_is_not_counted_as_running() {
    let mut c = Console::deploying(120, 40);
    queue(&mut c);
    c.press("4 > > > >");
    // One of the two running operations has the only slot.
    c.shows("1 running · 1 queued");
    let row = c.line("aws_eip.old ");
    assert!(
        row.contains("queued") && row.contains("1m02s queued behind aws_db_instance.main"),
        "{row}"
    );
    assert!(
        !row.contains("usual"),
        "what has not been sent cannot take long: {row}"
    );
    // Running and usual times exclude the time in the queue.
    c.event(EventKind::CallStarted(CallStarted {
        call: 8,
        plugin: id("hashicorp/aws"),
        slot: 1,
        slots: 2,
        method: "ApplyResourceChange".into(),
        resource: Some("aws_eip.old".into()),
        deadline_ms: None,
        usual: None,
        queued_ms: 58_000,
    }));
    c.tick(1_000);
    c.shows("2 running");
    c.hides("queued");
    let row = c.line("aws_eip.old ");
    assert!(row.contains(" 3 s ") && row.contains("usual"), "{row}");
    c.press("g j enter");
    c.shows("queued for slots: 58 s");
}

#[test]
fn retried_call_shows_its_attempt_and_the_time_until_the_next() {
    let mut c = Console::deploying(120, 40);
    let mut op = fixture::operation(
        3,
        "aws_instance.web",
        Action::Update,
        OperationState::Running,
    );
    (op.began, op.step, op.attempt) = (Some(NOW), "updating".into(), 2);
    // The console's clock is more than a minute ahead.
    op.retry = Some(Retry {
        attempt: 2,
        of: 5,
        at: NOW + 65_000,
        reason: Some("throttled".into()),
    });
    c.event(EventKind::Operation(op.clone()));
    c.press("4 / w e b enter > > > >");
    assert!(
        c.line("aws_instance.web ")
            .contains("attempt 2 of 5, again in 3 s: throttled"),
        "{}",
        c.frame()
    );
    c.tick(3_000);
    let row = c.line("aws_instance.web ");
    assert!(
        row.contains("attempt 2 of 5") && !row.contains("again"),
        "{row}"
    );
    op.retry = None;
    c.event(EventKind::Operation(op.clone()));
    c.hides("attempt 2 of 5");
    (op.state, op.took_ms) = (OperationState::Done, Some(4_000));
    c.event(EventKind::Operation(op));
    assert!(
        c.line("aws_instance.web ")
            .contains("a call needed 2 attempts"),
        "{}",
        c.frame()
    );
}

fn waiting_for(c: &mut Console, state: OperationState) {
    let mut op = fixture::operation(3, "aws_instance.web", Action::Replace, state);
    op.waits_for = [
        "aws_s3_bucket.logs",
        "aws_eip.old",
        "aws_db_instance.main",
        "aws_iam_role.app",
    ]
    .map(str::to_owned)
    .to_vec();
    c.event(EventKind::Operation(op));
}

#[test]
fn blocking_dependencies_are_named_first_and_completed_ones_last() {
    let mut c = Console::deploying(120, 40);
    waiting_for(&mut c, OperationState::Waiting);
    c.press("4 > > > >");
    // The bucket is done, the database runs, the address waits. The role has failed, and that
    // decides.
    assert!(
        c.line("aws_instance.web ")
            .contains("blocked by aws_iam_role.app (failed) +2 more"),
        "{}",
        c.frame()
    );
    waiting_for(&mut c, OperationState::NotAttempted);
    assert!(
        c.line("aws_instance.web ")
            .contains("needs aws_iam_role.app (failed) +2 more"),
        "{}",
        c.frame()
    );
    // Without a failure, the running operation comes first.
    let mut role = fixture::operation(1, "aws_iam_role.app", Action::Update, OperationState::Done);
    role.began = Some(NOW);
    c.event(EventKind::Operation(role));
    waiting_for(&mut c, OperationState::Waiting);
    assert!(
        c.line("aws_instance.web ")
            .contains("blocked by aws_db_instance.main (running 1m01s) +1 more"),
        "{}",
        c.frame()
    );
    c.press("G");
    c.press("/");
    c.type_text("aws_instance");
    c.press("enter enter");
    let frame = c.frame();
    let at = |text: &str| {
        frame
            .find(text)
            .unwrap_or_else(|| panic!("no {text:?} in\n{frame}"))
    };
    assert!(at("aws_db_instance.main  running") < at("aws_eip.old  waiting"));
    assert!(at("aws_eip.old  waiting") < at("aws_s3_bucket.logs  done"));
}

#[test]
fn failed_operation_begins_with_its_reason_below_its_address_and_state() {
    let mut c = Console::deploying(120, 40);
    c.press("4 j");
    let frame = c.frame();
    let mut lines = frame
        .lines()
        .skip_while(|l| !l.starts_with('─') || !l.contains("aws_"));
    let title = lines.next().unwrap();
    assert!(
        title.starts_with("─ ~ aws_iam_role.app  ✗ update failed after 2.1 s ──"),
        "{title}"
    );
    let reason = lines.next().unwrap();
    assert!(reason.starts_with(" bad input: policy is not valid JSON  "));
    assert!(reason.ends_with("  calls"), "{reason}");
    c.shows("Correct the value first: a retry alone fails again.");
    for heading in [
        " running (1)",
        " failed (1)",
        " waiting (2)",
        " done, newest first (1)",
    ] {
        assert!(frame.lines().any(|l| l == heading), "{frame}");
    }
    // Keys of the hidden list are not in the footer of the detail.
    let keys = |c: &mut Console| c.frame().lines().last().unwrap().to_owned();
    assert!(keys(&mut c).starts_with(" l logs  enter open  c cancel…  v filter by state"));
    c.press("enter");
    c.shows(" ~ aws_iam_role.app  ✗ update failed after 2.1 s");
    let zoomed = keys(&mut c);
    assert!(
        zoomed.starts_with(" esc back  l logs  c cancel…"),
        "{zoomed}"
    );
    for gone in ["open", "by state", "filter", "fold"] {
        assert!(!zoomed.contains(gone), "{zoomed}");
    }
}

#[test]
fn operation_shows_only_calls_of_its_own_deploy() {
    let mut c = Console::staged(120, 40);
    let call = |method: &str, error: Option<&str>| {
        EventKind::CallFinished(CallFinished {
            call: 1,
            plugin: id("hashicorp/aws"),
            method: method.into(),
            resource: Some("aws_iam_role.app".into()),
            resource_type: Some("aws_iam_role".into()),
            action: None,
            took_ms: 7,
            outcome: CallOutcome::Ok,
            error: error.map(Into::into),
            again: None,
            covers: false,
            measured: None,
        })
    };
    // Calls of the staging and of an earlier deploy.
    c.event(call("ReadResource", None));
    fixture::deploying().into_iter().for_each(|e| c.event(e));
    c.event(call("PlanResourceChange", Some("of the first")));
    c.event(EventKind::DeployFinished(fixture::finished(
        DeployOutcome::Failed,
    )));
    c.event(call("ValidateResourceConfig", None));
    c.press("4 G / r o l e enter enter");
    c.shows("of the first");
    c.hides("ReadResource");
    c.hides("ValidateResourceConfig");
    fixture::deploying().into_iter().for_each(|e| c.event(e));
    c.press("4 G / r o l e enter enter");
    c.shows("policy is not valid JSON");
    c.hides("of the first");
}

#[test]
fn resource_lock_shows_its_owner_duration_and_waiters() {
    let mut c = Console::deploying(120, 40);
    let lock = ResourceLock {
        lock: 1,
        name: "roles".into(),
        holder: "aws_db_instance.main".into(),
        plugin: id("hashicorp/aws"),
        call: Some(7),
        since: NOW + 2_000,
        waiters: vec![],
        held: true,
    };
    c.event(EventKind::ResourceLock(lock.clone()));
    c.press("2 g");
    let row = |c: &mut Console| c.line("aws_db_instance.main ");
    let text = row(&mut c);
    assert!(text.contains("holds 1 lock ·"), "{text}");
    c.shows("lock on \"roles\" for 1m00s");
    c.hides("waiting: aws_eip.old");
    c.event(EventKind::ResourceLock(ResourceLock {
        waiters: vec!["aws_eip.old".into()],
        ..lock.clone()
    }));
    let text = row(&mut c);
    assert!(text.contains("holds 1 lock, 1 waiting"), "{text}");
    c.shows("waiting: aws_eip.old");
    c.event(EventKind::ResourceLock(ResourceLock {
        held: false,
        ..lock
    }));
    c.hides("lock on");
    let text = row(&mut c);
    assert!(!text.contains("holds"), "{text}");
}

#[test]
fn side_effect_is_shown_with_its_operation_and_as_an_unknown_outcome() {
    let mut c = Console::deploying(120, 40);
    let deed = SideEffect {
        action: Action::Create,
        kind: "aws/iam/role".into(),
        name: "reader".into(),
    };
    let mut op = fixture::operation(4, "aws_eip.old", Action::Update, OperationState::Done);
    op.beside = vec![RequestedCall {
        place: 1,
        deed: deed.clone(),
        asked_by: "hashicorp/aws".into(),
        began: NOW,
        took_ms: Some(9),
        end: SideEffectOutcome::Unknown("it died".into()),
    }];
    c.event(EventKind::Operation(op));
    c.press("4 j j j enter");
    c.shows("side effects (in no state)");
    c.shows("create of aws/iam/role \"reader\"");
    // It can be settled only while no deploy runs.
    let mut c = Console::staged(120, 40);
    c.event(EventKind::UnknownOutcomes {
        outcomes: vec![Unknown {
            kind: String::new(),
            provider: String::new(),
            values: Default::default(),
            intent: 17,
            deploy: 31,
            address: "aws_eip.old".into(),
            deposed: None,
            step: OperationStep::Beside { deed, place: 1 },
            begun_at: NOW,
            creation: false,
            provisioner: false,
            destroy_time: false,
            id: None,
            detail: "look for it".into(),
        }],
    });
    c.press("U");
    c.shows("aws_eip.old (beside 17)");
    c.shows("X mark as resolved");
    c.press("X");
    c.shows("Is this side effect of aws_eip.old resolved?");
}

#[test]
fn dependencies_without_a_name_are_counted() {
    let mut c = Console::deploying(120, 40);
    c.press("4");
    for (state, expected) in [
        (
            OperationState::Waiting,
            "blocked by aws_iam_role.app (failed) and up to 13 more",
        ),
        (
            OperationState::NotAttempted,
            "needs aws_iam_role.app (failed) +13 more",
        ),
    ] {
        let mut op = fixture::operation(3, "aws_instance.web", Action::Replace, state);
        (op.waits_for, op.waits_for_more) = (vec!["aws_iam_role.app".into()], 13);
        c.event(EventKind::Operation(op));
        let line = c.line("aws_instance.web ");
        assert!(line.contains(expected), "{line}");
    }
}

#[test]
fn operation_that_needs_all_instances_names_the_resource_and_the_failed_one() {
    // Wide enough for the whole note.
    let mut c = Console::staged(139, 40);
    c.event(fixture::modules::deploy());
    c.press("4");
    let failed = "module.svc[\"orders.eu\"].lab_server.this[0]";
    let resource = "module.svc[\"orders.eu\"].lab_server.this";
    let mut op = fixture::operation(
        7,
        "local_file.policy",
        Action::Update,
        OperationState::NotAttempted,
    );
    op.waits_for = vec![failed.into()];
    for (all_of, note) in [
        (
            vec![resource.to_owned()],
            format!("needs {resource} ([0] failed)"),
        ),
        (vec![], format!("needs {failed} (failed)")),
    ] {
        op.waits_for_all_of = all_of;
        c.event(EventKind::Operation(op.clone()));
        let row = c.line("local_file.policy ");
        assert!(row.contains(&note), "{row}");
    }
}

#[test]
fn log_of_an_operation_leaves_out_lines_with_the_name_of_another_resource() {
    let mut c = Console::staged(120, 40);
    let mut stage = fixture::summary();
    for (at, name) in [(0, "logs"), (2, "main")] {
        stage.changes[at].attributes.push(AttributeChange {
            path: "name".into(),
            before_path: None,
            before: None,
            after: Some(format!("{name:?}")),
            unknown: false,
            sensitive: false,
            forces_replacement: false,
            changed: true,
        });
    }
    c.event(EventKind::Staged(stage.into()));
    fixture::deploying().into_iter().for_each(|e| c.event(e));
    for text in [
        "created name=logs",
        "still at work name=main",
        "no name at all",
    ] {
        let mut line = fixture::log("hashicorp/aws", LogLevel::Info, text);
        if let EventKind::Plugin(PluginEvent::Log { line }) = &mut line {
            line.at = NOW + 1_500;
        }
        c.event(line);
    }
    c.tick(62_000);
    c.press("4 g enter");
    c.shows("aws_db_instance.main  ◐");
    c.shows("still at work name=main");
    c.shows("no name at all");
    c.hides("created name=logs");
    c.shows("1 line of other resources: l shows all");
}

#[test]
fn failed_operation_lists_what_it_blocks_and_history_the_times_of_operations() {
    let mut c = Console::deploying(120, 40);
    waiting_for(&mut c, OperationState::NotAttempted);
    c.press("4 j enter");
    c.shows("✗ update failed after 2.1 s");
    c.shows("blocks 1 operation");
    c.shows("aws_instance.web  ○ not attempted");
    c.event(EventKind::DeployFinished(fixture::finished(
        DeployOutcome::Failed,
    )));
    c.answer(crate::app::msg::Answer::History(fixture::history()));
    c.press("5 g");
    c.shows("timeline of #31                  0 s");
    c.shows("✗ aws_iam_role.app     2.1 s   ━━");
}

/// Deploy of a running operation, 20 completed ones, and 30 that wait for the running one.
fn long_deploy(width: u16, height: u16) -> Console {
    let mut c = Console::staged(width, height);
    let operation = |i: u32| {
        let state = match i {
            0 => OperationState::Running,
            1..=20 => OperationState::Done,
            _ => OperationState::Waiting,
        };
        let mut op = fixture::operation(i, &format!("t.r{i}"), Action::Create, state);
        match state {
            OperationState::Waiting => op.waits_for = vec!["t.r0".into()],
            _ => op.began = Some(NOW + i64::from(i)),
        }
        op.took_ms = (state == OperationState::Done).then_some(900);
        op
    };
    c.event(fixture::started((0..=50).map(operation).collect()));
    c.press("4");
    c
}

#[test]
fn newest_completed_operations_stay_above_those_that_wait() {
    for (height, newest) in [(40, 7), (24, 3)] {
        let mut c = long_deploy(120, height);
        let rows: Vec<String> = c.frame().lines().map(str::to_owned).collect();
        let at = |text: &str| {
            let found = rows.iter().position(|l| l.contains(text));
            found.unwrap_or_else(|| panic!("no {text:?} in\n{}", rows.join("\n")))
        };
        let done = at(&format!(" done, newest {newest} of 20"));
        assert!(at(" running (1)") < done);
        assert_eq!(at(" t.r20 "), done + 1);
        assert_eq!(at(" waiting (30)"), done + newest + 1);
        c.press("G");
        let earlier = 20 - newest;
        assert!(c.line(" t.r1 ").contains("created"));
        c.press("k k k k k k k k k k k k k k k k k k k");
        c.shows(&format!(" done earlier ({earlier})"));
    }
}

#[test]
fn heading_of_scrolled_rows_stays_visible_unless_it_would_cover_the_cursor() {
    let mut c = long_deploy(120, 40);
    for _ in 0..30 {
        c.press("j");
    }
    let heading = |c: &mut Console| {
        let frame = c.frame();
        let mut lines = frame.lines().skip_while(|l| !l.contains(" t.r0 "));
        lines.nth(1).unwrap().to_owned()
    };
    // All of them wait for the same operation.
    let text = heading(&mut c);
    assert!(text.starts_with(" waiting (30) "), "{text}");
    assert!(text.contains(" all blocked by t.r0 "), "{text}");
    // The cursor is on the first visible row, which the heading leaves free.
    let visible = c
        .frame()
        .lines()
        .filter(|l| l.contains("  waiting  "))
        .count();
    for _ in 0..visible {
        c.press("k");
    }
    let first = heading(&mut c);
    let selected = c.state.operation().unwrap().address.clone();
    assert!(first.contains(&format!(" {selected} ")), "{first}");
}

#[test]
fn title_says_that_there_is_nothing_to_do_while_all_goes_well() {
    long_deploy(120, 40).shows(" · nothing to do");
    let mut c = Console::deploying(120, 40);
    c.press("4");
    c.shows("1 failed");
    c.hides("nothing to do");
}

#[test]
fn running_operation_shows_the_newest_log_line_with_its_name() {
    let mut c = Console::deploying(200, 60);
    c.press("4");
    let mut stage = StageSummary::clone(c.state.view.stage.as_ref().unwrap());
    for change in &mut stage.changes {
        let name = format!("{:?}", change.address);
        change
            .attributes
            .push(fixture::attr("name", None, Some(&name)));
    }
    c.event(EventKind::Staged(stage.into()));
    let text = "still at work resource=aws_db name=aws_db_instance.main percent=34";
    for text in [text, "created name=aws_eip.old id=7"] {
        let mut event = fixture::log("hashicorp/aws", LogLevel::Info, text);
        if let EventKind::Plugin(PluginEvent::Log { line }) = &mut event {
            line.at = NOW + 30_000;
        }
        c.event(event);
    }
    let row = c.line("◐ +   aws_db_instance.main ");
    // Without space for both, the bar alone shows the usual duration.
    assert!(!row.contains("usual"), "{row}");
    let note = " 34% · about 25 s left ";
    assert!(row.contains(note), "{row}");
    // The cancel dialog says when the softest step ends the deploy.
    c.press("c");
    c.shows("ends in about ");
    c.press("esc 2");
    let calls = &mut c.state.view.calls;
    calls.values_mut().for_each(|call| call.usual = None);
    c.shows("◐ 34% · 27 s left");
    c.shows("reported     34% · about 27 s left");
}

#[test]
fn history_counts_the_operations_of_a_running_deploy_up_to_now() {
    let mut c = Console::deploying(120, 40);
    c.press("5");
    let mut running = fixture::history();
    running[0].outcome = DeployOutcome::Running;
    (running[0].ended, running[0].operations) = (None, OperationCounts::default());
    c.answer(crate::app::msg::Answer::History(running));
    let row = c.line(" 31  ");
    assert!(row.contains("◐ running"), "{row}");
    assert!(row.contains("1/5") && row.contains("1m02s"), "{row}");
    c.shows("operations   1 done, 1 failed, 3 to do");
}

#[test]
fn footer_offers_no_new_stage_beside_the_rest_of_a_failed_deploy() {
    let mut c = Console::deploying(120, 40);
    c.event(EventKind::DeployFinished(fixture::finished(
        DeployOutcome::Failed,
    )));
    c.press("4");
    let footer = c.frame().lines().last().unwrap().to_owned();
    assert!(footer.contains(" t stage the rest  "), "{footer}");
    assert!(!footer.contains(" s stage "), "{footer}");
}

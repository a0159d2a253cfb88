//! Tests of all screens and popups with long names, from 40 to 200 columns: words that matter are
//! whole, columns without content take no space, and progress bars are not cut.

use super::{Console, fixture, lines};
use crate::app::column::{Placed, place};
use crate::app::doc::{cells_of, plain};
use crate::app::layout::{self, Hit};
use crate::app::msg::Answer;
use crate::app::popups::{HiddenRows, Part, Reveal};
use crate::app::screens::Body;
use crate::app::text::width;
use engine::doctor::{Area, Finding, Level};
use model::*;
use ratatui::buffer::Buffer;

const WIDTHS: [u16; 6] = [40, 80, 100, 120, 140, 200];
const CHANGES: u32 = 60;
const REASON: &str = "QuotaExceeded: you have reached the limit of 24 volumes in eu-central-1a, 制限に達しました; request id 7c1e-44b0-93ff, see https://docs.example.com/quotas#volumes for the way to raise it";

/// Address with nested modules, keys of `for_each`, an index, a long type or wide characters.
fn address(i: u32) -> String {
    let region = ["eu-central-1", "us-gov-west-1"][i as usize % 2];
    match i % 6 {
        0 => format!("aws_eip.n{i}"),
        1 => format!(r#"module.svc["orders"].lab_server.server[{i}]"#),
        2 => format!(
            r#"module.platform["{region}"].module.network_layer.module.private.aws_route_table_association.this["subnet-{i}"]"#
        ),
        3 => format!("kubernetes_horizontal_pod_autoscaler_v2.checkout_service_autoscaler[{i}]"),
        4 => format!(r#"module.データ["東京リージョン"].aws_s3_bucket.保管庫["{i}"]"#),
        _ => format!(
            r#"module.accounts["{region}"].data.aws_iam_policy_document.cross_account_assume_role_{i}"#
        ),
    }
}

fn stage() -> StageSummary {
    let mut summary = fixture::summary();
    let bases = std::mem::take(&mut summary.changes);
    summary.changes = (0..CHANGES)
        .map(|i| {
            let base = &bases[i as usize % bases.len()];
            let (address, needs) = (address(i), (i > 2).then(|| self::address(i / 2)));
            ChangeView {
                address,
                needs: needs.into_iter().collect(),
                ..base.clone()
            }
        })
        .collect();
    summary
}

fn operation(i: u32) -> Operation {
    let state = [
        OperationState::Done,
        OperationState::Waiting,
        OperationState::Failed,
        OperationState::Running,
        OperationState::NotAttempted,
    ][i as usize % 5];
    let mut op = fixture::operation(i, &address(i), Action::Update, state);
    op.began = Some(fixture::NOW);
    match state {
        OperationState::Done => op.took_ms = Some(812 * u64::from(i)),
        OperationState::Failed => {
            let failure = fixture::failures().remove(0);
            op.took_ms = Some(62_000);
            op.failure = Some(Box::new(Failure {
                class: failure.class,
                fingerprint: failure.fingerprint,
                summary: REASON.into(),
                detail: REASON.into(),
                address: None,
                plugin: None,
                method: None,
                incident: None,
                last_lines: Vec::new(),
                last_lines_at: Vec::new(),
            }));
        }
        OperationState::Running => {
            (op.step, op.usual_ms) = ("updating".into(), Some(90_000));
        }
        _ => (op.began, op.waits_for, op.waits_for_more) = (None, vec![address(2)], 13),
    }
    op
}

/// Adds plugins with long names and a long reason.
fn add_plugins(c: &mut Console) {
    for (i, name) in [
        "private-registry/kubernetes-operators",
        "企業/データベース移行",
    ]
    .into_iter()
    .enumerate()
    {
        let plugin = fixture::id(name);
        c.event(EventKind::Plugin(PluginEvent::Found {
            plugin: plugin.clone(),
            found: PluginFound {
                address: format!("registry.example.com/{name}"),
                version: Some("10.12.7-beta.3".into()),
                dialect: Some("tfplugin6".into()),
                ..PluginFound::default()
            },
        }));
        let why = format!("5 of 5 launches failed: {REASON}");
        let state = [
            PluginState::GaveUp { why },
            PluginState::Ready {
                since: fixture::NOW,
            },
        ];
        c.event(EventKind::Plugin(PluginEvent::State {
            plugin,
            state: state[i].clone(),
        }));
        c.event(fixture::log(name, LogLevel::Error, REASON));
    }
}

fn add_calls(c: &mut Console) {
    for i in 0..20 {
        let queued = CallQueued {
            call: 100 + u64::from(i),
            plugin: fixture::id("private-registry/kubernetes-operators"),
            method: "ApplyResourceChange".into(),
            resource: Some(address(i).into()),
            waits_for: format!("slot of hashicorp/aws, held by {}", address(i + 1)),
            blocker: Some(7),
            deadline_ms: None,
        };
        c.event(EventKind::CallQueued(queued));
    }
}

fn console(width: u16, height: u16) -> Console {
    let mut c = Console::new(width, height);
    fixture::plugins().into_iter().for_each(|e| c.event(e));
    add_plugins(&mut c);
    c.event(EventKind::StageStarted(StageStarted {
        stage: 12,
        mode: StageMode::Normal,
        resources: u64::from(CHANGES).try_into().unwrap(),
    }));
    c.event(EventKind::Staged(stage().into()));
    let mut rows = fixture::state_rows();
    for i in 0..CHANGES {
        let mut row = rows[i as usize % 3].clone();
        row.address = address(i);
        rows.push(row);
    }
    c.answer(Answer::State(rows));
    c.answer(Answer::History(fixture::history()));
    let mut failures = fixture::failures();
    let mut long = failures[0].clone();
    (long.summary, long.fingerprint) = (REASON.into(), "e752509dd65aa7dd".into());
    long.addresses = vec![address(2), address(3)];
    failures.push(long);
    c.answer(Answer::Failures(failures));
    c.tick(0);
    c
}

fn deploying(width: u16, height: u16) -> Console {
    let mut c = console(width, height);
    fixture::deploying().into_iter().for_each(|e| c.event(e));
    c.event(fixture::started((0..CHANGES).map(operation).collect()));
    add_calls(&mut c);
    c.tick(62_000);
    c
}

/// Runs a command by its name, whatever its key is.
fn run(c: &mut Console, command: &str) {
    c.press(":");
    c.type_text(command);
    c.press("enter");
}

fn text(buffer: &Buffer, x: u16, cells: u16, y: u16) -> String {
    let mut text = String::new();
    let mut at = x;
    while at < x + cells {
        let symbol = buffer[(at, y)].symbol();
        text.push_str(symbol);
        at += u16::try_from(width(symbol).max(1)).unwrap();
    }
    text
}

/// Fails if a heading is cut, if a column has no content, or if a cell is cut beside a blank one.
#[track_caller]
fn check_table(c: &mut Console, screen: &str) {
    let buffer = c.buffer();
    let frame = lines(&buffer).join("\n");
    let state = &c.state;
    let Body::Table { columns, cells } = &state.context().of().body else {
        return;
    };
    let (a, list) = (layout::areas(state), state.list());
    assert!(!state.frame.rows.is_empty(), "{screen} is empty:\n{frame}");
    let placed = place(columns, &list.contents, a.list.width - 2);
    assert!(!placed.is_empty(), "{screen}");
    let left = a.list.x + 1;
    for (i, x, w) in &placed {
        if a.columns.height > 0 {
            let heading = text(&buffer, left + x, *w, a.columns.y);
            let times = (state.context().of().last_heading)(state);
            let times = times.filter(|_| i + 1 == columns.len());
            let is_axis = times.is_some_and(|l| heading.trim() == plain(&l).trim());
            let whole = is_axis || heading.trim().starts_with(columns[*i].title);
            assert!(whole, "{screen}: {heading}\n{frame}");
        }
        let mut rows = state.frame.rows.iter().filter(|r| !r.heading);
        assert!(
            rows.any(|r| cells(state, r).get(*i).is_some_and(|l| cells_of(l) > 0)),
            "{screen}: no text in column {i}\n{frame}"
        );
    }
    for y in a.list.top()..a.list.bottom() {
        let Hit::Row { index: row, .. } = layout::hit(state, left, y) else {
            continue;
        };
        let Some(row) = state.frame.rows.get(row).filter(|r| !r.heading) else {
            continue;
        };
        let made = cells(state, row);
        let drawn = |p: &Placed| text(&buffer, left + p.1, p.2, y);
        for (at, p) in placed.iter().enumerate() {
            let is_cut =
                drawn(p).trim_end().ends_with('…') && !plain(&made[p.0]).trim_end().ends_with('…');
            let blank = placed
                .get(at + 1)
                .is_some_and(|p| drawn(p).trim().is_empty());
            assert!(
                !is_cut || !blank,
                "{screen}: row {y} has a blank cell\n{frame}"
            );
        }
        let line = text(&buffer, a.list.x, a.list.width, y);
        let ends = |end| line.matches(end).count();
        assert!(ends('▕') <= ends('▏'), "{screen}: a bar is cut\n{frame}");
    }
}

/// Fails if the title of the screen ends within a word.
#[track_caller]
fn check_title(c: &mut Console, screen: &str) {
    let frame = c.frame();
    let title = frame.lines().nth(layout::areas(&c.state).title.y.into());
    let cut = title.and_then(|t| t.trim_end().strip_suffix('…'));
    assert!(
        cut.is_none_or(|t| t.ends_with(' ')),
        "{screen}: the title is cut\n{frame}"
    );
}

#[test]
fn no_cell_is_cut_beside_a_blank_one_at_any_width() {
    for width in WIDTHS {
        let mut c = deploying(width, 40);
        let check = |c: &mut Console, screen: &str| {
            let screen = format!("{screen} at {width}");
            for keys in ["", "ctrl-d ctrl-d", "G"] {
                c.press(keys);
                check_table(c, &screen);
                check_title(c, &screen);
            }
            c.dump(&format!("widths-{}", screen.replace(' ', "-")));
        };
        for screen in [
            "start", "plugins", "calls", "stage", "deploy", "history", "state",
        ] {
            run(&mut c, &format!("screen-{screen}"));
            check(&mut c, screen);
        }
        c.state.trees.flat = true;
        for screen in ["stage", "deploy", "state"] {
            run(&mut c, &format!("screen-{screen}"));
            check(&mut c, &format!("{screen}-flat"));
        }
        run(&mut c, "screen-history");
        run(&mut c, "failures");
        check(&mut c, "failures");
        // The title of the detail names the failure and not its fingerprint.
        c.hides("e752509dd65aa7dd");
        run(&mut c, "failures");
        c.press("g enter");
        c.answer(Answer::Record(Box::new(fixture::record())));
        check(&mut c, "replay");
    }
}

#[test]
fn rows_with_long_addresses_stay_different_on_each_screen() {
    for width in WIDTHS {
        let mut c = deploying(width, 40);
        // In a tree, rows of different modules have equal relative addresses.
        c.state.trees.flat = true;
        for screen in ["stage", "deploy", "state"] {
            run(&mut c, &format!("screen-{screen}"));
            c.press("g");
            let buffer = c.buffer();
            let (state, a) = (&c.state, layout::areas(&c.state));
            let Body::Table { columns, cells } = &state.context().of().body else {
                panic!("{screen} has no table");
            };
            let placed = place(columns, &state.list().contents, a.list.width - 2);
            let key = placed.iter().find(|p| columns[p.0].title == "RESOURCE");
            let (_, x, _) = *key.unwrap();
            let mut seen: Vec<(String, String)> = Vec::new();
            for y in a.list.top()..a.list.bottom() {
                let Hit::Row { index: i, .. } = layout::hit(state, a.list.x + 1, y) else {
                    continue;
                };
                let Some(row) = state.frame.rows.get(i).filter(|r| !r.heading) else {
                    continue;
                };
                let key = row.key.text().unwrap().to_owned();
                // A long address extends over blank cells.
                let made = cells(state, row);
                let after = placed.iter().filter(|p| p.1 > x);
                let mut after = after.filter(|p| made.get(p.0).is_some_and(|l| cells_of(l) > 0));
                let end = after.next().map_or(a.list.width - 2, |p| p.1);
                let drawn = text(&buffer, a.list.x + 1 + x, end - x, y);
                if let Some((other, _)) = seen.iter().find(|(k, d)| *d == drawn && *k != key) {
                    panic!("{width}: {drawn} is {other} and {key}\n{}", c.frame());
                }
                seen.push((key, drawn));
            }
            assert!(seen.len() > 5, "{width}: {screen}");
        }
    }
}

/// Fails if a line of the popup ends within a word, except for list rows without the cursor.
#[track_caller]
fn check_popup(c: &mut Console, name: &str) {
    let frame = c.frame();
    let popup = c.state.frame.popup.as_ref();
    let popup = popup.unwrap_or_else(|| panic!("{name} is not open\n{frame}"));
    let area = layout::popup(&c.state, popup, 1);
    let page = popup.page(&c.state, usize::from(area.width) - 4);
    assert!(
        width(&page.title) + 6 <= usize::from(area.width),
        "{name}: {}",
        page.title
    );
    let parts = page.above.iter().chain([&page.body]).chain(&page.below);
    for part in parts {
        let doc = match part {
            Part::Text(doc) | Part::Scroll { doc, .. } => doc,
            Part::List(list) => &list.whole,
            Part::Input(input) => &input.label,
            Part::Choices(_) | Part::Keys(_) | Part::Blank => continue,
        };
        for line in doc {
            let cells = cells_of(line).min(plain(line).trim_end().len());
            assert!(
                cells <= usize::from(area.width) - 4,
                "{name}: {}\n{frame}",
                plain(line)
            );
        }
    }
    let bottom = frame.lines().filter(|l| l.contains('╰')).count();
    assert_eq!(bottom, 1, "{name} has no lower border\n{frame}");
}

fn findings() -> Vec<Finding> {
    vec![Finding {
        area: Area::Plugins,
        level: Level::Error,
        text: REASON.to_owned(),
        remedy: Some(REASON.to_owned()),
        fix: None,
    }]
}

#[test]
fn popups_show_whole_words_at_any_width() {
    for width in WIDTHS {
        let mut c = console(width, 40);
        let outcomes = vec![fixture::unknown("create", &address(2), Some("i-1"))];
        let check = |c: &mut Console, name: &str, title: &str| {
            let name = format!("{name} at {width}");
            c.shows(title);
            check_popup(c, &name);
            c.dump(&format!("widths-{}", name.replace(' ', "-")));
            c.press("esc");
        };
        c.press("3 ?");
        check(&mut c, "help", "Keys");
        c.press(":");
        check(&mut c, "palette", "Command");
        run(&mut c, "apply");
        check(&mut c, "apply", "Apply stage");
        c.state.options.typed_from = 2;
        run(&mut c, "apply");
        check(&mut c, "typed", "Apply stage");
        run(&mut c, "why");
        check(&mut c, "why", "Reason");
        run(&mut c, "workspaces");
        let names = ["default", "integration-eu-central-1", "prod"];
        c.answer(Answer::Workspaces(names.map(str::to_owned).to_vec()));
        check(&mut c, "workspaces", "Workspaces");
        run(&mut c, "doctor");
        c.answer(Answer::Findings(findings()));
        check(&mut c, "doctor", "Doctor");
        c.event(EventKind::UnknownOutcomes { outcomes });
        c.press("esc");
        run(&mut c, "unknown");
        check(&mut c, "unknown", "Unknown outcomes");
        run(&mut c, "unknown");
        c.press("i");
        check(&mut c, "import", "id:");
        let mut c = deploying(width, 40);
        c.press("4");
        run(&mut c, "cancel");
        check(&mut c, "ladder", "Cancel ");
        run(&mut c, "quit");
        check(&mut c, "quit", "Deploy");
    }
}

/// Sensitive values with long places.
fn places() -> Vec<SensitivePlace> {
    let place = |i| SensitivePlace::Change {
        stage: 12,
        address: address(i),
        index: 0,
        path: "settings[0].authentication.administrator_password".into(),
    };
    (0..4).map(place).collect()
}

#[test]
fn lists_and_questions_show_whole_words_at_any_width() {
    for width in WIDTHS {
        let mut c = console(width, 40);
        let check = |c: &mut Console, name: &str, part: &str| {
            let name = format!("{name} at {width}");
            c.shows(part);
            check_popup(c, &name);
            c.dump(&format!("widths-{}", name.replace(' ', "-")));
        };
        run(&mut c, "themes");
        check(&mut c, "themes", "Theme");
        c.press("esc");
        run(&mut c, "incidents");
        check(&mut c, "incidents", "not acknowledged");
        c.press("esc 3");
        run(&mut c, "selections");
        c.answer(Answer::Selections(vec![SavedSelection {
            name: "everything-of-the-checkout-service".into(),
            at: fixture::NOW,
            addresses: (0..CHANGES).map(address).collect(),
        }]));
        check(&mut c, "selections", "Saved selections");
        c.press("esc");
        let hidden = (3..20).map(address).collect();
        let question = HiddenRows::new(12, true, vec![address(2)], hidden);
        c.state.open(question);
        check(&mut c, "hidden", "hidden changes");
        c.state.open(Reveal::new(places()));
        check(&mut c, "reveal", "sensitive value");
        c.press("y");
        let texts = vec![("after".to_owned(), format!("{REASON:?}"))];
        let place = places().remove(0);
        c.answer(Answer::Revealed(place, Revealed { texts }));
        check(&mut c, "revealed", "hidden in 10 s");
    }
}

#[test]
fn hint_of_a_prompt_is_shortened_by_whole_parts() {
    for width in WIDTHS {
        let mut c = console(width, 24);
        for (keys, shortest, longest) in [
            ("3 f", "words !not ~fuzzy /regex/", "↑↓ earlier filters"),
            ("x", "enter keeps", "esc cancels"),
            ("esc /", "enter keeps the search", "esc cancels"),
        ] {
            c.press(keys);
            let frame = c.frame();
            let footer = frame.lines().last().unwrap();
            assert!(!footer.ends_with('…'), "{width}: {footer}");
            assert!(footer.contains(shortest), "{width}: {footer}");
            assert!(
                width < 100 || footer.ends_with(longest),
                "{width}: {footer}"
            );
        }
    }
}

//! Cases for keys of all contexts.

use super::*;

/// Returns the cases.
pub(super) fn stories() -> Vec<KeyCase> {
    vec![
        story(
            "open",
            &[
                Plugins, Calls, Deploy, Replay, Failures, State, Logs, Groups,
            ],
            |c, b| {
                let (gone, there) = match c.state.context() {
                    Plugins => ("hashicorp/random", "launch 5 of 5"),
                    Failures => ("FAILURE", "status "),
                    Deploy | Replay => ("RESOURCE", "timeline"),
                    Calls => ("TIME", "deadline"),
                    State => ("NEEDED", "attributes"),
                    Groups => ("LAST ERROR", "states"),
                    _ => ("· following", "stream"),
                };
                if gone != "· following" {
                    assert!(b.frame.contains(gone), "{}", b.frame);
                    c.hides(gone);
                }
                c.shows(there);
            },
        ),
        after(
            "back",
            &LISTS,
            |c| find(c, "a"),
            |c, b| {
                assert!(b.frame.contains("find: a"), "{}", b.frame);
                c.hides("find: a");
            },
        ),
        story("back", &[Tracing], |c, _| c.shows("following")),
        story(
            "quit",
            &[Start, Plugins, Stage, History, State, Logs, Groups],
            |c, _| assert!(c.state.ending.quit),
        ),
        story("quit", &[Calls, Deploy], |c, _| {
            assert!(!c.state.ending.quit);
            c.shows("Deploy #31 is running");
        }),
        story("quit", &[Schema], |c, _| c.shows("hashicorp/random")),
        story("quit", &[Replay, Failures], |c, _| {
            c.shows("history · 2 deploys")
        }),
        story("quit", &[Tracing], |c, _| c.shows("following")),
        story("interrupt", &[Calls, Deploy], |c, _| {
            c.shows("Cancel deploy #")
        }),
        story("interrupt", &IDLE, |c, _| assert!(c.state.ending.quit)),
        after("down", &LISTS, to_top, moved_down),
        after("up", &LISTS, to_bottom, moved_up),
        after("page-down", &LISTS, to_top, moved_down),
        after("page-up", &LISTS, to_bottom, moved_up),
        after("first", &LISTS, to_bottom, moved_up),
        after(
            "last",
            &[
                Start, Plugins, Schema, Calls, Stage, Deploy, History, Replay, Failures, State,
                Groups,
            ],
            to_top,
            moved_down,
        ),
        after("last", &[Logs], to_top, |c, b| {
            assert!(b.frame.contains("not following"));
            c.hides("not following");
        }),
        story("down", &[Tracing], |c, _| {
            assert_eq!(c.take_effects(), [Effect::Tracing(TracingMove::Down)])
        }),
        story("up", &[Tracing], |c, _| {
            assert_eq!(c.take_effects(), [Effect::Tracing(TracingMove::Up)])
        }),
        story("page-down", &[Tracing], |c, _| {
            assert_eq!(c.take_effects(), [Effect::Tracing(TracingMove::PageDown)])
        }),
        story("page-up", &[Tracing], |c, _| {
            assert_eq!(c.take_effects(), [Effect::Tracing(TracingMove::PageUp)])
        }),
        story("last", &[Tracing], |c, _| {
            assert_eq!(c.take_effects(), [Effect::Tracing(TracingMove::Follow)])
        }),
        story("first", &[Tracing], |c, _| {
            c.shows("not available in the engine's own log")
        }),
        story("pane", &PANES, |c, b| {
            let frame = c.frame();
            assert!(heavy(&frame) > heavy(&b.frame) + 5, "{frame}");
        }),
        story("find", &LISTS, |c, _| {
            c.shows("enter keeps the search, ↑↓ move between matches")
        }),
        story("filter", &LISTS, |c, _| {
            c.shows("filter: ");
            c.type_text("zzz");
            c.shows("No row matches the filter: zzz");
        }),
        story("find", &[Tracing], |c, _| c.shows("not available in")),
        story("filter", &[Tracing], |c, _| c.shows("not available in")),
        after("find-next", &LISTS, find_common, |c, b| {
            c.shows("find: ");
            assert_ne!(b.cursor, cursor(c));
        }),
        after("find-previous", &LISTS, find_common, |c, b| {
            c.shows("find: ");
            assert_ne!(b.cursor, cursor(c));
        }),
        story("find-next", &[Tracing], |c, _| {
            c.shows("no search yet, press /")
        }),
        story("find-previous", &[Tracing], |c, _| {
            c.shows("no search yet, press /")
        }),
        story("sort", &SORTED, |c, b| {
            c.shows("sorted by ");
            // Only running calls are sorted, and this fixture has one.
            if c.state.context() == Calls {
                return;
            }
            assert_ne!(rows(&b.frame), rows(&c.frame()), "{}", c.frame());
        }),
        story("sort-reverse", &SORTED, |c, b| {
            c.shows("sort order reversed");
            // Only running calls are sorted, and this fixture has one.
            if c.state.context() != Calls {
                assert_ne!(rows(&b.frame), rows(&c.frame()), "{}", c.frame());
            }
        }),
        story("sort", &UNSORTED, |c, _| {
            c.shows("this list has only one sort order")
        }),
        story("sort-reverse", &UNSORTED, |c, _| {
            c.shows("this list has only one sort order")
        }),
        story("copy", &LISTS, |c, _| {
            c.shows("copied ");
            assert!(matches!(c.take_effects().as_slice(), [Effect::Copy(t)] if !t.is_empty()));
        }),
        story("copy", &[Tracing], |c, _| {
            c.shows("no row under the cursor")
        }),
        story("palette", Context::ALL, |c, _| {
            c.shows("╭─ Command ─");
            c.type_text("redr");
            c.shows("redraw the screen");
        }),
        story("help", Context::ALL, |c, b| {
            c.shows("╭─ Keys ─");
            c.shows(c.state.context().of().title);
            let key = c
                .state
                .options
                .keys
                .command(b.key.parse().unwrap(), c.state.context())
                .unwrap();
            assert_eq!(key.name, "help");
        }),
        story("incidents", Context::ALL, |c, _| {
            c.shows("╭─ Plugin failures ─");
            c.shows("1 failure, 1 not acknowledged");
            c.press("enter");
            assert_eq!(tab(c), "1 Plugins");
            c.shows("launch 5 of 5");
            assert!(cursor(c).unwrap().1.contains("acme/legacy"));
        }),
        story("screen-start", Context::ALL, |c, _| {
            assert_eq!(tab(c), "0 Start")
        }),
        story("screen-plugins", Context::ALL, |c, _| {
            assert_eq!(tab(c), "1 Plugins")
        }),
        story("screen-calls", Context::ALL, |c, _| {
            assert_eq!(tab(c), "2 Calls")
        }),
        story("screen-stage", Context::ALL, |c, _| {
            assert_eq!(tab(c), "3 Stage")
        }),
        story("screen-deploy", Context::ALL, |c, _| {
            assert_eq!(tab(c), "4 Deploy")
        }),
        story("screen-history", Context::ALL, |c, _| {
            assert_eq!(tab(c), "5 History")
        }),
        story("screen-state", Context::ALL, |c, _| {
            assert_eq!(tab(c), "6 State")
        }),
        story("screen-logs", Context::ALL, |c, _| {
            assert_eq!(tab(c), "7 Logs")
        }),
        story("screen-groups", Context::ALL, |c, _| {
            assert_eq!(tab(c), "8 Groups")
        }),
        after(
            "break",
            Context::ALL,
            |c| {
                c.state.options.faults = vec![Fault {
                    key: '5',
                    id: "crash".into(),
                    doc: "the plugin dies".into(),
                }]
            },
            |c, _| c.shows("the plugin dies"),
        ),
        story("theme", Context::ALL, |c, _| {
            c.shows("theme: light");
            assert_eq!(c.buffer()[(5, 0)].bg, Color::Rgb(0xec, 0xee, 0xf1));
        }),
        story("mouse", Context::ALL, |c, _| {
            assert_eq!(c.take_effects(), [Effect::Mouse(false)]);
            c.shows("mouse off");
        }),
        after(
            "wider",
            &PANES,
            |c| c.press("< < < < < < <"),
            |c, b| {
                c.shows("list 30 %, detail 70 %");
                assert!(b.frame.contains("list 25 %, detail 75 %"));
            },
        ),
        story("narrower", &PANES, |c, _| {
            c.shows("list 55 %, detail 45 %");
        }),
        after(
            "unknown",
            Context::ALL,
            |c| {
                c.event(EventKind::UnknownOutcomes {
                    outcomes: vec![fixture::unknown("create", "aws_eip.new", None)],
                });
                c.press("esc");
            },
            |c, b| {
                assert!(!b.frame.contains("? create aws_eip.new"), "{}", b.frame);
                c.shows("? create aws_eip.new");
            },
        ),
        story("workspaces", &[Calls, Deploy], |c, _| {
            c.shows("a deploy is running: switch");
            assert_eq!(c.take_effects(), []);
        }),
        story("workspaces", &IDLE, |c, _| {
            c.shows("╭─ Workspaces of shop-prod ─");
            assert_eq!(c.take_effects(), [Effect::LoadWorkspaces]);
        }),
        story("init", Context::ALL, |c, _| c.shows("nothing to install")),
        story("doctor", Context::ALL, |c, _| {
            c.shows("╭─ Doctor ─");
            assert_eq!(c.take_effects(), [Effect::RunDoctor]);
        }),
        story("orphans", Context::ALL, |c, _| {
            c.shows("no orphaned plugin processes")
        }),
        story("redraw", Context::ALL, |c, b| {
            assert_eq!(c.take_effects(), [Effect::Redraw]);
            assert_eq!(c.frame(), b.frame);
        }),
        story("suspend", Context::ALL, |c, b| {
            let [Effect::Suspend(words)] = &c.take_effects()[..] else {
                panic!("it stays")
            };
            assert_eq!(
                words.contains("deploy #31 starts no operation while it is suspended"),
                matches!(c.state.context(), Calls | Deploy)
            );
            assert_eq!(c.frame(), b.frame);
        }),
    ]
}

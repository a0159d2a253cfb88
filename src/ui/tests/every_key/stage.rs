//! Cases for keys of the Stage screen.

use super::{Before, KeyCase, after, story};
use crate::app::msg::{Answer, Effect};
use crate::app::state::Context::{self, *};
use crate::ui::tests::{Console, fixture};
use model::*;

pub(super) fn stage() -> Vec<KeyCase> {
    const S: &[Context] = &[Stage];
    const RANGES: &[Context] = &[Stage, State];
    vec![
        story("select", S, |c, _| {
            let bucket = "aws_s3_bucket.logs".to_owned();
            assert_eq!(
                c.take_effects(),
                [Effect::Select(12, vec![Select::Leave(bucket.clone())])]
            );
            c.event(EventKind::Selected {
                stage: 12,
                taken: vec![],
                left: vec![bucket.clone()],
            });
            assert!(c.line("[ ]").contains("aws_s3_bucket.logs"));
            c.press("space");
            assert_eq!(
                c.take_effects(),
                [Effect::Select(12, vec![Select::Take(bucket)])]
            );
        }),
        story("select-all", S, |c, _| {
            assert_eq!(c.take_effects(), [Effect::Select(12, vec![Select::None])]);
            c.event(EventKind::Selected {
                stage: 12,
                taken: vec![],
                left: vec!["aws_s3_bucket.logs".into()],
            });
            c.press("*");
            assert_eq!(c.take_effects(), [Effect::Select(12, vec![Select::All])]);
        }),
        story("selections", S, |c, _| {
            assert_eq!(c.take_effects(), [Effect::LoadSelections]);
            c.shows("╭─ Saved selections ─");
            c.shows("loading the saved selections…");
        }),
        story("range", RANGES, |c, _| c.shows("range: 1 row")),
        story("range-down", RANGES, |c, _| c.shows("range: 2 rows")),
        after(
            "range-up",
            RANGES,
            |c| c.press("j j"),
            |c, _| c.shows("range: 2 rows"),
        ),
        after("undo", S, deselect_first, |c, _| {
            let restored = Select::Except(vec![]);
            assert_eq!(c.take_effects(), [Effect::Select(12, vec![restored])]);
            c.shows("undone: aws_s3_bucket.logs selected again");
        }),
        after(
            "redo",
            S,
            |c| {
                deselect_first(c);
                c.press("u");
                c.take_effects();
            },
            |c, _| {
                let restored = Select::Except(vec!["aws_s3_bucket.logs".into()]);
                assert_eq!(c.take_effects(), [Effect::Select(12, vec![restored])]);
                c.shows("redone: aws_s3_bucket.logs deselected");
            },
        ),
        story("invert", S, |c, _| {
            assert_eq!(c.take_effects(), [Effect::Select(12, vec![Select::Invert])])
        }),
        after(
            "diff",
            S,
            |c| c.press("j"),
            |c, _| {
                c.hides("aws_eip.old");
                c.shows("~ Statement[Sid=a].N 1 → 2");
                c.shows("changed only (z: all)");
            },
        ),
        after(
            "all-attributes",
            S,
            |c| c.press("j"),
            |c, _| {
                c.shows("name   \"app\"");
                c.press("z");
                c.shows("1 attribute unchanged");
            },
        ),
        after(
            "reveal",
            S,
            |c| c.press("j j"),
            |c, _| c.shows("aws_db_instance.main: password"),
        ),
        story("reveal", &[Deploy], |c, _| {
            c.shows("reveal: no sensitive value here");
        }),
        story("reveal", &[State], |c, _| {
            c.shows("aws_iam_role.app: password");
        }),
        after(
            "edit",
            S,
            |c| c.press("j"),
            |c, _| {
                let effects = c.take_effects();
                assert!(
                    matches!(&effects[..], [Effect::FindDeclaration(_)]),
                    "{effects:?}"
                );
                c.answer(Answer::Declaration(None));
                c.shows("the configuration does not contain this block");
                let place = FileLine {
                    path: "/shop/main.tf".into(),
                    line: 7,
                };
                c.answer(Answer::Declaration(Some(place.clone())));
                // Staged again after the editor has ended.
                let staged = Effect::Stage(StageRequest::default());
                assert_eq!(c.take_effects(), [Effect::Edit(place), staged]);
            },
        ),
        story("edit", &[Plugins, Deploy, State], |c, _| {
            let effects = c.take_effects();
            assert!(
                matches!(&effects[..], [Effect::FindDeclaration(_)]),
                "{effects:?}"
            );
        }),
        story("plan-options", &[Start, Stage], |c, _| {
            c.shows("╭─ Plan options ─");
            c.shows("loading the variables…");
        }),
        after(
            "why",
            S,
            |c| c.press("j j j"),
            |c, _| {
                c.shows("╭─ Reason ─");
                c.shows("forces replacement");
                c.shows("  aws_iam_role.app");
            },
        ),
        story("apply", S, |c, _| {
            c.shows("Apply stage #12?");
            c.shows("- aws_eip.old");
            assert!(c.take_effects().is_empty());
        }),
        after(
            "forget",
            S,
            |c| {
                c.event(EventKind::UnknownOutcomes {
                    outcomes: vec![fixture::unknown("create", "aws_s3_bucket.logs", None)],
                });
                c.press("esc");
            },
            |c, _| {
                c.shows("Was aws_s3_bucket.logs never created?");
                assert!(c.take_effects().is_empty());
            },
        ),
        story("stage", S, |c, _| {
            assert_eq!(c.take_effects(), [Effect::Stage(StageRequest::default())]);
            c.event(EventKind::StageStarted(StageStarted {
                stage: 13,
                mode: StageMode::Normal,
                resources: 7,
            }));
            c.shows("staging #13");
        }),
        story("stage-on-save", S, |c, _| {
            assert!(c.take_effects().is_empty());
            c.shows(" · stages at each save");
        }),
        story("stage-destroy", S, |c, _| {
            let request = StageRequest {
                mode: StageMode::Destroy,
                ..StageRequest::default()
            };
            assert_eq!(c.take_effects(), [Effect::Stage(request)]);
        }),
        story("refresh-only", S, |c, _| {
            let request = StageRequest {
                mode: StageMode::RefreshOnly,
                ..StageRequest::default()
            };
            assert_eq!(c.take_effects(), [Effect::Stage(request)]);
        }),
        story("only-creates", S, |c, b| {
            only(c, b, "action:create", "aws_db_instance.main", "aws_eip.old")
        }),
        story("only-updates", S, |c, b| {
            only(c, b, "action:update", "aws_iam_role.app", "aws_eip.old")
        }),
        story("only-replaces", S, |c, b| {
            only(c, b, "action:replace", "aws_instance.web", "aws_eip.old")
        }),
        story("only-destroys", S, |c, b| {
            only(
                c,
                b,
                "action:destroy,replace",
                "aws_eip.old",
                "data.aws_ami.base",
            )
        }),
        story("unchanged", S, |c, b| {
            assert!(!b.frame.contains("aws_vpc.main"));
            c.shows("aws_vpc.main");
        }),
        after(
            "stage-diagnostics",
            S,
            |c| c.event(warning()),
            |c, _| {
                c.shows("╭─ Errors and warnings ─");
                c.shows("a deprecated argument");
            },
        ),
    ]
}

pub(super) fn warning() -> EventKind {
    EventKind::Diagnostic(Diagnostic {
        severity: Severity::Warning,
        summary: "a deprecated argument".into(),
        detail: "say it otherwise".into(),
        address: None,
        range: None,
        snippet: None,
        further: None,
        intent: None,
    })
}

/// Deselects the first change.
fn deselect_first(c: &mut Console) {
    c.press("space");
    c.take_effects();
    let left = vec!["aws_s3_bucket.logs".to_owned()];
    c.answer(Answer::Selected {
        stage: 12,
        selection: Selection {
            left,
            ..Selection::default()
        },
    });
}

/// Shows one kind of change, and all of them after the same key again.
fn only(c: &mut Console, b: &Before, query: &str, there: &str, gone: &str) {
    c.shows(&format!("filter: {query}   "));
    c.line(there);
    c.hides(gone);
    c.press(&b.key);
    c.line(gone);
}

//! Cases for keys of the State screen.

use super::{KeyCase, after, story, tab};
use crate::app::msg::{Answer, Effect};
use crate::app::state::Context;
use crate::app::state::Context::State;
use crate::ui::tests::fixture;
use model::*;

pub(super) fn state() -> Vec<KeyCase> {
    const S: &[Context] = &[State];
    const ADDRESS: &str = "aws_iam_role.app";
    vec![
        story("state-refresh", S, |c, b| {
            assert!(b.cursor.as_ref().unwrap().1.contains(ADDRESS));
            let request = StageRequest {
                mode: StageMode::RefreshOnly,
                target: vec![ADDRESS.into()],
                ..StageRequest::default()
            };
            assert_eq!(c.take_effects(), [Effect::Stage(request)]);
            assert_eq!(tab(c), "3 Stage");
        }),
        story("state-look", S, |c, _| {
            assert_eq!(c.take_effects(), [Effect::Look]);
            let text = "objects outside of groups: no drift".to_owned();
            c.answer(Answer::StateEdited(text));
            assert_eq!(c.take_effects(), [Effect::LoadState]);
        }),
        story("state-replace", S, |c, _| {
            let request = StageRequest {
                target: vec![ADDRESS.into()],
                replace: vec![ADDRESS.into()],
                ..StageRequest::default()
            };
            assert_eq!(c.take_effects(), [Effect::Stage(request)]);
            assert_eq!(tab(c), "3 Stage");
        }),
        after(
            "state-repair",
            S,
            |c| {
                let mut rows = fixture::state_rows();
                rows[2].drift = Some(DriftKind::Changed);
                c.answer(Answer::State(rows));
            },
            |c, _| {
                let request = StageRequest {
                    target: vec![ADDRESS.into()],
                    ..StageRequest::default()
                };
                assert_eq!(c.take_effects(), [Effect::Stage(request)]);
                assert_eq!(tab(c), "3 Stage");
            },
        ),
        story("state-taint", S, |c, _| {
            c.shows("Remove the taint of aws_iam_role.app?");
            c.press("y");
            let untaint = Effect::Taint {
                address: ADDRESS.into(),
                tainted: false,
            };
            assert_eq!(c.take_effects(), [untaint]);
            c.answer(Answer::StateEdited("aws_iam_role.app: untainted".into()));
            assert_eq!(c.take_effects(), [Effect::LoadState]);
        }),
        story("state-move", S, |c, _| {
            c.shows("Move aws_iam_role.app in the state");
            c.press("enter");
            c.shows("the new address is the present one");
            c.press("2 enter");
            let (from, to) = (ADDRESS.to_owned(), format!("{ADDRESS}2"));
            let listed = Effect::Move {
                from: from.clone(),
                to: to.clone(),
                dry_run: true,
            };
            assert_eq!(c.take_effects(), [listed]);
            let moves = vec![fixture::moved(ADDRESS, &to)];
            c.answer(Answer::Moves { from, to, moves });
            c.shows("Move 1 object in the state?");
            c.shows("aws_iam_role.app → aws_iam_role.app2");
            c.press("y");
            assert!(matches!(
                c.take_effects()[..],
                [Effect::Move { dry_run: false, .. }]
            ));
        }),
        story("state-forget", S, |c, _| {
            c.shows("Forget aws_iam_role.app?");
            c.shows("The real object stays");
            assert_eq!(c.take_effects(), []);
            c.press("y");
            assert_eq!(c.take_effects(), [Effect::Forget(vec![ADDRESS.into()])]);
        }),
        story("state-import", S, |c, _| {
            // The first create of the stage is proposed.
            c.shows("address: aws_s3_bucket.logs");
            c.press("backspace backspace tab");
            c.shows("address: aws_s3_bucket.logs");
            c.press("enter");
            c.shows("documents for aws_s3_bucket");
            c.press("b - 1 enter");
            let object = ImportObject {
                address: "aws_s3_bucket.logs".into(),
                id: "b-1".into(),
                ..ImportObject::default()
            };
            assert_eq!(c.take_effects(), [Effect::Import(object)]);
        }),
        story("state-reload", S, |c, _| {
            assert_eq!(c.take_effects(), [Effect::LoadState]);
            c.answer(Answer::State(vec![]));
            c.shows("The state is empty");
        }),
    ]
}

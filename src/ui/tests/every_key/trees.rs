//! Cases for keys of the trees of modules, and of the tree of a schema.

use super::{KeyCase, after};
use crate::app::msg::{Answer, Effect};
use crate::app::state::Context::*;
use crate::app::state::{Context, Screen};
use crate::ui::tests::Console;
use crate::ui::tests::fixture::{self, modules};

const TREES: &[Context] = &[Stage, Deploy, Replay, State];

/// Loads a list with modules into the current screen, and moves to the last module.
fn modules(c: &mut Console) {
    match c.state.context() {
        Stage => c.event(modules::stage()),
        Deploy => c.event(modules::deploy()),
        State => c.answer(Answer::State(modules::rows())),
        _ => {
            let mut record = fixture::record();
            record.events = vec![];
            record.operations = modules::operations();
            c.answer(Answer::Record(Box::new(record)));
        }
    }
    c.frame();
    let last = c.state.frame.rows.iter().rposition(|r| r.node().is_some());
    let after = c.state.frame.rows.iter().skip(last.unwrap() + 1);
    let down = after.filter(|r| !r.heading).count();
    c.press("G");
    (0..down).for_each(|_| c.press("k"));
    c.state.frame.toast = None;
}

fn is_folded(c: &mut Console) -> bool {
    c.frame();
    c.state.selected().unwrap().node().unwrap().folded
}

/// Returns the cases.
pub(super) fn stories() -> Vec<KeyCase> {
    vec![
        after(
            "starter",
            &[Schema],
            |c| c.press("j"),
            |c, _| {
                let id = fixture::id("hashicorp/aws");
                let asked = Effect::WriteStarter(id, "aws_vpc".into());
                assert_eq!(c.take_effects(), [asked]);
                let text = "resource \"aws_vpc\" \"example\" {\n}\n";
                c.answer(Answer::Starter(text.into()));
                c.shows("resource \"aws_vpc\" \"example\" {");
                assert_eq!(c.take_effects(), [Effect::Copy(text.into())]);
            },
        ),
        after("fold", TREES, modules, |c, _| {
            assert!(is_folded(c));
            c.shows("▸ [\"search\"]");
        }),
        after(
            "unfold-module",
            TREES,
            |c| {
                modules(c);
                c.press("left");
            },
            |c, _| assert!(!is_folded(c)),
        ),
        after("fold-all", TREES, modules, |c, _| {
            c.shows("▸ module.svc (2)");
            c.press("Z");
            c.shows("▾ module.svc (2)");
        }),
        after("tree", TREES, modules, |c, _| {
            c.hides("▾ module.svc (2)");
            assert!(c.state.trees.flat && c.state.screen != Screen::Logs);
        }),
    ]
}

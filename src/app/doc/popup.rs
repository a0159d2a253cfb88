//! Contents of the help and of the cancel ladder.

use super::{Doc, Line, Role, line, push_heading, span};
use crate::app::command::COMMANDS;
use crate::app::format::{count, elapsed};
use crate::app::state::State;
use model::{CancelRung, OperationState};

/// Lists the commands of this context with their keys, special ones first.
pub fn help(state: &State) -> Doc {
    let context = state.context();
    let mut doc = Doc::new();
    for special in [true, false] {
        push_heading(
            &mut doc,
            if special {
                context.of().title
            } else {
                "Everywhere"
            },
        );
        for c in COMMANDS
            .iter()
            .filter(|c| c.is_in(context) && c.is_special() == special)
        {
            let keys = state.keys.keys_of(c, context);
            // Commands without a key are in the palette.
            if keys.is_empty() {
                continue;
            }
            let keys = keys
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" ")
                + "  ";
            let can = (c.when)(state).is_ok();
            doc.push(vec![
                span(
                    if can { Role::Key } else { Role::Dim },
                    format!("  {keys:<16}"),
                ),
                span(if can { Role::Plain } else { Role::Dim }, c.doc),
            ]);
        }
    }
    push_heading(&mut doc, "Signs");
    for (role, sign, word) in [
        (Role::Create, "+", "create"),
        (Role::Update, "~", "update in place"),
        (
            Role::Destroy,
            "-/+",
            "replace: destroy, then create (+/-: create, then destroy)",
        ),
        (Role::Destroy, "-", "destroy"),
        (Role::Read, "<=", "read"),
        (
            Role::Forget,
            "×",
            "forget: remove from the state, keep the object",
        ),
    ] {
        doc.push(vec![
            span(role, format!("  {sign:<16}")),
            span(Role::Plain, word),
        ]);
    }
    doc
}

/// Rungs of the cancel ladder, softest first.
pub const RUNGS: [CancelRung; 3] = [
    CancelRung::StopStarting,
    CancelRung::AskPlugins,
    CancelRung::KillPlugins,
];

/// Renders each rung with the affected operations, plugins and calls.
pub fn cancel_rungs(state: &State) -> Vec<Doc> {
    let operations = || {
        state
            .view
            .deploy
            .iter()
            .filter(|d| d.summary.is_none())
            .flat_map(|d| &d.operations)
    };
    let waiting = operations()
        .filter(|o| o.state == OperationState::Waiting)
        .count();
    let running = operations()
        .filter(|o| o.state == OperationState::Running)
        .count();
    let replacing = operations().filter(|o| o.is_replacing()).count();
    // Rungs 2 and 3 may interrupt a replacement between its destroy and its create.
    let by_half = || {
        line(
            Role::Bad,
            format!(
                "   {} may stay incomplete: destroyed, not re-created",
                count(replacing, "replacement")
            ),
        )
    };
    let calls: Vec<Line> = state
        .view
        .calls
        .values()
        .filter_map(|c| {
            let since = elapsed(state.now - c.started_at?);
            Some(line(
                Role::Dim,
                format!(
                    "      {} {} of {}, {since}",
                    c.method,
                    c.resource.as_deref().unwrap_or(""),
                    c.plugin
                ),
            ))
        })
        .collect();
    let mut plugins: Vec<_> = state
        .view
        .calls
        .values()
        .filter(|c| c.started_at.is_some())
        .map(|c| &*c.plugin.0)
        .collect();
    plugins.sort_unstable();
    plugins.dedup();
    let soft = first_rung(state, waiting, running, replacing);
    let mut ask = vec![line(Role::Strong, "2  ask the plugins to stop")];
    ask.push(line(
        Role::Plain,
        format!(
            "   asked to stop: {}; running calls can finish, and their outcomes are recorded:",
            count(plugins.len(), "plugin")
        ),
    ));
    if replacing > 0 {
        ask.push(by_half());
    }
    // More calls would push the third rung off small screens.
    ask.extend(calls.iter().take(8).cloned());
    let mut kill = vec![line(Role::Bad, "3  kill the plugins")];
    kill.push(line(
        Role::Plain,
        format!(
            "   kills {}; leaves an unknown outcome for {}, until a stage reads the objects back",
            processes(plugins.len()),
            count(calls.len(), "call")
        ),
    ));
    if replacing > 0 {
        kill.push(by_half());
    }
    vec![soft, ask, kill]
}

/// Renders the first rung, which starts no further operations.
fn first_rung(state: &State, waiting: usize, running: usize, replacing: usize) -> Doc {
    let mut soft = vec![line(Role::Strong, "1  start no new operation")];
    if state.view.staging.is_some() {
        soft.push(line(
            Role::Plain,
            "   staging stops; it changes nothing, so nothing is lost",
        ));
    } else {
        soft.push(line(
            Role::Plain,
            format!(
                "   not attempted: {}; waiting for {}",
                count(waiting, "operation"),
                count(running, "running operation")
            ),
        ));
        if replacing > 0 {
            soft.push(line(
                Role::Plain,
                format!(
                    "   {} in progress: completed first, so that destroyed objects are re-created",
                    count(replacing, "replacement")
                ),
            ));
        }
    }
    soft
}

fn processes(n: usize) -> String {
    if n == 1 {
        "1 process".to_owned()
    } else {
        format!("{n} processes")
    }
}

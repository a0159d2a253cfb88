//! Cancel ladder: three ways to stop running work, from soft to hard, each with its effect; and
//! three ways to stop the call under the cursor, while the rest of the work goes on.

use super::{Answers, Confirm, Content, List, Page, Part};
use crate::app::command;
use crate::app::doc::{Doc, Line, Reported, Role, line, wrap};
use crate::app::format::{count, elapsed};
use crate::app::key::{ENTER, Key, KeyCode, moved};
use crate::app::msg::Effect;
use crate::app::progress;
use crate::app::state::{Context, State};
use model::view::{CallView, DeployView};
use model::{Action, CallId, CancelRung, Operation, OperationState, PluginCommand, PluginId};

/// Rungs of the cancel ladder, softest first.
const RUNGS: [CancelRung; 3] = [
    CancelRung::StopStarting,
    CancelRung::AskPlugins,
    CancelRung::KillPlugins,
];

/// Maximum number of calls below the second rung; more would push the third one off small screens.
const CALLS: usize = 8;

/// The cancel ladder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ladder {
    selected: usize,
}

impl Content for Ladder {
    const WIDTH: u16 = 84;

    fn key(mut self, state: &mut State, key: Key, effects: &mut Vec<Effect>) {
        if key == Key::char('q') {
            return;
        }
        let steps = steps(state);
        self.selected = match key {
            Key {
                code: KeyCode::Char(c @ '1'..='6'),
                ctrl: false,
                alt: false,
            } => c as usize - '1' as usize,
            _ => moved(self.selected, key.step().unwrap_or_default(), steps.len()),
        };
        // The call under the cursor may have ended.
        self.selected = self.selected.min(steps.len() - 1);
        if key != ENTER {
            state.open(self);
            return;
        }
        if let Err(why) = command::writable(state) {
            state.show_error(why);
            return;
        }
        match &steps[self.selected] {
            // Only ends of processes leave unknown outcomes, so only they need a confirmation.
            Step::Rung(CancelRung::KillPlugins) => state.open(confirm_kill(state)),
            Step::Rung(rung) => effects.push(Effect::Cancel(*rung)),
            Step::GiveUp(call) => state.open(confirm_give_up(state, *call)),
            Step::Plugin(id, command @ PluginCommand::Restart) => {
                state.open(command::confirm_interruption(
                    state, id, *command, "Restart",
                ));
            }
            Step::Plugin(id, command) => effects.push(Effect::Plugin(id.clone(), *command)),
        }
    }

    fn page(&self, state: &State, cells: usize) -> Page {
        let running = Running::of(state);
        let mut rungs = vec![
            running.stop_starting(state),
            running.ask_plugins(state),
            running.kill_plugins(state),
        ];
        let mut headings = Vec::new();
        if let Some(call) = call_under_cursor(state) {
            headings = vec![(0, whole(state)), (rungs.len(), only(call))];
            rungs.extend(stop_call(state, call));
        }
        let mut rows = Vec::new();
        let mut selected = 0;
        for (rung, doc) in rungs.iter().enumerate() {
            let heading = headings.iter().find(|(at, _)| *at == rung);
            rows.extend(heading.map(|(_, text)| line(Role::Heading, text)));
            if rung == self.selected {
                selected = rows.len();
            }
            rows.extend(wrap(doc, cells));
            rows.push(Line::new());
        }
        let digits = format!("1-{} j k", rungs.len());
        let keys = Part::keys(&[
            (&digits, "choose"),
            ("enter", "run this step"),
            ("esc", "keep running"),
        ]);
        Page {
            below: vec![keys],
            ..Page::new(
                title(state),
                Role::Warn,
                Part::List(List::new(rows, selected)),
            )
        }
    }
}

/// Step that the operator can choose.
enum Step {
    Rung(CancelRung),
    /// Ends the wait for one call.
    GiveUp(CallId),
    /// Stops the calls of one plugin.
    Plugin(PluginId, PluginCommand),
}

fn steps(state: &State) -> Vec<Step> {
    let mut steps: Vec<Step> = RUNGS.map(Step::Rung).into();
    if let Some(call) = call_under_cursor(state) {
        let command = |command| Step::Plugin(call.plugin.clone(), command);
        steps.extend([
            command(PluginCommand::Interrupt),
            Step::GiveUp(call.call),
            command(PluginCommand::Restart),
        ]);
    }
    steps
}

/// Running call of the row under the cursor: the call itself, or that of an operation.
fn call_under_cursor(state: &State) -> Option<&CallView> {
    match state.context() {
        Context::Calls => {
            let call = state.view.calls.get(&state.selected()?.key.number()?)?;
            call.started_at.is_some().then_some(call)
        }
        _ => {
            let address = &state.operation()?.address;
            running_calls(state).find(|c| c.resource.as_deref() == Some(address))
        }
    }
}

/// Heading of the steps for all running work.
fn whole(state: &State) -> String {
    match (running_deploy(state), &state.view.staging) {
        (Some(_), _) => "the whole deploy".to_owned(),
        (None, Some(_)) => "the whole staging".to_owned(),
        (None, None) => "all running calls".to_owned(),
    }
}

/// Heading of the steps for one call.
fn only(call: &CallView) -> String {
    format!("only {}", call.resource.as_deref().unwrap_or(&call.method))
}

/// Renders the steps for one call. A plugin can only be asked to stop all of its calls.
fn stop_call(state: &State, call: &CallView) -> [Doc; 3] {
    let plugin = &call.plugin;
    let others = running_calls(state).filter(|c| c.plugin == *plugin).count() - 1;
    let also = match others {
        0 => String::new(),
        n => format!("; also ends {} of it", count(n, "other call")),
    };
    let goes_on = match running_deploy(state) {
        Some(_) => "; the deploy goes on",
        None => "",
    };
    let step = |role, head: String, effect: String| {
        let effect = format!("   {effect}{goes_on}");
        vec![line(role, head), line(Role::Plain, effect)]
    };
    [
        step(
            Role::Strong,
            format!("4  ask {plugin} to stop"),
            format!("the call may end early, as a failure{also}"),
        ),
        step(
            Role::Strong,
            format!("5  stop waiting for {plugin}"),
            "cancels this call alone: the outcome is unknown".to_owned(),
        ),
        step(
            Role::Alarm,
            format!("6  restart {plugin}"),
            format!("kills its process: the outcome can be unknown{also}"),
        ),
    ]
}

/// Effect of each rung on operations that wait.
fn starts_none(state: &State) -> &'static str {
    match running_deploy(state) {
        Some(_) => "starts no new operations; ",
        None => "",
    }
}

/// Names the work that the ladder stops.
fn title(state: &State) -> String {
    match (running_deploy(state), &state.view.staging) {
        (Some(d), _) => format!("Cancel deploy #{}", d.deploy),
        (None, Some(s)) => format!("Cancel staging #{}", s.stage),
        (None, None) => "Cancel the running calls".to_owned(),
    }
}

fn running_deploy(state: &State) -> Option<&DeployView> {
    let deploy = state.view.deploy.as_ref();
    deploy.filter(|d| d.summary.is_none())
}

/// Returns an object that a kill may leave half changed, and its state.
fn half_changed(o: &Operation) -> Option<(&str, &'static str)> {
    let half = match o.action {
        Action::Create => "created",
        Action::Update => "updated",
        Action::Replace | Action::ReplaceCreateFirst => "replaced",
        Action::Destroy => "destroyed",
        _ => return None,
    };
    (o.state == OperationState::Running).then_some((&*o.address, half))
}

/// Running calls, in the order of their numbers.
fn running_calls(state: &State) -> impl Iterator<Item = &CallView> {
    let calls = state.view.calls.values();
    calls.filter(|c| c.started_at.is_some())
}

fn confirm_kill(state: &State) -> Confirm {
    let calls: Vec<_> = running_calls(state).collect();
    let ends = match running_deploy(state) {
        Some(_) => "may have an unknown outcome",
        None => "will end without an answer",
    };
    let head = format!("{} {ends}:", count(calls.len(), "call"));
    let mut body = vec![line(Role::Bad, head)];
    body.extend(calls.iter().map(|c| {
        let resource = c.resource.as_deref().unwrap_or("");
        line(
            Role::Plain,
            format!("  {} {resource} of {}", c.method, c.plugin),
        )
    }));
    Confirm {
        title: "Kill the plugins?".to_owned(),
        body,
        effects: vec![Effect::Cancel(CancelRung::KillPlugins)],
        answers: Answers::action("Kill"),
        ..Confirm::default()
    }
}

fn confirm_give_up(state: &State, call: CallId) -> Confirm {
    let view = state.view.calls.get(&call);
    let of = view.map_or_else(String::new, |call| {
        let resource = call.resource.as_deref().unwrap_or("");
        format!("{} {resource} of {}", call.method, call.plugin)
    });
    let body = vec![
        line(Role::Plain, format!("  {of}")),
        Line::new(),
        line(Role::Warn, GIVEN_UP),
    ];
    Confirm {
        title: "Stop waiting for this call?".to_owned(),
        body,
        effects: vec![Effect::GiveUp(call)],
        answers: Answers::action("Stop waiting"),
        ..Confirm::default()
    }
}

/// Effect of the end of a wait.
const GIVEN_UP: &str = "The call is cancelled, and its plugin may still work on it. The outcome of a change is unknown: U shows how to settle it.";

/// Running work that a rung affects.
#[derive(Debug, Default, PartialEq, Eq)]
struct Running {
    /// Operations of the running deploy by state.
    waiting: usize,
    running: usize,
    replacing: usize,
    calls: usize,
    /// Plugins with running calls.
    plugins: usize,
    /// Usual time until the running operations have ended; `None` if it is unknown.
    left_ms: Option<i64>,
}

impl Running {
    fn of(state: &State) -> Self {
        let operations = running_deploy(state).map_or(&[][..], |d| &d.operations);
        let count = |f: fn(&Operation) -> bool| operations.iter().filter(|o| f(o)).count();
        let mut plugins: Vec<&str> = running_calls(state).map(|c| &*c.plugin.0).collect();
        plugins.sort_unstable();
        plugins.dedup();
        let left = running_deploy(state).and_then(|deploy| {
            let running = operations.iter();
            let running = running.filter(|o| o.state == OperationState::Running);
            let left = running.map(|o| {
                let worked = progress::worked_ms(state, deploy, o, state.now);
                let usual = o.usual_ms.and_then(|ms| i64::try_from(ms).ok());
                let left = match usual {
                    Some(usual) => usual - worked,
                    None => Reported::of(state, o.plugin.as_ref()?, &o.address, o.began?)?.left_ms,
                };
                (left > 0).then_some(left)
            });
            left.collect::<Option<Vec<i64>>>()?.into_iter().max()
        });
        Self {
            left_ms: left,
            waiting: count(|o| o.state == OperationState::Waiting),
            running: count(|o| o.state == OperationState::Running),
            replacing: count(Operation::is_replacing),
            calls: running_calls(state).count(),
            plugins: plugins.len(),
        }
    }

    /// Renders the first rung, which starts no further operations.
    fn stop_starting(&self, state: &State) -> Doc {
        if state.view.staging.is_some() {
            let text = "   staging changes nothing, so nothing is lost";
            return vec![
                line(Role::Strong, "1  stop staging"),
                line(Role::Plain, text),
            ];
        }
        let head = match self.running {
            0 => "1  start no new operations".to_owned(),
            n => format!("1  finish {}, then end", count(n, "running operation")),
        };
        let mut doc = vec![line(Role::Strong, head)];
        let mut text = format!("   the other {} are not attempted", self.waiting);
        if let Some(left) = self.left_ms {
            text += &format!("; ends in about {}", elapsed(left + 999));
        }
        doc.push(line(Role::Plain, text));
        if self.replacing > 0 {
            doc.push(line(
                Role::Plain,
                format!(
                    "   {} in progress: completed first, so that destroyed objects are re-created",
                    count(self.replacing, "replacement")
                ),
            ));
        }
        doc
    }

    /// Renders the second rung with the running calls.
    fn ask_plugins(&self, state: &State) -> Doc {
        let head = "2  ask plugins to stop: calls may end early, as failures";
        let mut doc = vec![line(Role::Strong, head)];
        doc.push(line(
            Role::Plain,
            format!(
                "   {}asks {} and waits for each answer, which is recorded:",
                starts_none(state),
                count(self.plugins, "plugin")
            ),
        ));
        doc.extend(self.incomplete_replacements());
        doc.extend(running_calls(state).take(CALLS).map(|c| {
            let since = elapsed(state.now - c.started_at.unwrap_or(state.now));
            let resource = c.resource.as_deref().unwrap_or("");
            line(
                Role::Dim,
                format!("      {} {resource} of {}, {since}", c.method, c.plugin),
            )
        }));
        if let more @ 1.. = self.calls.saturating_sub(CALLS) {
            doc.push(line(Role::Dim, format!("      and {more} more")));
        }
        doc
    }

    /// Renders the third rung.
    fn kill_plugins(&self, state: &State) -> Doc {
        let processes = match self.plugins {
            1 => "1 process".to_owned(),
            n => format!("{n} processes"),
        };
        let operations = running_deploy(state).map_or(&[][..], |d| &d.operations);
        let half: Vec<_> = operations.iter().filter_map(half_changed).collect();
        let head = match half.as_slice() {
            [] => "3  kill plugins".to_owned(),
            [(address, half)] => format!("3  kill plugins: {address} may be half {half}"),
            [(address, _), more @ ..] => format!(
                "3  kill plugins: {address} and {} more may be half changed",
                more.len()
            ),
        };
        let effect = match half.len() {
            0 => "running calls end without an answer".to_owned(),
            n => format!(
                "can leave an unknown outcome for {}; then {} reads the {} again",
                count(n, "operation"),
                state.options.keys.first("unknown"),
                if n == 1 { "object" } else { "objects" },
            ),
        };
        let mut doc = vec![line(Role::Alarm, head)];
        let text = format!("   {}kills {processes}; {effect}", starts_none(state));
        doc.push(line(Role::Plain, text));
        doc.extend(self.incomplete_replacements());
        doc
    }

    /// Renders the replacements that rungs 2 and 3 may interrupt between destroy and create.
    fn incomplete_replacements(&self) -> Option<Line> {
        (self.replacing > 0).then(|| {
            line(
                Role::Bad,
                format!(
                    "   {} may stay incomplete: destroyed, not re-created",
                    count(self.replacing, "replacement")
                ),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::doc::plain_text;

    #[test]
    fn rungs_name_replacements_that_may_stay_incomplete() {
        let running = Running {
            running: 2,
            replacing: 1,
            calls: 1,
            plugins: 1,
            ..Running::default()
        };
        let text = plain_text(&running.kill_plugins(&State::new("shop", "/shop")));
        assert!(text.contains("kills 1 process; "), "{text}");
        assert!(text.contains("1 replacement may stay incomplete"), "{text}");
        let idle = plain_text(&Running::default().kill_plugins(&State::new("shop", "/shop")));
        assert!(!idle.contains("incomplete"), "{idle}");
    }
}

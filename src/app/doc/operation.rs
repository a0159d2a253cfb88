//! Details of an operation: progress, dependencies, calls, log lines and failure.

use super::operation_log::{OtherNames, log_line, log_lines};
use super::{
    Doc, Extent, Line, Role, action_sign, address, beside, call, change, line, log_text,
    push_heading, push_text, span, unknown, wrap,
};
use crate::app::format::{aligned, clock, clock_ms, count, duration, elapsed};
use crate::app::layout;
use crate::app::log::LogEntry;
use crate::app::progress;
use crate::app::screens::push_keys;
use crate::app::state::{Context, State};
use crate::app::text::width;
use model::{
    Failure, FailureClass, FailureGroup, Operation, OperationState, RequestedCall,
    SideEffectOutcome,
};
use model::{PluginId, UnixMs};

/// Renders an operation of a deploy at a time: the reason of a failure first, then everything that
/// explains it.
pub fn operation(state: &State, op: &Operation, now: UnixMs) -> Doc {
    let mut doc = Doc::new();
    let log = log_lines(state, op, now);
    if let Some(f) = &op.failure {
        failure(state, &mut doc, f, &log);
        list_next_steps(state, op, f, &mut doc);
    }
    state_of(state, op, now, &mut doc);
    // During a retry, the state above shows the attempt already.
    if op.attempt > 1 && op.retry.is_none() {
        doc.push(line(
            Role::Dim,
            format!("a call needed {} attempts", op.attempt),
        ));
    }
    for w in &op.warnings {
        doc.push(vec![span(Role::Warn, "warning: "), span(Role::Plain, w)]);
    }
    let mut calls = Doc::new();
    list_calls(state, op, &mut calls);
    let mut times = Doc::new();
    timeline(state, op, &mut times);
    let cells = layout::detail_size(state).0;
    let is_first = doc.is_empty();
    if !is_first {
        let gap = !calls.is_empty() && !times.is_empty();
        calls.extend(gap.then(Line::new));
        calls.append(&mut times);
    }
    // On the whole screen, the right part is as long as all that explains the failure.
    if op.failure.is_some() && state.list().zoom {
        list_planned_values(state, op, &mut calls);
        list_surroundings(state, op, log, &mut doc);
        return beside(doc, calls, cells);
    }
    let mut doc = match is_first {
        true => beside(calls, times, cells),
        false => beside(doc, calls, cells),
    };
    list_surroundings(state, op, log, &mut doc);
    doc
}

/// Lists requests to other plugins, the log, dependencies and dependents of an operation.
fn list_surroundings(state: &State, op: &Operation, log: Vec<&LogEntry>, doc: &mut Doc) {
    list_requested_calls(op, doc);
    let all = log.len();
    let others = OtherNames::of(state, &op.address);
    let log: Vec<&LogEntry> = log
        .into_iter()
        .filter(|e| !others.are_in(&e.line.text))
        .collect();
    if let (Some(plugin), false) = (&op.plugin, log.is_empty()) {
        push_heading(doc, format!("log of {plugin} at that time, newest first"));
        let hidden = all - log.len();
        doc.extend(log.into_iter().rev().map(|e| log_line(state, e)));
        if hidden > 0 {
            let key = state.options.keys.first("operation-logs");
            let text = format!(
                "  {} of other resources: {key} shows all",
                count(hidden, "line")
            );
            doc.push(line(Role::Dim, text));
        }
    }
    list_dependencies(state, op, doc);
    if let Some((d, _)) = state.shown_deploy() {
        list_dependents(&d.operations, op, |n| format!("blocks {n}"), doc);
    }
}

/// Renders sign, address and state of an operation in one line.
pub fn operation_title(state: &State, op: &Operation) -> Line {
    let took = duration(op.took_ms.unwrap_or(0));
    let text = match op.state {
        OperationState::Running => {
            // Without the time in the queue, which has its own line.
            let shown = state.shown_deploy();
            let since = shown.map_or(0, |(d, now)| progress::worked_ms(state, d, op, now));
            format!("{} for {}", op.step, elapsed(since))
        }
        OperationState::Done => format!("{} in {took}", op.action.past_tense()),
        OperationState::Failed => format!("{} failed after {took}", op.action.operation_word()),
        OperationState::Unknown => "unknown outcome".to_owned(),
        OperationState::HalfReplaced => op.step.to_string(),
        OperationState::NotAttempted => "not attempted".to_owned(),
        OperationState::Waiting => "waiting".to_owned(),
    };
    let (sign, role) = operation_sign(op.state);
    let mut l = action_sign(op.action);
    l.push(span(Role::Plain, " "));
    l.push(address(Role::Strong, &op.address));
    l.push(span(role, format!("  {sign} {text}")));
    l
}

/// Sign and role of the state of an operation.
pub fn operation_sign(s: OperationState) -> (&'static str, Role) {
    match s {
        OperationState::Waiting => ("·", Role::Dim),
        OperationState::Running => ("◐", Role::Busy),
        OperationState::Done => ("✓", Role::Ok),
        OperationState::Failed | OperationState::HalfReplaced => ("✗", Role::Bad),
        OperationState::NotAttempted => ("○", Role::Dim),
        OperationState::Unknown => ("?", Role::Warn),
    }
}

/// Returns the pause of an operation: its reason and end.
pub fn pause(op: &Operation, now: UnixMs) -> Option<(Role, String)> {
    if let Some(text) = op.readiness_wait(now) {
        return Some((Role::Busy, text));
    }
    let retry = op.retry.as_ref()?;
    let mut text = retry.text(now);
    if let Some(reason) = &retry.reason {
        text += &format!(": {reason}");
    }
    Some((Role::Warn, text))
}

/// Renders what the title does not say about the state of the operation.
fn state_of(state: &State, op: &Operation, now: UnixMs, doc: &mut Doc) {
    match op.state {
        OperationState::Running => {
            if let Some((role, text)) = pause(op, now) {
                doc.push(line(role, text));
            }
            if let Some(c) = progress::queued(state, op) {
                doc.push(progress::in_line(state, c));
                let why = c.waits_for.as_deref().unwrap_or_default();
                push_text(doc, Role::Dim, "  ", why);
            }
        }
        OperationState::Unknown => {
            let text = "the call was sent, but no answer is recorded";
            doc.push(line(Role::Warn, text));
            // The operation stays unknown in the record of its deploy after it was resolved.
            if let Some(how) = op.settlement() {
                doc.push(line(Role::Dim, format!("resolved: {how}")));
            }
            let mut all = state.view.unknown.iter();
            if let Some(u) = all.find(|u| unknown::is_of_operation(u, op)) {
                doc.extend(unknown::unknown(u));
            }
        }
        // With a failure, the next steps name the key.
        OperationState::HalfReplaced if op.failure.is_none() => {
            doc.push(line(Role::Dim, "t stages the missing half"));
        }
        OperationState::HalfReplaced => {}
        OperationState::NotAttempted => doc.push(line(Role::Dim, "t stages the rest")),
        OperationState::Done | OperationState::Failed | OperationState::Waiting => {}
    }
}

/// Lists the phases of a link, and side effects that its plugin requested from other plugins.
fn list_requested_calls(op: &Operation, doc: &mut Doc) {
    let (phases, others): (Vec<&RequestedCall>, _) =
        op.beside.iter().partition(|b| b.deed.is_of_link());
    list_side_effects("phases", &phases, doc);
    list_side_effects("side effects (in no state)", &others, doc);
}

fn list_side_effects(heading: &str, all: &[&RequestedCall], doc: &mut Doc) {
    if all.is_empty() {
        return;
    }
    push_heading(doc, heading);
    for beside in all {
        let role = match beside.end {
            SideEffectOutcome::Open => Role::Busy,
            SideEffectOutcome::Done => Role::Plain,
            SideEffectOutcome::Failed(_) => Role::Bad,
            SideEffectOutcome::Unknown(_) => Role::Warn,
        };
        push_text(doc, role, "  ", &beside.text());
    }
}

/// Lists start and end, and the usual duration of such an operation.
fn timeline(state: &State, op: &Operation, doc: &mut Doc) {
    // The title says that it has not started.
    if op.began.is_none() && op.usual_ms.is_none() {
        return;
    }
    push_heading(doc, "timeline");
    if let Some(b) = op.began {
        doc.push(line(
            Role::Plain,
            format!("  {}  started", clock(b, state.utc_offset)),
        ));
        if let Some(t) = op.took_ms {
            // Computed, because an operation has a start and a duration only.
            let end = b + i64::try_from(t).unwrap_or(0);
            let text = format!("  {}  ended", clock(end, state.utc_offset));
            doc.push(line(Role::Plain, text));
        }
    }
    if let Some(u) = op.usual_ms {
        doc.push(line(Role::Dim, format!("  usual: {}", duration(u))));
    }
    if let Some(ms) = state
        .shown_deploy()
        .and_then(|(d, _)| d.queued_ms.get(&op.address))
    {
        doc.push(line(
            Role::Dim,
            format!("  queued for slots: {}", duration(*ms)),
        ));
    }
}

/// Fewest lines of the change of a failed operation.
const PLANNED_LINES: usize = 12;

/// Lists the values that a failed operation should have set, if its stage is still the shown one.
fn list_planned_values(state: &State, op: &Operation, doc: &mut Doc) {
    let stage = state.view.stage.as_ref();
    let shown = state.shown_deploy();
    let Some(stage) = stage.filter(|s| shown.is_some_and(|(d, _)| d.stage == s.stage)) else {
        return;
    };
    let Some(c) = stage.changes.iter().find(|c| c.address == op.address) else {
        return;
    };
    let values = change(c, None, Extent::default());
    push_heading(doc, "planned values");
    let (cells, lines) = layout::detail_size(state);
    // One line is for the number of others.
    let shown = lines.saturating_sub(doc.len() + 1).max(PLANNED_LINES);
    // Longer ones would leave no space for the part beside them.
    let values = wrap(&values, (cells / 2).saturating_sub(4));
    let more = values.len().saturating_sub(shown);
    doc.extend(values.into_iter().take(shown));
    if more > 0 {
        let key = state.options.keys.first("screen-stage");
        doc.push(line(
            Role::Dim,
            format!("    {more} more: {key} shows the change"),
        ));
    }
}

/// Lists dependencies: unmet ones first, completed ones last.
fn list_dependencies(state: &State, op: &Operation, doc: &mut Doc) {
    let Some((d, _)) = state.shown_deploy().filter(|_| !op.waits_for.is_empty()) else {
        return;
    };
    // Failed blockers come first.
    let left = d.blockers(op);
    push_heading(
        doc,
        if op.state == OperationState::NotAttempted {
            "needs"
        } else {
            "waits for"
        },
    );
    for (address, state) in &left {
        doc.push(vec![
            span(Role::Plain, format!("  {address}")),
            span(
                Role::Dim,
                state.map_or(String::new(), |s| format!("  {}", s.label())),
            ),
        ]);
    }
    if op.waits_for_more > 0 {
        doc.push(line(
            Role::Dim,
            format!("  {}", more_needs(op, 0).trim_start()),
        ));
    }
    let done = op
        .waits_for
        .iter()
        .filter(|w| !left.iter().any(|(address, _)| address == w));
    doc.extend(done.map(|w| line(Role::Dim, format!("  {w}  done"))));
}

/// Lists what to do about a failed operation.
fn list_next_steps(state: &State, op: &Operation, f: &Failure, doc: &mut Doc) {
    let Some((d, _)) = state.shown_deploy().filter(|_| op.is_incomplete()) else {
        return;
    };
    let key = |command| state.options.keys.first(command);
    let rest = d.operations.iter().filter(|o| o.is_incomplete()).count();
    let retry = match (d.summary.is_some(), state.context()) {
        (true, _) => format!("stages what is left: {}", count(rest, "operation")),
        (false, Context::Replay) => "stages what is left, at the end of the replay".to_owned(),
        (false, _) => "stages what is left, once the deploy has ended".to_owned(),
    };
    // A replay shows the past: a later deploy may have solved the failure.
    let solved = failure_group_of(state, f).and_then(|g| g.solved_in);
    if let (Context::Replay, Some(deploy)) = (state.context(), solved) {
        let text = format!("✓ solved in deploy #{deploy}: nothing to do");
        doc.extend([Line::new(), line(Role::Ok, text)]);
        return;
    }
    push_heading(doc, "next");
    doc.extend(before_retry(f.class).map(|text| line(Role::Plain, format!("  {text}"))));
    let (log, failures) = (
        key("operation-logs"),
        format!("{} {}", key("screen-history"), key("failures")),
    );
    let (retry_key, then) = (key("retry"), format!("then {retry}"));
    let mut keys = vec![
        (&*retry_key, &*retry),
        (&*log, "shows the log of its plugin"),
        (&*failures, "shows the failures of all deploys"),
    ];
    if !is_retry_enough(f.class) {
        keys.swap(0, 1);
        keys[1].1 = &then;
    }
    push_keys(doc, &keys);
}

/// Returns false for a failure that a retry alone repeats.
pub fn is_retry_enough(class: FailureClass) -> bool {
    !matches!(class, FailureClass::Denied | FailureClass::BadInput)
}

/// Tells whether a retry can help without another change.
fn before_retry(class: FailureClass) -> Option<&'static str> {
    match class {
        FailureClass::Transient | FailureClass::Deadline => {
            Some("A retry can help: such failures are often temporary.")
        }
        FailureClass::Denied => Some("Grant the permission first: a retry alone fails again."),
        FailureClass::BadInput => Some("Correct the value first: a retry alone fails again."),
        FailureClass::InconsistentResult => {
            Some("A fault of the provider: report it to its maintainers.")
        }
        FailureClass::NotReady => Some(
            "The object exists, and the next stage changes nothing about it: check its status.",
        ),
        FailureClass::Unexpected | FailureClass::PluginCrashed | FailureClass::Cancelled => None,
    }
}

/// Loaded failures with the same reason.
fn failure_group_of<'s>(state: &'s State, f: &Failure) -> Option<&'s FailureGroup> {
    let groups = state.loaded.failures.as_deref()?;
    groups.iter().find(|g| g.fingerprint == f.fingerprint)
}

/// Tells how often this failure has been seen, if it is not the first time, and how often the next
/// deploy of the resource succeeded.
fn seen_before(state: &State, f: &Failure) -> Option<Line> {
    let group = failure_group_of(state, f)?;
    let ago = elapsed(state.now - group.first);
    let mut text = format!("  seen {}×, first {ago} ago", group.count);
    let next: Vec<_> = group.newest.iter().filter_map(|f| f.next).collect();
    let helped = next.iter().filter(|(_, s)| *s == OperationState::Done);
    if !next.is_empty() {
        text += &format!("; a retry helped {} of {}×", helped.count(), next.len());
    }
    if let Some(deploy) = group.solved_in {
        text += &format!("; solved in deploy #{deploy}");
    }
    (group.count > 1).then(|| line(Role::Dim, text))
}

/// Maximum number of dependents in the detail of a failed operation.
const DEPENDENTS: usize = 12;

/// Lists the operations of a deploy that a failed one blocks, below a heading with their number.
pub(super) fn list_dependents(
    operations: &[Operation],
    op: &Operation,
    heading: impl Fn(String) -> String,
    doc: &mut Doc,
) {
    if !matches!(
        op.state,
        OperationState::Failed | OperationState::HalfReplaced | OperationState::Unknown
    ) {
        return;
    }
    let all = operations
        .iter()
        .filter(|o| o.waits_for.contains(&op.address));
    let all: Vec<&Operation> = all.collect();
    if all.is_empty() {
        return;
    }
    push_heading(doc, heading(count(all.len(), "operation")));
    let width = all.iter().take(DEPENDENTS).map(|o| width(&o.address)).max();
    for o in all.iter().take(DEPENDENTS) {
        let gap = " ".repeat(width.unwrap_or(0).saturating_sub(self::width(&o.address)));
        let (sign, role) = operation_sign(o.state);
        doc.push(vec![
            span(Role::Plain, format!("  {}{gap}  ", o.address)),
            span(role, format!("{sign} {}", o.state.label())),
        ]);
    }
    if let more @ 1.. = all.len().saturating_sub(DEPENDENTS) {
        doc.push(line(Role::Dim, format!("  and {more} more")));
    }
}

/// Counts the needs of an operation after the first one: `named` ones, and those that it does not
/// name. The latter are exact only after the end, because some may be done by now.
pub fn more_needs(op: &Operation, named: usize) -> String {
    let more = named + op.waits_for_more as usize;
    match (more, op.waits_for_more) {
        (0, _) => String::new(),
        (_, 1..) if op.state == OperationState::Waiting => format!(" and up to {more} more"),
        _ => format!(" +{more} more"),
    }
}

fn list_calls(state: &State, op: &Operation, doc: &mut Doc) {
    // Calls of the shown deploy only: a replay shows those up to its time.
    let made: Vec<_> = state
        .shown_deploy()
        .map(|(d, _)| d.calls_of(&op.address).collect())
        .unwrap_or_default();
    // Open calls belong to the present, so a replay shows none.
    let now = op.state == OperationState::Running
        && state.is_deploying()
        && state.context() == Context::Deploy;
    let open: Vec<_> = state
        .view
        .calls
        .values()
        .filter(|c| now && c.resource.as_deref() == Some(op.address.as_str()))
        .collect();
    if made.is_empty() && open.is_empty() {
        return;
    }
    push_heading(doc, "calls");
    for f in made {
        let (word, role) = call::outcome(f.outcome);
        doc.push(vec![
            span(
                Role::Plain,
                format!("  {:<24} {:>8}  ", f.method, aligned(duration(f.took_ms))),
            ),
            span(role, word),
            span(
                Role::Dim,
                f.error
                    .as_deref()
                    // The failure above has it already.
                    .filter(|e| op.failure.as_ref().is_none_or(|f| f.summary != **e))
                    .map(|e| format!("  {e}"))
                    .unwrap_or_default(),
            ),
        ]);
    }
    for c in open {
        let since = aligned(elapsed(state.now - c.started_at.unwrap_or(c.queued_at)));
        doc.push(line(
            Role::Busy,
            format!(
                "  {:<24} {since:>8}  {}",
                c.method,
                if c.started_at.is_some() {
                    "running"
                } else {
                    "waiting"
                }
            ),
        ));
    }
}

/// Time and message of the panic that ended the plugin; the time is unknown for old records.
fn panic_of(f: &Failure) -> Option<(Option<UnixMs>, String)> {
    let lines = f.last_lines.iter().map(String::as_str);
    let first = lines.clone().position(plugin::opens_panic)?;
    let message = plugin::panic_message(lines.skip(first))?;
    let is_crash = f.class == FailureClass::PluginCrashed;
    is_crash.then(|| (f.last_lines_at.get(first).copied(), message))
}

/// Renders a failure. The last output of the plugin is left out if the log has it.
fn failure(state: &State, doc: &mut Doc, f: &Failure, log: &[&LogEntry]) {
    let panic = panic_of(f);
    // The summary ends with the message of the panic, too.
    let end = panic.as_ref().map(|(_, message)| format!(": {message}"));
    let summary = end.and_then(|end| f.summary.strip_suffix(&end));
    doc.push(vec![
        span(Role::Bad, format!("{}: ", f.class.label())),
        span(Role::Strong, summary.unwrap_or(&f.summary)),
    ]);
    if let Some((at, message)) = panic {
        let time = at.map_or_else(String::new, |at| clock_ms(at, state.utc_offset) + " ");
        doc.push(vec![
            span(Role::Dim, format!("  {time}")),
            span(Role::Bad, message),
        ]);
    }
    push_text(doc, Role::Plain, "  ", &f.detail);
    if let Some(m) = &f.method {
        doc.push(line(
            Role::Dim,
            format!(
                "  in {m}{}",
                f.plugin
                    .as_ref()
                    .map(|p| format!(" of {p}"))
                    .unwrap_or_default()
            ),
        ));
    }
    doc.extend(seen_before(state, f));
    if let Some(i) = &f.incident {
        doc.push(vec![
            span(Role::Bad, format!("  crash {i}")),
            span(Role::Dim, "  (! shows it)"),
        ]);
    }
    let is_logged = |text: &String| log.iter().any(|e| e.line.text == *text);
    if !f.last_lines.iter().all(is_logged) {
        let lines = (&*f.last_lines, &*f.last_lines_at);
        last_lines(state, doc, f.plugin.as_ref(), lines, None);
    }
}

/// Lists the last output lines of a plugin, with times if they are known; of one resource, if
/// there is one.
pub(super) fn last_lines(
    state: &State,
    doc: &mut Doc,
    who: Option<&PluginId>,
    (lines, times): (&[String], &[UnixMs]),
    resource: Option<&str>,
) {
    let others = resource.map(|address| OtherNames::of(state, address));
    let is_other = |text: &str| others.as_ref().is_some_and(|o| o.are_in(text));
    let all = lines.iter().enumerate();
    let mut shown = all.filter(|(_, text)| !is_other(text)).peekable();
    if shown.peek().is_none() {
        return;
    }
    let who = who.map_or("the plugin", |p| &*p.0);
    push_heading(doc, format!("log of {who} at the failure"));
    for (i, text) in shown {
        let mut l = line(Role::Dim, "  ");
        if let Some(at) = times.get(i) {
            let time = clock_ms(*at, state.utc_offset);
            l.push(span(Role::Dim, format!("{time} ")));
        }
        l.extend(log_text(Role::Plain, text));
        doc.push(l);
    }
}

//! Header line: workspace, lock owner, health of plugins and running work. Shortens itself to the
//! width of the screen.

use super::{Line, Role, cells_of, line, outcome_role, span};
use crate::app::format::{count, elapsed};
use crate::app::groups::paused_group;
use crate::app::layout;
use crate::app::state::{Context, State};
use crate::app::unsettled::unused_in;
use model::PluginState;
use model::view::DeployView;
use ratatui::layout::Rect;

/// Symbol, text and role of a plugin's state.
pub fn status(s: &PluginState) -> (&'static str, &'static str, Role) {
    let symbol_role = match s {
        PluginState::Ready { .. } => ("●", Role::Ok),
        PluginState::Launching { .. }
        | PluginState::Handshaking { .. }
        | PluginState::Registering { .. }
        | PluginState::Draining => ("◐", Role::Busy),
        PluginState::Backoff { .. } => ("◌", Role::Warn),
        PluginState::Discovered
        | PluginState::Stopped
        | PluginState::Idle { .. }
        | PluginState::Disabled => ("○", Role::Dim),
        PluginState::Rejected { .. }
        | PluginState::Crashed { .. }
        | PluginState::GaveUp { .. }
        | PluginState::Incompatible { .. } => ("✗", Role::Bad),
    };
    (symbol_role.0, s.label(), symbol_role.1)
}

/// A part of the header with its shorter forms. The part changes to `forms[n].1` (empty to omit it)
/// at priority `forms[n].0`; lower priorities shrink first.
struct Part {
    line: Line,
    forms: Vec<(u8, Line)>,
}

/// Command that a click on a part of the header runs, if there is one.
type Click = Option<&'static str>;

/// Shrinks the parts in order of priority until they fit.
fn fit_parts(mut parts: Vec<(Part, Click)>, cells: usize) -> Vec<(Line, Click)> {
    let mut turns: Vec<(u8, usize, Line)> = Vec::new();
    for (i, (p, _)) in parts.iter_mut().enumerate() {
        turns.extend(p.forms.drain(..).map(|(turn, line)| (turn, i, line)));
    }
    turns.sort_by_key(|(turn, ..)| *turn);
    // Stops as soon as the line fits, so that no more than necessary is lost.
    for (_, i, shorter) in turns {
        if parts.iter().map(|(p, _)| cells_of(&p.line)).sum::<usize>() <= cells {
            break;
        }
        parts[i].0.line = shorter;
    }
    parts
        .into_iter()
        .map(|(p, click)| (p.line, click))
        .collect()
}

/// Renders the parts of the header in `cells` cells, each with the command that a click runs; `ui`
/// adds the clock at its right end. In a narrow header, normal states are omitted first (own lock,
/// program name), then facts that other screens show in full. Failures, running work and another
/// lock owner remain.
pub fn header(state: &State, cells: usize) -> Vec<(Line, Click)> {
    let name = |text: &str| line(Role::Heading, text);
    let plain = vec![
        Part {
            line: line(Role::Strong, " flightdeck  "),
            forms: vec![(3, line(Role::Plain, " "))],
        },
        Part {
            line: name(&state.place.directory_name),
            forms: vec![(
                14,
                name(&crate::app::text::truncate_end(
                    &state.place.directory_name,
                    8,
                )),
            )],
        },
    ];
    let mut parts = linked(None, plain);
    parts.extend(linked(Some("workspaces"), workspace_part(state)));
    parts.extend(problems(state));
    parts.extend(linked(Some("plan-options"), plan_options(state)));
    parts.extend(linked(Some("screen-plugins"), health(state)));
    parts.extend(linked(Some("screen-calls"), calls(state)));
    match replay(state) {
        Some(part) => parts.extend(linked(Some("screen-history"), [part])),
        None => parts.extend(work(state)),
    }
    let lock = match (&state.view.lock, state.view.lock_is_ours) {
        (Some(_), true) => Some(line(Role::Plain, "  lock: this console")),
        // Another lock owner is shown further to the left.
        (Some(_), false) => None,
        (None, _) => Some(line(Role::Dim, "  lock: free")),
    };
    parts.extend(linked(None, lock.map(|lock| omittable_part(1, lock))));
    fit_parts(parts, cells)
}

/// Plan options that limit the stages of the console, or change their values.
fn plan_options(state: &State) -> Option<Part> {
    let options = super::plan_options(&state.options.plan);
    let first = options.first()?;
    let more = match options.len() {
        1 => String::new(),
        n => format!(" +{}", n - 1),
    };
    let (mark, word) = match state.are_options_remembered() {
        true => (" (remembered)", "remembered option"),
        false => ("", "plan option"),
    };
    let short = format!("  {}", count(options.len(), word));
    Some(Part {
        line: line(Role::Warn, format!("  {first}{more}{mark}")),
        forms: vec![(9, line(Role::Warn, short))],
    })
}

/// Adds the command of a click to parts.
fn linked(click: Click, parts: impl IntoIterator<Item = Part>) -> Vec<(Part, Click)> {
    parts.into_iter().map(|part| (part, click)).collect()
}

/// States that need a person, each with the command that settles it.
fn problems(state: &State) -> Vec<(Part, Click)> {
    let mut parts = Vec::new();
    if let Some(h) = state.locked_by() {
        let long = format!("   locked by {} (pid {}, {})", h.who, h.pid, h.reason);
        let part = Part {
            line: line(Role::Bad, long),
            forms: vec![(10, line(Role::Bad, format!("  locked: {}", h.who)))],
        };
        parts.push((part, None));
    }
    let mut add = |command, long: String, short: String| {
        let badge = |text| {
            let mut l = line(Role::Plain, "  ");
            l.extend(badge(state, command, Role::Bad, text));
            l
        };
        let part = Part {
            line: badge(long),
            forms: vec![(8, badge(short))],
        };
        parts.push((part, Some(command)));
    };
    match state.view.unknown.len() {
        0 => {}
        n => add(
            "unknown",
            format!("? {}", count(n, "unknown outcome")),
            format!("?{n}"),
        ),
    }
    match state.view.orphans.len() {
        0 => {}
        n => add(
            "orphans",
            format!("✗ {}", count(n, "orphan")),
            format!("✗{n}"),
        ),
    }
    match state.view.absent.len() {
        0 => {}
        _ if state.view.absent.backend.is_some() => {
            let text = "✗ not initialized".to_owned();
            add("init", text.clone(), text);
        }
        n => add(
            "init",
            format!("✗ {n} not installed"),
            format!("✗{n} missing"),
        ),
    }
    parts
}

/// Renders something that a key settles, as the footer renders keys: the key, then its meaning.
pub fn badge(state: &State, command: &str, role: Role, text: impl AsRef<str>) -> Line {
    let key = state.options.keys.first(command);
    vec![
        span(Role::Key, key),
        span(role, format!(" {}", text.as_ref())),
    ]
}

/// Name of the workspace. The default workspace is named only if others are known, and is omitted
/// first; another one always remains.
fn workspace_part(state: &State) -> Option<Part> {
    let name = &state.place.workspace;
    if let Some(opening) = &state.ending.opening_workspace {
        return Some(shrinkable_part(
            format!("  ◐ opening workspace {opening}"),
            12,
            format!("  ◐ [{opening}]"),
        ));
    }
    if name == model::DEFAULT_WORKSPACE {
        let others = state.loaded.workspaces.as_ref()?.len() > 1;
        return others.then(|| omittable_part(0, line(Role::Dim, "  workspace default")));
    }
    let short = |cells| {
        line(
            Role::Key,
            format!(" [{}]", crate::app::text::truncate_end(name, cells)),
        )
    };
    Some(Part {
        line: vec![span(Role::Dim, "  workspace "), span(Role::Key, name)],
        forms: vec![(2, short(usize::MAX)), (15, short(10))],
    })
}

/// Creates a part that is omitted as a whole.
fn omittable_part(turn: u8, line: Line) -> Part {
    Part {
        line,
        forms: vec![(turn, Line::new())],
    }
}

fn shrinkable_part(long: String, turn: u8, short: String) -> Part {
    Part {
        line: line(Role::Busy, long),
        forms: vec![(turn, line(Role::Busy, short))],
    }
}

/// Numbers of running and queued calls.
fn calls(state: &State) -> Vec<Part> {
    let mut parts = Vec::new();
    let running = state
        .view
        .calls
        .values()
        .filter(|c| c.started_at.is_some())
        .count();
    let waiting = state.view.calls.len() - running;
    let (held, slots) = state.view.slots();
    if slots > 0 {
        parts.push(omittable_part(
            6,
            line(Role::Plain, format!("  slots {held}/{slots}")),
        ));
    } else if running > 0 {
        parts.push(omittable_part(
            6,
            line(Role::Plain, format!("  calls {running}")),
        ));
    }
    if waiting > 0 {
        parts.push(omittable_part(
            5,
            line(Role::Warn, format!(" +{waiting} waiting")),
        ));
    }
    parts
}

/// Names a replay on the screen, which is no news of the present.
fn replay(state: &State) -> Option<Part> {
    let replay = state.loaded.replay.as_ref();
    let replay = replay.filter(|_| state.context() == Context::Replay)?;
    let text = format!(" REPLAY of #{} ", replay.view().deploy);
    Some(Part {
        line: vec![span(Role::Plain, "  "), span(Role::Match, text)],
        forms: Vec::new(),
    })
}

/// A running deploy with its time, or the pause of its rollout.
fn running_deploy(state: &State, d: &DeployView) -> Part {
    if let Some(group) = paused_group(state, d) {
        return paused(group);
    }
    let since = elapsed(state.now - d.began);
    shrinkable_part(
        format!("  ◐ deploy #{} {since}", d.deploy),
        11,
        format!("  ◐ #{} {since}", d.deploy),
    )
}

/// A group whose rollout waits for the operator.
fn paused(group: &str) -> Part {
    Part {
        line: line(Role::Bad, format!("  ■ rollout of {group} paused")),
        forms: vec![(11, line(Role::Bad, "  ■ paused"))],
    }
}

/// The running deploy or staging, or the current stage, with the command that shows its screen.
fn work(state: &State) -> Option<(Part, Click)> {
    // The engine runs one deploy or staging at a time, so they share a place.
    if let Some(d) = state.view.deploy.as_ref().filter(|d| d.summary.is_none()) {
        // The title of its own screen says the same.
        let part = (state.context() != Context::Deploy).then(|| running_deploy(state, d))?;
        return Some((part, Some("screen-deploy")));
    }
    if let Some(s) = &state.view.staging {
        let part = shrinkable_part(
            format!("  ◐ staging #{}", s.stage),
            11,
            format!("  ◐ #{}", s.stage),
        );
        return Some((part, Some("screen-stage")));
    }
    let s = state.view.stage.as_ref()?;
    if state.context() == Context::Stage {
        return None;
    }
    let all = s.changes.iter().filter(|c| c.is_selectable()).count();
    // A stage of outputs or drift has nothing to select.
    if all == 0 {
        let part = line(Role::Plain, format!("  stage #{}", s.stage));
        return Some((omittable_part(7, part), Some("screen-stage")));
    }
    if let Some(summary) = state.applied().and_then(|d| d.summary.as_ref()) {
        if state.context() == Context::Deploy {
            return None;
        }
        if let Some(group) = state.applied().and_then(|d| paused_group(state, d)) {
            return Some((paused(group), Some("screen-groups")));
        }
        let (sign, role) = outcome_role(summary.outcome);
        let word = summary.outcome.label();
        let text = format!("  {sign} deploy #{} {word}", summary.deploy);
        let part = omittable_part(7, line(role, text));
        return Some((part, Some("screen-deploy")));
    }
    let taken = state.selected_changes().count();
    let short = format!("  stage #{} {taken}/{all}", s.stage);
    let long = format!("  stage #{}: {taken} of {all} selected", s.stage);
    let part = Part {
        line: line(Role::Plain, long),
        forms: vec![(4, line(Role::Plain, short)), (7, Line::new())],
    };
    Some((part, Some("screen-stage")))
}

/// Numbers of plugins by their health. Header and Plugins screen both use these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PluginCounts {
    pub all: usize,
    pub ready: usize,
    /// Without a process, which is normal.
    pub idle: usize,
    pub starting: usize,
    /// Between a failed launch and the next one.
    pub retrying: usize,
    pub failed: usize,
    /// State of the failed plugins, or `failed` if they differ.
    pub failed_word: &'static str,
    /// Failed plugins that nothing uses.
    pub unused: usize,
    /// Plugins between two launches that nothing uses.
    pub unused_retrying: usize,
}

impl PluginCounts {
    /// Counts the plugins of the view.
    pub fn of(state: &State) -> Self {
        let mut counts = Self::default();
        // A built-in provider has no process, and appears only with the first stage.
        for p in state.view.plugins.values().filter(|p| !p.is_builtin()) {
            let (_, word, role) = status(&p.state);
            counts.all += 1;
            match role {
                Role::Ok => counts.ready += 1,
                Role::Busy => counts.starting += 1,
                Role::Warn => {
                    counts.retrying += 1;
                    counts.unused_retrying += usize::from(unused_in(state, p).is_some());
                }
                Role::Bad => {
                    counts.failed += 1;
                    let before = counts.failed_word;
                    let is_same = before.is_empty() || before == word;
                    counts.failed_word = if is_same { word } else { "failed" };
                    counts.unused += usize::from(unused_in(state, p).is_some());
                }
                _ if matches!(p.state, PluginState::Idle { .. }) => counts.idle += 1,
                _ => {}
            }
        }
        counts
    }

    /// `4`, or `4 of 5` while others are not ready.
    pub fn ready_of_all(&self) -> String {
        match self.ready == self.all {
            true => self.ready.to_string(),
            false => format!("{} of {}", self.ready, self.all),
        }
    }
}

/// Summarises the states of the plugins.
fn health(state: &State) -> Vec<Part> {
    let counts = PluginCounts::of(state);
    // The badge beside the tabs counts failed plugins until they are acknowledged.
    let tabs = Rect {
        width: state.frame.size.0,
        height: 1,
        ..Rect::default()
    };
    let has_badge = layout::incident_badge(state, tabs).is_some();
    let failed = if has_badge {
        0
    } else {
        counts.failed - counts.unused
    };
    let retrying = counts.retrying - counts.unused_retrying;
    let unused = counts.unused + counts.unused_retrying;
    let role = match counts.ready {
        0 => Role::Dim,
        ready if ready + unused == counts.all => Role::Ok,
        _ => Role::Plain,
    };
    let of_all = counts.ready_of_all();
    let noun = if counts.all == 1 { "plugin" } else { "plugins" };
    let short = of_all.replace(" of ", "/");
    let mut parts = Vec::new();
    // A configuration without plugins needs none.
    if counts.all > 0 {
        parts.push(Part {
            line: line(role, format!("  ● {of_all} {noun} ready")),
            forms: vec![
                (2, line(role, format!("  ● {short} ready"))),
                (9, line(role, format!("  ●{short}"))),
                (13, Line::new()),
            ],
        });
    }
    for (role, sign, n, word, turn, omitted) in [
        (Role::Dim, "○", counts.idle, "idle", 4, Some(9)),
        (Role::Busy, "◐", counts.starting, "starting", 5, Some(12)),
        (Role::Warn, "◌", retrying, "retrying", 6, Some(12)),
        (Role::Bad, "✗", failed, counts.failed_word, 9, None),
    ] {
        if n > 0 {
            let short = (turn, line(role, format!(" {sign}{n}")));
            parts.push(Part {
                line: line(role, format!(" {sign} {n} {word}")),
                forms: [short]
                    .into_iter()
                    .chain(omitted.map(|turn| (turn, Line::new())))
                    .collect(),
            });
        }
    }
    parts.extend(unused_part("◌", counts.unused_retrying, "retrying", 0));
    parts.extend(unused_part("✗", counts.unused, counts.failed_word, 3));
    parts
}

/// Counts plugins that nothing uses: they explain why not all are ready, and that nothing is wrong.
/// Shortened, the part keeps that instead of their state.
fn unused_part(sign: &str, n: usize, word: &str, turn: u8) -> Option<Part> {
    (n > 0).then(|| Part {
        line: line(Role::Dim, format!(" {sign} {n} {word} (unused)")),
        forms: vec![
            (turn, line(Role::Dim, format!(" {sign} {n} unused"))),
            (5, Line::new()),
        ],
    })
}

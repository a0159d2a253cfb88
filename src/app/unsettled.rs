//! Things that the operator should settle, computed from the view and the loaded history: rows of
//! the start page. Each names the key that leads to it and the keys that settle it.

use super::doc::{self, Doc, Line, Role, diagnostics, line, outcome_role, push_text, span};
use super::format::{count, elapsed};
use super::state::State;
use super::text::width;
use model::view::PluginView;
use model::{
    DeployOutcome, DeploySummary, Diagnostic, DriftKind, PluginId, Severity, StageId, StageMode,
    Unknown,
};
use std::collections::BTreeSet;

/// Maximum number of addresses in a row.
const NAMED: usize = 3;

/// Place that `enter` leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Operations of the last deploy.
    Deploy,
    /// An unknown outcome, by its position.
    Unknown(usize),
    Plugin(PluginId),
    Stage,
    /// A row of the Stage screen.
    StageRow(String),
    State,
    Diagnostics,
    Install,
    Orphans,
    /// Reads the configuration again.
    Load,
}

/// A thing to settle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsettled {
    /// Identity of its row.
    pub key: String,
    pub sign: &'static str,
    /// Severity in one or two words.
    pub word: &'static str,
    pub role: Role,
    pub text: String,
    /// Commands that settle it, with their effects.
    pub commands: Vec<(&'static str, &'static str)>,
    pub target: Target,
    /// Known at the start: the console opens with it.
    pub opens: bool,
    pub detail: Doc,
}

impl Unsettled {
    fn new(key: impl Into<String>, (sign, word, role): Mark, text: String, target: Target) -> Self {
        Self {
            key: key.into(),
            sign,
            word,
            role,
            text,
            commands: Vec::new(),
            target,
            opens: false,
            detail: Doc::new(),
        }
    }

    fn settled_by(mut self, commands: &[(&'static str, &'static str)]) -> Self {
        self.commands.extend(commands);
        self
    }

    fn opens(mut self) -> Self {
        self.opens = true;
        self
    }

    fn with(mut self, detail: Doc) -> Self {
        self.detail = detail;
        self
    }
}

/// Sign, word and role of a severity.
type Mark = (&'static str, &'static str, Role);

const ERROR: Mark = ("✗", "error", Role::Bad);

/// Returns everything to settle, the most urgent first.
pub fn unsettled(state: &State) -> Vec<Unsettled> {
    let mut all = Vec::new();
    all.extend(unreadable(state));
    all.extend(state.view.unknown.iter().enumerate().map(unknown));
    all.extend(last_deploy(state));
    all.extend(failed_stage(state));
    let failed = state.view.plugins.values().filter(|p| p.state.is_failed());
    // No resource needs a transformer.
    all.extend(
        failed
            .filter(|p| !p.is_transformer())
            .map(|p| plugin(state, p)),
    );
    all.extend(absent(state));
    all.extend(untrusted(state));
    all.extend(drift(state));
    all.extend(warnings(state));
    all.extend(orphans(state));
    all
}

/// A configuration that could not be read at the last load.
fn unreadable(state: &State) -> Option<Unsettled> {
    // Missing modules have a row of their own.
    let error = state.loaded.load_error.as_ref();
    let error = error.filter(|_| state.view.absent.is_empty())?;
    let text = match first_error(&error.diagnostics) {
        Some(text) => format!("the configuration cannot be used: {text}"),
        None => format!("the plugins were not loaded: {}", error.text),
    };
    let detail = diagnostics(&error.text, error.diagnostics.iter());
    let row = Unsettled::new("configuration", ERROR, text, Target::Stage);
    Some(
        row.settled_by(&[("plugins-load", "reads it again")])
            .with(detail)
            .opens(),
    )
}

/// Position and summary of the first error, and the number of further ones.
fn first_error(all: &[Diagnostic]) -> Option<String> {
    let mut errors = all.iter().filter(|d| d.severity == Severity::Error);
    let first = errors.next()?;
    let at = first.range.as_ref().map_or_else(String::new, |r| {
        format!("{}:{}:{}: ", r.filename, r.start.line, r.start.column)
    });
    let more = match errors.count() {
        0 => String::new(),
        n => format!(", and {}", count(n, "more error")),
    };
    Some(format!("{at}{}{more}", first.summary))
}

fn unknown((i, u): (usize, &Unknown)) -> Unsettled {
    let text = format!(
        "{} of {} in deploy #{} has no recorded outcome",
        u.step,
        u.name(),
        u.deploy
    );
    let mark = ("?", "unknown", Role::Warn);
    let row = Unsettled::new(
        format!("unknown {}", u.intent),
        mark,
        text,
        Target::Unknown(i),
    );
    row.settled_by(&[("unknown", "settles it")])
        .with(doc::unknown(u))
        .opens()
}

/// Returns the newest deploy that has ended.
pub fn newest_deploy(state: &State) -> Option<&DeploySummary> {
    match &state.view.deploy {
        Some(d) => d.summary.as_ref(),
        None => state.loaded.history.as_ref()?.first(),
    }
}

/// Returns true if a later stage found nothing left to change.
fn is_superseded(state: &State, d: &DeploySummary) -> bool {
    state.view.stage.as_ref().is_some_and(|s| {
        s.mode == StageMode::Normal
            && s.at > d.ended.unwrap_or(d.began)
            && s.changes.iter().all(|c| !c.has_effect())
    })
}

/// A deploy that did not succeed.
fn last_deploy(state: &State) -> Option<Unsettled> {
    use DeployOutcome::{Cancelled, Failed, Interrupted};
    let d = newest_deploy(state)?;
    if !matches!(d.outcome, Cancelled | Failed | Interrupted) || is_superseded(state, d) {
        return None;
    }
    let (sign, role) = outcome_role(d.outcome);
    let o = d.operations;
    let unfinished = o.bad() + o.not_attempted;
    let ago = elapsed(state.now - d.ended.unwrap_or(d.began));
    let text = format!("deploy #{}, {ago} ago: {}", d.deploy, o.text());
    let mark = (sign, d.outcome.label(), role);
    let row = Unsettled::new("deploy", mark, text, Target::Deploy).opens();
    let mut detail = Doc::new();
    if d.outcome == Interrupted {
        push_text(
            &mut detail,
            Role::Plain,
            "",
            "flightdeck ended before the deploy did.",
        );
    }
    for g in doc::failures_of(state, d) {
        let mut l = doc::failure_head(g);
        let failed = doc::failed_with(state, d, g).join(", ");
        l.push(span(Role::Dim, format!("  {failed}")));
        detail.push(l);
    }
    let row = row.with(detail);
    Some(match unfinished {
        0 => row.settled_by(&[("stage", "stages again")]),
        _ => row.settled_by(&[("retry", "stages the rest")]),
    })
}

fn failed_stage(state: &State) -> Option<Unsettled> {
    let error = state.view.stage_error.as_ref()?;
    let all: Vec<Diagnostic> = state.view.diagnostics.iter().cloned().collect();
    let first = error.lines().next().unwrap_or_default().to_owned();
    let text = format!("staging failed: {}", first_error(&all).unwrap_or(first));
    let row = Unsettled::new("stage", ERROR, text, Target::Stage);
    Some(
        row.settled_by(&[("stage", "stages again")])
            .with(diagnostics(error, all.iter())),
    )
}

/// Returns true if the provider of a resource has this address.
pub fn is_of(of: &str, address: &str) -> bool {
    // The state has configurations as well: `provider["…"].west`.
    of == address || of.contains(&format!("\"{address}\""))
}

/// Returns the stage that has all resources of the configuration and is up to date.
fn complete_stage(state: &State) -> Option<StageId> {
    let s = state.view.stage.as_ref()?;
    let is_complete = s.mode == StageMode::Normal
        && state.view.outdated().is_none()
        && s.changes.iter().all(|c| !c.provider.is_empty());
    is_complete.then_some(s.stage)
}

/// Returns the resources of a provider in the stage and in the state.
fn all_of<'s>(state: &'s State, provider: &str) -> impl Iterator<Item = &'s str> {
    let stage = state.view.stage.iter().flat_map(|s| &s.changes);
    let staged = stage.map(|c| (&c.provider, &c.address));
    let rows = state.loaded.state_rows.iter().flatten();
    let all = staged.chain(rows.map(|r| (&r.provider, &r.address)));
    all.filter(move |(of, _)| is_of(of, provider))
        .map(|(_, address)| address.as_str())
}

/// Returns the different resources of a provider in the stage and in the state.
pub fn resources_of<'s>(state: &'s State, provider: &str) -> BTreeSet<&'s str> {
    all_of(state, provider).collect()
}

/// Returns the stage that shows, together with the state, that nothing uses a plugin. `None` if
/// something uses it, or may use it.
pub fn unused_in(state: &State, p: &PluginView) -> Option<StageId> {
    let address = p.found.as_ref().map(|f| f.address.as_str());
    let address = address.filter(|a| !a.is_empty())?;
    // Without both lists a resource may still be unknown.
    let stage = complete_stage(state).filter(|_| state.loaded.state_rows.is_some())?;
    all_of(state, address).next().is_none().then_some(stage)
}

/// Joins the first addresses, with the number of the others.
fn named<'s>(all: impl ExactSizeIterator<Item = &'s str>) -> String {
    let more = all.len().saturating_sub(NAMED);
    let first: Vec<&str> = all.take(NAMED).collect();
    match more {
        0 => first.join(", "),
        n => format!("{} and {n} more", first.join(", ")),
    }
}

/// A plugin that cannot be used, with the resources that need it.
fn plugin(state: &State, p: &PluginView) -> Unsettled {
    let address = p.found.as_ref().map_or("", |f| f.address.as_str());
    let all = match address {
        "" => BTreeSet::new(),
        address => resources_of(state, address),
    };
    let unused = unused_in(state, p);
    let text = match all.len() {
        0 => match unused {
            Some(n) => format!("{}: neither stage #{n} nor the state uses it", p.id),
            None => format!("{}: its resources cannot be staged or applied", p.id),
        },
        n => format!(
            "{}: {} cannot be staged or applied: {}",
            p.id,
            count(n, "resource"),
            named(all.iter().copied())
        ),
    };
    let (sign, word, role) = doc::status(&p.state);
    let role = if unused.is_some() { Role::Dim } else { role };
    let target = Target::Plugin(p.id.clone());
    let row = Unsettled::new(format!("plugin {}", p.id), (sign, word, role), text, target);
    let mut detail = Doc::new();
    let why = p.state.unavailable_reason().unwrap_or_default();
    push_text(&mut detail, Role::Plain, "", &logs_here(state, why));
    if all.len() > NAMED {
        detail.push(Line::new());
        detail.extend(all.iter().map(|a| line(Role::Plain, format!("  {a}"))));
    }
    row.settled_by(&[("start-open", "shows its failed launches")])
        .with(detail)
}

/// Replaces the command that shows all lines outside of the console by the key.
fn logs_here(state: &State, why: &str) -> String {
    let key = state.options.keys.first("screen-logs");
    why.replace(
        "(run `flightdeck logs` for all lines)",
        &format!("({key} shows all lines)"),
    )
}

fn absent(state: &State) -> Option<Unsettled> {
    let absent = &state.view.absent;
    let mut parts = Vec::new();
    if absent.backend.is_some() {
        parts.push("the backend is not initialized".to_owned());
    }
    for (names, word) in [(&absent.modules, "module"), (&absent.providers, "provider")] {
        if !names.is_empty() {
            let text = count(names.len(), word);
            let names = named(names.iter().map(String::as_str));
            parts.push(format!("not installed: {text}: {names}"));
        }
    }
    if parts.is_empty() {
        return None;
    }
    let mark = ("✗", "missing", Role::Bad);
    let row = Unsettled::new("absent", mark, parts.join("; "), Target::Install);
    Some(row.settled_by(&[("init", "installs it")]))
}

fn untrusted(state: &State) -> Option<Unsettled> {
    let all = &state.view.untrusted;
    let first = all.first()?;
    let text = match all.len() {
        1 => format!("{} of this workspace needs your trust", first.address),
        n => format!("{} of this workspace need your trust", count(n, "plugin")),
    };
    let mark = ("!", "untrusted", Role::Warn);
    let row = Unsettled::new("untrusted", mark, text, Target::Load);
    Some(row.settled_by(&[("plugins-load", "asks for it")]))
}

/// Drift that the current stage found; after its deploy, or without a stage, that of the state.
fn drift(state: &State) -> Option<Unsettled> {
    let stage = state
        .view
        .stage
        .as_ref()
        .filter(|_| state.applied().is_none());
    let (kinds, target): (Vec<DriftKind>, _) = match stage.filter(|s| !s.drift.is_empty()) {
        Some(s) => {
            let first = s.drift.first().map(|d| d.address.clone());
            let row = format!("drift of {}", first.unwrap_or_default());
            (
                s.drift.iter().map(|d| d.what).collect(),
                Target::StageRow(row),
            )
        }
        // A complete stage without drift is newer than the record of the state.
        None if stage.is_some() => return None,
        None => {
            let rows = state.loaded.state_rows.iter().flatten();
            (rows.filter_map(|r| r.drift).collect(), Target::State)
        }
    };
    if kinds.is_empty() {
        return None;
    }
    let mut parts = Vec::new();
    for what in [DriftKind::Changed, DriftKind::Gone, DriftKind::Moved] {
        match kinds.iter().filter(|k| **k == what).count() {
            0 => {}
            n => parts.push(format!("{n} {}", what.label())),
        }
    }
    let text = format!(
        "{} differ from the state: {}",
        count(kinds.len(), "object"),
        parts.join(", ")
    );
    let row = Unsettled::new("drift", ("!", "drift", Role::Warn), text, target);
    Some(row.settled_by(&[("refresh-only", "stages a refresh")]))
}

/// Warnings of a complete stage, and errors that neither a failed load nor a failed stage covers.
fn warnings(state: &State) -> Option<Unsettled> {
    if state.view.stage_error.is_some() || state.loaded.load_error.is_some() {
        return None;
    }
    let all = state.view.diagnostics.iter();
    // Unknown outcomes have rows of their own.
    let all: Vec<&Diagnostic> = all.filter(|d| d.intent.is_none()).collect();
    let first = all.iter().max_by_key(|d| d.severity)?;
    let (mark, what) = match first.severity {
        Severity::Error => (ERROR, "error"),
        Severity::Warning => (("⚠", "warning", Role::Warn), "warning"),
    };
    let n = all.iter().filter(|d| d.severity == first.severity).count();
    // A summary alone may say little, such as "CLI configuration".
    let detail = first.detail.lines().next().unwrap_or_default();
    // The mark names the severity, so only a number above one is needed.
    let mut text = match n {
        1 => first.summary.clone(),
        _ => format!("{}: {}", count(n, what), first.summary),
    };
    if !detail.is_empty() {
        text = format!("{text}: {detail}");
    }
    let row = Unsettled::new("warnings", mark, text, Target::Diagnostics);
    Some(
        row.settled_by(&[("stage-diagnostics", "lists all")])
            .with(diagnostics("", all.into_iter())),
    )
}

fn orphans(state: &State) -> Option<Unsettled> {
    let n = state.view.orphans.len();
    if n == 0 {
        return None;
    }
    let text = match n {
        1 => "1 plugin process still runs, but its flightdeck has ended".to_owned(),
        n => format!("{n} plugin processes still run, but their flightdeck has ended"),
    };
    let mark = ("!", "orphans", Role::Warn);
    let row = Unsettled::new("orphans", mark, text, Target::Orphans);
    Some(row.settled_by(&[("orphans", "shows and ends them")]))
}

/// Cells of a row beside its text.
const ROW_CELLS: usize = 48;

/// Detail of a row: the whole text, its background, and the keys.
pub fn detail(state: &State, u: &Unsettled) -> Doc {
    let mut doc = Doc::new();
    // The row has the text already, unless it is cut. The list of diagnostics has the whole text.
    let is_cut = width(&u.text) + ROW_CELLS > usize::from(state.frame.size.0);
    if is_cut && u.target != Target::Diagnostics {
        doc.extend([line(Role::Strong, &u.text), Line::new()]);
    }
    if !u.detail.is_empty() {
        doc.extend(u.detail.iter().cloned());
        doc.push(Line::new());
    }
    let go = ("start-open", target_text(&u.target));
    let others = u.commands.iter().filter(|(name, _)| *name != go.0);
    for (name, effect) in std::iter::once(&go).chain(others) {
        doc.push(vec![
            span(
                Role::Key,
                format!("  {:<7}", state.options.keys.first(name)),
            ),
            span(Role::Plain, *effect),
        ]);
    }
    doc
}

/// Effect of `enter`.
fn target_text(target: &Target) -> &'static str {
    match target {
        Target::Deploy => "goes to the operations of the deploy",
        Target::Unknown(_) => "opens the list of unknown outcomes",
        Target::Plugin(_) => "shows its failed launches; R there starts it again",
        Target::Stage | Target::StageRow(_) => "goes to the Stage screen",
        Target::State => "goes to the State screen",
        Target::Diagnostics => "lists all errors and warnings",
        Target::Install => "asks to install what is missing",
        Target::Orphans => "shows the processes, and asks before it ends them",
        Target::Load => "reads the configuration again, and asks for your trust",
    }
}

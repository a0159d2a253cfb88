//! All that an operator can ever see, as typed, numbered, timed facts. The live console, `--json` and the replay of an
//! old deploy fold these same events (see [`super::view`]). The engine makes them; everybody else only reads.

use super::plugin::record::{PluginEvent, PluginId, UnixMs};
pub use super::stage::commands::CommandView;
pub use super::trust::WorkspacePlugin;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Number of a stage in its workspace, counted from 1.
pub type StageId = i64;
/// Number of a deploy in its workspace, counted from 1.
pub type DeployId = i64;
/// Number of a call in this engine, counted from 1.
pub type CallId = u64;

/// One fact, numbered without gaps within one engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub seq: u64,
    pub at: UnixMs,
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind {
    Plugin(PluginEvent),
    CallQueued(CallQueued),
    CallStarted(CallStarted),
    CallFinished(CallFinished),
    Diagnostic(Diagnostic),
    StageStarted(StageStarted),
    StageProgress {
        stage: StageId,
        done: u32,
        total: u32,
        now: String,
    },
    Staged(Arc<StageSummary>),
    StageFailed {
        stage: Option<StageId>,
        errors: u32,
        text: String,
    },
    Selected {
        stage: StageId,
        taken: Vec<String>,
        left: Vec<String>,
    },
    DeployStarted(DeployStarted),
    Operation(Operation),
    DeployFinished(DeploySummary),
    Cancel {
        rung: CancelRung,
        text: String,
    },
    /// Who holds the workspace; `None` when nobody does.
    Lock {
        holder: Option<LockHolder>,
        ours: bool,
    },
    /// The state was changed by hand: an object was imported or forgotten.
    StateChanged(StateChange),
    /// What was begun and has no end on record, oldest first. Said when it is another list than before.
    UnknownOutcomes {
        outcomes: Vec<Unknown>,
    },
    /// Plugins that came with the workspace's own files and were not launched, as they have no yes: all of them, said whenever
    /// one was looked for, and once more when there are none any more.
    UntrustedPlugins {
        plugins: Vec<WorkspacePlugin>,
    },
    /// Something that the operator should know and that is no error: a lock taken over, events dropped.
    Notice {
        text: String,
    },
}

/// A call waits for a slot. Said again when what it waits for changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallQueued {
    pub call: CallId,
    pub plugin: PluginId,
    pub method: String,
    pub resource: Option<String>,
    /// What it waits for, in words: `slot of hashicorp/aws, held by aws_db_instance.main (ApplyResourceChange)`.
    pub waits_for: String,
    /// The call that holds what it waits for, where one can be named.
    pub blocker: Option<CallId>,
}

/// A call got its slot and was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStarted {
    pub call: CallId,
    pub plugin: PluginId,
    /// From 1; 0 for a call that takes no slot (`StopProvider`).
    pub slot: u32,
    pub slots: u32,
    pub method: String,
    pub resource: Option<String>,
    pub deadline_ms: Option<u64>,
    /// How long such a call usually takes, from history.
    pub usual: Option<Latency>,
    pub queued_ms: u64,
}

/// A call was answered, or will not be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFinished {
    pub call: CallId,
    pub plugin: PluginId,
    pub method: String,
    pub resource: Option<String>,
    /// The type of that resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<String>,
    /// What an apply does: `create`, `update`, `destroy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// From when it was sent; the time in line before is not in it.
    pub took_ms: u64,
    pub outcome: CallOutcome,
    /// The error in words.
    pub error: Option<String>,
    /// How such calls go by now; of one that was cancelled nothing is measured. What is kept of a deploy goes without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    Ok,
    /// Answered with error diagnostics, or a gRPC error.
    Error,
    Deadline,
    Cancelled,
    /// The plugin died under it.
    Crashed,
}

/// Durations of calls in milliseconds: the percentiles and the longest of those that went well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    pub count: u64,
    pub errors: u64,
    pub p50_ms: u64,
    pub p95_ms: u64,
    pub max_ms: u64,
}

impl Latency {
    /// Whether any call went well: how long one takes is not known otherwise.
    pub fn is_known(&self) -> bool {
        self.count > self.errors
    }
}

/// How the last thousand calls of a plugin went: those of one method, and those of all its methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    pub method: Latency,
    pub plugin: Latency,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Warning,
    Error,
}

/// An error or warning about the configuration, a plan, a deploy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    pub severity: Severity,
    pub summary: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<SourceRange>,
    /// The source lines of the range, for people; absent from `--json`'s contract but harmless there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snippet: Option<Snippet>,
    /// Where else the same cause was met: in other instances, or other calls of the module whose text it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub further: Option<Further>,
}

/// Further places of one cause.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Further {
    /// How many.
    pub count: usize,
    /// The addresses of the first of them, as far as they have any.
    pub addresses: Vec<String>,
}

impl Further {
    /// For people: how many, and the first of them.
    pub fn text(&self) -> String {
        const SHOWN: usize = 3;
        let places = if self.count == 1 { "The same at one further place" } else { "The same at further places" };
        let some: Vec<&str> = self.addresses.iter().take(SHOWN).map(String::as_str).collect();
        let number = if self.count == 1 { String::new() } else { format!(", {} in all", self.count) };
        match some.is_empty() {
            true => format!("{places}{number}."),
            false if self.count > some.len() => format!("{places}{number}: {}, ….", some.join(", ")),
            false => format!("{places}{number}: {}.", some.join(", ")),
        }
    }
}

/// A place in a configuration file, relative to the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRange {
    pub filename: String,
    pub start: SourcePosition,
    pub end: SourcePosition,
}

/// Line and column from 1 (columns in grapheme clusters), byte from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcePosition {
    pub line: u32,
    pub column: u32,
    pub byte: u32,
}

/// The line that a diagnostic is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snippet {
    pub line: u32,
    pub text: String,
    /// Byte offsets of the marked part within `text`.
    pub mark: (u32, u32),
}

/// What would happen to one resource instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    NoOp,
    Read,
    Create,
    Update,
    /// Destroy, then create.
    Replace,
    /// Create, then destroy the old object.
    ReplaceCreateFirst,
    Destroy,
    Forget,
}

impl Action {
    /// The sign that people know: `+`, `~`, `-/+`, `+/-`, `-`, `<=`, `×`.
    pub fn sign(self) -> &'static str {
        match self {
            Self::NoOp => " ",
            Self::Read => "<=",
            Self::Create => "+",
            Self::Update => "~",
            Self::Replace => "-/+",
            Self::ReplaceCreateFirst => "+/-",
            Self::Destroy => "-",
            Self::Forget => "×",
        }
    }

    /// The word for a table cell.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoOp => "no-op",
            Self::Read => "read",
            Self::Create => "create",
            Self::Update => "update",
            Self::Replace | Self::ReplaceCreateFirst => "replace",
            Self::Destroy => "destroy",
            Self::Forget => "forget",
        }
    }

    /// What was done, in the past tense.
    pub fn done_word(self) -> &'static str {
        match self {
            Self::Create => "created",
            Self::Update => "updated",
            Self::Replace | Self::ReplaceCreateFirst => "replaced",
            Self::Destroy => "destroyed",
            Self::Read => "read",
            Self::Forget => "forgotten",
            // An operation without an action is an import.
            Self::NoOp => "imported",
        }
    }

    /// Whether it is done once this step of it is on record as done.
    pub fn ends_with(self, step: &str) -> bool {
        match self {
            Self::Create | Self::Replace => step == "create",
            Self::Update => step == "update",
            Self::ReplaceCreateFirst | Self::Destroy => matches!(step, "destroy" | "forget"),
            Self::Read => step == "read",
            Self::Forget => step == "forget",
            Self::NoOp => step == "import",
        }
    }

    /// Whether an object in the world is destroyed by it.
    pub fn destroys(self) -> bool {
        matches!(self, Self::Destroy | Self::Replace | Self::ReplaceCreateFirst)
    }

    /// Actions as the plan representation lists them.
    pub fn plan_words(self) -> &'static [&'static str] {
        match self {
            Self::NoOp => &["no-op"],
            Self::Read => &["read"],
            Self::Create => &["create"],
            Self::Update => &["update"],
            Self::Replace => &["delete", "create"],
            Self::ReplaceCreateFirst => &["create", "delete"],
            Self::Destroy => &["delete"],
            Self::Forget => &["forget"],
        }
    }
}

/// How a stage was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageMode {
    #[default]
    Normal,
    Destroy,
    RefreshOnly,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageStarted {
    pub stage: StageId,
    pub mode: StageMode,
    /// How many resource instances are in sight (configuration and state); 0 while unknown.
    pub resources: u32,
}

/// Counts of changes by action.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub create: u32,
    pub update: u32,
    pub replace: u32,
    pub destroy: u32,
    pub read: u32,
    pub forget: u32,
    pub import: u32,
    pub no_op: u32,
}

impl Counts {
    /// Adds one change.
    pub fn add(&mut self, action: Action) {
        match action {
            Action::NoOp => self.no_op += 1,
            Action::Read => self.read += 1,
            Action::Create => self.create += 1,
            Action::Update => self.update += 1,
            Action::Replace | Action::ReplaceCreateFirst => self.replace += 1,
            Action::Destroy => self.destroy += 1,
            Action::Forget => self.forget += 1,
        }
    }

    /// How many would do something to the world or the state.
    pub fn changes(&self) -> u32 {
        self.create + self.update + self.replace + self.destroy + self.forget + self.import
    }
}

/// One change as it is shown; values are already masked where sensitive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangeView {
    /// Address of the resource instance; with ` (deposed KEY)` for a deposed object. Unique in a stage.
    pub address: String,
    pub previous_address: Option<String>,
    pub resource_type: String,
    pub provider: String,
    pub action: Action,
    /// `replace_because_tainted` and the like, as the plan representation has them.
    pub action_reason: Option<String>,
    /// In words: what caused the change.
    pub why: String,
    pub attributes: Vec<AttributeChange>,
    /// Resources, as declared, that it depends on and that have changes in this stage.
    pub needs: Vec<String>,
    pub drifted: bool,
    /// What its provisioners would run, here and elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandView>,
}

impl ChangeView {
    /// Whether applying it changes the world or the state: an object that only moves to another address does.
    pub fn does_something(&self) -> bool {
        self.action != Action::NoOp || self.previous_address.is_some()
    }
}

/// One attribute's before and after, flattened to leaves: `tags["name"]`, `rule[0].port`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttributeChange {
    pub path: String,
    /// Rendered as an expression; `None` where there is no value.
    pub before: Option<String>,
    /// `None` where there is no value afterwards; `(known after apply)` where `unknown`.
    pub after: Option<String>,
    pub unknown: bool,
    pub sensitive: bool,
    pub forces_replacement: bool,
    pub changed: bool,
}

/// One output's change as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputView {
    pub name: String,
    pub action: Action,
    pub before: Option<String>,
    pub after: Option<String>,
    pub sensitive: bool,
    /// Addresses of the instances that it rests on, or of resources where it rests on all their instances.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
}

impl OutputView {
    /// Whether it stays as it is where these changes are left out.
    pub fn stays<'l>(&self, left: impl IntoIterator<Item = &'l String>) -> bool {
        let mut left = left.into_iter();
        left.any(|address| self.needs.iter().any(|need| names(need, address)))
    }
}

/// Whether an address of an instance, or of a resource for all its instances, names this instance.
pub fn names(need: &str, address: &str) -> bool {
    address.strip_prefix(need).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
}

/// The result of staging, ready to be looked at and narrowed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageSummary {
    pub stage: StageId,
    pub mode: StageMode,
    /// Named apart from the time of the event that carries it.
    #[serde(rename = "staged_at")]
    pub at: UnixMs,
    pub took_ms: u64,
    pub counts: Counts,
    /// In the order of dependencies; no-ops too.
    pub changes: Vec<ChangeView>,
    /// Addresses of changes that are left out: of a new stage those that came along with what the targets need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
    pub outputs: Vec<OutputView>,
    /// What refreshing found of the world that is not as the state has it.
    pub drift: Vec<DriftView>,
}

impl StageSummary {
    /// What was found of the current object of an address.
    pub fn drift_of(&self, address: &str) -> Option<&DriftView> {
        self.drift.iter().find(|d| d.address == address)
    }

    /// How many were found so.
    pub fn drifted(&self, what: DriftKind) -> usize {
        self.drift.iter().filter(|d| d.what == what).count()
    }
}

/// How the world, or the address, of an object differs from the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftKind {
    Changed,
    Gone,
    /// At another address, and as it was.
    Moved,
}

impl DriftKind {
    /// As it is shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Gone => "gone",
            Self::Moved => "moved",
        }
    }

    /// What a refresh-only deploy makes of it.
    pub fn accepted(self) -> &'static str {
        match self {
            Self::Changed => "the state takes it over",
            Self::Gone => "the state forgets it",
            Self::Moved => "the state has it at its new address",
        }
    }
}

/// One object that is not as the state has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "DriftRead")]
pub struct DriftView {
    /// With the deposed key of a left-over object.
    pub address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_address: Option<String>,
    pub resource_type: String,
    pub provider: String,
    pub what: DriftKind,
    /// From what the state has to what is there.
    pub attributes: Vec<AttributeChange>,
}

/// Old records have addresses alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum DriftRead {
    Address(String),
    Whole {
        address: String,
        #[serde(default)]
        previous_address: Option<String>,
        resource_type: String,
        provider: String,
        what: DriftKind,
        attributes: Vec<AttributeChange>,
    },
}

impl From<DriftRead> for DriftView {
    fn from(read: DriftRead) -> Self {
        match read {
            DriftRead::Address(address) => Self {
                address,
                previous_address: None,
                resource_type: String::new(),
                provider: String::new(),
                what: DriftKind::Changed,
                attributes: Vec::new(),
            },
            DriftRead::Whole { address, previous_address, resource_type, provider, what, attributes } => {
                Self { address, previous_address, resource_type, provider, what, attributes }
            }
        }
    }
}

/// How an operation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationState {
    Waiting,
    Running,
    Done,
    Failed,
    /// Not started: something it needs failed, or the deploy was cancelled.
    NotAttempted,
    /// Its intent is on record and its outcome is not.
    Unknown,
    /// A replacement of which one half was done and the other was not: the old object is destroyed and there is no new one, or
    /// the new one is there beside the old one. The operation's step says which.
    HalfReplaced,
}

impl OperationState {
    /// The word for a table cell.
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::NotAttempted => "not attempted",
            Self::Unknown => "unknown outcome",
            Self::HalfReplaced => "half replaced",
        }
    }
}

/// One resource's part in a deploy; each event carries it whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    pub deploy: DeployId,
    /// Order in the deploy, from 0.
    pub index: u32,
    pub address: String,
    pub plugin: Option<PluginId>,
    pub action: Action,
    pub state: OperationState,
    /// `creating`, `destroying the old object`, …
    pub step: String,
    /// Whether the first half of a replacement is done.
    #[serde(default)]
    pub half_done: bool,
    pub attempt: u32,
    pub began: Option<UnixMs>,
    pub took_ms: Option<u64>,
    /// Addresses that it waits for, while it waits.
    pub waits_for: Vec<String>,
    /// The usual duration of its method, from history.
    pub usual_ms: Option<u64>,
    pub failure: Option<Box<Failure>>,
    pub warnings: Vec<String>,
}

/// What the step of an operation begins with whose unknown outcome is settled.
const SETTLED: &str = "settled: ";

impl Operation {
    /// Whether its deploy ended before it did.
    pub fn is_left(&self) -> bool {
        use OperationState::{Failed, HalfReplaced, NotAttempted, Unknown};
        matches!(self.state, Failed | NotAttempted | Unknown | HalfReplaced)
    }

    /// The address of its resource instance: without the key of a left-over object.
    pub fn instance(&self) -> &str {
        self.address.split(" (deposed").next().unwrap_or(&self.address)
    }

    /// Whether it is a replacement that has begun and not ended.
    pub fn is_replacing(&self) -> bool {
        self.state == OperationState::Running && matches!(self.action, Action::Replace | Action::ReplaceCreateFirst)
    }

    /// What is missing of a replacement of which one half is done.
    pub fn missing_half(&self) -> Option<&'static str> {
        match self.action {
            Action::Replace if self.half_done => Some("destroyed, not re-created"),
            Action::ReplaceCreateFirst if self.half_done => Some("created, the old object is not destroyed"),
            _ => None,
        }
    }

    /// Says how its unknown outcome was settled.
    pub fn settle(&mut self, how: &str) {
        self.step = format!("{SETTLED}{how}");
    }

    /// How its outcome, which was unknown, was settled.
    pub fn settled(&self) -> Option<&str> {
        if self.state == OperationState::Unknown { self.step.strip_prefix(SETTLED) } else { None }
    }
}

/// Why something failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub class: FailureClass,
    /// Equal for failures that are the same but for names, numbers and ids.
    pub fingerprint: String,
    pub summary: String,
    pub detail: String,
    pub address: Option<String>,
    pub plugin: Option<PluginId>,
    pub method: Option<String>,
    /// The crash that took the call down.
    pub incident: Option<String>,
    /// What the plugin logged since the operation began, at most 100 lines: the last ones, of a panic the first.
    pub last_lines: Vec<String>,
    /// When each of them was logged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_lines_at: Vec<UnixMs>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    Unexpected,
    Transient,
    BadInput,
    /// Whoever we work as may not do that.
    Denied,
    PluginCrashed,
    Deadline,
    Cancelled,
    InconsistentResult,
}

impl FailureClass {
    /// The class in words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unexpected => "unexpected",
            Self::Transient => "transient",
            Self::BadInput => "bad input",
            Self::Denied => "denied",
            Self::PluginCrashed => "plugin crashed",
            Self::Deadline => "deadline",
            Self::Cancelled => "cancelled",
            Self::InconsistentResult => "inconsistent result",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeployStarted {
    pub deploy: DeployId,
    pub stage: StageId,
    pub mode: StageMode,
    pub who: String,
    pub host: String,
    pub operations: Vec<Operation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeployOutcome {
    Running,
    Succeeded,
    Failed,
    Cancelled,
    /// flightdeck ended before the deploy did.
    Interrupted,
}

impl DeployOutcome {
    /// The word for a table cell.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationCounts {
    pub done: u32,
    pub failed: u32,
    pub not_attempted: u32,
    pub unknown: u32,
    /// Replacements of which one half was done and the other was not.
    #[serde(default)]
    pub half_replaced: u32,
}

impl OperationCounts {
    /// How many operations ended in these states; what has not ended counts as not attempted.
    pub fn of<'o>(operations: impl IntoIterator<Item = &'o Operation>) -> Self {
        let mut counts = Self::default();
        for operation in operations {
            *match operation.state {
                OperationState::Done => &mut counts.done,
                OperationState::Failed => &mut counts.failed,
                OperationState::Unknown => &mut counts.unknown,
                OperationState::HalfReplaced => &mut counts.half_replaced,
                OperationState::Waiting | OperationState::Running | OperationState::NotAttempted => &mut counts.not_attempted,
            } += 1;
        }
        counts
    }

    /// `7 done, 1 failed`: those that are not zero, in words.
    pub fn text(&self) -> String {
        let named = [
            (self.done, "done"),
            (self.half_replaced, "half replaced"),
            (self.failed, "failed"),
            (self.not_attempted, "not attempted"),
            (self.unknown, "with unknown outcome"),
        ];
        let said: Vec<String> = named.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        if said.is_empty() { "nothing to do".to_owned() } else { said.join(", ") }
    }

    /// How many ended otherwise than they should, or not at all although they had begun.
    pub fn bad(&self) -> u32 {
        self.failed + self.unknown + self.half_replaced
    }
}

/// One deploy, as History lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploySummary {
    pub deploy: DeployId,
    pub stage: StageId,
    pub mode: StageMode,
    pub began: UnixMs,
    pub ended: Option<UnixMs>,
    pub who: String,
    pub host: String,
    pub outcome: DeployOutcome,
    pub operations: OperationCounts,
    pub counts: Counts,
    pub config_digest: String,
}

/// The summary of a diagnostic that names an operation whose end is not on record.
pub const UNKNOWN_OUTCOME: &str = "Unknown outcome";

/// An operation that an earlier deploy began and whose end is not on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unknown {
    pub deploy: DeployId,
    pub address: String,
    /// Key of the deposed object that it was about; `None` for the current one.
    pub deposed: Option<String>,
    /// `create`, `update`, `destroy`.
    pub step: String,
    pub begun_at: UnixMs,
    /// Whether an object may be there that the state does not have. Reading back cannot settle that.
    pub creation: bool,
    /// Whether it is a provisioner's command: what it has done is done, and whether the object is as it should be is not known.
    pub provisioner: bool,
    /// The id of the object, where it was known before the call.
    pub id: Option<String>,
    /// What is known, and how it is settled, in words.
    pub detail: String,
}

impl Unknown {
    /// As `state forget` and lists name it.
    pub fn name(&self) -> String {
        self.deposed.as_ref().map_or_else(|| self.address.clone(), |key| format!("{} (deposed {key})", self.address))
    }
}

/// What an operator did to the state by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateChangeKind {
    /// An object that was there already was taken in.
    Imported,
    /// An object was let go of; it was not destroyed.
    Forgotten,
    /// Nothing of it was in the state; what was unknown of it is settled.
    Settled,
    /// An object is to be replaced by the next deploy.
    Tainted,
    /// An object is not to be replaced any more.
    Untainted,
}

impl StateChangeKind {
    /// The word for a table cell.
    pub fn word(self) -> &'static str {
        match self {
            Self::Imported => "imported",
            Self::Forgotten => "forgotten",
            Self::Tainted => "tainted",
            Self::Untainted => "untainted",
            Self::Settled => "settled",
        }
    }
}

/// A change of the state by hand, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    /// Named apart from the time of the event that carries it.
    #[serde(rename = "changed_at")]
    pub at: UnixMs,
    pub what: StateChangeKind,
    pub address: String,
    /// Key of a deposed object; `None` for the current one.
    pub deposed: Option<String>,
    /// The id that it was imported under; of a forgotten object its `id`, where it has one that is not sensitive.
    pub id: Option<String>,
    /// The provider configuration, as state version 4 writes it; `None` where there was no object.
    pub provider: Option<String>,
    /// Unknown outcomes that it settled: `create in deploy #3`.
    pub settled: Vec<String>,
    pub who: String,
    pub host: String,
    /// The state's serial afterwards.
    pub serial: i64,
}

/// The rungs of the cancel ladder, from soft to hard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelRung {
    /// No new operation starts.
    StopStarting,
    /// Plugins are asked to stop what they do.
    AskPlugins,
    /// Plugins are killed; what they were doing has an unknown outcome.
    KillPlugins,
}

/// Who holds a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockHolder {
    pub who: String,
    pub host: String,
    pub pid: u32,
    /// Start time of the process (field 22 of its stat), so that a recycled pid is not taken for it.
    pub start_time: u64,
    pub boot_id: String,
    /// The namespace of its pid; empty where it was not known.
    #[serde(default)]
    pub pid_namespace: String,
    /// Whether it holds the system's lock on the store too, which ends with the process.
    #[serde(default)]
    pub leased: bool,
    pub since: UnixMs,
    pub reason: String,
}

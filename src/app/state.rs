//! Everything the console knows. Plain data: `update` changes it, `ui` draws it, tests compare it.

use super::doc::Doc;
use super::entry::Entry;
use super::keymap::KeyMap;
use super::list::{ListState, Row, RowKey};
use super::log::Log;
use super::msg::Effect;
use super::schema::SchemaRow;
use crate::engine::api::{DeployRecord, FailureGroup, StateRow};
use crate::engine::event::{Action, ChangeView, DeploySummary, Operation, StageId, Unknown};
use crate::engine::plugin::record::{PluginId, UnixMs};
use crate::engine::view::{DeployView, View};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The screens, in the order of their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Screen {
    #[default]
    Plugins,
    Calls,
    Stage,
    Deploy,
    History,
    State,
    Logs,
}

impl Screen {
    pub const ALL: [Self; 7] = [Self::Plugins, Self::Calls, Self::Stage, Self::Deploy, Self::History, Self::State, Self::Logs];

    /// The word on its tab.
    pub fn word(self) -> &'static str {
        match self {
            Self::Plugins => "Plugins",
            Self::Calls => "Calls",
            Self::Stage => "Stage",
            Self::Deploy => "Deploy",
            Self::History => "History",
            Self::State => "State",
            Self::Logs => "Logs",
        }
    }
}

/// What is looked at: a screen, or what was opened on it. Each has its own list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    Plugins,
    Schema,
    Calls,
    Stage,
    Deploy,
    History,
    Replay,
    Failures,
    State,
    Logs,
    /// The engine's own tracing.
    Tracing,
}

impl Context {
    pub const COUNT: usize = 11;
}

/// What the detail of a plugin shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PluginTab {
    #[default]
    Attempts,
    Schema,
    Calls,
    Logs,
    About,
}

impl PluginTab {
    pub const ALL: [Self; 5] = [Self::Attempts, Self::Schema, Self::Calls, Self::Logs, Self::About];

    /// The word on its tab.
    pub fn word(self) -> &'static str {
        match self {
            Self::Attempts => "attempts",
            Self::Schema => "schema",
            Self::Calls => "calls",
            Self::Logs => "logs",
            Self::About => "about",
        }
    }
}

/// Which changes of a stage are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionFilter {
    Create,
    Update,
    Replace,
    Destroy,
}

impl ActionFilter {
    /// Whether it lets an action through.
    pub fn shows(self, action: Action) -> bool {
        match self {
            Self::Create => action == Action::Create,
            Self::Update => action == Action::Update,
            Self::Replace => matches!(action, Action::Replace | Action::ReplaceCreateFirst),
            Self::Destroy => action.destroys(),
        }
    }

    /// The word on the title line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Create => "creates",
            Self::Update => "updates",
            Self::Replace => "replaces",
            Self::Destroy => "what destroys",
        }
    }
}

/// Which operations of a deploy are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeployFilter {
    #[default]
    All,
    Failed,
    NotAttempted,
    Done,
}

impl DeployFilter {
    /// The next one.
    pub fn next(self) -> Self {
        match self {
            Self::All => Self::Failed,
            Self::Failed => Self::NotAttempted,
            Self::NotAttempted => Self::Done,
            Self::Done => Self::All,
        }
    }

    /// The word on the title line.
    pub fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Failed => "failed",
            Self::NotAttempted => "not attempted",
            Self::Done => "done",
        }
    }
}

/// How a change came to be taken or left without being asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Along {
    /// Whether it was pulled in; else it was dropped.
    pub pulled_in: bool,
    /// The change that made it so.
    pub by: String,
}

/// An old deploy, played again.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    pub record: DeployRecord,
    /// Events folded in, from 0 to all.
    pub cursor: usize,
    pub view: DeployView,
    /// The time that the replay stands at.
    pub at: UnixMs,
}

/// Samples for the charts of the Calls screen, one a second, newest last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    pub waiting: VecDeque<u64>,
    pub running: VecDeque<u64>,
    pub finished: VecDeque<u64>,
    /// Calls that finished since the last sample.
    pub finished_now: u64,
}

/// How much weight a message in the footer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    Good,
    Bad,
}

/// The last thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    pub at: UnixMs,
    pub weight: Weight,
    pub text: String,
}

/// What a confirmed question does besides its effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    Nothing,
    Goto(Screen),
    /// Leave as soon as what runs has ended.
    Leave,
    Quit,
}

/// A question, answered No unless said otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct Confirm {
    pub title: String,
    pub body: Doc,
    pub yes: bool,
    /// Words that must be typed, and what was typed so far.
    pub typed: Option<(String, Entry)>,
    pub effects: Vec<Effect>,
    pub after: After,
    /// The stage that the question is about: it is withdrawn when the stage or its selection changes.
    pub stage: Option<StageId>,
    pub scroll: usize,
}

/// What lies over the screen.
#[derive(Debug, Clone, PartialEq)]
pub enum Popup {
    Help {
        scroll: usize,
    },
    Palette {
        entry: Entry,
        selected: usize,
    },
    Confirm(Box<Confirm>),
    Ladder {
        selected: usize,
    },
    Demo {
        selected: usize,
    },
    Message {
        title: String,
        doc: Doc,
        scroll: usize,
    },
    /// What is unknown, and how it is settled; opened because an apply was refused for it, or not.
    Unknown {
        selected: usize,
        refused: bool,
    },
    /// The id under which an object is taken into the state.
    Import {
        address: String,
        entry: Entry,
    },
}

impl Popup {
    /// The width it would like.
    pub fn width(&self) -> u16 {
        match self {
            Self::Help { .. } => 84,
            Self::Palette { .. } => 92,
            Self::Confirm(_) => 72,
            Self::Ladder { .. } => 84,
            Self::Demo { .. } => 100,
            Self::Message { .. } => 96,
            Self::Unknown { .. } => 104,
            Self::Import { .. } => 84,
        }
    }
}

/// What a typed line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptKind {
    Find,
    Filter,
}

/// A line being typed in the footer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub kind: PromptKind,
    pub entry: Entry,
    /// Where the cursor was, for `esc`.
    pub before: Option<RowKey>,
    pub text_before: String,
}

/// Something that can be broken on purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub key: char,
    /// What the effect names.
    pub id: String,
    pub doc: String,
}

/// Colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThemeName {
    #[default]
    Dark,
    Light,
    Contrast,
}

/// How things look, decided once at the start and by keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looks {
    pub theme: ThemeName,
    pub color: bool,
    pub ascii: bool,
}

impl Default for Looks {
    fn default() -> Self {
        Self { theme: ThemeName::Dark, color: true, ascii: false }
    }
}

/// Everything the console knows.
#[derive(Debug, Clone)]
pub struct State {
    pub size: (u16, u16),
    pub now: UnixMs,
    /// Seconds east of UTC.
    pub utc_offset: i32,
    /// Name of the workspace: its directory's last part.
    pub workspace: String,
    pub directory: String,
    /// Whether there is configuration in the directory.
    pub configured: bool,
    pub looks: Looks,
    pub keys: KeyMap,
    pub view: View,
    pub screen: Screen,
    pub lists: Vec<ListState>,
    /// Rows of the current context, in order; see [`settle`](super::settle).
    pub rows: Vec<Row>,
    /// How many of them never scroll away.
    pub pinned: usize,
    pub popup: Option<Popup>,
    pub prompt: Option<Prompt>,
    pub toast: Option<Toast>,
    /// Percent of the room that the list has beside its detail.
    pub split: u16,
    pub dragging: bool,
    pub mouse: bool,
    /// Whether there is a shell to go to, and back from.
    pub shell: bool,
    /// Lines that stay on the screen: which key breaks what.
    pub notes: Vec<String>,
    pub faults: Vec<Fault>,

    pub plugin_tab: PluginTab,
    pub schemas: BTreeMap<PluginId, Vec<SchemaRow>>,
    pub unfolded: BTreeSet<String>,
    pub samples: Samples,
    pub show_unchanged: bool,
    pub action_filter: Option<ActionFilter>,
    pub along: BTreeMap<String, Along>,
    /// Stage requested by the console, for staging it again.
    pub deploy_filter: DeployFilter,
    pub history: Option<Vec<DeploySummary>>,
    pub failures: Option<Vec<FailureGroup>>,
    pub show_failures: bool,
    pub replay: Option<Replay>,
    /// The newest deploy on record, until there is one of our own.
    pub last: Option<DeployView>,
    /// Whether what is unknown was put before the operator.
    pub told_unknown: bool,
    /// Whether plugins that came with the workspace wait for a yes or a no.
    pub asks_trust: bool,
    pub state_rows: Option<Vec<StateRow>>,
    pub log: Log,

    /// How many operations at a time a deploy makes.
    pub parallelism: usize,
    /// From how many destroyed objects on a confirmation must be typed.
    pub typed_from: usize,
    /// Whether the lock, which somebody else had, has been asked for again.
    pub asks_lock: bool,
    /// Leave as soon as what runs has ended.
    pub leaving: bool,
    pub quit: bool,
}

impl State {
    /// A console on a workspace, before anything is known.
    pub fn new(workspace: &str, directory: &str) -> Self {
        Self {
            size: (80, 24),
            now: 0,
            utc_offset: 0,
            workspace: workspace.to_owned(),
            directory: directory.to_owned(),
            configured: true,
            looks: Looks::default(),
            keys: KeyMap::default(),
            view: View::default(),
            screen: Screen::default(),
            lists: vec![ListState::default(); Context::COUNT],
            rows: Vec::new(),
            pinned: 0,
            popup: None,
            prompt: None,
            toast: None,
            split: 60,
            dragging: false,
            mouse: true,
            shell: true,
            notes: Vec::new(),
            faults: Vec::new(),
            plugin_tab: PluginTab::default(),
            schemas: BTreeMap::new(),
            unfolded: BTreeSet::new(),
            samples: Samples::default(),
            show_unchanged: false,
            action_filter: None,
            along: BTreeMap::new(),
            deploy_filter: DeployFilter::default(),
            history: None,
            failures: None,
            show_failures: false,
            replay: None,
            last: None,
            told_unknown: false,
            asks_trust: false,
            state_rows: None,
            log: Log::default(),
            parallelism: 10,
            typed_from: 5,
            asks_lock: false,
            leaving: false,
            quit: false,
        }
    }

    /// What is looked at.
    pub fn context(&self) -> Context {
        match self.screen {
            Screen::Plugins if self.lists[Context::Plugins as usize].zoom && self.plugin_tab == PluginTab::Schema => Context::Schema,
            Screen::Plugins => Context::Plugins,
            Screen::Calls => Context::Calls,
            Screen::Stage => Context::Stage,
            Screen::Deploy => Context::Deploy,
            Screen::History if self.replay.is_some() => Context::Replay,
            Screen::History if self.show_failures => Context::Failures,
            Screen::History => Context::History,
            Screen::State => Context::State,
            Screen::Logs if self.log.tracing => Context::Tracing,
            Screen::Logs => Context::Logs,
        }
    }

    /// The list of what is looked at.
    pub fn list(&self) -> &ListState {
        &self.lists[self.context() as usize]
    }

    /// The list of what is looked at.
    pub fn list_mut(&mut self) -> &mut ListState {
        let context = self.context() as usize;
        &mut self.lists[context]
    }

    /// The row under the cursor.
    pub fn selected(&self) -> Option<&Row> {
        self.list().selected(&self.rows)
    }

    /// The plugin under the cursor of the Plugins screen, also while its schema is open.
    pub fn plugin(&self) -> Option<&crate::engine::view::PluginView> {
        let key = self.lists[Context::Plugins as usize].key.as_ref()?.text()?;
        self.view.plugins.get(&PluginId(key.to_owned()))
    }

    /// The change under the cursor.
    pub fn change(&self) -> Option<&ChangeView> {
        if self.context() != Context::Stage {
            return None;
        }
        self.view.stage.as_ref()?.changes.get(self.selected()?.index)
    }

    /// The deploy on the screen, and the time it stands at.
    pub fn shown_deploy(&self) -> Option<(&DeployView, UnixMs)> {
        match &self.replay {
            Some(r) if self.screen == Screen::History => Some((&r.view, r.at)),
            _ => self.view.deploy.as_ref().or(self.last.as_ref()).map(|d| (d, self.now)),
        }
    }

    /// The operation under the cursor.
    pub fn operation(&self) -> Option<&Operation> {
        if !matches!(self.context(), Context::Deploy | Context::Replay) {
            return None;
        }
        self.shown_deploy()?.0.operations.get(self.selected()?.index)
    }

    /// Whether a deploy is running now.
    pub fn deploying(&self) -> bool {
        self.view.deploy.as_ref().is_some_and(|d| d.summary.is_none())
    }

    /// What is unknown of an address; what may be there already before what is read back.
    pub fn unknown_of(&self, address: &str) -> Option<&Unknown> {
        let its = || self.view.unknown.iter().filter(|u| u.name() == address);
        its().find(|u| u.creation).or_else(|| its().next())
    }

    /// Changes that are taken and would create what may be there already.
    pub fn created_twice(&self) -> impl Iterator<Item = &ChangeView> {
        self.taken().filter(|c| c.action == Action::Create && self.unknown_of(&c.address).is_some_and(|u| u.creation))
    }

    /// Who else holds the workspace, if anyone.
    pub fn locked_by(&self) -> Option<&crate::engine::event::LockHolder> {
        if self.view.lock_is_ours { None } else { self.view.lock.as_ref() }
    }

    /// Changes of the stage that would be applied.
    pub fn taken(&self) -> impl Iterator<Item = &ChangeView> {
        self.view.stage.iter().flat_map(|s| &s.changes).filter(|c| c.action != Action::NoOp && !self.view.left.contains(&c.address))
    }

    /// Says something in the footer.
    pub fn say(&mut self, text: impl Into<String>) {
        self.toast = Some(Toast { at: self.now, weight: Weight::Good, text: text.into() });
    }

    /// Says in the footer that something failed.
    pub fn complain(&mut self, text: impl Into<String>) {
        self.toast = Some(Toast { at: self.now, weight: Weight::Bad, text: text.into() });
    }

    /// The detail of what is under the cursor.
    pub fn detail(&self) -> Doc {
        super::rows::detail(self)
    }

    /// Incidents that an operator should look at, newest last: crashes, and plugins that gave up.
    pub fn incidents(&self) -> Vec<(UnixMs, &PluginId)> {
        let mut all: Vec<_> = self.view.incidents.iter().map(|c| (c.at, &c.plugin)).collect();
        for p in self.view.plugins.values().filter(|p| p.state.is_failed() && p.crashes.is_empty()) {
            all.push((p.attempts.back().map_or(0, |a| a.began), &p.id));
        }
        all.sort();
        all
    }
}

//! State of the console. Plain data: `update` changes it, `ui` draws it, tests compare it.

mod applied;
mod detail;
mod ending;
mod filters;
mod frame;
mod incidents;
mod installation;
mod loaded;
mod messages;
mod place;
mod questions;
mod remembered_options;
mod samples;
mod seen;
mod selections;
mod stage_difference;
mod trail;
mod trees;

pub use detail::KeptDetail;
pub use ending::Ending;
pub use filters::*;
pub use frame::*;
pub use incidents::{Incident, IncidentLog};
pub use loaded::*;
pub use messages::{Messages, Toast, Weight};
pub use place::{Options, Place};
pub use questions::Questions;
pub use samples::{PluginSamples, Samples};
pub use seen::SeenDeploys;
pub use selections::Selections;
pub use stage_difference::StageDifference;
pub use trail::Visit;
pub use trees::Trees;

pub use super::popups::{After, Answers, Confirm, Popup};
pub use super::screens::{Context, Screen};

use super::choices::Choices;
use super::doc::Doc;
use super::list::{ListState, Row};
use super::log::Log;
use super::theme::ColorTheme;
use model::view::{DeployView, View};
use model::{
    Action, ChangeView, DeployId, ObservationChange, Operation, OutputRow, OutputView, PluginId,
    StateRow, UnixMs, Unknown,
};
use std::collections::BTreeMap;

/// State of the console.
#[derive(Debug, Clone)]
pub struct State {
    pub now: UnixMs,
    /// Seconds east of UTC.
    pub utc_offset: i32,
    pub place: Place,
    pub options: Options,
    pub view: View,
    pub loaded: Loaded,
    pub frame: Frame,
    pub filters: Filters,
    pub trees: Trees,
    pub selections: Selections,
    pub screen: Screen,
    /// Indexed by context, so that each keeps its own cursor and filter.
    pub lists: Vec<ListState>,
    pub samples: Samples,
    pub implied: BTreeMap<String, ImpliedSelection>,
    /// Differences of the stage from the one that it replaced.
    pub stage_difference: Option<StageDifference>,
    /// A changed file of the configuration stages again.
    pub stages_on_save: bool,
    pub log: Log,
    pub questions: Questions,
    pub incident_log: IncidentLog,
    pub seen: SeenDeploys,
    pub ending: Ending,
    /// Choices in the file; `None` if it must be written anew.
    pub saved_choices: Option<Choices>,
}

impl State {
    /// Creates the state of a console without any data.
    pub fn new(directory_name: &str, directory: &str) -> Self {
        Self {
            now: 0,
            utc_offset: 0,
            place: Place::new(directory_name, directory),
            options: Options::default(),
            view: View::default(),
            loaded: Loaded::default(),
            frame: Frame::default(),
            filters: Filters::default(),
            trees: Trees::default(),
            selections: Selections::default(),
            screen: Screen::Plugins,
            lists: vec![ListState::default(); Context::ALL.len()],
            samples: Samples::default(),
            implied: BTreeMap::new(),
            stage_difference: None,
            stages_on_save: false,
            log: Log::default(),
            questions: Questions::default(),
            incident_log: IncidentLog::default(),
            seen: SeenDeploys::default(),
            ending: Ending::default(),
            saved_choices: None,
        }
    }

    /// Takes over the view of an earlier engine's console, such as screen and appearance, but no
    /// data.
    pub fn take_over_view(&mut self, before: Self) {
        Choices::of(&before).apply(self);
        let Frame {
            appearance: looks,
            themes,
            popup,
            messages,
            toast,
            ..
        } = before.frame;
        self.frame.messages = messages;
        (self.frame.appearance, self.frame.themes) = (looks, themes);
        self.saved_choices = before.saved_choices;
        self.screen = before.screen;
        self.questions.keep_offer(before.questions);
        // Shows at once that the directory has several workspaces, if that was known.
        self.loaded.workspaces = before.loaded.workspaces;
        if let Some(names) = &mut self.loaded.workspaces
            && !names.contains(&self.place.workspace)
        {
            names.push(self.place.workspace.clone());
        }
        if before.place.workspace != self.place.workspace {
            self.show_message(format!("switched to workspace {}", self.place.workspace));
            return;
        }
        // The same workspace was reopened after an installation: keeps its result on the screen.
        self.options.plan = before.options.plan;
        self.incident_log = before.incident_log;
        self.frame.toast = toast;
        self.view.install = before.view.install;
        self.frame.popup = popup.filter(|popup| matches!(popup, Popup::Installing(_)));
    }

    /// Theme to draw in.
    pub fn shown_theme(&self) -> &ColorTheme {
        // The list of themes previews the one under its cursor.
        if let Some(Popup::ThemeList(list)) = &self.frame.popup {
            return self.frame.themes.of(list.choice(&self.frame.themes));
        }
        self.frame.themes.current()
    }

    /// Current context.
    pub fn context(&self) -> Context {
        (self.screen.of().current)(self)
    }

    /// List of the current context.
    pub fn list(&self) -> &ListState {
        &self.lists[self.context() as usize]
    }

    /// List of the current context.
    pub fn list_mut(&mut self) -> &mut ListState {
        let context = self.context() as usize;
        &mut self.lists[context]
    }

    /// Row under the cursor.
    pub fn selected(&self) -> Option<&Row> {
        self.list().selected(&self.frame.rows)
    }

    /// First and last index of the range in the current list.
    pub fn range(&self) -> Option<(usize, usize)> {
        let (list, rows) = (self.list(), &self.frame.rows);
        let key = list.range.as_ref()?;
        let start = rows.iter().position(|r| r.key == *key)?;
        let end = list.index.min(rows.len().checked_sub(1)?);
        Some((start.min(end), start.max(end)))
    }

    /// Plugin under the cursor of the Plugins screen, also while its schema is open.
    pub fn plugin(&self) -> Option<&model::view::PluginView> {
        let key = self.lists[Context::Plugins as usize].key.as_ref()?.text()?;
        self.view.plugins.get(&PluginId(key.into()))
    }

    /// Change under the cursor.
    pub fn change(&self) -> Option<&ChangeView> {
        // The index of a row has another meaning in other contexts.
        if self.context() != Context::Stage {
            return None;
        }
        self.view
            .stage
            .as_ref()?
            .changes
            .get(self.selected()?.index)
    }

    /// Planned output under the cursor of the Stage screen.
    pub fn planned_output(&self) -> Option<&OutputView> {
        let row = self
            .selected()
            .filter(|_| self.context() == Context::Stage)?;
        let stage = self.view.stage.as_ref()?;
        // Indexes past the changes belong to outputs.
        stage
            .outputs
            .get(row.index.checked_sub(stage.changes.len())?)
    }

    /// Output of the state under the cursor of the State or the Deploy screen.
    pub fn output(&self) -> Option<&OutputRow> {
        let row = self.selected()?;
        let before = match self.context() {
            Context::State => self.loaded.state_rows.as_ref()?.len(),
            Context::Deploy => self.shown_deploy()?.0.operations.len(),
            _ => return None,
        };
        // Indexes past the objects or operations belong to outputs.
        row.index.checked_sub(before)?;
        self.loaded.output(row.key.text()?.strip_prefix("output ")?)
    }

    /// Deploy on the screen, and its current time; a replay has its own.
    pub fn shown_deploy(&self) -> Option<(&DeployView, UnixMs)> {
        match &self.loaded.replay {
            Some(r) if self.screen == Screen::History => Some((r.view(), r.at)),
            _ => self
                .view
                .deploy
                .as_ref()
                .or(self.loaded.last.as_ref())
                .map(|d| (d, self.now)),
        }
    }

    /// Operations of a deploy, if they are loaded or requested.
    pub fn operations_of(&self, deploy: DeployId) -> Option<&[Operation]> {
        let mut views = [&self.view.deploy, &self.loaded.last].into_iter().flatten();
        match views.find(|v| v.deploy == deploy) {
            Some(view) => Some(&view.operations),
            None => {
                let loaded = self.loaded.operations.as_ref();
                let (_, all) = loaded.filter(|(of, _)| *of == deploy)?;
                Some(all)
            }
        }
    }

    /// Object under the cursor of the State screen.
    pub fn state_row(&self) -> Option<&StateRow> {
        let rows = self.loaded.state_rows.as_ref()?;
        rows.get(self.selected()?.index)
    }

    /// Changes of the facts about an object, newest first, if they are loaded.
    pub fn observation_history(&self, r: &StateRow) -> Vec<&ObservationChange> {
        let loaded = self.loaded.observations.iter();
        let of_address = loaded.filter(|(address, _)| *address == r.address);
        let changes = of_address.flat_map(|(_, changes)| changes);
        changes
            .filter(|change| change.observation.deposed == r.deposed)
            .collect()
    }

    /// Operation under the cursor.
    pub fn operation(&self) -> Option<&Operation> {
        // The index of a row has another meaning in other contexts.
        if !matches!(self.context(), Context::Deploy | Context::Replay) {
            return None;
        }
        self.shown_deploy()?
            .0
            .operations
            .get(self.selected()?.index)
    }

    /// Returns true if a deploy is running.
    pub fn is_deploying(&self) -> bool {
        self.view
            .deploy
            .as_ref()
            .is_some_and(|d| d.summary.is_none())
    }

    /// Unknown outcome of an address. A create comes first, because the object may already exist.
    pub fn unknown_of(&self, address: &str) -> Option<&Unknown> {
        let its = || self.view.unknown.iter().filter(|u| u.name() == address);
        its().find(|u| u.creation).or_else(|| its().next())
    }

    /// Selected changes that may create an object a second time.
    pub fn possible_duplicates(&self) -> impl Iterator<Item = &ChangeView> {
        self.selected_changes().filter(|c| {
            c.action == Action::Create && self.unknown_of(&c.address).is_some_and(|u| u.creation)
        })
    }

    /// Lock owner, if it is another process.
    pub fn locked_by(&self) -> Option<&model::LockHolder> {
        if self.view.lock_is_ours {
            None
        } else {
            self.view.lock.as_ref()
        }
    }

    /// Selected changes of the stage.
    pub fn selected_changes(&self) -> impl Iterator<Item = &ChangeView> {
        self.view
            .stage
            .iter()
            .flat_map(|s| &s.changes)
            .filter(|c| c.is_selectable() && !self.view.left.contains(&c.address))
    }

    /// Detail of the row under the cursor.
    pub fn detail(&self) -> Doc {
        super::rows::detail(self)
    }
}

//! Popup that asks for a confirmation.

use super::{Choices, Content, Doctor, Input, Installing, More, Page, Part, workspaces};
use crate::app::command;
use crate::app::doc::{Doc, Line, Role, line, span, wrap};
use crate::app::entry::Entry;
use crate::app::key::{ENTER, Key, KeyCode};
use crate::app::msg::Effect;
use crate::app::state::{Screen, State};
use model::{DeployId, StageId, WorkspacePlugin};

/// Action after a confirmation, in addition to its effects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum After {
    #[default]
    Nothing,
    Goto(Screen),
    /// Quit as soon as the running deploy has ended.
    QuitWhenDone,
    Quit,
    /// Show the progress of the installation.
    Installing,
    /// Return to the doctor's findings.
    Doctor,
    /// Create a workspace and switch to it.
    CreateWorkspace(String),
    /// Stage the configuration of a deploy.
    StageConfiguration(DeployId),
}

/// Words of the two answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answers {
    pub yes: &'static str,
    pub no: &'static str,
}

impl Default for Answers {
    fn default() -> Self {
        Self {
            yes: "Yes",
            no: "No",
        }
    }
}

impl Answers {
    /// Creates the answers of a question about an action.
    pub const fn action(yes: &'static str) -> Self {
        Self { yes, no: "Cancel" }
    }

    /// Returns both with their keys. The negative one has the mark unless `yes` is set.
    pub(super) fn part(self, yes: bool) -> Part {
        let answers = [('y', self.yes), ('n', self.no)];
        Part::Choices(Choices::new(&answers, usize::from(!yes)))
    }
}

/// Confirmation. The negative answer is preselected.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Confirm {
    pub title: String,
    pub body: Doc,
    pub answers: Answers,
    pub yes: bool,
    /// Nothing is lost by it, so the frame has no colour of a warning.
    pub loses_nothing: bool,
    /// Text that must be typed, and the input so far.
    pub typed: Option<(String, Entry)>,
    pub effects: Vec<Effect>,
    pub after: After,
    /// Stage to confirm: the popup closes if the stage or its selection changes.
    pub stage: Option<StageId>,
    pub scroll: usize,
}

/// Effect of a key on a question with two answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Yes,
    No,
    /// Marks the other answer.
    Switch,
}

impl Decision {
    /// Returns the effect of a key while `yes` is the marked answer or not; `None` for other keys.
    pub(super) fn of(key: Key, yes: bool) -> Option<Self> {
        Some(match key {
            Key {
                code: KeyCode::Char('y' | 'Y'),
                ctrl: false,
                alt: false,
            } => Self::Yes,
            Key {
                code: KeyCode::Char('n' | 'N' | 'q'),
                ctrl: false,
                alt: false,
            } => Self::No,
            ENTER if yes => Self::Yes,
            ENTER => Self::No,
            Key {
                code: KeyCode::Left | KeyCode::Right | KeyCode::Tab | KeyCode::BackTab,
                ..
            } => Self::Switch,
            _ => return None,
        })
    }
}

impl Content for Confirm {
    const WIDTH: u16 = 88;

    fn key(mut self, state: &mut State, key: Key, effects: &mut Vec<Effect>) {
        if let Some((want, entry)) = &mut self.typed {
            if key == ENTER {
                // Blanks around the text are no reason to refuse it.
                if entry.text().trim() == *want {
                    self.accept(state, effects);
                } else {
                    state.show_error(format!("not confirmed: {want:?} was not typed"));
                }
                return;
            }
            entry.key(key);
            state.open(self);
            return;
        }
        // The operator who wants to leave a running deploy may want to stop it first.
        if self.after == After::QuitWhenDone && key == Key::char('c') {
            return command::open_cancel_rungs(state, effects);
        }
        match Decision::of(key, self.yes) {
            Some(Decision::Yes) => return self.accept(state, effects),
            Some(Decision::No) => return,
            Some(Decision::Switch) => self.yes = !self.yes,
            // Other keys scroll a body that is longer than the popup.
            None => self.scroll = super::text::scrolled(self.scroll, key, self.body.len()),
        }
        state.open(self);
    }

    fn page(&self, _: &State, cells: usize) -> Page {
        // The answer stays visible; only the body scrolls.
        let body = Part::Scroll {
            doc: wrap(&self.body, cells),
            from: self.scroll,
            more: More::InLine,
        };
        let title = wrap(&vec![line(Role::Strong, &self.title)], cells);
        let role = match self.loses_nothing {
            true => Role::Key,
            false => Role::Warn,
        };
        Page {
            above: vec![Part::Text(title), Part::Blank],
            below: vec![Part::Blank, self.answer()],
            ..Page::new("", role, body)
        }
    }
}

impl Confirm {
    /// Returns the input of the text that must be typed, or the two answers.
    fn answer(&self) -> Part {
        if let Some((want, entry)) = &self.typed {
            return Part::Input(Input {
                label: vec![vec![
                    span(Role::Plain, "type "),
                    span(Role::Bad, want),
                    span(Role::Plain, " and press enter, or esc: "),
                ]],
                entry: entry.clone(),
            });
        }
        self.answers.part(self.yes)
    }

    fn accept(self, state: &mut State, effects: &mut Vec<Effect>) {
        effects.extend(self.effects);
        match self.after {
            After::Nothing => {}
            After::Goto(screen) => {
                state.switch_to(screen);
                state.list_mut().zoom = false;
            }
            After::QuitWhenDone => {
                // The deploy may have ended while the popup was open.
                let is_deploying = state.is_deploying();
                state.ending.quit_after_deploy(is_deploying);
                state.show_message("the console quits when the deploy has ended");
            }
            After::Quit => state.ending.quit = true,
            After::Installing => {
                // Discards the result of an earlier installation.
                state.view.install = None;
                state.open(Installing::default());
            }
            After::Doctor => state.open(Doctor::default()),
            After::CreateWorkspace(name) => workspaces::open(state, name, true, effects),
            After::StageConfiguration(deploy) => {
                command::stage_configuration(state, effects, deploy);
            }
        }
    }
}

/// Creates the confirmation that is needed before plugins shipped in the workspace are launched.
pub fn trust(plugins: &[WorkspacePlugin]) -> Confirm {
    let mut body = vec![
        line(
            Role::Plain,
            "These plugins are files of this workspace, for example from a cloned repository. They run with all your permissions.",
        ),
        line(
            Role::Dim,
            "Your trust is stored for exactly these files. Esc declines; flightdeck asks again when a plugin is needed.",
        ),
    ];
    for plugin in plugins {
        body.push(Line::new());
        body.push(line(Role::Warn, &plugin.address));
        body.push(line(Role::Plain, format!("  {}", plugin.executable)));
        body.push(line(Role::Dim, format!("  {}", plugin.digest)));
        if plugin.changed {
            body.push(line(Role::Bad, "  changed since you trusted it"));
        }
    }
    Confirm {
        title: "Launch the plugins shipped in this workspace?".to_owned(),
        body,
        // This popup opens without a key press, so a key meant for the screen must not confirm it.
        typed: Some(("trust".to_owned(), Entry::default())),
        effects: vec![Effect::Trust(plugins.to_vec())],
        ..Confirm::default()
    }
}

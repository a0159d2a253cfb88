//! Question of a command on a module that has rows below it which the filter hides.

use super::page::Answer;
use super::{Choices, Content, More, Page, Part};
use crate::app::command;
use crate::app::doc::{Doc, Role, line, wrap};
use crate::app::format::count;
use crate::app::key::{ENTER, Key, KeyCode};
use crate::app::msg::Effect;
use crate::app::state::State;
use model::StageId;

/// Maximum number of hidden changes that the question names.
const NAMED: usize = 8;

/// Answers. The last one is preselected.
const ANSWERS: [Answer; 3] = [('v', "Visible"), ('a', "All"), ('n', "Cancel")];

/// Changes to select or deselect. Some of them are hidden.
#[derive(Debug, Clone, PartialEq)]
pub struct HiddenRows {
    stage: StageId,
    take: bool,
    shown: Vec<String>,
    hidden: Vec<String>,
    chosen: usize,
}

impl HiddenRows {
    /// Creates the question about changes of a stage.
    pub fn new(stage: StageId, take: bool, shown: Vec<String>, hidden: Vec<String>) -> Self {
        Self {
            stage,
            take,
            shown,
            hidden,
            chosen: ANSWERS.len() - 1,
        }
    }

    fn answer(self, answer: usize, state: &mut State, effects: &mut Vec<Effect>) {
        let addresses = match answer {
            0 => self.shown,
            1 => self.shown.into_iter().chain(self.hidden).collect(),
            _ => return,
        };
        let stage = state.view.stage.as_ref().map(|s| s.stage);
        // Another stage may have been planned while the popup was open.
        if stage != Some(self.stage) {
            state.show_error("the stage has changed: select again");
            return;
        }
        if let Err(why) = command::can_select(state) {
            state.show_error(why);
            return;
        }
        command::select_addresses(state, effects, self.take, addresses);
    }
}

impl Content for HiddenRows {
    const WIDTH: u16 = 72;

    fn key(mut self, state: &mut State, key: Key, effects: &mut Vec<Effect>) {
        match key {
            ENTER => {
                let chosen = self.chosen;
                return self.answer(chosen, state, effects);
            }
            k if k == Key::char('n') || k == Key::char('q') => return,
            k if k == Key::char('v') => return self.answer(0, state, effects),
            k if k == Key::char('a') => return self.answer(1, state, effects),
            Key {
                code: KeyCode::Right | KeyCode::Tab,
                ..
            } => self.chosen = (self.chosen + 1) % ANSWERS.len(),
            Key {
                code: KeyCode::Left | KeyCode::BackTab,
                ..
            } => self.chosen = (self.chosen + ANSWERS.len() - 1) % ANSWERS.len(),
            _ => {}
        }
        state.open(self);
    }

    fn page(&self, _: &State, cells: usize) -> Page {
        let verb = if self.take { "Select" } else { "Deselect" };
        let mut body: Doc = vec![line(
            Role::Plain,
            format!(
                "{} visible, and the filter hides {}:",
                count(self.shown.len(), "change"),
                self.hidden.len()
            ),
        )];
        let named = self.hidden.iter().take(NAMED);
        body.extend(named.map(|address| line(Role::Warn, format!("  {address}"))));
        if self.hidden.len() > NAMED {
            let more = format!("  + {} more", self.hidden.len() - NAMED);
            body.push(line(Role::Dim, more));
        }
        let answers = Choices::new(&ANSWERS, self.chosen);
        let title = format!("{verb} the hidden changes of this module, too?");
        let body = Part::Scroll {
            doc: wrap(&body, cells),
            from: 0,
            more: More::InLine,
        };
        Page {
            above: vec![
                Part::Text(wrap(&vec![line(Role::Strong, title)], cells)),
                Part::Blank,
            ],
            below: vec![Part::Blank, Part::Choices(answers)],
            ..Page::new("", Role::Warn, body)
        }
    }
}

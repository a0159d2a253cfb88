//! The one table of commands: name, keys, words, where and when it works, what it does. It drives
//! dispatch, help, the footer and the palette, so that none of them can be out of date.

mod actions;
mod table;

use super::msg::Effect;
use super::state::{Context, State};
use std::borrow::Cow;

pub use actions::{
    ask_install, can_install, can_stage, can_switch, forget, goto, moved, replay_to, seek, show,
    stage_again, untaint, writable,
};
pub use table::COMMANDS;

/// Where a command works.
#[derive(Debug, Clone, Copy)]
pub enum Scope {
    Everywhere,
    In(&'static [Context]),
}

/// Whether a command can be used now; if not, why.
pub type Available = Result<(), Cow<'static, str>>;

/// Something that an operator can do.
pub struct Command {
    /// Stable name: settings and the palette use it.
    pub name: &'static str,
    /// Default keys, separated by blanks; empty for palette only.
    pub keys: &'static str,
    /// A word or two for the footer; empty where the footer leaves it out.
    pub short: &'static str,
    /// What it does, for help.
    pub doc: &'static str,
    pub scope: Scope,
    pub when: fn(&State) -> Available,
    pub run: fn(&mut State, &mut Vec<Effect>),
}

impl Command {
    /// Whether it belongs to what is looked at.
    pub fn is_in(&self, context: Context) -> bool {
        match self.scope {
            Scope::Everywhere => true,
            Scope::In(all) => all.contains(&context),
        }
    }

    /// True for a command that leaves the console, ends processes, or leads to the loss of objects:
    /// the palette runs none of these for a few letters of its name.
    pub fn is_drastic(&self) -> bool {
        table::DRASTIC.contains(&self.name)
    }

    /// Whether it belongs to this context alone and not to all.
    pub fn is_special(&self) -> bool {
        matches!(self.scope, Scope::In(_))
    }
}

/// Runs a command, or says why it cannot be run now. Who held the workspace may have left: the lock
/// is asked for again.
pub fn run(command: &Command, state: &mut State, effects: &mut Vec<Effect>) {
    match (command.when)(state) {
        Ok(()) => (command.run)(state, effects),
        Err(why) => {
            state.complain(format!("{}: {why}", command.name));
            if state.locked_by().is_some() && !std::mem::replace(&mut state.asks_lock, true) {
                effects.push(Effect::HoldLock);
            }
        }
    }
}

/// Commands whose name or words have the typed letters in this order, best first; all of them where
/// nothing is typed.
pub fn matching(state: &State, typed: &str) -> Vec<&'static Command> {
    use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
    use nucleo_matcher::{Config, Matcher, Utf32Str};
    let context = state.context();
    let here = COMMANDS.iter().filter(|c| c.is_in(context));
    if typed.trim().is_empty() {
        let (special, general): (Vec<_>, Vec<_>) = here.partition(|c| c.is_special());
        return special.into_iter().chain(general).collect();
    }
    let pattern = Pattern::parse(typed, CaseMatching::Ignore, Normalization::Smart);
    let mut matcher = Matcher::new(Config::DEFAULT);
    let mut buffer = Vec::new();
    let mut scored: Vec<(u32, &Command)> = here
        .filter_map(|c| {
            if c.name.eq_ignore_ascii_case(typed.trim()) {
                return Some((u32::MAX, c));
            }
            // A hit in the name weighs more than one in the words.
            let name = pattern
                .score(Utf32Str::new(c.name, &mut buffer), &mut matcher)
                .map(|s| s + 50);
            let words = pattern.score(Utf32Str::new(c.doc, &mut buffer), &mut matcher);
            name.max(words).map(|s| (s, c))
        })
        .collect();
    scored.sort_by_key(|(s, _)| std::cmp::Reverse(*s));
    scored.into_iter().map(|(_, c)| c).collect()
}

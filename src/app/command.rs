//! Table of commands: name, keys, texts, scope, availability and function. Dispatch, help, footer
//! and palette all use it, so they cannot disagree.

mod actions;
mod table;

use super::msg::Effect;
use super::state::{Context, State};
use std::borrow::Cow;

pub use actions::{
    ask_install, can_install, can_stage, can_switch, forget, goto, move_cursor, move_to_match,
    replay_to, show, stage_again, untaint, writable,
};
pub use table::{COMMANDS, FORMER_NAMES};

/// Contexts in which a command works.
#[derive(Debug, Clone, Copy)]
pub enum Scope {
    Everywhere,
    In(&'static [Context]),
    /// Contexts whose rows have a detail.
    WithDetail,
    /// Contexts that can show a detail beside or below the list.
    WithPanes,
}

/// Availability of a command: `Err` has the reason why it cannot be used now.
pub type Available = Result<(), Cow<'static, str>>;

/// An action of the operator.
pub struct Command {
    /// Stable name: settings and the palette use it.
    pub name: &'static str,
    /// Default keys, separated by blanks; empty for commands of the palette only.
    pub keys: &'static str,
    /// Label in the footer, one or two words; empty if the footer omits the command.
    pub short: &'static str,
    /// Description for the help.
    pub doc: &'static str,
    pub scope: Scope,
    pub when: fn(&State) -> Available,
    pub run: fn(&mut State, &mut Vec<Effect>),
}

impl Command {
    /// Returns true if the command works in a context.
    pub fn is_in(&self, context: Context) -> bool {
        match self.scope {
            Scope::Everywhere => true,
            Scope::In(all) => all.contains(&context),
            Scope::WithDetail => context.of().has_detail(),
            Scope::WithPanes => context.of().has_panes(),
        }
    }

    /// Returns true for a command that leaves the console, ends processes, or may destroy objects.
    /// The palette runs these only after an explicit choice.
    pub fn is_drastic(&self) -> bool {
        table::DRASTIC.contains(&self.name)
    }

    /// Returns true if the command belongs to some contexts only.
    pub fn is_special(&self) -> bool {
        !matches!(self.scope, Scope::Everywhere)
    }
}

/// Runs a command, or shows why it is unavailable. If another process holds the lock, requests it
/// again, because the owner may have exited.
pub fn run(command: &Command, state: &mut State, effects: &mut Vec<Effect>) {
    match (command.when)(state) {
        Ok(()) => (command.run)(state, effects),
        Err(why) => {
            state.show_error(format!("{}: {why}", command.name));
            // One request at a time, because every refused key comes here.
            if state.locked_by().is_some() && state.questions.request_lock() {
                effects.push(Effect::HoldLock);
            }
        }
    }
}

/// Returns the commands of this context whose name or description contains the typed letters in
/// order, best match first; all of them if nothing is typed.
pub fn matching(state: &State, typed: &str) -> Vec<&'static Command> {
    use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
    use nucleo_matcher::{Config, Matcher, Utf32Str};
    let context = state.context();
    let here = COMMANDS.iter().filter(|c| c.is_in(context));
    if typed.trim().is_empty() {
        // Commands of this context are the likely ones.
        let (special, general): (Vec<_>, Vec<_>) = here.partition(|c| c.is_special());
        return special.into_iter().chain(general).collect();
    }
    let pattern = Pattern::parse(typed, CaseMatching::Ignore, Normalization::Smart);
    let mut matcher = Matcher::new(Config::DEFAULT);
    let mut buffer = Vec::new();
    let mut scored: Vec<(u32, &Command)> = here
        .filter_map(|c| {
            if c.name.eq_ignore_ascii_case(typed.trim()) {
                // An exact name always ranks first.
                return Some((u32::MAX, c));
            }
            // A match in the name ranks above one in the description.
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

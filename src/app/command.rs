//! Table of commands: name, keys, texts, scope, availability and function. Dispatch, help, footer
//! and palette all use it, so they cannot disagree.

mod actions;
mod groups;
#[cfg(test)]
pub mod headless;
mod table;

use super::msg::Effect;
use super::screens::is_unfolded;
use super::state::{Context, State};
use actions::{is_paused, is_running};
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use std::borrow::Cow;
use std::cmp::Reverse;

pub use actions::{
    ask_install, can_apply, can_install, can_retry, can_select, can_stage, can_switch,
    confirm_going_back, confirm_interruption, copy_text, diagnostics_label, edit_file, forget,
    go_to_plugin, goto, move_cursor, move_to_match, open_cancel_rungs, replay_to, select_addresses,
    show, sort_by_column, stage_again, stage_configuration, untaint, writable,
};
pub use groups::{GROUPS, HelpRow, KEYS};
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

    /// Returns the label in the footer; empty if the footer omits the command. A command that
    /// switches between two states names the other.
    pub fn label(&self, state: &State) -> Cow<'static, str> {
        let label = match self.name {
            "apply" if state.context() == Context::Stage => {
                let selected = state.selected_changes().count();
                // Edits of the state and outputs have no count here.
                if selected > 0 {
                    return format!("apply {selected}…").into();
                }
                "apply…"
            }
            // It would leave out what the failed deploy has left.
            "stage" if state.context() == Context::Deploy && can_retry(state).is_ok() => "",

            "cancel" if state.context() != Context::Deploy => match state.view.staging {
                _ if state.is_deploying() => "cancel deploy…",
                Some(_) => "cancel staging…",
                None => "cancel calls…",
            },
            "stage-diagnostics" => diagnostics_label(state),
            "open" | "diff" => match state.selected().and_then(|row| row.node()) {
                Some(_) if state.list().zoom => self.short,
                Some(node) if node.folded => "unfold",
                Some(_) => "fold",
                None => self.short,
            },
            "failures" if state.context() == Context::Failures => "deploys",
            "follow" if state.log.follow => "pause",
            "unfold" if is_unfolded(state) => "fold",
            "group-pause" if is_paused(state) => "resume",
            "plugin-restart" if !is_running(state) => "start",
            "engine-log" if state.context() == Context::Tracing => "plugin logs",
            _ => self.short,
        };
        label.into()
    }

    pub fn is_help(&self) -> bool {
        self.name == table::HELP
    }

    pub fn is_back(&self) -> bool {
        self.name == table::BACK
    }

    /// Returns true if the command belongs to some contexts only.
    pub fn is_special(&self) -> bool {
        !matches!(self.scope, Scope::Everywhere)
    }
}

/// Returns the command with a name.
pub fn named(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|c| c.name == name)
}

/// Runs a command, or shows why it is unavailable.
pub fn run(command: &Command, state: &mut State, effects: &mut Vec<Effect>) {
    match (command.when)(state) {
        Ok(()) => (command.run)(state, effects),
        Err(why) => state.show_error(format!("{}: {why}", command.name)),
    }
}

/// Returns the commands of this context that match the typed text, best match first; all of them if
/// nothing is typed. The exact name ranks first, then names that begin with the text, that contain
/// it, that have its letters in order. Without such a name, descriptions with its words match.
pub fn matching(state: &State, typed: &str) -> Vec<&'static Command> {
    let context = state.context();
    let here = COMMANDS.iter().filter(|c| c.is_in(context));
    let typed = typed.trim().to_lowercase();
    if typed.is_empty() {
        // Commands of this context are the likely ones.
        let (special, general): (Vec<_>, Vec<_>) = here.partition(|c| c.is_special());
        return special.into_iter().chain(general).collect();
    }
    let mut ranks = Ranks::new(&typed);
    let mut ranked: Vec<_> = here
        .filter_map(|c| ranks.rank(c).map(|rank| (rank, c)))
        .collect();
    // A description that mentions a name must not offer another command beside it.
    if ranked.iter().any(|((kind, _), _)| *kind < IN_DESCRIPTION) {
        ranked.retain(|((kind, _), _)| *kind < IN_DESCRIPTION);
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, c)| c).collect()
}

/// Kind of a match in the description of a command only.
const IN_DESCRIPTION: u8 = 4;

/// Ranks commands for a typed text.
struct Ranks<'t> {
    typed: &'t str,
    pattern: Pattern,
    matcher: Matcher,
    buffer: Vec<char>,
}

impl<'t> Ranks<'t> {
    /// Creates ranks for a text in lower case.
    fn new(typed: &'t str) -> Self {
        Self {
            typed,
            pattern: Pattern::parse(typed, CaseMatching::Ignore, Normalization::Smart),
            matcher: Matcher::new(Config::DEFAULT),
            buffer: Vec::new(),
        }
    }

    /// Returns the kind of the match, and its rank within the kind; lower ones are better.
    fn rank(&mut self, c: &Command) -> Option<(u8, Reverse<u32>)> {
        let typed = self.typed;
        let name = Utf32Str::new(c.name, &mut self.buffer);
        let score = self.pattern.score(name, &mut self.matcher);
        let doc = c.doc.to_lowercase();
        let kind = if c.name == typed {
            0
        } else if c.name.starts_with(typed) {
            1
        } else if c.name.contains(typed) {
            2
        } else if score.is_some() {
            3
        } else if typed.split_whitespace().all(|word| doc.contains(word)) {
            IN_DESCRIPTION
        } else {
            return None;
        };
        Some((kind, Reverse(score.unwrap_or(0))))
    }
}

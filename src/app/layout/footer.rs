//! Keys in the footer, and their places.

use super::{cells_u16, popup_page};
use crate::app::command::{COMMANDS, Command};
use crate::app::doc::{Line, Role, span};
use crate::app::popups::Part;
use crate::app::state::{Context, State};

/// Key in the footer.
pub struct FooterKey {
    pub x: u16,
    pub label: Line,
    pub command: &'static Command,
}

impl FooterKey {
    pub(super) fn cells(&self) -> u16 {
        cells_u16(&self.label)
    }
}

/// Commands that act on the list, which a detail on the whole screen hides.
const OF_THE_LIST: &[&str] = &["filter", "fold-all", "open", "operations"];

/// Renders a key with the label of its command. Keys that end processes or can destroy objects have
/// another colour.
fn label(state: &State, command: &Command, key: &str) -> Line {
    let role = match command.is_drastic() {
        true => Role::RiskyKey,
        false => Role::Key,
    };
    vec![
        span(role, key),
        span(Role::Plain, format!(" {}  ", command.label(state))),
    ]
}

/// Places the keys that work now in `cells` cells of the footer; that of the help is always shown.
/// Below a popup, which takes all keys and names its own, only its end is shown.
pub fn footer_keys(state: &State, cells: u16) -> Vec<FooterKey> {
    if let Some((page, _)) = popup_page(state) {
        let asks = page
            .below
            .iter()
            .any(|part| matches!(part, Part::Choices(_)));
        let end = if asks { "cancel" } else { "close" };
        let label = vec![
            span(Role::Key, "esc"),
            span(
                Role::Plain,
                format!(" {}", page.effect_of("esc").unwrap_or(end)),
            ),
        ];
        let back = COMMANDS.iter().filter(|c| c.is_back());
        return back
            .map(|command| FooterKey {
                x: 1,
                label: label.clone(),
                command,
            })
            .collect();
    }
    let context = state.context();
    let help = COMMANDS.iter().filter(|c| c.is_help());
    let first = (context.of().first_keys)(state);
    let rank = |c: &&Command| first.iter().position(|name| *name == c.name);
    let mut special: Vec<&Command> = COMMANDS
        .iter()
        .filter(|c| c.is_special() && c.is_in(context))
        .collect();
    special.sort_by_key(|c| rank(c).unwrap_or(first.len()));
    let general = COMMANDS
        .iter()
        .filter(|c| !c.is_special() && !c.is_help() && !c.is_back());
    let zoomed = state.list().zoom && context.of().has_detail();
    // Opened from the list of another context, which only this key leads back to.
    let is_opened = zoomed || matches!(context, Context::Schema | Context::Replay);
    let back = COMMANDS.iter().filter(|c| is_opened && c.is_back());
    let is_hidden = |c: &Command| zoomed && OF_THE_LIST.contains(&c.name);
    let usable =
        |c: &&Command| !c.label(state).is_empty() && (c.when)(state).is_ok() && !is_hidden(c);
    let mut x = 1;
    let mut out = Vec::new();
    for command in back
        .chain(special)
        .chain(general)
        .filter(usable)
        .chain(help)
    {
        let keys = state.options.keys.keys_of(command, context);
        let Some(key) = keys.first().map(ToString::to_string) else {
            continue;
        };
        let label = label(state, command, &key);
        let w = cells_u16(&label);
        // Keeps space for the help key, which is always shown.
        let keep = if command.is_help() { 0 } else { 8 };
        // Keys that do not fit are skipped, because a shorter one may still fit.
        if x + w > cells.saturating_sub(keep) {
            continue;
        }
        out.push(FooterKey { x, label, command });
        x += w;
    }
    out
}

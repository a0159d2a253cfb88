//! Groups of commands for the help. Related commands share a row.

use super::{Command, named};
use crate::app::state::{Context, State};

/// Commands with a common heading.
pub struct Group {
    pub title: &'static str,
    rows: &'static [Row],
}

/// Commands of one row, and their text; without one, there is one command with its own text.
type Row = (&'static [&'static str], &'static str);

/// Row of the help in a context.
pub struct HelpRow {
    pub keys: String,
    pub text: &'static str,
    /// One of its commands can be used now.
    pub usable: bool,
}

/// Cells of the column of keys.
pub const KEYS: usize = 10;

/// All groups, in the order of the help.
pub static GROUPS: &[Group] = &[
    Group {
        title: "Act",
        rows: &[
            (&["apply"], ""),
            (
                &["stage", "stage-on-save", "edit", "plan-options"],
                "stage; at each save; edit; plan options",
            ),
            (&["retry"], ""),
            (&["go-back"], ""),
            (&["stage-destroy"], ""),
            (&["refresh-only"], ""),
            (&["state-refresh"], ""),
            (&["state-look"], ""),
            (&["state-repair"], ""),
            (&["state-replace"], ""),
            (&["state-taint"], ""),
            (&["state-move"], ""),
            (&["state-forget"], ""),
            (&["state-import"], ""),
            (&["cancel"], ""),
            (&["forget"], ""),
            (
                &["group-pause", "group-logs"],
                "pause or resume the rollout; its log",
            ),
            (&["group-abort"], ""),
            (
                &["group-skip", "group-retry"],
                "skip, retry this member; asks first",
            ),
            (&["group-scale"], ""),
            (
                &["group-free", "group-rollback"],
                "free it; back to its earlier commit",
            ),
            (&["plugin-restart"], ""),
            (&["plugin-stop"], ""),
            (&["plugin-enable"], ""),
            (&["plugins-load"], ""),
            (
                &["export", "compare"],
                "write it as JSON; compare two deploys",
            ),
            (&["mark"], ""),
            (&["save"], ""),
        ],
    },
    Group {
        title: "Select",
        rows: &[
            (&["select"], ""),
            (&["range"], ""),
            (&["range-down"], ""),
            (&["range-up"], ""),
            (&["select-all"], ""),
            (&["invert"], ""),
            (&["undo", "redo"], "undo, redo a change of the selection"),
            (&["selections"], ""),
        ],
    },
    Group {
        title: "Read",
        rows: &[
            (&["start-open"], ""),
            (&["diff"], ""),
            (&["open"], ""),
            (&["all-attributes"], ""),
            (&["why"], ""),
            (&["stage-diagnostics"], ""),
            (&["reveal"], ""),
            (&["plugin-logs"], ""),
            (&["plugins-installed"], ""),
            (
                &["pane-previous", "pane-next"],
                "previous, next pane of the plugin",
            ),
            (&["unfold"], ""),
            (&["starter"], ""),
            (&["blocker"], ""),
            (&["operation-logs"], ""),
            (&["duration"], ""),
            (&["replay"], ""),
            (
                &["replay-back", "replay-forward"],
                "one event back, forward",
            ),
            (&["replay-begin", "replay-end"], "begin, end of the deploy"),
            (&["replay-failure"], ""),
            (&["replay-play"], ""),
            (&["replay-slower", "replay-faster"], "play slower, faster"),
            (&["history-reload"], ""),
            (&["state-reload"], ""),
            (&["groups-reload"], ""),
            (
                &["problem-previous", "problem-next"],
                "previous, next error or warning",
            ),
            (&["follow"], ""),
            (&["wrap"], ""),
            (&["times"], ""),
            (&["engine-log"], ""),
            (
                &["tracing-less", "tracing-more"],
                "record less, more of the target",
            ),
            (&["tracing-follow"], ""),
        ],
    },
    Group {
        title: "Filter and find",
        rows: &[
            (&["filter"], ""),
            (
                &[
                    "only-creates",
                    "only-updates",
                    "only-replaces",
                    "only-destroys",
                ],
                "only creates, updates, replaces, destroys",
            ),
            (&["unchanged"], ""),
            (&["operations"], ""),
            (&["failures"], ""),
            (&["level"], ""),
            (&["source"], ""),
            (&["tracing-targets"], ""),
            (&["tracing-focus"], ""),
            (&["find"], ""),
            (&["find-next", "find-previous"], "next, previous match"),
            (
                &["sort", "sort-reverse"],
                "sort by the next column, reverse the order",
            ),
        ],
    },
    Group {
        title: "Modules",
        rows: &[
            (
                &["fold", "unfold-module"],
                "fold, unfold the module of the row",
            ),
            (&["fold-all"], ""),
            (&["tree"], ""),
        ],
    },
    Group {
        title: "Move",
        rows: &[
            (&["down", "up"], "down, up"),
            (&["page-down"], ""),
            (&["page-up"], ""),
            (&["first", "last"], "first, last row"),
            (&["pane"], ""),
            (&["narrower", "wider"], "size of list and detail"),
            (&["back"], ""),
        ],
    },
    Group {
        title: "Go to",
        rows: &[
            (
                &[
                    "screen-start",
                    "screen-plugins",
                    "screen-calls",
                    "screen-stage",
                    "screen-deploy",
                    "screen-history",
                    "screen-state",
                    "screen-logs",
                    "screen-groups",
                ],
                "a screen",
            ),
            (&["palette"], ""),
            (&["help"], ""),
            (&["workspaces"], ""),
        ],
    },
    Group {
        title: "Settle",
        rows: &[
            (&["incidents"], ""),
            (&["unknown"], ""),
            (&["init"], ""),
            (&["doctor"], ""),
            (&["orphans"], ""),
        ],
    },
    Group {
        title: "Console",
        rows: &[
            (&["copy"], ""),
            (&["theme"], ""),
            (&["mouse"], ""),
            (&["redraw"], ""),
            (&["suspend"], ""),
            (&["quit"], ""),
            (&["interrupt"], ""),
            (&["break"], ""),
        ],
    },
];

impl Group {
    /// Returns its rows for the special commands of a context, or for all others; usable ones come
    /// first.
    pub fn rows(&self, state: &State, special: bool) -> Vec<HelpRow> {
        let here = state.context();
        let rows = self.rows.iter();
        let mut rows: Vec<HelpRow> = rows
            .filter_map(|r| help_row(state, here, special, r))
            .collect();
        rows.sort_by_key(|r| !r.usable);
        rows
    }
}

fn help_row(state: &State, here: Context, special: bool, row: &Row) -> Option<HelpRow> {
    let (names, text) = row;
    let commands: Vec<&Command> = names
        .iter()
        .filter_map(|name| named(name))
        .filter(|c| c.is_in(here) && c.is_special() == special)
        .collect();
    let keys = |most: usize| -> Vec<String> {
        let keys = commands
            .iter()
            .flat_map(|c| state.options.keys.keys_of(c, here).into_iter().take(most));
        keys.map(|k| k.to_string()).collect()
    };
    // A narrow column has space for the first keys only; a search shows all.
    let all = keys(usize::MAX);
    let keys = match names.len() == 1 && all.join(" ").len() <= KEYS {
        true => all,
        false => keys(1),
    };
    // Commands without a key are in the palette.
    if keys.is_empty() {
        return None;
    }
    Some(HelpRow {
        keys: match keys.as_slice() {
            [first, _, _, _, .., last] => format!("{first}…{last}"),
            few => few.join(" "),
        },
        text: if text.is_empty() {
            commands[0].doc
        } else {
            text
        },
        usable: commands.iter().any(|c| (c.when)(state).is_ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::command::COMMANDS;
    use crate::app::text::width;

    /// Cells of a text in a column of the help at 120 columns.
    const TEXT: usize = 42;

    #[test]
    fn each_command_with_a_key_is_in_one_group_and_its_text_fits() {
        let rows = || GROUPS.iter().flat_map(|g| g.rows);
        for c in COMMANDS.iter().filter(|c| !c.keys.is_empty()) {
            let all = rows().filter(|(names, _)| names.contains(&c.name));
            assert_eq!(all.count(), 1, "{}", c.name);
        }
        for (names, text) in rows() {
            let commands: Option<Vec<_>> = names.iter().map(|n| named(n)).collect();
            let commands = commands.unwrap_or_else(|| panic!("{names:?}"));
            assert_eq!(names.len() > 1, !text.is_empty(), "{names:?}");
            let text = match text.is_empty() {
                true => commands[0].doc,
                false => text,
            };
            assert!(width(text) <= TEXT, "{}: {text}", width(text));
        }
    }
}

//! Command line of each command of the console, or the reason for its absence; and the table of
//! keys in the documentation, which shows both.

/// Commands with their command lines. `ADDRESS`, `DEPLOY`, `STAGE`, `PLUGIN`, `SIZE` and `NAME`
/// stand for values.
#[rustfmt::skip]
pub static LINES: &[(&str, &str)] = &[
    ("all-attributes", "flightdeck stage --json"),
    ("apply", "flightdeck deploy STAGE"),
    ("compare", "flightdeck history DEPLOY --compare=DEPLOY"),
    ("deselect", "flightdeck stage --exclude=ADDRESS"),
    ("diff", "flightdeck plan"),
    ("doctor", "flightdeck doctor"),
    ("duration", "flightdeck history DEPLOY"),
    ("engine-log", "flightdeck stage --log-level=debug"),
    ("export", "flightdeck history DEPLOY --json"),
    ("failures", "flightdeck failures"),
    ("follow", "flightdeck logs --follow"),
    ("forget", "flightdeck state forget ADDRESS"),
    ("incidents", "flightdeck plugins"),
    ("init", "flightdeck init"),
    ("go-back", "flightdeck stage --config-of=DEPLOY"),
    ("group-abort", "flightdeck group abort NAME"),
    ("group-free", "flightdeck group free NAME"),
    ("group-logs", "flightdeck logs PLUGIN"),
    ("group-pause", "flightdeck group pause NAME"),
    ("group-retry", "flightdeck group retry NAME KEY"),
    ("group-rollback", "flightdeck group rollback NAME"),
    ("group-scale", "flightdeck group scale NAME SIZE"),
    ("group-skip", "flightdeck group skip NAME KEY"),
    ("level", "flightdeck logs --level=warn"),
    ("operation-logs", "flightdeck logs PLUGIN"),
    ("orphans", "flightdeck doctor --fix"),
    ("plan-options", "flightdeck stage --var=NAME=VALUE --target=ADDRESS"),
    ("plugin-logs", "flightdeck logs PLUGIN"),
    ("plugins-installed", "flightdeck plugins --installed"),
    ("plugins-load", "flightdeck plugins"),
    ("refresh-only", "flightdeck stage --refresh-only"),
    ("replay", "flightdeck history DEPLOY"),
    ("retry", "flightdeck stage --rest-of=DEPLOY"),
    ("reveal", "flightdeck state show ADDRESS --show-sensitive"),
    ("save", "flightdeck logs"),
    ("screen-deploy", "flightdeck history DEPLOY"),
    ("screen-groups", "flightdeck group"),
    ("screen-history", "flightdeck history"),
    ("screen-logs", "flightdeck logs"),
    ("screen-plugins", "flightdeck plugins"),
    ("screen-stage", "flightdeck stage"),
    ("screen-state", "flightdeck state list"),
    ("select", "flightdeck stage --target=ADDRESS"),
    ("source", "flightdeck logs PLUGIN"),
    ("selections", "flightdeck selections"),
    ("stage", "flightdeck stage"),
    ("stage-destroy", "flightdeck stage --destroy"),
    ("stage-diagnostics", "flightdeck stage"),
    ("starter", "flightdeck plugin scaffold NAME"),
    ("state-forget", "flightdeck state forget ADDRESS"),
    ("state-import", "flightdeck import ADDRESS ID"),
    ("state-look", "flightdeck reconcile --once"),
    ("state-move", "flightdeck state mv SOURCE DESTINATION"),
    ("state-refresh", "flightdeck stage --refresh-only --target=ADDRESS"),
    ("state-repair", "flightdeck stage --target=ADDRESS"),
    ("state-replace", "flightdeck stage --target=ADDRESS --replace=ADDRESS"),
    ("state-taint", "flightdeck taint ADDRESS"),
    ("unfold", "flightdeck plugins PLUGIN"),
    ("unknown", "flightdeck state list"),
    ("why", "flightdeck stage --json"),
    ("workspaces", "flightdeck workspace select NAME"),
];

/// Reasons why commands have no command line.
#[rustfmt::skip]
pub static REASONS: &[(&str, &[&str])] = &[
    (
        "moves within the console",
        &[
            "back", "blocker", "down", "find", "find-next", "find-previous", "first", "last",
            "open", "page-down", "page-up", "pane", "pane-next", "pane-previous", "problem-next", "problem-previous", "replay-back",
            "replay-begin", "replay-end", "replay-failure", "replay-faster", "replay-forward",
            "replay-play", "replay-slower", "start-open", "up",
        ],
    ),
    (
        "changes the view only",
        &[
            "filter", "fold", "fold-all", "mark", "mouse", "narrower", "notifications", "only-creates",
            "only-destroys", "only-replaces", "only-updates", "operations", "redraw", "sort", "sort-reverse",
            "theme", "themes", "times", "tracing-focus", "tracing-follow", "tracing-targets", "tree",
            "unchanged", "unfold-module", "wider", "wrap",
        ],
    ),
    (
        "a command line names its targets, with --target, --exclude and --selection",
        &[
            "deselect-all", "invert", "range", "range-down", "range-up", "redo", "select-all", "undo",
        ],
    ),
    ("opens an editor from the console", &["edit"]),
    (
        "acts on a process of the open console; a command line has its own processes",
        &["plugin-enable", "plugin-restart", "plugin-stop"],
    ),
    (
        "shows what happens in the open console; a command line prints its own progress",
        &["messages", "screen-calls"],
    ),
    (
        "the level of one target; --log-level sets one for all",
        &["tracing-less", "tracing-more"],
    ),
    (
        "a summary of `history`, `state list`, `plugins` and `doctor`",
        &["screen-start"],
    ),
    (
        "a command line reads everything anew",
        &["groups-reload", "history-reload", "stage-on-save", "state-reload"],
    ),
    (
        "Ctrl-C and signals cancel a command line",
        &["cancel", "interrupt", "quit", "suspend"],
    ),
    ("of the console's keyboard", &["copy", "help", "palette"]),
    ("demo only", &["break"]),
];

#[cfg(test)]
mod tests {
    use super::{LINES, REASONS};
    use crate::app::command::{COMMANDS, Command, Scope};
    use crate::app::state::Context;

    /// Returns the command line of a command, or the reason for its absence.
    fn headless(name: &str) -> Option<Result<&'static str, &'static str>> {
        let line = LINES.iter().find(|(n, _)| *n == name);
        let reason = REASONS.iter().find(|(_, names)| names.contains(&name));
        line.map(|(_, line)| Ok(*line))
            .or(reason.map(|(reason, _)| Err(*reason)))
    }

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/console.md");
    const BEGIN: &str = "<!-- Table of keys, written by UPDATE_KEYS=1 cargo test --lib keys -->\n";
    const END: &str = "<!-- End of the table of keys -->\n";

    fn add_row(command: &Command, out: &mut String) {
        // A bar separates the cells of a table.
        let keys = command.keys.split_whitespace();
        let keys: Vec<String> = keys.map(|k| format!("`{k}`")).collect();
        let line = match headless(command.name) {
            Some(Ok(line)) => format!("`{line}`"),
            Some(Err(reason)) => format!("– ({reason})"),
            None => "?".to_owned(),
        };
        out.push_str(&format!(
            "| {} | `{}` | {} | {line} |\n",
            keys.join(" "),
            command.name,
            command.doc.replace('|', "\\|"),
        ));
    }

    fn add_table(title: &str, commands: &[&Command], out: &mut String) {
        if commands.is_empty() {
            return;
        }
        out.push_str(&format!(
            "\n### {title}\n\n| key | command | effect | command line |\n|---|---|---|---|\n"
        ));
        for command in commands {
            add_row(command, out);
        }
    }

    /// Renders the keys of all screens.
    fn table() -> String {
        let mut out = String::new();
        let of = |is: &dyn Fn(Scope) -> bool| -> Vec<&'static Command> {
            COMMANDS.iter().filter(|c| is(c.scope)).collect()
        };
        for context in Context::ALL {
            let own = of(&|scope| matches!(scope, Scope::In(all) if all.contains(context)));
            add_table(context.of().title, &own, &mut out);
        }
        let details = of(&|scope| matches!(scope, Scope::WithDetail | Scope::WithPanes));
        add_table("Screens with a detail", &details, &mut out);
        let everywhere = of(&|scope| matches!(scope, Scope::Everywhere));
        add_table("Every screen", &everywhere, &mut out);
        out.push('\n');
        out
    }

    #[test]
    fn each_command_has_a_command_line_or_a_reason_for_none() {
        let names: Vec<&str> = REASONS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let listed = || {
            LINES
                .iter()
                .map(|(name, _)| *name)
                .chain(names.iter().copied())
        };
        for command in COMMANDS {
            let times = listed().filter(|name| *name == command.name).count();
            assert_eq!(times, 1, "{} in src/app/command/headless.rs", command.name);
        }
        for name in listed() {
            assert!(COMMANDS.iter().any(|c| c.name == name), "{name}");
        }
    }

    #[test]
    fn documentation_has_the_table_of_keys_of_all_screens() {
        let text = std::fs::read_to_string(FILE).unwrap();
        let (before, rest) = text.split_once(BEGIN).unwrap();
        let (documented, after) = rest.split_once(END).unwrap();
        let expected = table();
        if std::env::var_os("UPDATE_KEYS").is_some() {
            std::fs::write(FILE, format!("{before}{BEGIN}{expected}{END}{after}")).unwrap();
            return;
        }
        assert_eq!(
            documented, expected,
            "run `UPDATE_KEYS=1 cargo test --lib keys`"
        );
    }
}

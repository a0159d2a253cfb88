//! Data of the table of commands.

use super::actions::*;
use super::{Command, Scope};
use crate::app::state::Context::{self, *};

const OPERATIONS: &[Context] = &[Deploy, Replay];
const WITH_DETAIL: &[Context] = &[
    Plugins, Calls, Stage, Deploy, History, Replay, Failures, State, Logs,
];
/// Contexts that can show a detail beside or below the list.
const WITH_PANES: &[Context] = &[
    Plugins, Calls, Stage, Deploy, History, Replay, Failures, State,
];

/// Commands that leave the console, end processes, or may destroy objects.
pub(super) const DRASTIC: &[&str] = &[
    "apply",
    "break",
    "cancel",
    "forget",
    "interrupt",
    "orphans",
    "plugin-enable",
    "plugin-restart",
    "plugin-stop",
    "quit",
    "stage-destroy",
    "state-replace",
    "suspend",
];

macro_rules! commands {
    ($($name:literal, $keys:literal, $short:literal, $doc:literal, $scope:expr, $when:expr, $run:expr;)*) => {
        &[$(Command { name: $name, keys: $keys, short: $short, doc: $doc, scope: $scope, when: $when, run: $run }),*]
    };
}

/// All commands of the console.
#[rustfmt::skip]
pub static COMMANDS: &[Command] = commands![
    // Plugins
    "plugin-start", "s", "start", "start this plugin, or launch it again after it gave up", Scope::In(&[Plugins]), on_program, plugin_start;
    "plugin-restart", "R", "restart", "restart this plugin; asks first when calls are under way", Scope::In(&[Plugins]), on_program, plugin_restart;
    "plugin-stop", "S", "stop", "stop this plugin; asks first when calls are under way", Scope::In(&[Plugins]), on_process, plugin_stop;
    "plugin-enable", "E", "", "enable or disable this plugin", Scope::In(&[Plugins]), on_program, plugin_toggle;
    "plugin-logs", "l", "logs", "show what this plugin says", Scope::In(&[Plugins]), has_row, plugin_logs;
    "plugins-load", "L", "", "read the configuration and launch every plugin that it needs", Scope::In(&[Plugins]), writable, plugins_load;
    "plugins-installed", "A", "", "list all installed providers, whether the configuration needs them or not; launches none", Scope::In(&[Plugins]), always, plugins_installed;
    "pane-next", "right", "", "the next pane of the plugin: attempts, schema, calls, logs, about", Scope::In(&[Plugins, Schema]), always, tab_next;
    "pane-previous", "left", "", "the pane before", Scope::In(&[Plugins, Schema]), always, tab_previous;
    "unfold", "enter space", "unfold", "show or hide what is in this type or block", Scope::In(&[Schema]), has_row, unfold;
    // Calls
    "blocker", "b", "blocker", "go to the call that this one waits for", Scope::In(&[Calls]), has_blocker, goto_blocker;
    "cancel", "c", "cancel…", "open the cancel ladder: what each rung would hit, and what it costs", Scope::In(&[Calls, Stage, Deploy]), something_runs, open_ladder;
    // Stage
    "take", "space", "take/leave", "take or leave this change, with what must go along", Scope::In(&[Stage]), on_change, toggle_change;
    "leave", "x", "", "leave this change and all that needs it", Scope::In(&[Stage]), on_change, leave_change;
    "take-all", "*", "", "take every change on the screen", Scope::In(&[Stage]), has_stage, take_all;
    "take-none", "0", "", "leave every change on the screen", Scope::In(&[Stage]), has_stage, take_none;
    "invert", "I", "", "take what is left and leave what is taken, of the changes on the screen", Scope::In(&[Stage]), has_stage, invert;
    "stage-diagnostics", "d", "warnings", "the errors and warnings since the last staging began", Scope::In(&[Stage]), has_diagnostics, show_diagnostics;
    "diff", "enter", "diff", "the whole diff of this change: unchanged attributes and every line of long texts too", Scope::In(&[Stage]), has_row, open_detail;
    "why", "w", "why", "why this change: the reason, what forces replacement, who needs it", Scope::In(&[Stage]), has_row, show_why;
    "apply", "a", "apply…", "apply what is taken; names every destroy and replace, and asks first", Scope::In(&[Stage]), can_apply, ask_apply;
    "forget", "X", "", "say that what an earlier deploy began to create here was never made; asks first", Scope::In(&[Stage]), on_unknown, ask_forget;
    "stage", "s", "stage", "read the configuration again and work out the changes", Scope::In(&[Stage, Deploy]), can_stage, stage_again;
    "stage-destroy", "D", "", "work out how to destroy everything (nothing is destroyed until you apply it)", Scope::In(&[Stage]), can_stage, stage_destroy;
    "refresh-only", "F", "", "only compare the state with the world", Scope::In(&[Stage]), can_stage, stage_refresh;
    "only-creates", "+", "", "show creates only; again for all", Scope::In(&[Stage]), has_stage, only_creates;
    "only-updates", "~", "", "show updates only; again for all", Scope::In(&[Stage]), has_stage, only_updates;
    "only-replaces", "R", "", "show replaces only; again for all", Scope::In(&[Stage]), has_stage, only_replaces;
    "only-destroys", "-", "", "show what destroys only; again for all", Scope::In(&[Stage]), has_stage, only_destroys;
    "unchanged", "u", "", "show or hide what is unchanged", Scope::In(&[Stage]), has_stage, toggle_unchanged;
    // Deploy
    "retry", "t", "retry rest", "stage just what failed or was not attempted", Scope::In(OPERATIONS), can_retry, retry_rest;
    "operations", "v", "show…", "show all operations, the failed, those not attempted, the done", Scope::In(OPERATIONS), always, next_deploy_filter;
    "operation-logs", "l", "logs", "show what the plugin of this operation says", Scope::In(OPERATIONS), has_row, operation_logs;
    // History
    "replay", "enter", "replay", "open this deploy and play it again", Scope::In(&[History]), has_row, open_replay;
    "replay-forward", "]", "forward", "one event forward", Scope::In(&[Replay]), always, replay_forward;
    "replay-back", "[", "back", "one event back", Scope::In(&[Replay]), always, replay_back;
    "replay-end", "}", "end", "to the end of the deploy", Scope::In(&[Replay]), always, replay_end;
    "replay-begin", "{", "begin", "to the beginning of the deploy", Scope::In(&[Replay]), always, replay_begin;
    "failures", "f", "failures", "failures grouped by what they have in common; again for the deploys", Scope::In(&[History, Failures]), always, toggle_failures;
    "export", "o", "export", "write this deploy as JSON into the working directory", Scope::In(&[History, Replay]), has_row_or_replay, export;
    "history-reload", "r", "", "read the history again", Scope::In(&[History, Failures]), always, reload_history;
    // State
    "state-refresh", "F", "refresh…", "stage a refresh of this resource alone", Scope::In(&[State]), on_resource, refresh_resource;
    "state-replace", "P", "replace…", "stage the replacement of this resource (nothing is replaced until you apply it)", Scope::In(&[State]), on_resource, replace_resource;
    "state-reload", "r", "", "read the state again", Scope::In(&[State]), always, reload_state;
    // Logs
    "follow", "space", "follow", "follow the newest line, or stay", Scope::In(&[Logs]), always, toggle_follow;
    "level", "v", "level", "the lowest level that is shown", Scope::In(&[Logs]), always, next_level;
    "source", "p", "source", "lines of all, or of one plugin after the other", Scope::In(&[Logs]), always, next_source;
    "wrap", "w", "wrap", "break long lines, or cut them", Scope::In(&[Logs]), always, toggle_wrap;
    "times", "t", "", "show or hide the time of day", Scope::In(&[Logs]), always, toggle_times;
    "mark", "m", "mark", "mark this line, or take its mark away", Scope::In(&[Logs]), has_row, toggle_mark;
    "save", "o", "save", "write the lines that are shown (marked ones only, where there are some) into a file", Scope::In(&[Logs]), has_row, save_log;
    "engine-log", "e", "engine's own", "the engine's own log, or back to what the plugins say", Scope::In(&[Logs, Tracing]), always, toggle_tracing;
    "tracing-targets", "h", "targets", "show or hide the list of targets", Scope::In(&[Tracing]), always, tracing_targets;
    "tracing-focus", "f", "focus", "only the selected target", Scope::In(&[Tracing]), always, tracing_focus;
    "tracing-more", "+ right", "more", "record more of the selected target", Scope::In(&[Tracing]), always, tracing_more;
    "tracing-less", "- left", "less", "record less of the selected target", Scope::In(&[Tracing]), always, tracing_less;
    "tracing-follow", "space", "newest", "back to the newest line", Scope::In(&[Tracing]), always, tracing_follow;
    // Everywhere
    "open", "enter", "open", "open the detail over the whole screen", Scope::In(WITH_DETAIL), has_row, open_detail;
    "back", "esc", "", "back: close what is open, drop find and filter", Scope::Everywhere, always, back;
    "quit", "q", "", "back, then leave; asks first while something runs", Scope::Everywhere, always, quit;
    "interrupt", "ctrl-c", "", "leave, or open the cancel ladder while something runs; never kills a deploy", Scope::Everywhere, always, interrupt;
    "down", "j down", "", "one down", Scope::Everywhere, always, down;
    "up", "k up", "", "one up", Scope::Everywhere, always, up;
    "page-down", "ctrl-d pgdn", "", "half a page down", Scope::Everywhere, always, page_down;
    "page-up", "ctrl-u pgup", "", "half a page up", Scope::Everywhere, always, page_up;
    "first", "g home", "", "to the first", Scope::Everywhere, has_list, first;
    "last", "G end", "", "to the last", Scope::Everywhere, always, last;
    "pane", "tab backtab", "pane", "keys to the list, or to its detail", Scope::In(WITH_PANES), has_pane, next_pane;
    "find", "/", "find", "find; the rest stays on the screen", Scope::Everywhere, has_list, find;
    "find-next", "n", "", "the next hit", Scope::Everywhere, has_find, find_next;
    "find-previous", "N", "", "the hit before", Scope::Everywhere, has_find, find_previous;
    "filter", "& f", "filter", "filter: hides the rest", Scope::Everywhere, has_list, filter;
    "sort", ",", "", "sort by the next column", Scope::Everywhere, can_sort, next_sort;
    "sort-reverse", ".", "", "turn the order round", Scope::Everywhere, can_sort, reverse_sort;
    "copy", "y", "", "copy what is under the cursor (works over SSH)", Scope::Everywhere, has_row, copy;
    "palette", ":", "command", "every command by its name", Scope::Everywhere, always, palette;
    "help", "?", "help", "every key that works here", Scope::Everywhere, always, help;
    "incident", "!", "", "go to the newest incident", Scope::Everywhere, has_incident, goto_incident;
    "unknown", "U", "unknown…", "what earlier deploys began and has no end on record: take it in, say that it is not there", Scope::Everywhere, has_unknown, show_unknown;
    "orphans", "O", "orphans…", "end plugin processes whose flightdeck is gone; shows what they are known by, and asks first", Scope::Everywhere, has_orphans, ask_end_orphans;
    "screen-plugins", "1", "", "Plugins: what runs, how it started, its schema", Scope::Everywhere, always, screen_plugins;
    "screen-calls", "2", "", "Calls: what is being asked of the plugins now, and what waits for what", Scope::Everywhere, always, screen_calls;
    "screen-stage", "3", "", "Stage: what would change; take, leave, apply", Scope::Everywhere, always, screen_stage;
    "screen-deploy", "4", "", "Deploy: what is being applied now, or was applied last", Scope::Everywhere, always, screen_deploy;
    "screen-history", "5", "", "History: every deploy and every failure", Scope::Everywhere, always, screen_history;
    "screen-state", "6", "", "State: every resource that is known", Scope::Everywhere, always, screen_state;
    "screen-logs", "7", "", "Logs: what the plugins say", Scope::Everywhere, always, screen_logs;
    "workspaces", "ctrl-w", "", "the workspaces of this directory: choose another one, or make one", Scope::Everywhere, can_switch, show_workspaces;
    "init", "i", "init…", "install what the configuration needs and is not there: modules and providers; asks first", Scope::Everywhere, can_install, ask_install;
    "doctor", "H", "", "what is wrong with this machine and workspace, with what to do about it", Scope::Everywhere, always, show_doctor;
    "break", "B", "", "break something on purpose (the demo only)", Scope::Everywhere, has_faults, open_faults;
    "theme", "ctrl-t", "", "dark, light, high contrast", Scope::Everywhere, always, next_theme;
    "mouse", "M", "", "mouse on or off; off lets the terminal select text", Scope::Everywhere, always, toggle_mouse;
    "wider", ">", "", "give the list more room", Scope::In(WITH_PANES), has_pane, wider;
    "narrower", "<", "", "give the detail more room", Scope::In(WITH_PANES), has_pane, narrower;
    "redraw", "ctrl-l", "", "draw the screen anew", Scope::Everywhere, always, redraw;
    "suspend", "ctrl-z", "", "to the shell, and back with fg (bg lets what runs go on meanwhile)", Scope::Everywhere, has_shell, suspend;
];

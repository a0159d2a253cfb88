//! Data of the table of commands.

use super::actions::*;
use super::{Command, Scope};
use crate::app::state::Context::{self, *};
use crate::app::state::Screen;

const OPERATIONS: &[Context] = &[Deploy, Replay];
/// Contexts whose rows are arranged in a tree of modules.
const TREES: &[Context] = &[Stage, Deploy, Replay, State];

/// Commands that leave the console, end processes, or may destroy objects.
pub(super) const DRASTIC: &[&str] = &[
    "apply",
    "break",
    "cancel",
    "forget",
    "group-abort",
    "group-retry",
    "interrupt",
    "orphans",
    "plugin-enable",
    "plugin-restart",
    "plugin-stop",
    "quit",
    "stage-destroy",
    "state-forget",
    "state-replace",
    "state-taint",
    "suspend",
];

/// Former names of commands, which files of keys may still use, with their current names.
pub static FORMER_NAMES: &[(&str, &str)] = &[
    ("incident", "incidents"),
    ("group-resume", "group-pause"),
    ("leave", "deselect"),
    ("plugin-start", "plugin-restart"),
    ("take", "select"),
    ("take-all", "select-all"),
    ("take-none", "deselect-all"),
];

macro_rules! commands {
    ($($name:expr, $keys:literal, $short:literal, $doc:literal, $scope:expr, $when:expr, $run:expr;)*) => {
        &[$(Command { name: $name, keys: $keys, short: $short, doc: $doc, scope: $scope, when: $when, run: $run }),*]
    };
}

/// Name of the command that leads back. The footer shows its key for a detail on the whole screen.
pub(super) const BACK: &str = "back";

/// Name of the command of the help, whose key the footer always shows.
pub(super) const HELP: &str = "help";

/// All commands of the console.
#[rustfmt::skip]
pub static COMMANDS: &[Command] = commands![
    // Start
    "start-open", "enter", "go there", "go to this matter, or open its list", Scope::In(&[Start]), has_row, open_unsettled;
    // Plugins
    "plugin-restart", "R", "restart", "start or restart it; asks during calls", Scope::In(&[Plugins]), can_restart, plugin_restart;
    "plugin-stop", "S", "stop", "stop it; asks if calls are in progress", Scope::In(&[Plugins]), can_stop, plugin_stop;
    "plugin-enable", "E", "", "enable or disable this plugin", Scope::In(&[Plugins]), on_program, plugin_toggle;
    "plugin-logs", "l", "logs", "show the log of this plugin", Scope::In(&[Plugins]), has_row, plugin_logs;
    "plugins-load", "L", "", "read the configuration, launch its plugins", Scope::In(&[Start, Plugins]), writable, plugins_load;
    "plugins-installed", "A", "", "list installed providers; launches none", Scope::In(&[Plugins]), always, plugins_installed;
    "pane-next", "right", "next tab", "next pane of the plugin", Scope::In(&[Plugins, Schema]), always, tab_next;
    "pane-previous", "left", "", "previous pane of the plugin", Scope::In(&[Plugins, Schema]), always, tab_previous;
    "unfold", "enter space", "unfold", "expand or collapse this type or block", Scope::In(&[Schema]), has_children, toggle_fold;
    "starter", "b", "starter", "show and copy a starter block of this type", Scope::In(&[Schema]), on_type, write_starter;
    // Calls
    "blocker", "b", "blocker", "go to the call that blocks this one", Scope::In(&[Calls]), has_blocker, goto_blocker;
    "cancel", "c", "cancel…", "cancel the running work; asks how far", Scope::In(&[Calls, Stage, Deploy]), requires_running, open_cancel_rungs;
    // Stage
    "select", "space", "select", "select or deselect change, module or range", Scope::In(&[Stage]), on_changes, toggle_change;
    "range", "V", "", "start or end a range of rows", Scope::In(&[Stage, State]), can_range, toggle_range;
    "range-down", "shift-down", "", "extend the range down", Scope::In(&[Stage, State]), can_range, extend_down;
    "range-up", "shift-up", "", "extend the range up", Scope::In(&[Stage, State]), can_range, extend_up;
    "undo", "u", "undo", "undo the last change of the selection", Scope::In(&[Stage]), can_undo, undo;
    "redo", "ctrl-r", "", "redo a change of the selection", Scope::In(&[Stage]), can_redo, redo;
    "selections", "m", "", "saved selections: load, save, delete", Scope::In(&[Stage]), has_stage, show_selections;
    "deselect", "", "", "deselect this change and all that need it", Scope::In(&[Stage]), on_change, deselect_change;
    "select-all", "*", "", "select all on the screen, or deselect all", Scope::In(&[Stage]), can_select, select_all;
    "deselect-all", "", "", "deselect every change on the screen", Scope::In(&[Stage]), can_select, deselect_all;
    "invert", "I", "", "invert the selection on the screen", Scope::In(&[Stage]), can_select, invert;
    "stage-diagnostics", "d", "warnings", "show errors and warnings", Scope::In(&[Start, Stage, Deploy]), has_diagnostics, show_diagnostics;
    "diff", "enter", "diff", "show the whole diff of this change", Scope::In(&[Stage]), has_row, open_detail;
    "all-attributes", "z", "", "show all values, or changed ones only", Scope::In(&[Stage]), has_stage, toggle_attributes;
    "why", "w", "why", "show the reason, and what it waits for", Scope::In(&[Stage, Deploy, Replay]), has_reason, show_why;
    "apply", "a", "apply…", "apply the selected changes; asks first", Scope::In(&[Stage, Groups]), can_apply, ask_apply;
    "forget", "X", "", "discard the record of an unknown creation", Scope::In(&[Stage]), requires_unknown_create, confirm_forget;
    "stage", "s", "stage", "read the configuration, stage the changes", Scope::In(&[Start, Stage, Deploy, Groups]), can_stage, stage_again;
    "plan-options", "ctrl-o", "", "set variables, targets, other plan options", Scope::In(&[Start, Stage]), can_stage, open_plan_options;
    "edit", "e", "edit", "edit the block or the error; stages again", Scope::In(&[Plugins, Stage, Deploy, State]), can_edit, edit;
    "stage-on-save", "W", "", "stage at each save of a file, or stop it", Scope::In(&[Stage]), always, toggle_stage_on_save;
    "stage-destroy", "D", "", "stage the destruction of everything", Scope::In(&[Stage]), can_stage, stage_destroy;
    "refresh-only", "F", "", "stage a refresh: compare state and objects", Scope::In(&[Start, Stage]), can_stage, stage_refresh;
    "only-creates", "+", "", "show creates only, or all changes", Scope::In(&[Stage]), has_stage, filter_creates;
    "only-updates", "~", "", "show updates only, or all changes", Scope::In(&[Stage]), has_stage, only_updates;
    "only-replaces", "R", "", "show replaces only, or all changes", Scope::In(&[Stage]), has_stage, only_replaces;
    "only-destroys", "-", "", "show destroys and replaces only, or all", Scope::In(&[Stage]), has_stage, only_destroys;
    "unchanged", "v", "", "show or hide unchanged resources", Scope::In(&[Stage]), has_stage, toggle_unchanged;
    // Deploy
    "retry", "t", "stage the rest", "stage what failed or was not attempted", Scope::In(&[Start, Stage, Deploy, Replay]), can_retry, retry_rest;
    "duration", "P", "what took long", "show the critical path and slow operations", Scope::In(OPERATIONS), has_ended, show_duration;
    "operations", "v", "filter by state", "show failed, not attempted, done, or all", Scope::In(OPERATIONS), always, next_deploy_filter;
    "operation-logs", "l", "logs", "show the log of its plugin", Scope::In(OPERATIONS), has_row, operation_logs;
    // History
    "replay", "enter", "view", "show how this deploy went; changes nothing", Scope::In(&[History]), has_row, open_replay;
    "replay-play", "space", "play", "play or pause the replay", Scope::In(&[Replay]), always, replay_play;
    "replay-faster", "+", "", "play faster", Scope::In(&[Replay]), always, replay_faster;
    "replay-slower", "-", "", "play slower", Scope::In(&[Replay]), always, replay_slower;
    "replay-failure", "x", "next failure", "go to the next failure", Scope::In(&[Replay]), has_failure, replay_failure;
    "replay-forward", "]", "forward", "one event forward", Scope::In(&[Replay]), always, replay_forward;
    "replay-back", "[", "back", "one event back", Scope::In(&[Replay]), always, replay_back;
    "replay-end", "}", "end", "go to the end of the deploy", Scope::In(&[Replay]), always, replay_end;
    "replay-begin", "{", "begin", "go to the beginning of the deploy", Scope::In(&[Replay]), always, replay_begin;
    "failures", "v", "failures", "group failures by reason, or list deploys", Scope::In(&[History, Failures]), always, toggle_failures;
    "export", "o", "export", "write this deploy as JSON to a file", Scope::In(&[History, Replay]), has_row_or_replay, export;
    "compare", "=", "compare", "compare this deploy with a marked one", Scope::In(&[History]), has_row, compare_deploys;
    "go-back", "b", "go back…", "stage its earlier configuration; asks", Scope::In(&[History]), can_go_back, ask_go_back;
    "history-reload", "r", "", "reload the history", Scope::In(&[History, Failures]), always, reload_history;
    // State
    "state-refresh", "F", "refresh…", "stage a refresh of this resource or range", Scope::In(&[State]), on_objects_to_refresh, refresh_resource;
    "state-replace", "p", "replace…", "stage the replacement of this resource", Scope::In(&[State]), on_resource, replace_resource;
    "state-repair", "u", "undo drift", "stage row or range back to configuration", Scope::In(&[State]), has_drift, repair_resource;
    "state-taint", "C", "taint…", "mark it to be replaced, or end that; asks", Scope::In(&[State]), on_managed_object, ask_taint;
    "state-move", "m", "", "move it to another address; shows all", Scope::In(&[State]), on_objects, ask_move;
    "state-forget", "X", "forget…", "remove it from the state; asks first", Scope::In(&[State]), on_objects, ask_forget;
    "state-import", "I", "", "import an object that exists", Scope::In(&[State]), can_stage, ask_import;
    "state-look", "L", "", "read all real objects now", Scope::In(&[State]), can_stage, look;
    "state-reload", "r", "", "reload the state", Scope::In(&[State]), always, reload_state;
    // Groups
    "group-pause", "p", "pause", "pause the rollout, or resume it", Scope::In(&[Groups]), has_open_rollout, pause_rollout;
    "group-abort", "A", "abort…", "end the rollout early; asks first", Scope::In(&[Groups]), has_open_rollout, ask_abort_rollout;
    "group-skip", "K", "skip…", "skip this member in the rollout; asks first", Scope::In(&[Groups]), on_open_member, ask_skip_member;
    "group-retry", "t", "retry…", "repeat the change of a member; asks first", Scope::In(&[Groups]), on_open_member, ask_retry_member;
    "group-scale", "=", "", "set the number of members", Scope::In(&[Groups]), can_change_group, ask_scale;
    "group-free", "X", "", "stop to manage this group; asks first", Scope::In(&[Groups]), can_change_group, ask_free;
    "group-rollback", "b", "", "commit its earlier specification; asks first", Scope::In(&[Groups]), can_change_group, ask_roll_back;
    "group-logs", "l", "logs", "show the log of the plugin of this group", Scope::In(&[Groups]), has_row, group_logs;
    "groups-reload", "r", "", "reload the groups", Scope::In(&[Groups]), always, reload_groups;
    // Logs
    "problem-next", "]", "next", "go to the next error or warning", Scope::In(&[Logs]), has_problem, problem_next;
    "problem-previous", "[", "previous problem", "go to the previous error or warning", Scope::In(&[Logs]), has_problem, problem_previous;
    "follow", "space", "follow", "follow the newest line, or stop following", Scope::In(&[Logs]), always, toggle_follow;
    "level", "v", "level", "change the lowest level that is shown", Scope::In(&[Logs]), always, next_level;
    "source", "p", "source", "show lines of all plugins, or of one", Scope::In(&[Logs]), always, next_source;
    "wrap", "w", "wrap", "wrap or cut long lines", Scope::In(&[Logs]), always, toggle_wrap;
    "times", "t", "", "show or hide the time of day", Scope::In(&[Logs]), always, toggle_times;
    "mark", "m", "mark", "mark or unmark this line", Scope::In(&[Logs]), has_row, toggle_mark;
    "save", "o", "save", "save the shown or marked lines to a file", Scope::In(&[Logs]), has_row, save_log;
    "engine-log", "e", "engine's log", "the engine's own log, or the plugin logs", Scope::In(&[Logs, Tracing]), always, toggle_tracing;
    "tracing-targets", "h", "targets", "show or hide the list of targets", Scope::In(&[Tracing]), always, tracing_targets;
    "tracing-focus", "f", "focus", "show the selected target only", Scope::In(&[Tracing]), always, tracing_focus;
    "tracing-more", "+ right", "more", "record more of the selected target", Scope::In(&[Tracing]), always, tracing_more;
    "tracing-less", "- left", "less", "record less of the selected target", Scope::In(&[Tracing]), always, tracing_less;
    "tracing-follow", "space", "newest", "go to the newest line", Scope::In(&[Tracing]), always, tracing_follow;
    // Trees of modules
    "fold", "left", "", "fold the module of this row, or go to it", Scope::In(TREES), has_tree, fold;
    "unfold-module", "right", "", "unfold this module, or go into it", Scope::In(TREES), has_tree, unfold;
    "fold-all", "Z", "fold all", "fold all modules, or unfold them", Scope::In(TREES), has_tree, fold_all;
    "tree", "T", "", "show a tree of modules, or a flat list", Scope::In(TREES), can_be_tree, toggle_tree;
    // Several screens
    "reveal", "x", "", "show one sensitive value for ten seconds", Scope::In(&[Stage, Deploy, State]), has_sensitive, ask_reveal;
    // Everywhere
    "open", "enter", "open", "show the detail on the whole screen", Scope::WithDetail, has_row, open_detail;
    BACK, "esc", "back", "back: close the detail, clear the filter", Scope::Everywhere, always, close_or_go_back;
    "quit", "q", "", "go back; on the top level, quit", Scope::Everywhere, always, quit;
    "interrupt", "ctrl-c", "", "quit; while work runs, ask to cancel it", Scope::Everywhere, always, interrupt;
    "down", "j down", "", "move down", Scope::Everywhere, always, down;
    "up", "k up", "", "move up", Scope::Everywhere, always, up;
    "page-down", "ctrl-d pgdn", "", "half a page down", Scope::Everywhere, always, page_down;
    "page-up", "ctrl-u pgup", "", "half a page up", Scope::Everywhere, always, page_up;
    "first", "g home", "", "go to the first row", Scope::Everywhere, has_list, first;
    "last", "G end", "", "go to the last row", Scope::Everywhere, always, last;
    "pane", "tab backtab", "pane", "move the focus to the list or the detail", Scope::WithPanes, has_pane, next_pane;
    "find", "/", "find", "find a text; other rows stay", Scope::Everywhere, has_list, find;
    "find-next", "n", "next", "go to the next match", Scope::Everywhere, has_find, find_next;
    "find-previous", "N", "previous", "go to the previous match", Scope::Everywhere, has_find, find_previous;
    "filter", "f &", "filter", "show matching rows only", Scope::Everywhere, has_list, filter;
    "sort", ",", "", "sort by the next column", Scope::Everywhere, can_sort, next_sort;
    "sort-reverse", ".", "", "reverse the sort order", Scope::Everywhere, can_sort, reverse_sort;
    "copy", "y", "", "copy the row or the detail, also over SSH", Scope::Everywhere, has_row, copy;
    "palette", ":", "command", "run a command by its name", Scope::Everywhere, always, palette;
    HELP, "?", "help", "show all keys; / searches them", Scope::Everywhere, always, help;
    "messages", "", "", "list the last messages in full", Scope::Everywhere, always, show_messages;
    "incidents", "!", "", "list crashes and failed launches", Scope::Everywhere, always, show_incidents;
    "unknown", "U", "unknown…", "list unknown outcomes, and settle them", Scope::Everywhere, has_unknown, show_unknown;
    "orphans", "O", "orphans…", "end orphaned plugin processes; asks first", Scope::Everywhere, has_orphans, ask_end_orphans;
    "screen-start", "0", "", "Start: what to settle, and what to do next", Scope::Everywhere, always, |s, e| show(s, e, Screen::Start);
    "screen-plugins", "1", "", "Plugins: launches, processes, schemas, logs", Scope::Everywhere, always, |s, e| show(s, e, Screen::Plugins);
    "screen-calls", "2", "", "Calls: running and waiting calls, and their blockers", Scope::Everywhere, always, |s, e| show(s, e, Screen::Calls);
    "screen-stage", "3", "", "Stage: planned changes; select, deselect, apply", Scope::Everywhere, always, |s, e| show(s, e, Screen::Stage);
    "screen-deploy", "4", "", "Deploy: operations of the running or last deploy", Scope::Everywhere, always, |s, e| show(s, e, Screen::Deploy);
    "screen-history", "5", "", "History: all deploys and failures", Scope::Everywhere, always, |s, e| show(s, e, Screen::History);
    "screen-state", "6", "", "State: all resources in the state", Scope::Everywhere, always, |s, e| show(s, e, Screen::State);
    "screen-logs", "7", "", "Logs: log lines of the plugins", Scope::Everywhere, always, |s, e| show(s, e, Screen::Logs);
    "screen-groups", "8", "", "Groups: members, health and rolling updates", Scope::Everywhere, always, |s, e| show(s, e, Screen::Groups);
    "workspaces", "ctrl-w", "", "list, switch or create workspaces", Scope::Everywhere, can_switch, show_workspaces;
    "init", "i", "init…", "install modules and providers; asks first", Scope::Everywhere, can_install, ask_install;
    "doctor", "H", "", "check this machine and workspace", Scope::Everywhere, always, show_doctor;
    "break", "B", "", "cause a fault (demo only)", Scope::Everywhere, has_faults, open_faults;
    "theme", "ctrl-t", "", "change to the next theme", Scope::Everywhere, always, next_theme;
    "themes", "", "", "choose a theme from a list, with a preview", Scope::Everywhere, always, choose_theme;
    "mouse", "M", "", "mouse on or off (off: select text)", Scope::Everywhere, always, toggle_mouse;
    "notifications", "", "", "bell and desktop notification on or off", Scope::Everywhere, always, toggle_notifications;
    "wider", ">", "", "enlarge the list", Scope::WithPanes, has_pane, wider;
    "narrower", "<", "", "enlarge the detail", Scope::WithPanes, has_pane, narrower;
    "redraw", "ctrl-l", "", "redraw the screen", Scope::Everywhere, always, redraw;
    "suspend", "ctrl-z", "", "suspend to the shell; fg resumes", Scope::Everywhere, has_shell, suspend;
];

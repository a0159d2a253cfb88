//! Tests of `flightdeck console` on a terminal: history, completion, several lines, and the
//! restored terminal mode.

use crate::console_workspace::*;
use crate::pty::Pty;
use portable_pty::CommandBuilder;

fn start_expression_console(w: &Workspace) -> Pty {
    let mut command = CommandBuilder::new(FLIGHTDECK);
    command.args(["console"]);
    command.cwd(w.path());
    command.env_remove("TF_CLI_CONFIG_FILE");
    let c = Pty::start(command, 80, 24).unwrap();
    c.wait("> ", LONG).unwrap();
    c
}

/// Waits for the prompt. Before it the terminal is in cooked mode, where some keys have another
/// meaning.
fn wait_for_prompt(c: &Pty, sign: char) {
    let ends = format!("\n{sign}");
    c.wait_until(|screen| screen.trim_end().ends_with(&ends), LONG)
        .unwrap();
}

#[test]
fn expressions_have_completion_history_and_several_lines() {
    let w = Workspace::of(
        "variable \"number\" {\n  default = 20\n}\nlocals {\n  twice = var.number * 2\n}\n",
    );
    let mut c = start_expression_console(&w);
    // A partial name is completed.
    c.keys("local.tw\t + 1\r").unwrap();
    c.wait("41", LONG).unwrap();
    wait_for_prompt(&c, '>');
    c.keys("upper(\"a\")\r").unwrap();
    c.wait("\"A\"", LONG).unwrap();
    wait_for_prompt(&c, '>');
    c.keys("\u{1b}[A\u{7f}, \"b\")\r").unwrap();
    c.wait("Too many function arguments", LONG).unwrap();
    wait_for_prompt(&c, '>');
    c.keys("[\r1,\r2][1] + 40\r").unwrap();
    c.wait("42", LONG).unwrap();
    wait_for_prompt(&c, '>');
    // An unfinished expression is abandoned.
    c.keys("{\r").unwrap();
    wait_for_prompt(&c, ':');
    c.keys("\u{3}").unwrap();
    wait_for_prompt(&c, '>');
    c.keys("3 + 4\r").unwrap();
    c.wait("\n7", LONG).unwrap();
    wait_for_prompt(&c, '>');
    c.keys("exit\r").unwrap();
    assert_eq!(c.end(LONG).unwrap().0, 0);
}

#[test]
fn ctrl_d_and_ctrl_c_on_an_empty_line_quit() {
    let w = Workspace::of("");
    for key in ["\u{4}", "\u{3}"] {
        let mut c = start_expression_console(&w);
        c.keys(key).unwrap();
        assert_eq!(c.end(LONG).unwrap().0, 0, "{key:?}");
    }
}

//! Tests of confirmations and other prompts in a real pseudo-terminal.

use crate::support::Workspace;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::time::Duration;

/// End of every confirmation prompt.
const QUESTION: &str = "Only \"yes\" is accepted";

/// Runs the binary in a pseudo-terminal and answers its confirmation; returns exit code and output.
fn run_and_confirm(w: &Workspace, args: &[&str], answer: &str) -> (u32, String) {
    run_and_answer(QUESTION, w, args, answer)
}

/// Runs the binary in a pseudo-terminal and answers the prompt that ends with `question`.
fn run_and_answer(question: &str, w: &Workspace, args: &[&str], answer: &str) -> (u32, String) {
    let pty = native_pty_system()
        .openpty(PtySize {
            rows: 40,
            cols: 120,
            pixel_width: 0,
            pixel_height: 0,
        })
        .unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_flightdeck"));
    command.args(args);
    command.cwd(w.path());
    command.env("TERM", "xterm-256color");
    command.env("HOME", w.path().parent().unwrap());
    command.env_remove("TF_CLI_CONFIG_FILE");
    command.env_remove("NO_COLOR");
    let mut child = pty.slave.spawn_command(command).unwrap();
    drop(pty.slave);
    let mut reader = pty.master.try_clone_reader().unwrap();
    let mut writer = pty.master.take_writer().unwrap();
    let (said, heard) = std::sync::mpsc::channel();
    let listener = std::thread::spawn(move || {
        let mut buffer = [0; 4_096];
        // A pseudo-terminal reports the exit of the other side as an error.
        while let Ok(n @ 1..) = reader.read(&mut buffer) {
            if said
                .send(String::from_utf8_lossy(&buffer[..n]).into_owned())
                .is_err()
            {
                return;
            }
        }
    });
    let mut shown = String::new();
    while !shown.contains(question) {
        match heard.recv_timeout(Duration::from_secs(300)) {
            Ok(text) => shown.push_str(&text),
            Err(e) => panic!("no question came ({e}): {shown}"),
        }
    }
    writer.write_all(answer.as_bytes()).unwrap();
    let code = child.wait().unwrap().exit_code();
    drop((writer, pty.master));
    listener.join().unwrap();
    shown.extend(heard.try_iter());
    (code, shown)
}

fn workspace_with_one_resource() -> Workspace {
    Workspace::new(&[(
        "main.tf",
        "resource \"terraform_data\" \"a\" {\n  input = 1\n}\n",
    )])
}

#[test]
fn yes_applies_and_output_has_colours() {
    let w = workspace_with_one_resource();
    let (code, shown) = run_and_confirm(&w, &["deploy"], "yes\n");
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("\u{1b}[32m"), "{shown:?}");
    assert_eq!(
        w.run(&["state", "list"]).expect(0).stdout,
        "terraform_data.a\n"
    );
    let (code, shown) = run_and_confirm(&w, &["--no-color", "destroy"], "yes\n");
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains("\u{1b}[3"), "no colours: {shown:?}");
    assert_eq!(w.run(&["state", "list"]).expect(0).stdout, "");
}

#[test]
fn other_answer_exits_with_1_and_ctrl_c_with_130_without_changes() {
    let answers = [
        ("no\n", 1),
        ("y\n", 1),
        ("YES\n", 1),
        ("\n", 1),
        ("\u{4}", 1),
        ("\u{3}", 130),
    ];
    for (answer, expected) in answers {
        let w = workspace_with_one_resource();
        let (code, shown) = run_and_confirm(&w, &["deploy"], answer);
        assert_eq!(code, expected, "{answer:?}: {shown}");
        assert_eq!(w.run(&["state", "list"]).expect(0).stdout, "", "{answer:?}");
        w.run(&["stage"]).expect(0);
    }
}

#[test]
fn confirmations_are_read_from_a_pipe() {
    let (declined, missing) = ("nothing was applied", "add --auto-approve");
    for (input, code, text) in [
        ("yes\n", 0, "terraform_data.a: created"),
        ("yes", 0, "terraform_data.a: created"),
        ("yes\r\nmore\n", 0, "terraform_data.a: created"),
        ("no\n", 1, declined),
        ("\nyes\n", 1, declined),
        ("", 1, missing),
    ] {
        let w = workspace_with_one_resource();
        let run = w.run_with_input(&["apply"], input).expect(code);
        let shown = format!("{}{}", run.stdout, run.stderr);
        assert!(shown.contains(text), "{input:?}: {run:?}");
        // The plan is shown before the prompt.
        assert!(
            run.stdout.contains("+ terraform_data.a"),
            "{input:?}: {run:?}"
        );
        let objects = w.run(&["state", "list"]).expect(0).stdout;
        assert_eq!(objects.is_empty(), code != 0, "{input:?}: {objects}");
    }
}

#[test]
fn no_confirmation_is_requested_without_changes_or_after_a_failed_plan() {
    let w = workspace_with_one_resource();
    w.run(&["apply", "-auto-approve"]).expect(0);
    w.run(&["apply"]).expect(0);
    w.run(&["apply", "-input=false"]).expect(0);
    w.write(
        "more.tf",
        "resource \"terraform_data\" \"b\" {\n  input = var.none\n}\n",
    );
    let run = w.run(&["apply"]).expect(1);
    assert!(run.stderr.contains("undeclared"), "{run:?}");
    assert!(!run.stderr.contains("cannot prompt"), "{run:?}");
}

#[test]
fn confirmation_is_impossible_with_json() {
    let w = workspace_with_one_resource();
    for command in ["apply", "destroy"] {
        let run = w.run_with_input(&[command, "--json"], "yes\n").expect(1);
        let text = run.stdout;
        assert!(
            text.contains("cannot prompt with --json"),
            "{command}: {text}"
        );
    }
}

#[test]
fn progress_line_is_erased() {
    let w = workspace_with_one_resource();
    let (_, shown) = run_and_confirm(&w, &["--no-color", "deploy"], "yes\n");
    let mut terminal = vt100::Parser::new(40.try_into().unwrap(), 120.try_into().unwrap(), 0);
    terminal.process(shown.as_bytes());
    let screen = terminal.screen().contents();
    let first = screen.lines().next().unwrap_or_default();
    assert!(
        first.trim_start().starts_with("+ terraform_data.a"),
        "{screen}"
    );
    assert!(
        !screen.contains(|c| ('\u{2800}'..='\u{28ff}').contains(&c)),
        "a spinner is left: {screen}"
    );
}

#[test]
fn confirmation_lists_the_commands_that_the_deploy_runs() {
    let text = "resource \"terraform_data\" \"a\" {\n  count = 10\n  provisioner \"local-exec\" {\n    command = \"echo number ${count.index}; exit 3\"\n  }\n}\n";
    let w = Workspace::new(&[("main.tf", text)]);
    let (_, shown) = run_and_confirm(&w, &["--no-color", "deploy"], "no\n");
    let question = &shown[shown
        .find("Stage #1 runs 10 commands on this machine:")
        .unwrap_or_else(|| panic!("{shown}"))..];
    assert!(
        question.contains("terraform_data.a[0]: echo number 0; exit 3"),
        "{question}"
    );
    assert!(
        question.contains("and 2 more") && !question.contains("number 9"),
        "{question}"
    );
    assert!(
        question.find("and 2 more") < question.find(QUESTION),
        "{question}"
    );
}

#[test]
fn init_confirms_before_it_migrates_a_state() {
    let backend = |path: &str| {
        let text = "resource \"terraform_data\" \"a\" {\n}\n";
        format!("{text}terraform {{\n  backend \"local\" {{\n    path = {path:?}\n  }}\n}}\n")
    };
    let moving = || {
        let w = Workspace::new(&[("main.tf", backend("one.tfstate").as_str())]);
        w.run(&["init"]).expect(0);
        w.run(&["apply", "-auto-approve"]).expect(0);
        w.write("main.tf", &backend("two.tfstate"));
        w
    };
    let ask = |w: &Workspace, answer: &str| {
        run_and_answer(
            "uses the state in the new backend",
            w,
            &["init", "-migrate-state"],
            answer,
        )
    };
    let w = moving();
    let (code, shown) = ask(&w, "perhaps\nyes\n");
    assert_eq!(code, 0, "{shown}");
    assert_eq!(
        shown.matches("Copy the state to the new backend?").count(),
        2,
        "{shown}"
    );
    assert!(w.read("two.tfstate").contains("terraform_data"));
    assert_eq!(
        w.run(&["state", "list"]).expect(0).stdout,
        "terraform_data.a\n"
    );
    // "no" uses the new backend, whose state is empty.
    let w = moving();
    let (code, shown) = ask(&w, "no\n");
    assert_eq!(code, 0, "{shown}");
    assert!(!w.path().join("two.tfstate").exists());
    assert!(w.read("one.tfstate").contains("terraform_data"));
    // Three invalid answers leave both states unchanged.
    let w = moving();
    let (code, shown) = ask(&w, "a\nb\nc\n");
    assert_eq!(code, 1, "{shown}");
    // Without a terminal, and with -input=false, the command is refused.
    for words in [
        &["init", "-migrate-state"] as &[&str],
        &["init", "-migrate-state", "-input=false"],
    ] {
        let run = w.run(words).expect(1);
        assert!(run.stderr.contains("-force-copy"), "{run:?}");
    }
}

const ASKS: &str = r#"
variable "size" {
  type        = number
  description = "How large it is"
}
variable "token" {
  type      = string
  ephemeral = true
}
resource "terraform_data" "a" {
  input = var.size
  provisioner "local-exec" {
    command     = "printf %s \"$T\" >used"
    environment = { T = var.token }
  }
}
"#;

#[test]
fn variable_values_are_prompted_for_and_stored_in_the_plan() {
    let w = Workspace::new(&[("main.tf", ASKS)]);
    let plan = ["plan", "-out=p", "-var", "token=morning"];
    let (code, shown) = run_and_answer("Enter a value: ", &w, &plan, "3\r");
    assert_eq!(code, 0, "{shown}");
    assert!(
        shown.contains("var.size") && shown.contains("How large it is"),
        "{shown}"
    );
    // Only the ephemeral variable is prompted for again, and the input is not echoed.
    let apply = ["apply", "p"];
    let (code, shown) = run_and_answer("Enter a value: ", &w, &apply, "evening\r");
    assert_eq!(code, 0, "{shown}");
    assert!(
        shown.contains("var.token") && !shown.contains("var.size"),
        "{shown}"
    );
    assert!(!shown.contains("evening"), "{shown}");
    assert_eq!(w.read("used"), "evening");
}

#[test]
fn no_variable_is_prompted_for_with_input_false() {
    let w = Workspace::new(&[("main.tf", ASKS)]);
    let plan = ["plan", "-input=false"];
    let (code, shown) = run_and_answer("No value for required variable", &w, &plan, "");
    assert_eq!(code, 1, "{shown}");
    assert!(!shown.contains("Enter a value"), "{shown}");
}

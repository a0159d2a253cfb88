//! Stories typed in a terminal: the newest stage at the start, a plan with documents and blocks, a
//! large plan in modules, and a narrow terminal over SSH.

use crate::console_workspace::*;
use crate::pty::Pty;
use std::process::Command;

/// Runs flightdeck on the workspace without a console.
fn run(w: &Workspace, args: &[&str]) {
    let mut command = Command::new(FLIGHTDECK);
    command.current_dir(w.path()).args(args);
    command.env_remove("TF_CLI_CONFIG_FILE");
    let out = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        out.status.success(),
        "{args:?}: {}{}",
        text(&out.stdout),
        text(&out.stderr)
    );
}

#[test]
fn newest_stage_is_shown_at_the_start_applied_or_refused_with_the_reason() {
    let text = "resource \"terraform_data\" \"a\" {\n  input = 1\n}\n";
    let w = Workspace::of(text);
    run(&w, &["stage"]);
    // The operator reviews what another command has planned.
    let mut c = w.console();
    c.wait("stage #1 · 1 of 1 selected", LONG).unwrap();
    c.keys("a").unwrap();
    c.wait("Apply stage #1?", SOON).unwrap();
    c.keys("y").unwrap();
    c.wait("✓ succeeded", LONG).unwrap();
    quit(c);
    // An applied stage is nothing to show.
    let c = w.console();
    c.wait("lock: free", LONG).unwrap();
    c.wait("● ready", LONG).unwrap();
    c.with_screen(|s| assert!(!s.contents().contains("stage #1"), "{}", s.contents()));
    quit(c);
    // The configuration changes after the stage.
    let main = w.path().join("main.tf");
    std::fs::write(&main, text.replace("= 1", "= 2")).unwrap();
    run(&w, &["stage"]);
    std::fs::write(&main, text.replace("= 1", "= 3")).unwrap();
    let mut c = w.console();
    let outdated = "stage #2 · out of date: main.tf changed since the stage was planned";
    c.wait(outdated, LONG).unwrap();
    c.wait("s stages again", SOON).unwrap();
    c.keys("a").unwrap();
    c.wait("stage #2 is out of date, s stages again: main.tf", SOON)
        .unwrap();
    c.keys("s").unwrap();
    c.wait("stage #3 · 1 of 1 selected", LONG).unwrap();
    c.wait("1 → 3", SOON).unwrap();
    quit(c);
}

/// 60 resources with policies in JSON, manifests in YAML and lists of blocks.
fn documents(tag: &str, cpu: &str, first: &str) -> String {
    format!(
        r#"
resource "terraform_data" "policy" {{
  count = 30
  input = jsonencode({{ Version = "2012-10-17", Statement = [for s in range(8) : {{ Sid = "S${{s}}", Tag = "{tag}" }}] }})
}}
resource "terraform_data" "pod" {{
  count = 15
  input = <<-T
    kind: Pod
    containers:
    - name: web
      cpu: {cpu}
    - name: log
      cpu: 10m
  T
}}
resource "terraform_data" "blocks" {{
  count = 15
  input = [{first}{{ name = "a", port = 1 }}, {{ name = "b", port = 2 }}]
}}
"#
    )
}

#[test]
fn plan_of_sixty_changes_with_documents_and_blocks_is_read_and_applied() {
    let w = Workspace::of(&documents("v1", "500m", ""));
    run(&w, &["apply", "-auto-approve"]);
    let first = "{ name = \"n\", port = 9 }, ";
    let text = documents("v2", "750m", first);
    std::fs::write(w.path().join("main.tf"), text).unwrap();
    let mut c = w.console();
    c.wait("lock: free", LONG).unwrap();
    c.keys("3s").unwrap();
    c.wait("stage #2 · 60 of 60 selected", LONG).unwrap();
    // Eight equal changes of a policy are one line.
    c.keys("/policy[7]\r").unwrap();
    c.wait("(JSON) 8 changed of 17 values", SOON).unwrap();
    c.wait("Statement[*].Tag \"v1\" → \"v2\"  ×8", SOON)
        .unwrap();
    c.wait("9 unchanged values", SOON).unwrap();
    c.keys("z").unwrap();
    c.wait("Statement[Sid=S0].Sid \"S0\"", SOON).unwrap();
    c.keys("z").unwrap();
    c.wait("9 unchanged values", SOON).unwrap();
    c.keys("/\x15pod[3]\r").unwrap();
    c.wait("containers[name=web].cpu \"500m\" → \"750m\"", SOON)
        .unwrap();
    // A block that is put first is one addition.
    c.keys("/\x15blocks[14]\r").unwrap();
    c.wait("+ input[0].name \"n\"", SOON).unwrap();
    c.with_screen(|s| assert!(!s.contents().contains("\"a\" →"), "{}", s.contents()));
    c.keys("f").unwrap();
    c.wait("words !not", SOON).unwrap();
    c.keys("!policy\r").unwrap();
    c.wait("30 of 60", SOON).unwrap();
    c.keys("*").unwrap();
    c.wait("30 of 60 selected", SOON).unwrap();
    c.keys("a").unwrap();
    c.wait("Apply stage #2?", SOON).unwrap();
    c.wait("30 changes, not applied", SOON).unwrap();
    c.keys("y").unwrap();
    c.wait("deploy #2 · ✓ succeeded", LONG).unwrap();
    quit(c);
}

#[test]
fn plan_of_3_000_changes_in_40_modules_is_folded_filtered_and_applied_in_part() {
    let lab = "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\n";
    let w = Workspace::of("");
    let file = w.path().join("lab.json");
    let main = format!(
        "{lab}provider \"lab\" {{\n  file = {file:?}\n}}\n\
         module \"svc\" {{\n  source   = \"./svc\"\n  for_each = toset([for i in range(40) : \"s${{i}}\"])\n  name     = each.key\n}}\n"
    );
    let module = format!(
        "{lab}variable \"name\" {{}}\nresource \"lab_thing\" \"part\" {{\n  count = 75\n  name  = \"${{var.name}}-${{count.index}}\"\n  kind  = \"part\"\n}}\n"
    );
    std::fs::write(w.path().join("main.tf"), main).unwrap();
    std::fs::create_dir(w.path().join("svc")).unwrap();
    std::fs::write(w.path().join("svc/main.tf"), module).unwrap();
    run(&w, &["init"]);
    let mut c = w.console();
    c.wait("lock: free", LONG).unwrap();
    c.keys("3s").unwrap();
    c.wait("stage #1 · 3000 of 3000 selected", LONG).unwrap();
    // Many rows start folded, and unfold level by level.
    c.wait("▸ svc (40)", SOON).unwrap();
    c.keys("\x1b[C").unwrap();
    c.wait("[\"s2\"].lab_thing.part (75)", SOON).unwrap();
    c.keys("f").unwrap();
    c.wait("words !not", SOON).unwrap();
    c.keys("module:s39\r").unwrap();
    c.wait("75 of 3000", SOON).unwrap();
    c.keys("\x1b").unwrap();
    c.wait("[\"s2\"].lab_thing.part (75)", SOON).unwrap();
    // In natural order, all but the first two modules are deselected as one range.
    c.keys("gjjjVG").unwrap();
    c.wait("range: 38 rows", SOON).unwrap();
    c.keys(" ").unwrap();
    c.wait("150 of 3000 selected", SOON).unwrap();
    c.keys("u").unwrap();
    c.wait("3000 of 3000 selected", SOON).unwrap();
    c.keys("\x12").unwrap();
    c.wait("150 of 3000 selected", SOON).unwrap();
    c.keys("a").unwrap();
    c.wait("2850 changes, not applied", SOON).unwrap();
    c.keys("y").unwrap();
    c.wait("✓ succeeded", LONG).unwrap();
    c.keys("6").unwrap();
    c.wait("150 resources", SOON).unwrap();
    quit(c);
}

#[test]
fn narrow_terminal_over_ssh_gets_sixteen_colors_and_whole_words() {
    let (mut c, _place) = start_demo(
        80,
        24,
        &[
            ("TERM", "screen"),
            ("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22"),
        ],
    );
    c.wait("gave up", LONG).unwrap();
    c.keys("3s").unwrap();
    c.wait("25 of 25 selected", LONG).unwrap();
    c.keys("j").unwrap();
    c.wait("[x]", SOON).unwrap();
    c.keys("?").unwrap();
    c.wait("esc close", SOON).unwrap();
    // Escape with a letter at once after it would be another key.
    c.keys("\x1b").unwrap();
    c.wait_until(|s| !s.contains("esc close"), SOON).unwrap();
    c.keys("f").unwrap();
    c.wait("words !not ~fuzzy", SOON).unwrap();
    c.keys("\x1b").unwrap();
    c.wait_until(|s| !s.contains("words !not"), SOON).unwrap();
    c.keys("4").unwrap();
    c.keys("1").unwrap();
    c.wait("gave up", SOON).unwrap();
    let bytes = c.bytes();
    let text = String::from_utf8_lossy(&bytes);
    for form in ["38;2;", "48;2;", "38;5;", "48;5;", "\x1b]11;?"] {
        assert!(!text.contains(form), "{form:?}");
    }
    quit(c);
}

/// Variables and targets: a wrong flag is taken back and a missing value given in the form.
#[test]
fn missing_and_wrong_variables_are_set_in_the_form() {
    let w = Workspace::of(
        "variable \"region\" {\n  type = string\n}\nvariable \"n\" {\n  type    = number\n  default = 1\n}\n\
         resource \"terraform_data\" \"a\" {\n  count = var.n\n  input = var.region\n}\n\
         resource \"terraform_data\" \"b\" {}\n",
    );
    let mut c = w.console_with(&["--var", "n=many", "--target", "terraform_data.a"]);
    c.wait("--target=terraform_data.a +1", LONG).unwrap();
    c.keys("3s").unwrap();
    // Opens by itself, because a value is missing.
    c.wait("Plan options", LONG).unwrap();
    c.wait("needs a value", SOON).unwrap();
    c.keys("\x1b[B\r").unwrap();
    c.wait("region = ", SOON).unwrap();
    c.keys("eu-1\r").unwrap();
    c.wait_until(|s| !s.contains("region = "), SOON).unwrap();
    c.keys("s").unwrap();
    c.wait("a number is required", LONG).unwrap();
    c.keys("\x0f").unwrap();
    c.wait("many", SOON).unwrap();
    c.keys("x").unwrap();
    c.wait("1 (default)", SOON).unwrap();
    c.keys("s").unwrap();
    c.wait("1 of 1 selected", LONG).unwrap();
    let screen = c.text();
    assert!(
        screen.contains("\"eu-1\"") && !screen.contains("terraform_data.b"),
        "{screen}"
    );
    c.keys("a").unwrap();
    c.wait("Apply stage #", SOON).unwrap();
    c.keys("y").unwrap();
    c.wait("succeeded in", LONG).unwrap();
    c.keys("q").unwrap();
    let (code, screen) = c.end(LONG).unwrap();
    assert_eq!(code, 0);
    // The outcome stays on the terminal.
    let text = screen.contents();
    assert!(text.contains("Deploy #1 succeeded: 1 done"), "{text}");
}

#[test]
fn editor_opens_at_the_block_or_the_error_and_the_stage_follows() {
    use std::os::unix::fs::PermissionsExt;
    let text = "# shop\n\nresource \"terraform_data\" \"a\" {\n  input = \"eu\"\n}\n";
    let w = Workspace::of(text);
    let own = tempfile::tempdir().unwrap();
    let script = own.path().join("editor");
    // Needs a usable terminal, and records where it was opened.
    let body = "#!/bin/sh\ntest -t 0 || exit 1\necho \"$1 $2\" >> \"$(dirname \"$0\")/opened\"\n\
                sed -i 's/\"eu\"/\"us\" +/; t; s/\"us\" +/\"us\"/' \"$2\"\n";
    std::fs::write(&script, body).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = portable_pty::CommandBuilder::new(FLIGHTDECK);
    command.arg(w.path());
    command.env_remove("TF_CLI_CONFIG_FILE");
    command.env("VISUAL", &script);
    let mut c = Pty::start(command, 120, 40).unwrap();
    c.wait("lock: free", LONG).unwrap();
    c.keys("3s").unwrap();
    c.wait("input = \"eu\"", LONG).unwrap();
    c.keys("e").unwrap();
    // The editor has written half an expression.
    c.wait("staging failed", LONG).unwrap();
    c.keys("e").unwrap();
    c.wait("1 of 1 selected", LONG).unwrap();
    c.wait("input = \"us\"", SOON).unwrap();
    let opened = std::fs::read_to_string(own.path().join("opened")).unwrap();
    let lines: Vec<&str> = opened.lines().collect();
    let file = w.path().join("main.tf").display().to_string();
    assert_eq!(lines.len(), 2, "{opened}");
    assert_eq!(lines[0], format!("+3 {file}"));
    assert!(
        lines[1].starts_with("+4 ") || lines[1].starts_with("+5 "),
        "{opened}"
    );
    assert!(lines[1].ends_with("main.tf"), "{opened}");
    quit(c);
}

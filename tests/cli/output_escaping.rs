//! Tests of escaped output: text from outside is distinguishable on a terminal and cannot forge
//! output.

use crate::support::Workspace;
use serde_json::Value;

const INVISIBLE: [&str; 6] = [
    "\u{200b}",
    "\u{202e}",
    "\u{2066}",
    "\u{e0041}",
    "\u{9b}31m",
    "\u{7f}",
];

#[test]
fn foreign_text_is_printed_escaped() {
    let keys: String = INVISIBLE
        .iter()
        .map(|hidden| format!("\"a{hidden}\", "))
        .collect();
    let main = format!(
        "resource \"terraform_data\" \"a\" {{\n  for_each = toset([\"a\", {keys}])\n  input = \"value of ${{each.key}}\"\n}}\n\
         output \"o\" {{\n  value = \"out{}put\"\n}}\n\
         check \"c\" {{\n  assert {{\n    condition = length(terraform_data.a) == 0\n    error_message = \"words {} that are hidden\"\n  }}\n}}\n",
        INVISIBLE.concat(),
        INVISIBLE.concat()
    );
    let w = Workspace::new(&[("main.tf", &main)]);
    for args in [
        &["stage"][..],
        &["stage", "--json"],
        &["deploy", "--auto-approve"],
        &["state", "list"],
        &["state", "list", "--json"],
        &["history"],
        &["history", "1", "--json"],
        &["history", "1"],
        &["stage", "--destroy"],
        &["deploy", "--auto-approve", "--json"],
    ] {
        let run = w.run(args).expect(0);
        for text in [&run.stdout, &run.stderr] {
            let seen = text.chars().find(|c| {
                INVISIBLE
                    .concat()
                    .chars()
                    .any(|hidden| hidden == *c && !hidden.is_ascii_graphic())
            });
            assert_eq!(seen, None, "{args:?}: {text:?}");
        }
    }
    let listed = w.run(&["state", "list"]).expect(0).stdout;
    assert!(
        listed.contains("terraform_data.a[\"a\"]")
            && listed.contains("terraform_data.a[\"a\\u{200b}\"]"),
        "{listed}"
    );
    // JSON has the original text.
    let rows = w.run(&["state", "list", "--json"]).expect(0).result();
    let addresses: Vec<&str> = rows["resources"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|r| r["address"].as_str())
        .collect();
    assert!(
        addresses.contains(&"terraform_data.a[\"a\u{200b}\"]"),
        "{addresses:?}"
    );
    assert_eq!(addresses.len(), 1 + INVISIBLE.len());
}

#[test]
fn name_with_line_breaks_forges_no_history_line() {
    let w = Workspace::new(&[("main.tf", "resource \"terraform_data\" \"a\" {}\n")]);
    let forged = "eve\n#2    2026-01-01 00:00:00  succeeded  stage #2 by root on prod\u{202e}";
    let mut command = w.command(&["deploy", "--auto-approve"]);
    assert!(command.env("USER", forged).status().unwrap().success());
    let shown = w.run(&["history"]).expect(0).stdout;
    assert_eq!(
        shown.lines().filter(|l| l.starts_with('#')).count(),
        1,
        "{shown}"
    );
    assert!(shown.contains("by eve\\n#2"), "{shown}");
    let kept = &w.run(&["history", "--json"]).expect(0).result()["history"][0]["who"];
    assert!(
        matches!(kept, Value::String(who) if who.starts_with("eve\\n") && who.chars().count() <= 64),
        "{kept}"
    );
}

/// Text that controls a terminal, reverses the text direction, and begins a line of its own.
const EVIL: &str = "\u{1b}[31mx\u{202e}\u{9b}2Jy\nerror: forged";

/// Output of a run with raw control characters or with a forged line.
fn find_unescaped(run: &crate::support::Run, what: &str) -> Vec<String> {
    let raw = |text: &str| text.contains(['\u{1b}', '\u{202e}', '\u{9b}']);
    let line = |text: &str| text.lines().any(|line| line.starts_with("error: forged"));
    let texts = [&run.stdout, &run.stderr].into_iter();
    let bad = texts.filter(|text| raw(text) || line(text));
    bad.map(|text| format!("{what}: {text:?}")).collect()
}

#[test]
fn arguments_are_escaped_in_all_errors() {
    let w = Workspace::new(&[(
        "main.tf",
        "variable \"a\" { default = 1 }\nresource \"terraform_data\" \"a\" { input = var.a }\n",
    )]);
    let flag = format!("--{EVIL}");
    let assigned = format!("a={EVIL}");
    let named = format!("{EVIL}=1");
    let json = format!("--json={EVIL}");
    let rows: &[&[&str]] = &[
        &[EVIL],
        &[&flag],
        &["stage", EVIL],
        &["stage", &flag],
        &["stage", &json],
        &["stage", "--out", EVIL],
        &["stage", "--target", EVIL],
        &["stage", "--exclude", EVIL],
        &["stage", "--replace", EVIL],
        &["stage", "--var", EVIL],
        &["stage", "--var", &named],
        &["stage", "--var", &assigned],
        &["stage", "--var-file", EVIL],
        &["stage", "--target-file", EVIL],
        &["stage", "--parallelism", EVIL],
        &["stage", "--lock-timeout", EVIL],
        &["stage", "--log-level", EVIL],
        &["stage", "--metrics", EVIL],
        &["stage", "--otlp", EVIL],
        &["stage", "--format", EVIL],
        &["stage", "--plan-json", EVIL],
        &["-C", EVIL, "stage"],
        &["plan", "--out", EVIL],
        &["plan", "--generate-config-out", EVIL],
        &["apply", EVIL],
        &["deploy", EVIL],
        &["show", EVIL],
        &["history", EVIL],
        &["failures", "--since", EVIL],
        &["failures", EVIL],
        &["logs", EVIL],
        &["logs", "--since", EVIL],
        &["plugins", EVIL],
        &["plugin", "serve", EVIL],
        &["plugin", EVIL],
        &["output", EVIL],
        &["graph", "--plan", EVIL],
        &["graph", "--type", EVIL],
        &["console", "--var-file", EVIL],
        &["fmt", EVIL],
        &["init", "--plugin-dir", EVIL],
        &["init", "--backend-config", EVIL],
        &["init", "--backend-config", &assigned],
        &["validate", EVIL],
        &["get", EVIL],
        &["doctor", EVIL],
        &["trust", EVIL],
        &["completions", EVIL],
        &["providers", EVIL],
        &["providers", "mirror", "--platform", EVIL, "to"],
        &["providers", "lock", EVIL],
        &["import", EVIL, EVIL],
        &["taint", EVIL],
        &["untaint", EVIL],
        &["state", EVIL],
        &["state", "list", EVIL],
        &["state", "show", EVIL],
        &["state", "import", EVIL, EVIL],
        &["state", "import", "terraform_data.b", EVIL],
        &["state", "forget", EVIL],
        &["state", "rm", EVIL],
        &["state", "taint", EVIL],
        &["state", "untaint", EVIL],
        &["state", "mv", EVIL, EVIL],
        &["state", "replace-provider", EVIL, EVIL],
        &["state", "push", EVIL],
        &["state", "export", "--to", EVIL],
        &["state", "use", EVIL],
        &["workspace", EVIL],
        &["workspace", "select", EVIL],
        &["workspace", "new", EVIL],
        &["workspace", "delete", EVIL],
        &["force-unlock", EVIL],
        &["force-unlock", "--force", EVIL],
    ];
    let mut bad = Vec::new();
    for row in rows {
        bad.extend(find_unescaped(&w.run(row), &format!("{row:?}")));
        if row[0] != "plugin" {
            let run = w.run(&[row, &["--json"][..]].concat());
            bad.extend(find_unescaped(&run, &format!("{row:?} --json")));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    // The error still names the argument, so that a typing error is visible.
    let run = w.run(&["stage", &flag]).expect(1);
    assert!(run.stderr.contains("--\\u{1b}[31mx"), "{run:?}");
}

#[test]
fn environment_values_are_printed_escaped() {
    let w = Workspace::new(&[(
        "main.tf",
        "variable \"a\" { type = number }\nresource \"terraform_data\" \"a\" { input = var.a }\n",
    )]);
    let mut bad = Vec::new();
    for name in [
        "TF_WORKSPACE",
        "TF_DATA_DIR",
        "TF_VAR_a",
        "TF_CLI_CONFIG_FILE",
        "TF_PLUGIN_CACHE_DIR",
        "TF_INPUT",
        "TF_LOG",
        "TF_ENCRYPTION",
        "TF_CLI_ARGS",
        "TF_REGISTRY_CLIENT_TIMEOUT",
        "FLIGHTDECK_FORMAT",
        "FLIGHTDECK_SLOTS",
        "FLIGHTDECK_PROCESSES",
        "FLIGHTDECK_WAIT_S",
        "FLIGHTDECK_CALL_ATTEMPTS",
        "FLIGHTDECK_LAUNCH_DEADLINE_MS",
        "FLIGHTDECK_STATE_EVERY_S",
        "BLUELINK_DEPLOY_ENGINE_PLUGIN_PATH",
        "RUST_LOG",
        "HOME",
        "USER",
        "TMPDIR",
        "TZ",
    ] {
        for args in [&["stage"][..], &["init"], &["deploy", "--auto-approve"]] {
            let run = crate::support::Run::from_command(w.command(args).env(name, EVIL));
            bad.extend(find_unescaped(&run, &format!("{name} {args:?}")));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn file_names_are_printed_escaped() {
    let named = format!("{EVIL}.tf");
    let w = Workspace::new(&[
        (&named, "resource \"terraform_data\" \"a\" {"),
        ("sub/main.tf", ""),
    ]);
    let mut bad = Vec::new();
    for args in [
        &["validate"][..],
        &["stage"],
        &["fmt"],
        &["fmt", "--check", "--list"],
        &["init"],
    ] {
        bad.extend(find_unescaped(&w.run(args), &format!("{args:?}")));
    }
    let dir = w.path().join("sub").join(EVIL);
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("main.tf"), "locals { l = path.cwd }\n").unwrap();
    for args in [
        &["validate"][..],
        &["deploy", "--auto-approve"],
        &["state", "list"],
        &["doctor"],
        &["workspace", "list"],
    ] {
        let run = crate::support::Run::from_command(w.command(args).current_dir(&dir));
        bad.extend(find_unescaped(
            &run,
            &format!("{args:?} in such a directory"),
        ));
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

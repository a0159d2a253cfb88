//! Tests of `TF_LOG` and related variables, as support forums recommend them.

use crate::lab_deploys::Lab;
use crate::support::{Run, mode};
use serde_json::Value;
use std::os::unix::fs::symlink;

const MAIN: &str = "variable \"password\" {\n  type      = string\n  sensitive = true\n  default   = \"correct-horse-battery\"\n}\nresource \"lab_bucket\" \"a\" {\n  name = var.password\n}\n";

fn run(lab: &Lab, args: &[&str], variables: &[(&str, &str)]) -> Run {
    let mut command = lab.workspace.command(args);
    Run::from_command(command.envs(variables.iter().copied()))
}

/// Log lines, recognised by their time and level.
fn log(text: &str) -> Vec<&str> {
    let is_logged = |line: &&str| {
        line.get(24..).is_some_and(|rest| rest.starts_with(" ["))
            && line.as_bytes().get(10) == Some(&b'T')
    };
    text.lines().filter(is_logged).collect()
}

fn of_providers(line: &&str) -> bool {
    line.get(33..)
        .is_some_and(|rest| rest.starts_with("provider."))
}

#[test]
fn each_variable_enables_its_log_from_its_level() {
    let lab = Lab::new(MAIN);
    for (variables, core, provider, least) in [
        (&[][..], false, false, ""),
        (&[("TF_LOG", "")], false, false, ""),
        (&[("TF_LOG", "OFF")], false, false, ""),
        (&[("TF_LOG", "trace")], true, true, "TRACE"),
        (&[("TF_LOG", "DEBUG")], true, true, "DEBUG"),
        (&[("TF_LOG", "INFO")], true, true, "INFO"),
        (&[("TF_LOG", "ERROR")], false, false, "ERROR"),
        (&[("TF_LOG_CORE", "DEBUG")], true, false, "DEBUG"),
        (&[("TF_LOG_PROVIDER", "DEBUG")], false, true, "DEBUG"),
        (
            &[("TF_LOG", "DEBUG"), ("TF_LOG_PROVIDER", "off")],
            true,
            false,
            "DEBUG",
        ),
    ] {
        let run = run(&lab, &["deploy", "--auto-approve"], variables).expect(0);
        let lines = log(&run.stderr);
        let found = (
            lines.iter().any(|line| !of_providers(line)),
            lines.iter().any(of_providers),
        );
        assert_eq!(found, (core, provider), "{variables:?}: {run:#?}");
        assert!(log(&run.stdout).is_empty(), "{variables:?}: {run:#?}");
        for (level, finer) in [("[TRACE]", &["DEBUG", "INFO"][..]), ("[DEBUG]", &["INFO"])] {
            let is_there = lines.iter().any(|line| line.contains(level));
            assert!(
                !is_there || !finer.contains(&least),
                "{variables:?}: {run:#?}"
            );
        }
        lab.run(&["destroy", "--auto-approve"]).expect(0);
    }
}

#[test]
fn log_file_is_appended_to_and_private() {
    let lab = Lab::new(MAIN);
    let variables = [("TF_LOG", "DEBUG"), ("TF_LOG_PATH", "logs/tofu.log")];
    let first = run(&lab, &["stage"], &variables).expect(0);
    assert_eq!(log(&first.stderr), Vec::<&str>::new());
    let path = lab.workspace.path().join("logs/tofu.log");
    assert_eq!(mode(&path), 0o600);
    let before = std::fs::read_to_string(&path).unwrap();
    assert!(log(&before).iter().any(of_providers), "{before}");
    run(&lab, &["stage"], &variables).expect(0);
    let after = std::fs::read_to_string(&path).unwrap();
    assert!(after.starts_with(&before) && after.len() > before.len());
    // Without a level nothing is logged, and no file is created.
    run(&lab, &["stage"], &[("TF_LOG_PATH", "other.log")]).expect(0);
    assert!(!lab.workspace.path().join("other.log").exists());
}

#[test]
fn relative_log_file_is_relative_to_the_current_directory() {
    let lab = Lab::new(MAIN);
    let mut command = lab.workspace.command(&["-C", "work", "validate"]);
    command
        .current_dir(lab.workspace.path().parent().unwrap())
        .env("TF_LOG", "DEBUG")
        .env("TF_LOG_PATH", "here.log");
    Run::from_command(&mut command).expect(0);
    assert!(!lab.workspace.path().join("here.log").exists());
    assert!(lab.workspace.path().join("../here.log").exists());
}

#[test]
fn json_level_writes_one_object_per_line() {
    let lab = Lab::new(MAIN);
    let variables = [("TF_LOG", "json"), ("TF_LOG_PATH", "tofu.log")];
    run(&lab, &["stage"], &variables).expect(0);
    let text = lab.workspace.read("tofu.log");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    let has = |member: &str, begin: &str| {
        let texts = lines.iter().filter_map(|line| line[member].as_str());
        texts.into_iter().any(|text| text.starts_with(begin))
    };
    assert!(has("@level", "trace"), "{text}");
    assert!(has("@module", "provider."), "{text}");
    assert!(has("@timestamp", "2"), "{text}");
    assert!(has("@message", "flightdeck starts"), "{text}");
}

#[test]
fn unknown_level_means_trace_with_a_warning() {
    let lab = Lab::new(MAIN);
    let run = run(&lab, &["stage"], &[("TF_LOG", "verbose")]).expect(0);
    let warning = "[WARN] Invalid log level: \"VERBOSE\". Defaulting to level: TRACE. Valid levels are: [TRACE DEBUG INFO WARN ERROR OFF]";
    assert_eq!(run.stderr.matches(warning).count(), 1, "{run:#?}");
    assert!(run.stderr.contains("[TRACE]"), "{run:#?}");
}

#[test]
fn unwritable_log_file_leaves_the_log_on_stderr() {
    let lab = Lab::new(MAIN);
    lab.run(&["deploy", "--auto-approve"]).expect(0);
    let work = lab.workspace.path();
    lab.workspace.write("victim", "theirs");
    symlink("victim", work.join("link.log")).unwrap();
    std::fs::hard_link(work.join("victim"), work.join("hard.log")).unwrap();
    std::fs::create_dir(work.join("dir.log")).unwrap();
    for path in [
        "link.log",
        "hard.log",
        "dir.log",
        "main.tf",
        "terraform.tfstate",
        ".flightdeck/flightdeck.db",
        "/dev/full/tofu.log",
    ] {
        let before = std::fs::read(work.join(path)).ok();
        let variables = [("TF_LOG", "INFO"), ("TF_LOG_PATH", path)];
        let run = run(&lab, &["validate"], &variables).expect(0);
        assert!(
            run.stderr.contains("warning: cannot open the log file") && run.stderr.contains(path),
            "{path}: {run:#?}"
        );
        assert!(
            run.stderr.contains("[INFO]  flightdeck starts"),
            "{path}: {run:#?}"
        );
        assert_eq!(std::fs::read(work.join(path)).ok(), before, "{path}");
    }
    assert_eq!(lab.workspace.read("victim"), "theirs");
    // Devices select the standard streams, or no log at all.
    for (path, out, err) in [
        ("/dev/stdout", true, false),
        ("/dev/stderr", false, true),
        ("/dev/null", false, false),
    ] {
        let variables = [("TF_LOG", "INFO"), ("TF_LOG_PATH", path)];
        let run = run(&lab, &["validate"], &variables).expect(0);
        let found = (log(&run.stdout).is_empty(), log(&run.stderr).is_empty());
        assert_eq!(found, (!out, !err), "{path}: {run:#?}");
    }
}

#[test]
fn log_has_no_sensitive_values() {
    let lab = Lab::new(MAIN);
    for level in ["TRACE", "JSON"] {
        let variables = [("TF_LOG", level), ("TF_LOG_PATH", "tofu.log")];
        run(&lab, &["deploy", "--auto-approve"], &variables).expect(0);
        run(&lab, &["destroy", "--auto-approve"], &variables).expect(0);
    }
    let text = lab.workspace.read("tofu.log");
    assert!(text.contains("(sensitive)"), "{text}");
    assert!(!text.contains("correct-horse"), "{text}");
}

/// `TF_LOG` writes its own lines to stderr and does not change the output for programs.
#[test]
fn json_output_is_unchanged_by_tf_log() {
    let lab = Lab::new(MAIN);
    let run = run(&lab, &["stage", "--json"], &[("TF_LOG", "TRACE")]).expect(0);
    run.result();
    assert!(!log(&run.stderr).is_empty());
}

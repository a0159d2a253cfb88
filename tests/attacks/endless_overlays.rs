//! Endless overlays: expressions in overlays of types and in settings of groups that need too much
//! memory or time. They are bounded, stop no command, and end at the first Ctrl-C.

use crate::LAB;
use crate::support::{Run, Workspace};
use rustix::process::{Pid, Signal, kill_process};
use std::time::{Duration, Instant};

/// Limit of one command, even on a busy machine.
const SOON: Duration = Duration::from_secs(120);

/// Expressions that never end within memory and time.
const BOMBS: [(&str, &str); 8] = [
    (
        "a list of lists",
        "[for a in range(1000): [for b in range(1000): [for c in range(1000): a]]]",
    ),
    (
        "loops without a result",
        "[for a in range(1000): [for b in range(1000): [for c in range(1000): [for d in range(1000): 1]]] if false]",
    ),
    (
        "a template",
        "\"%{ for a in range(1000) }%{ for b in range(1000) }%{ for c in range(1000) }${a}%{ endfor }%{ endfor }%{ endfor }\"",
    ),
    (
        "a product",
        "setproduct(range(1000), range(1000), range(1000))",
    ),
    (
        "a joined text",
        "join(\"\", [for a in range(1000): join(\"\", [for b in range(1000): join(\"\", range(1000))])])",
    ),
    ("a wide format", "format(\"%999999999d\", 1)"),
    (
        "a pattern",
        "[for a in range(1000): regexall(\"(x*)*(x*)*y\", join(\"\", [for b in range(1000): \"x\"]))]",
    ),
    (
        "many files",
        "[for a in range(1000): fileset(\"/\", \"{**,**,**}/{**,**,**}/*\")]",
    ),
];

fn workspace(overlay: &str) -> Workspace {
    let main =
        format!("{LAB}resource \"lab_thing\" \"web\" {{\n  count = 1\n  name  = \"web\"\n}}\n");
    Workspace::new(&[("main.tf", &main), ("o.flightdeck.hcl", overlay)])
}

/// Overlay with a bomb in one of its settings. The size of the bomb is a constant, which is found
/// when the overlay is read, or that of the object's name.
fn overlay(setting: &str, bomb: &str, is_of_object: bool) -> String {
    let bomb = match is_of_object {
        true => &bomb.replace("1000)", "length(self.name) * 300 + 100)"),
        false => bomb,
    };
    let text = match setting {
        "ready" => format!(
            "  ready = length({bomb}) > 1\n  wait {{\n    enabled  = true\n    interval = \"1s\"\n    timeout  = \"1s\"\n  }}\n"
        ),
        "columns" => format!("  columns = {{ A = jsonencode({bomb}) }}\n"),
        "status" => format!("  status = jsonencode({bomb})\n"),
        other => panic!("{other}"),
    };
    format!("type \"lab_thing\" {{\n{text}}}\n")
}

/// Runs with a low memory limit; fails if it takes long.
fn bounded(w: &Workspace, words: &[&str]) -> Run {
    let began = Instant::now();
    let mut command = w.command(words);
    let run = Run::from_command(command.env("FLIGHTDECK_MEMORY_LIMIT", "300M"));
    assert!(began.elapsed() < SOON, "{words:?}: {run:?}");
    run
}

#[test]
fn endless_overlay_stops_no_command() {
    let settings = ["ready", "columns", "status"];
    let settings = settings.map(|setting| [(setting, false), (setting, true)]);
    for (what, bomb) in BOMBS {
        for (setting, is_of_object) in settings.concat() {
            let w = workspace(&overlay(setting, bomb, is_of_object));
            bounded(&w, &["validate"]).expect(0);
            let deploy = bounded(&w, &["deploy", "--auto-approve"]);
            // A setting that is left out asks for nothing; without an answer the object counts as
            // not ready in time.
            let is_expected = deploy.code == Some(0)
                || setting == "ready" && deploy.stderr.contains("not ready in time");
            assert!(is_expected, "{what}, {setting}: {deploy:?}");
            let list = bounded(&w, &["state", "list", "--json"]).expect(0);
            assert!(list.stdout.contains("lab_thing.web"), "{what}: {list:?}");
            bounded(&w, &["types"]).expect(0);
        }
    }
    println!("met: {} expressions in 3 settings", BOMBS.len());
}

#[test]
fn endless_setting_of_a_group_stops_no_command() {
    for (what, bomb) in BOMBS {
        let group = format!(
            "group \"web\" {{\n  instance = lab_thing.web\n  update {{\n    max_unavailable = length({bomb})\n  }}\n}}\n"
        );
        let w = workspace(&group);
        for words in [&["validate"][..], &["stage"], &["group"]] {
            let run = bounded(&w, words);
            assert!(matches!(run.code, Some(0 | 1)), "{what}: {run:?}");
            assert!(!run.stderr.contains("MiB of memory"), "{what}: {run:?}");
        }
    }
}

#[test]
fn first_signal_ends_an_endless_overlay() {
    for (what, bomb) in BOMBS {
        let overlay = overlay("ready", bomb, true).replace("\"1s\"", "\"1h\"");
        let w = workspace(&overlay);
        let mut command = w.command(&["deploy", "--auto-approve"]);
        let child = command
            .env("FLIGHTDECK_MEMORY_LIMIT", "300M")
            .spawn()
            .unwrap();
        let cloud = w.path().join("cloud.json");
        let began = Instant::now();
        while !std::fs::read_to_string(&cloud).is_ok_and(|text| text.contains("\"web\"")) {
            assert!(began.elapsed() < SOON, "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
        let began = Instant::now();
        let run = Run::from(child.wait_with_output().unwrap());
        assert!(began.elapsed() < Duration::from_secs(60), "{what}: {run:?}");
        assert!(matches!(run.code, Some(0 | 5 | 130)), "{what}: {run:?}");
    }
}

//! Who may know whom: the rules of ARCHITECTURE.md that the compiler does not enforce, by what the
//! sources name.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use std::path::{Path, PathBuf};

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            all.push(path);
        }
    }
    all
}

/// Code of a file, one string a line; comments are left out, and what stands inside `use a::{…}`
/// over several lines is put on the line where it begins.
fn code(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.split("//").next().unwrap_or_default();
        if open {
            let (_, last) = lines.last_mut().unwrap();
            last.push_str(line.trim());
        } else {
            lines.push((number + 1, line.trim().to_owned()));
        }
        let joined = &lines.last().unwrap().1;
        let is_use = joined.starts_with("use ")
            || joined.starts_with("pub use ")
            || joined.starts_with("pub(");
        open = is_use && joined.contains("use ") && !joined.contains(';');
    }
    lines
}

/// Names of this library's rooms that a line of code reaches for: `crate::ui::…`,
/// `flightdeck::ui::…`, `use crate::{app, ui}`.
fn reached(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for root in ["crate::", "flightdeck::"] {
        for (at, _) in line.match_indices(root) {
            if line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let rest = &line[at + root.len()..];
            if let Some(group) = rest.strip_prefix('{') {
                // The first names of each member of the group, nested groups skipped.
                let (mut depth, mut name, mut first) = (0usize, String::new(), true);
                for c in group.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => {
                            found.push(std::mem::take(&mut name));
                            first = true;
                        }
                        ':' if depth == 0 => first = false,
                        c if depth == 0 && first && (c.is_alphanumeric() || c == '_') => {
                            name.push(c)
                        }
                        _ => {}
                    }
                }
                found.push(name);
            } else {
                found.push(
                    rest.chars()
                        .take_while(|c| c.is_alphanumeric() || *c == '_')
                        .collect(),
                );
            }
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

/// Every place below `room` that reaches for one of `strangers`.
fn breaches(room: &str, strangers: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = sources(&root.join("src").join(room));
    assert!(!files.is_empty(), "src/{room} has no sources");
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for (number, line) in code(&text) {
            for name in reached(&line) {
                if strangers.contains(&name.as_str()) {
                    found.push(format!(
                        "{}:{number}: {line}",
                        file.strip_prefix(root).unwrap().display()
                    ));
                }
            }
        }
    }
    found
}

/// Every place below a folder whose code has one of these words.
fn naming(folder: &str, words: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for file in sources(&root.join(folder)) {
        let text = std::fs::read_to_string(&file).unwrap();
        for (number, line) in code(&text) {
            if words.iter().any(|word| line.contains(word)) {
                found.push(format!(
                    "{}:{number}: {line}",
                    file.strip_prefix(root).unwrap().display()
                ));
            }
        }
    }
    found
}

#[test]
fn the_engine_knows_neither_app_nor_ui_nor_cli() {
    assert_eq!(
        breaches("engine", &["app", "ui", "cli"]),
        Vec::<String>::new()
    );
}

/// What a supervisor must know of a dialect it is told by the `Life` that comes with a plugin.
#[test]
fn who_supervises_processes_knows_no_dialect() {
    assert_eq!(
        naming(
            "src/engine/plugin",
            &["provider::", "wire::", "proto::", "tonic::"]
        ),
        Vec::<String>::new()
    );
}

#[test]
fn a_dialect_is_named_by_the_list_of_dialects_alone() {
    let mut found = naming("src", &["tfplugin::", "TfPlugin", "tonic::", "wire::"]);
    found.retain(|place| {
        !place.starts_with("src/engine/provider/tfplugin/")
            && !place.starts_with("src/engine/provider/dialect.rs:")
    });
    assert_eq!(found, Vec::<String>::new());
}

/// The loop (`run.rs`) takes the terminal and lets the frame be drawn; the rest of the console has
/// no looks.
#[test]
fn the_console_without_its_looks_knows_neither_ui_nor_cli() {
    let apart_from_the_loop: Vec<String> = breaches("app", &["ui", "cli"])
        .into_iter()
        .filter(|b| !b.starts_with("src/app/run.rs:"))
        .collect();
    assert_eq!(apart_from_the_loop, Vec::<String>::new());
}

/// What is drawn comes from the state alone: no engine is asked, no clock and no environment read.
/// The loop that feeds the state (`term/`, `mod.rs`) is the one place that touches the terminal.
#[test]
fn what_draws_reads_neither_engine_nor_clock_nor_environment() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let banned = [
        "Engine::",
        "std::env",
        "env::var",
        "Instant::now",
        "SystemTime::now",
        "Timestamp::now",
        ".await",
        "std::fs",
        "Mutex",
    ];
    let mut found = Vec::new();
    for file in sources(&root.join("src/ui")) {
        let name = file.strip_prefix(root).unwrap().display().to_string();
        if name.contains("/tests/") || name.ends_with("ui/mod.rs") || name.contains("ui/term/") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        for (number, line) in code(&text) {
            for word in banned {
                if line.contains(word) {
                    found.push(format!("{name}:{number}: {line}"));
                }
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

/// Whatever else is to be asked of a plugin goes through `calls`: rule 6.
#[test]
fn only_launches_ends_and_the_wire_below_the_lanes_speak_to_plugins() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let speaks = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).unwrap();
        code(&text)
            .iter()
            .any(|(_, line)| line.contains("Grpc::new(") || line.contains("Client::new(channel"))
    };
    let speakers = sources(&root.join("src")).into_iter().filter(speaks);
    let mut speakers: Vec<String> = speakers
        .map(|f| f.strip_prefix(root).unwrap().display().to_string())
        .collect();
    speakers.sort();
    let known = [
        "src/engine/provider/tfplugin/life/mod.rs",
        "src/engine/provider/tfplugin/life/schema.rs",
        "src/engine/provider/tfplugin/life/stdio.rs",
        "src/engine/provider/tfplugin/life/transport.rs",
        "src/engine/provider/tfplugin/wire.rs",
    ];
    assert_eq!(speakers, known);
    // The wire is the adapter's, and the adapter is made by its dialect alone, for the process that
    // has the lane.
    let holds = |file: &PathBuf| {
        code(&std::fs::read_to_string(file).unwrap())
            .iter()
            .any(|(_, line)| line.contains("TfProvider::new"))
    };
    let holders: Vec<PathBuf> = sources(&root.join("src"))
        .into_iter()
        .filter(holds)
        .collect();
    assert_eq!(holders, [root.join("src/engine/provider/tfplugin/mod.rs")]);
}

#[test]
fn what_stands_alone_knows_nothing_of_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in ["crates", "proto"] {
        for file in sources(&root.join(folder)) {
            let text = std::fs::read_to_string(&file).unwrap();
            let named = code(&text)
                .into_iter()
                .find(|(_, line)| line.contains("flightdeck::"));
            assert_eq!(named, None, "{}", file.display());
        }
    }
}

#[test]
fn names_are_found_in_every_form_of_use() {
    assert_eq!(reached("use crate::ui::theme;"), ["ui"]);
    assert_eq!(
        reached("use crate::{engine::Engine, app::{State, ui}, cli};"),
        ["engine", "app", "cli"]
    );
    assert_eq!(reached("let x = flightdeck::cli::main();"), ["cli"]);
    assert_eq!(reached("other_crate::ui::x"), Vec::<String>::new());
    assert_eq!(
        code("use crate::{\n  app,\n  ui,\n};\nfn x() {} // crate::ui"),
        [
            (1, "use crate::{app,ui,};".to_owned()),
            (5, "fn x() {}".to_owned())
        ]
    );
}

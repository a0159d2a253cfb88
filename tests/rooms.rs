//! Tests of the dependency rules of ARCHITECTURE.md that the compiler does not enforce, by the
//! paths in the sources. A room is a layer of the engine.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

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

/// Lines of code of a file, without comments. The contents of a `use a::{…}` over several lines are
/// joined to its first line.
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

/// Paths in a line of code that begin at a root or with `super`, split into names; each member of a
/// group is one path.
fn paths(line: &str) -> Vec<Vec<&str>> {
    let mut found = Vec::new();
    for root in ["crate::", "flightdeck::", "super::"] {
        for (at, _) in line.match_indices(root) {
            let within = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            if !line[..at].ends_with(within) {
                tree(&line[at..], &[], &mut found);
            }
        }
    }
    found
}

/// Adds the paths of a group to `found`, each behind `before`; returns the rest of the text.
fn tree<'t>(text: &'t str, before: &[&'t str], found: &mut Vec<Vec<&'t str>>) -> &'t str {
    if let Some(group) = text.strip_prefix('{') {
        let mut rest = group.trim_start();
        while !rest.is_empty() && !rest.starts_with('}') {
            // A member ends after its alias, or after the star that imports everything.
            let member = tree(rest, before, found).trim_start_matches(|c| c != ',' && c != '}');
            rest = member.strip_prefix(',').unwrap_or(member).trim_start();
        }
        return rest.strip_prefix('}').unwrap_or(rest);
    }
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let path = [before, &[name]].concat();
    let leads_on = |next: &&str| next.starts_with(|c| is_name(c) || c == '{' || c == '*');
    match rest.strip_prefix("::").filter(leads_on) {
        Some(next) => tree(next, &path, found),
        None => {
            found.push(path);
            rest
        }
    }
}

/// Top-level modules of this library in a line of code: `crate::ui::…`, `flightdeck::ui::…`, `use
/// crate::{app, ui}`.
fn reached(line: &str) -> Vec<&str> {
    let rooted = paths(line).into_iter().filter(|path| path[0] != "super");
    let mut names: Vec<&str> = rooted.filter_map(|path| path.get(1).copied()).collect();
    names.dedup();
    names
}

/// Module path of a file: `["engine", "store", "model"]`.
fn standing(file: &Path) -> Vec<&str> {
    let mut names: Vec<&str> = file.iter().filter_map(|name| name.to_str()).collect();
    let last = names.pop().and_then(|name| name.strip_suffix(".rs"));
    match last.map(|name| (name, name.strip_suffix("_tests"))) {
        // A file of tests is a submodule of the tested module.
        Some((_, Some(tested))) => names.extend([tested, "tests"]),
        Some((name, None)) if name != "mod" => names.push(name),
        _ => {}
    }
    names
}

/// Depth of inline modules for each line of a file.
fn depths(text: &str) -> Vec<usize> {
    let mut open: Vec<&str> = Vec::new();
    let mut depths = Vec::new();
    for line in text.lines() {
        let code = line.trim_start();
        let indent = &line[..line.len() - code.len()];
        if code == "}" && open.last() == Some(&indent) {
            open.pop();
        }
        depths.push(open.len());
        if code.ends_with(" {") && code.split(' ').take(2).any(|word| word == "mod") {
            open.push(indent);
        }
    }
    depths
}

/// Path from the root of the library, for code in the module `standing`.
fn from_root<'t>(path: &[&'t str], standing: &[&'t str]) -> Vec<&'t str> {
    let up = path.iter().take_while(|name| **name == "super").count();
    let begin = match up {
        0 => &[][..],
        up => &standing[..standing.len().saturating_sub(up)],
    };
    [begin, &path[up.max(1)..]].concat()
}

/// Room of the engine that a path leads to.
fn room_of<'t>(path: &[&'t str]) -> Option<&'t str> {
    path.strip_prefix(&["engine"])?.first().copied()
}

/// Every place below `room` that uses one of `strangers`.
fn breaches(room: &str, strangers: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = sources(&root.join("src").join(room));
    assert!(!files.is_empty(), "src/{room} has no sources");
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for (number, line) in code(&text) {
            for name in reached(&line) {
                if strangers.contains(&name) {
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

/// Every place below a directory whose code contains one of these words.
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

/// Rooms of the engine in order: each uses only earlier ones.
const FLOORS: [&str; 38] = [
    // Model and helpers that every room may use.
    "words",
    "mutex",
    "cores",
    "causes",
    "process",
    "visible",
    "logging",
    "settings",
    "room",
    "secrets",
    "holder",
    // Graph, events and records.
    "graph",
    "view",
    "bus",
    "metrics",
    "traces",
    "store",
    // Trust decisions and the state.
    "trust_file",
    "trusted_commands",
    "state",
    // Plugins and their calls.
    "calls",
    "plugin",
    "trust",
    "provider",
    "pool",
    // Configuration, plan and deploy.
    "shell",
    "workspace",
    "stage",
    "deploy",
    // The engine's handle, and modules that it needs.
    "source",
    "error",
    "told",
    "install",
    "fmt",
    "memory",
    "work",
    "handle",
    // Checks without a running engine.
    "doctor",
];

#[test]
fn a_room_of_the_engine_knows_only_rooms_below_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let floor = |room: &str| FLOORS.iter().position(|name| *name == room);
    let mut found = Vec::new();
    for file in sources(&src.join("engine")) {
        let name = file.strip_prefix(&src).unwrap();
        let standing = standing(name);
        let Some(here) = room_of(&standing) else {
            continue;
        };
        let text = std::fs::read_to_string(&file).unwrap();
        let depths = depths(&text);
        for (number, line) in code(&text) {
            let within = vec!["_"; depths[number - 1]];
            let standing = [standing.clone(), within].concat();
            for path in paths(&line) {
                let path = from_root(&path, &standing);
                // A path to an item that is not in a room, such as a re-export of `engine`, would
                // circumvent the rule.
                if let Some(there) = room_of(&path)
                    && there != here
                    && floor(there).is_none_or(|there| floor(here).is_none_or(|here| there > here))
                {
                    found.push(format!("{}:{number}: {}", name.display(), path.join("::")));
                }
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn every_room_of_the_engine_has_its_floor() {
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine");
    let mut rooms: Vec<String> = sources(&engine)
        .iter()
        .filter_map(|file| {
            let names = standing(file.strip_prefix(&engine).unwrap());
            names.first().map(ToString::to_string)
        })
        .collect();
    rooms.sort();
    rooms.dedup();
    let mut floors = FLOORS.map(str::to_owned);
    floors.sort();
    assert_eq!(rooms, floors);
}

/// Supervision gets all that depends on a dialect through the plugin's `Life`.
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
    let mut found = naming(
        "src",
        &[
            "tfplugin::",
            "TfPlugin",
            "bluelink::",
            "Bluelink",
            "tonic::",
            "wire::",
        ],
    );
    found.retain(|place| {
        !place.starts_with("src/engine/provider/tfplugin/")
            && !place.starts_with("src/engine/provider/bluelink/")
            // Transport that both dialects share.
            && !place.starts_with("src/engine/provider/grpc.rs:")
            && !place.starts_with("src/engine/provider/channel.rs:")
            && !place.starts_with("src/engine/provider/dialect.rs:")
    });
    assert_eq!(found, Vec::<String>::new());
}

/// The loop (`run.rs`) takes the terminal and requests frames; the rest of the console does not
/// draw.
#[test]
fn the_console_without_its_looks_knows_neither_ui_nor_cli() {
    let apart_from_the_loop: Vec<String> = breaches("app", &["ui", "cli"])
        .into_iter()
        .filter(|b| !b.starts_with("src/app/run.rs:"))
        .collect();
    assert_eq!(apart_from_the_loop, Vec::<String>::new());
}

/// Drawing depends on the state alone: it calls no engine, and reads no clock and no environment.
/// Only the loop that feeds the state (`ui.rs`, `term/`) touches the terminal.
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
        if name.contains("/tests/") || name.contains("ui/term/") {
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

/// All other calls to a plugin go through `calls`: rule 6.
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
        "src/engine/provider/bluelink/life/naming.rs",
        "src/engine/provider/bluelink/wire.rs",
        "src/engine/provider/tfplugin/life/link.rs",
        "src/engine/provider/tfplugin/life/schema.rs",
        "src/engine/provider/tfplugin/life/stdio.rs",
        "src/engine/provider/tfplugin/life/transport.rs",
        "src/engine/provider/tfplugin/wire.rs",
    ];
    assert_eq!(speakers, known);
    // Only the adapter uses the wire, and only the dialect creates the adapter, for the process
    // that has the lane.
    let holds = |file: &PathBuf| {
        code(&std::fs::read_to_string(file).unwrap())
            .iter()
            .any(|(_, line)| line.contains("TfProvider::new") || line.contains("Wire::new(reached"))
    };
    let mut holders: Vec<PathBuf> = sources(&root.join("src"))
        .into_iter()
        .filter(holds)
        .collect();
    holders.sort();
    assert_eq!(
        holders,
        [
            root.join("src/engine/provider/bluelink/speaking.rs"),
            root.join("src/engine/provider/tfplugin/speaking.rs"),
        ]
    );
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
    assert_eq!(reached("other_crate::ui::x"), Vec::<&str>::new());
    assert_eq!(
        code("use crate::{\n  app,\n  ui,\n};\nfn x() {} // crate::ui"),
        [
            (1, "use crate::{app,ui,};".to_owned()),
            (5, "fn x() {}".to_owned())
        ]
    );
}

#[test]
fn a_path_is_followed_up_through_groups_and_from_within_a_module() {
    let leads = |line: &str, standing: &[&str]| -> Vec<String> {
        let paths = paths(line);
        let mut found: Vec<String> = paths
            .iter()
            .map(|path| from_root(path, standing).join("::"))
            .collect();
        found.sort();
        found
    };
    let file = ["engine", "store", "lock"];
    assert_eq!(
        leads(
            "use crate::engine::{bus::Bus, calls::{Lane as L, lock}, view::*};",
            &file
        ),
        [
            "engine::bus::Bus",
            "engine::calls::Lane",
            "engine::calls::lock",
            "engine::view::"
        ]
    );
    assert_eq!(
        leads(
            "let x = super::super::stage::prior::marked::<T>(super::model::a());",
            &file
        ),
        ["engine::stage::prior::marked", "engine::store::model::a"]
    );
    assert_eq!(
        leads(
            "use super::super::bus::Bus;",
            &["engine", "store", "lock", "_"]
        ),
        ["engine::store::bus::Bus"]
    );
    assert_eq!(
        standing(Path::new("engine/store/mod.rs")),
        ["engine", "store"]
    );
    assert_eq!(
        depths("fn a() {\n}\nmod b {\n    fn c() {\n    }\n}\nfn d() {}"),
        [0, 0, 0, 1, 1, 0, 0]
    );
}

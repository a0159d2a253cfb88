//! Tests of the dependency rules of ARCHITECTURE.md that crate boundaries do not enforce, by the
//! paths in the sources: the layers of the engine, and the console apart from the engine.

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
                expand_group(&line[at..], &[], &mut found);
            }
        }
    }
    found
}

/// Adds the paths of a group to `found`, each behind `before`; returns the rest of the text.
fn expand_group<'t>(text: &'t str, before: &[&'t str], found: &mut Vec<Vec<&'t str>>) -> &'t str {
    if let Some(group) = text.strip_prefix('{') {
        let mut rest = group.trim_start();
        while !rest.is_empty() && !rest.starts_with('}') {
            // A member ends after its alias, or after the star that imports everything.
            let member =
                expand_group(rest, before, found).trim_start_matches(|c| c != ',' && c != '}');
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
        Some(next) => expand_group(next, &path, found),
        None => {
            found.push(path);
            rest
        }
    }
}

/// Top-level modules of this library in a line of code: `crate::ui::…`, `flightdeck::ui::…`, `use
/// crate::{app, ui}`.
fn used_modules(line: &str) -> Vec<&str> {
    let rooted = paths(line).into_iter().filter(|path| path[0] != "super");
    let mut names: Vec<&str> = rooted.filter_map(|path| path.get(1).copied()).collect();
    names.dedup();
    names
}

/// Module path of a file of the engine: `["stage", "prior"]`.
fn module_path(file: &Path) -> Vec<&str> {
    let mut names: Vec<&str> = file.iter().filter_map(|name| name.to_str()).collect();
    let last = names.pop().and_then(|name| name.strip_suffix(".rs"));
    match last.map(|name| (name, name.strip_suffix("_tests"))) {
        // A file of tests is a submodule of the tested module.
        Some((_, Some(tested))) => names.extend([tested, "tests"]),
        Some((name, None)) if name != "mod" && name != "lib" => names.push(name),
        _ => {}
    }
    names
}

/// Depth of inline modules for each line of a file.
fn inline_module_depths(text: &str) -> Vec<usize> {
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

/// Path from the root of the engine, for code in the module `standing`.
fn from_root<'t>(path: &[&'t str], standing: &[&'t str]) -> Vec<&'t str> {
    let up = path.iter().take_while(|name| **name == "super").count();
    let begin = match up {
        0 => &[][..],
        up => &standing[..standing.len().saturating_sub(up)],
    };
    [begin, &path[up.max(1)..]].concat()
}

/// Every place below `folder` that uses one of `strangers`.
fn uses_of(folder: &str, strangers: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = sources(&root.join("src").join(folder));
    assert!(!files.is_empty(), "src/{folder} has no sources");
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for (number, line) in code(&text) {
            for name in used_modules(&line) {
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
fn lines_with_words(folder: &str, words: &[&str]) -> Vec<String> {
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

/// Layers of the engine in order: each uses only earlier ones.
const LAYERS: [&str; 13] = [
    // Limit that the plan observes.
    "memory_limit",
    // Plan and deploy.
    "stage",
    "deploy",
    // Checks of providers, with the rules of both.
    "conformance",
    // The engine's handle, and modules that it needs.
    "provider_resolution",
    "error",
    "diagnostics",
    "install",
    "fmt",
    "workspace_store",
    "operations",
    "handle",
    // Checks without a running engine.
    "doctor",
];

#[test]
fn layer_of_the_engine_uses_only_earlier_layers() {
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine");
    let rank = |layer: &str| LAYERS.iter().position(|name| *name == layer);
    let mut found = Vec::new();
    for file in sources(&engine) {
        let name = file.strip_prefix(&engine).unwrap();
        let standing = module_path(name);
        let Some(here) = standing.first().copied() else {
            continue;
        };
        let text = std::fs::read_to_string(&file).unwrap();
        let depths = inline_module_depths(&text);
        for (number, line) in code(&text) {
            let within = vec!["_"; depths[number - 1]];
            let standing = [standing.clone(), within].concat();
            for path in paths(&line) {
                let path = from_root(&path, &standing);
                // A path to an item that is not in a layer, such as a re-export of `engine`, would
                // circumvent the rule.
                if let Some(there) = path.first().copied()
                    && there != here
                    && rank(there).is_none_or(|there| rank(here).is_none_or(|here| there > here))
                {
                    found.push(format!("{}:{number}: {}", name.display(), path.join("::")));
                }
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn every_module_of_the_engine_has_a_layer() {
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine");
    let mut found: Vec<String> = sources(&engine)
        .iter()
        .filter_map(|file| {
            let names = module_path(file.strip_prefix(&engine).unwrap());
            names.first().map(ToString::to_string)
        })
        .collect();
    found.sort();
    found.dedup();
    let mut layers = LAYERS.map(str::to_owned);
    layers.sort();
    assert_eq!(found, layers);
}

#[test]
fn dialects_are_named_in_the_list_of_dialects_only() {
    let dialects = ["tfplugin::", "TfPlugin", "bluelink::", "Bluelink"];
    assert_eq!(lines_with_words("src", &dialects), Vec::<String>::new());
    assert_eq!(
        lines_with_words("crates/provider/src/pool", &dialects),
        Vec::<String>::new()
    );
}

#[test]
fn app_uses_neither_ui_nor_cli() {
    assert_eq!(uses_of("app", &["ui", "cli"]), Vec::<String>::new());
}

/// Drawing depends on the state alone: it calls no engine, and reads no clock and no environment.
/// Only the loop that feeds the state (`ui.rs`, `term/`) touches the terminal.
#[test]
fn ui_reads_neither_engine_nor_clock_nor_environment() {
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
fn only_launches_ends_and_the_wire_send_calls_outside_lanes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let speaks = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).unwrap();
        code(&text)
            .iter()
            .any(|(_, line)| line.contains("Grpc::new(") || line.contains("Client::new(channel"))
    };
    let speakers = sources(&root.join("crates/provider"))
        .into_iter()
        .filter(speaks);
    let mut speakers: Vec<String> = speakers
        .map(|f| f.strip_prefix(root).unwrap().display().to_string())
        .collect();
    speakers.sort();
    let known = [
        "crates/provider/src/bluelink/lifecycle/readiness.rs",
        "crates/provider/src/bluelink/wire.rs",
        "crates/provider/src/tfplugin/lifecycle/connection.rs",
        "crates/provider/src/tfplugin/lifecycle/schema.rs",
        "crates/provider/src/tfplugin/lifecycle/stdio.rs",
        "crates/provider/src/tfplugin/lifecycle/transport.rs",
        "crates/provider/src/tfplugin/wire.rs",
    ];
    assert_eq!(speakers, known);
    // Only the adapter uses the wire, and only the dialect creates the adapter, for the process
    // that has the lane.
    let holds = |file: &PathBuf| {
        code(&std::fs::read_to_string(file).unwrap())
            .iter()
            .any(|(_, line)| line.contains("TfProvider::new") || line.contains("Wire::new(reached"))
    };
    let mut holders: Vec<PathBuf> = sources(&root.join("crates/provider"))
        .into_iter()
        .filter(holds)
        .collect();
    holders.sort();
    assert_eq!(
        holders,
        [
            root.join("crates/provider/src/bluelink/dialect.rs"),
            root.join("crates/provider/src/tfplugin/dialect.rs"),
        ]
    );
}

#[test]
fn module_names_are_found_in_every_form_of_use() {
    assert_eq!(used_modules("use crate::ui::theme;"), ["ui"]);
    assert_eq!(
        used_modules("use crate::{engine::Engine, app::{State, ui}, cli};"),
        ["engine", "app", "cli"]
    );
    assert_eq!(used_modules("let x = flightdeck::cli::main();"), ["cli"]);
    assert_eq!(used_modules("other_crate::ui::x"), Vec::<&str>::new());
    assert_eq!(
        code("use crate::{\n  app,\n  ui,\n};\nfn x() {} // crate::ui"),
        [
            (1, "use crate::{app,ui,};".to_owned()),
            (5, "fn x() {}".to_owned())
        ]
    );
}

#[test]
fn paths_are_resolved_through_groups_and_inline_modules() {
    let leads = |line: &str, standing: &[&str]| -> Vec<String> {
        let paths = paths(line);
        let mut found: Vec<String> = paths
            .iter()
            .map(|path| from_root(path, standing).join("::"))
            .collect();
        found.sort();
        found
    };
    let file = ["stage", "prior"];
    assert_eq!(
        leads(
            "use crate::{bus::Bus, calls::{Lane as L, lock}, view::*};",
            &file
        ),
        ["bus::Bus", "calls::Lane", "calls::lock", "view::"]
    );
    assert_eq!(
        leads(
            "let x = super::super::deploy::prior::marked::<T>(super::model::a());",
            &file
        ),
        ["deploy::prior::marked", "stage::model::a"]
    );
    assert_eq!(
        leads("use super::super::bus::Bus;", &["stage", "prior", "_"]),
        ["stage::bus::Bus"]
    );
    assert_eq!(module_path(Path::new("stage/mod.rs")), ["stage"]);
    assert_eq!(
        inline_module_depths("fn a() {\n}\nmod b {\n    fn c() {\n    }\n}\nfn d() {}"),
        [0, 0, 0, 1, 1, 0, 0]
    );
}

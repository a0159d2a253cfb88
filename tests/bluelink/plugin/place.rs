//! Where the plugin is installed, and the files there that say what it does wrong.

use serde_json::Value;
use std::io::Write as _;
use std::path::PathBuf;

/// A file beside the plugin, by the path that it was executed by.
pub fn file(name: &str) -> PathBuf {
    let own = PathBuf::from(std::env::args_os().next().unwrap());
    own.with_file_name(name)
}

/// What it calls itself: `bluelink/fake`, or what the file `id` says.
pub fn id() -> String {
    let said = std::fs::read_to_string(file("id"));
    said.map_or_else(|_| "bluelink/fake".to_owned(), |id| id.trim().to_owned())
}

/// The number in a file beside the plugin.
pub fn number(name: &str) -> i32 {
    let text = std::fs::read_to_string(file(name)).unwrap();
    text.trim().parse().unwrap()
}

/// Whether it is installed among the transformers.
pub fn transforms() -> bool {
    let own = file("plugin");
    own.ancestors()
        .any(|folder| folder.ends_with("transformers"))
}

/// What it is to do wrong in this launch.
pub fn next_fault() -> String {
    let text = std::fs::read_to_string(file("faults")).unwrap_or_default();
    let (now, later) = text.split_once('\n').unwrap_or((&text, ""));
    if !text.is_empty() {
        std::fs::write(file("faults"), later).unwrap();
    }
    now.to_owned()
}

/// What a call of this method is to do wrong, which it does once less from here on.
pub fn next_trouble(method: &str) -> Option<String> {
    let text = std::fs::read_to_string(file("troubles")).ok()?;
    let mut found = None;
    let mut left = String::new();
    for line in text.lines() {
        let [name, what, times] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("a trouble is METHOD WHAT HOW-OFTEN: {line}");
        };
        let mut times: u32 = times.parse().unwrap();
        if found.is_none() && name == method {
            found = Some(what.to_owned());
            times -= 1;
        }
        if times > 0 {
            left += &format!("{name} {what} {times}\n");
        }
    }
    std::fs::write(file("troubles"), left).unwrap();
    found
}

/// Writes down a call.
pub fn called(method: &str, mut what: Value) {
    what["method"] = method.into();
    if crate::deregistering::is_done() {
        what["after_deregistration"] = true.into();
    }
    let mut calls = std::fs::OpenOptions::new();
    let mut calls = calls.append(true).create(true).open(file("calls")).unwrap();
    calls.write_all(format!("{what}\n").as_bytes()).unwrap();
}

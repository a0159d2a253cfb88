//! Installation directory of the plugin, and its files that configure faults.

use serde_json::Value;
use std::io::Write as _;
use std::path::PathBuf;

/// Path of a file next to the executable.
pub fn file(name: &str) -> PathBuf {
    let own = PathBuf::from(std::env::args_os().next().unwrap());
    own.with_file_name(name)
}

/// Plugin id: contents of the file `id`, or `bluelink/fake`.
pub fn id() -> String {
    let said = std::fs::read_to_string(file("id"));
    said.map_or_else(|_| "bluelink/fake".to_owned(), |id| id.trim().to_owned())
}

/// Number in a file next to the plugin.
pub fn number(name: &str) -> i32 {
    let text = std::fs::read_to_string(file(name)).unwrap();
    text.trim().parse().unwrap()
}

/// True if the plugin is installed among the transformers.
pub fn is_transformer() -> bool {
    let own = file("plugin");
    own.ancestors()
        .any(|folder| folder.ends_with("transformers"))
}

/// Takes the fault of this launch.
pub fn take_launch_fault() -> String {
    let text = std::fs::read_to_string(file("faults")).unwrap_or_default();
    let (now, later) = text.split_once('\n').unwrap_or((&text, ""));
    if !text.is_empty() {
        std::fs::write(file("faults"), later).unwrap();
    }
    now.to_owned()
}

/// Takes the fault of a call of this method, and decrements its count.
pub fn take_call_fault(method: &str) -> Option<String> {
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

/// Records a call.
pub fn record_call(method: &str, mut what: Value) {
    what["method"] = method.into();
    if crate::deregistration::is_done() {
        what["after_deregistration"] = true.into();
    }
    let mut calls = std::fs::OpenOptions::new();
    let mut calls = calls.append(true).create(true).open(file("calls")).unwrap();
    calls.write_all(format!("{what}\n").as_bytes()).unwrap();
}

//! Short notation of the tables' configurations: `a, size 2; b, needs a` is a resource `a`, and a
//! resource `b` that refers to it.
//!
//! | setting | meaning |
//! |---|---|
//! | `size N` | argument that is updated in place |
//! | `kind K` | argument that forces a replacement |
//! | `needs X` | refers to the id of `X`, which only a replacement changes |
//! | `follows X` | refers to an attribute of `X` that each update changes |
//! | `looks at X` | a data source that reads `X` |
//! | `output of X` | a root output with the id of `X` |
//! | `create first` | `create_before_destroy` |
//! | `keep` | `destroy = false`: forgotten instead of destroyed |
//! | `removed` | a `removed` block that forgets the object |
//! | `import ID` | an `import` block |
//! | `expect version V` | a postcondition; the version is known after the apply |
//! | `run CMD`, `run CMD or continue` | a creation provisioner; `on_failure = continue` |
//! | `at end CMD` | a destroy-time provisioner |

use std::fmt::Write as _;

/// Parts of one resource block.
#[derive(Default)]
struct Parts {
    arguments: String,
    references: Vec<String>,
    lifecycle: String,
    provisioners: String,
    data: bool,
    removed: bool,
    import: Option<String>,
}

/// Returns the configuration of the notation.
pub(super) fn written(notation: &str) -> String {
    let resources = notation.split(';').map(str::trim);
    resources.filter(|r| !r.is_empty()).map(resource).collect()
}

fn resource(notation: &str) -> String {
    let mut words = notation.split(',').map(str::trim);
    let name = words.next().unwrap_or_default();
    if let Some(of) = notation.split_once(", output of ").map(|(_, of)| of) {
        return format!("output \"{name}\" {{\n  value = fake_thing.{of}.id\n}}\n");
    }
    let mut parts = Parts::default();
    words.for_each(|setting| add(&mut parts, setting));
    let Parts {
        arguments,
        references,
        lifecycle,
        provisioners,
        ..
    } = &parts;
    if parts.removed {
        return format!(
            "removed {{\n  from = fake_thing.{name}\n  lifecycle {{\n    destroy = false\n  }}\n}}\n"
        );
    }
    let block = if parts.data { "data" } else { "resource" };
    let mut out = format!("{block} \"fake_thing\" \"{name}\" {{\n{arguments}");
    if !references.is_empty() {
        writeln!(out, "  refers = [{}]", references.join(", ")).unwrap();
    }
    if !lifecycle.is_empty() {
        writeln!(out, "  lifecycle {{\n{lifecycle}  }}").unwrap();
    }
    out += provisioners;
    out += "}\n";
    if let Some(id) = parts.import {
        writeln!(
            out,
            "import {{\n  to = fake_thing.{name}\n  id = \"{id}\"\n}}"
        )
        .unwrap();
    }
    out
}

fn add(parts: &mut Parts, setting: &str) {
    let after = |head: &str| setting.strip_prefix(head).map(str::trim);
    if let Some(size) = after("size ") {
        writeln!(parts.arguments, "  size = \"{size}\"").unwrap();
    } else if let Some(kind) = after("kind ") {
        writeln!(parts.arguments, "  kind = \"{kind}\"").unwrap();
    } else if let Some(other) = after("needs ") {
        parts.references.push(format!("fake_thing.{other}.id"));
    } else if let Some(other) = after("follows ") {
        parts.references.push(format!("fake_thing.{other}.version"));
    } else if let Some(other) = after("looks at ") {
        parts.data = true;
        parts.references.push(format!("fake_thing.{other}.id"));
    } else if setting == "create first" {
        parts.lifecycle += "    create_before_destroy = true\n";
    } else if setting == "keep" {
        parts.lifecycle += "    destroy = false\n";
    } else if setting == "removed" {
        parts.removed = true;
    } else if let Some(id) = after("import ") {
        parts.import = Some(id.to_owned());
    } else if let Some(version) = after("expect version ") {
        let condition = format!("self.version == \"{version}\"");
        write!(
            parts.lifecycle,
            "    postcondition {{\n      condition = {condition}\n      error_message = \"Another version.\"\n    }}\n"
        )
        .unwrap();
    } else if let Some(command) = after("run ") {
        let (command, rest) = match command.strip_suffix(" or continue") {
            Some(command) => (command, "    on_failure = continue\n"),
            None => (command, ""),
        };
        parts.provisioners += &provisioner(command, rest);
    } else if let Some(command) = after("at end ") {
        parts.provisioners += &provisioner(command, "    when = destroy\n");
    } else {
        panic!("not a setting: {setting}");
    }
}

fn provisioner(command: &str, rest: &str) -> String {
    format!("  provisioner \"local-exec\" {{\n    command = \"{command}\"\n{rest}  }}\n")
}

//! Short notation of the tables' configurations: `a, size 2; b, needs a` is a resource `a`, and a
//! resource `b` that refers to it. `m.a` is a resource in the module `m`; references between
//! modules are outputs and variables.
//!
//! | setting | meaning |
//! |---|---|
//! | `size N` | argument that is updated in place |
//! | `kind K` | argument that forces a replacement |
//! | `needs X` | refers to the id of `X`, which only a replacement changes |
//! | `follows X` | refers to an attribute of `X` that each update changes |
//! | `needs X[i]`, `follows X[i]` | the same, of the instance with the same index |
//! | `needs all X`, `follows all X` | the same, of all instances |
//! | `uses X` | sends the value of the lease `X` as a write-only argument |
//! | `looks at X` | a data source that reads `X` |
//! | `output of X` | a root output with the id of `X` |
//! | `links X to Y` | a link between two resources |
//! | `lease` | an ephemeral resource |
//! | `module, count N`, `module, after X` | arguments of a module's call |
//! | `create first` | `create_before_destroy` |
//! | `keep` | `destroy = false`: forgotten instead of destroyed |
//! | `removed` | a `removed` block that forgets the object |
//! | `import ID` | an `import` block |
//! | `expect version V` | a postcondition; the version is known after the apply |
//! | `run CMD`, `run CMD or continue` | a creation provisioner; `on_failure = continue` |
//! | `run CMD remotely` | the same on a machine that refuses connections |
//! | `at end CMD` | a destroy-time provisioner |
//! | `count N` | `count` |
//! | `keys A B` | `for_each` over these keys; `X[k]` is the instance of `X` with the same key |
//! | `each of X` | `for_each = X`; `needs each` and `follows each` refer to `each.value` |
//! | `local X[0]` | a local value that is a reference; `follows local.L` uses it |
//! | `versions of X`, `versions of X with Y` | a local value with the changing attribute of each |
//! |   | instance of `X`, and of `Y` |
//! | `follows local L[k]` | the element of a local value |
//! | `group of X` | a group whose members are the instances of `X`, one in a batch |
//! | `batch N`, `order O`, `surge`, `on unhealthy R` | its update policy |
//! | `drain CMD`, `health CMD`, `ready EXPR` | its hooks; `$KEY` is the key of the member |
//! | `patient` | a wait for health that does not end in the time of a test |

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Texts of the modules.
#[derive(Default)]
struct Files {
    root: String,
    groups: String,
    modules: BTreeMap<String, Child>,
}

/// A child module and its call.
#[derive(Default)]
struct Child {
    text: String,
    /// Resources of the root module that it refers to.
    given: BTreeSet<String>,
    /// Further arguments of the call.
    arguments: String,
}

/// Parts of one resource block.
#[derive(Default)]
struct Parts {
    arguments: String,
    references: Vec<String>,
    lifecycle: String,
    provisioners: String,
    data: bool,
    lease: bool,
    removed: bool,
    import: Option<String>,
}

/// Returns the configuration of the notation: files and their texts.
pub(super) fn written(notation: &str) -> Vec<(String, String)> {
    let mut files = Files::default();
    let blocks = notation.split(';').map(str::trim);
    blocks
        .filter(|block| !block.is_empty())
        .for_each(|block| files.add(block));
    let mut all = Vec::new();
    for (name, mut child) in files.modules {
        write!(
            files.root,
            "module \"{name}\" {{\n  source = \"./{name}\"\n{}",
            child.arguments
        )
        .unwrap();
        for given in child.given {
            writeln!(files.root, "  {given} = fake_thing.{given}.id").unwrap();
            writeln!(child.text, "variable \"{given}\" {{}}").unwrap();
        }
        files.root += "}\n";
        all.push((format!("{name}/main.tf"), child.text));
    }
    all.push(("main.tf".to_owned(), files.root));
    all.push(("groups.flightdeck.hcl".to_owned(), files.groups));
    all
}

impl Files {
    fn add(&mut self, notation: &str) {
        let (name, settings) = notation.split_once(',').unwrap_or((notation, ""));
        let settings = settings.trim();
        if let Some(of) = settings.strip_prefix("output of ") {
            let value = self.reference(None, of, "id");
            self.root += &format!("output \"{name}\" {{\n  value = {value}\n}}\n");
        } else if let Some(of) = settings.strip_prefix("local ") {
            self.root += &format!("locals {{\n  {name} = fake_thing.{of}\n}}\n");
        } else if let Some(of) = settings.strip_prefix("versions of ") {
            let (of, other) = of.split_once(" with ").unwrap_or((of, ""));
            let value = match other {
                "" => "v.version".to_owned(),
                other => format!("\"${{v.version}} ${{fake_thing.{other}.version}}\""),
            };
            let each = format!("{{ for k, v in fake_thing.{of} : k => {value} }}");
            self.root += &format!("locals {{\n  {name} = {each}\n}}\n");
        } else if let Some(group) = settings.strip_prefix("group of ") {
            self.groups += &group_block(name, group);
        } else if let Some((from, to)) = settings
            .strip_prefix("links ")
            .and_then(|ends| ends.split_once(" to "))
        {
            self.root += &format!(
                "link \"{name}\" {{\n  from = fake_thing.{from}\n  to = fake_thing.{to}\n}}\n"
            );
        } else if let Some(call) = settings.strip_prefix("module, ") {
            let argument = match call.split_once(' ') {
                Some(("count", number)) => format!("  count = {number}\n"),
                Some(("after", other)) => format!("  depends_on = [fake_thing.{other}]\n"),
                _ => panic!("not a setting: {call}"),
            };
            self.child(name).arguments += &argument;
        } else {
            self.add_resource(name, settings);
        }
    }

    fn add_resource(&mut self, full_name: &str, settings: &str) {
        let (module, name) = match full_name.split_once('.') {
            Some((module, name)) => (Some(module), name),
            None => (None, full_name),
        };
        let mut parts = Parts::default();
        let settings = settings.split(',').map(str::trim);
        for setting in settings.filter(|setting| !setting.is_empty()) {
            let referred = ["needs ", "looks at ", "follows "]
                .into_iter()
                .find_map(|head| Some((head, setting.strip_prefix(head)?)));
            match referred {
                Some((head, other)) => {
                    parts.data |= head == "looks at ";
                    let attribute = if head == "follows " { "version" } else { "id" };
                    parts
                        .references
                        .push(self.reference(module, other, attribute));
                }
                None => parts.add(setting),
            }
        }
        let text = match module {
            None => &mut self.root,
            Some(module) => &mut self.child(module).text,
        };
        parts.write(name, text);
        if module.is_some() {
            writeln!(
                text,
                "output \"{name}\" {{\n  value = fake_thing.{name}.id\n}}"
            )
            .unwrap();
        }
    }

    /// Returns a reference from a module to an attribute of a resource.
    fn reference(&mut self, from: Option<&str>, other: &str, attribute: &str) -> String {
        match (from, other.split_once('.')) {
            (Some(from), Some((module, name))) if from == module => {
                format!("fake_thing.{name}.{attribute}")
            }
            (None, None) if other == "each" => format!("each.value.{attribute}"),
            (None, None) if other.starts_with("all ") => {
                format!("join(\",\", fake_thing.{}[*].{attribute})", &other[4..])
            }
            (None, None) if other.starts_with("local ") => {
                other.replace("[k]", "[each.key]").replacen(' ', ".", 1)
            }
            (None, Some(("local", name))) => {
                let name = name.replace("[i]", "[count.index]");
                format!("local.{name}.{attribute}")
            }
            (None, None) => {
                let other = other.replace("[i]", "[count.index]");
                let other = other.replace("[k]", "[each.key]");
                format!("fake_thing.{other}.{attribute}")
            }
            (None, Some(_)) => format!("module.{other}"),
            (Some(from), None) => {
                self.child(from).given.insert(other.to_owned());
                format!("var.{other}")
            }
            _ => panic!("no reference from {from:?} to {other}"),
        }
    }

    fn child(&mut self, name: &str) -> &mut Child {
        self.modules.entry(name.to_owned()).or_default()
    }
}

impl Parts {
    fn write(&self, name: &str, out: &mut String) {
        let Self {
            arguments,
            references,
            lifecycle,
            provisioners,
            ..
        } = self;
        if self.removed {
            *out += &format!(
                "removed {{\n  from = fake_thing.{name}\n  lifecycle {{\n    destroy = false\n  }}\n}}\n"
            );
            return;
        }
        let (block, kind) = match (self.data, self.lease) {
            (_, true) => ("ephemeral", "fake_lease"),
            (true, _) => ("data", "fake_thing"),
            _ => ("resource", "fake_thing"),
        };
        writeln!(out, "{block} \"{kind}\" \"{name}\" {{\n{arguments}").unwrap();
        if !references.is_empty() {
            writeln!(out, "  refers = [{}]", references.join(", ")).unwrap();
        }
        if !lifecycle.is_empty() {
            writeln!(out, "  lifecycle {{\n{lifecycle}  }}").unwrap();
        }
        *out += provisioners;
        *out += "}\n";
        if let Some(id) = &self.import {
            writeln!(
                out,
                "import {{\n  to = fake_thing.{name}\n  id = \"{id}\"\n}}"
            )
            .unwrap();
        }
    }

    fn add(&mut self, setting: &str) {
        let after = |head: &str| setting.strip_prefix(head).map(str::trim);
        if let Some(number) = after("count ") {
            writeln!(self.arguments, "  count = {number}").unwrap();
        } else if let Some(keys) = after("keys ") {
            let keys: Vec<String> = keys.split(' ').map(|key| format!("{key:?}")).collect();
            let keys = keys.join(", ");
            writeln!(self.arguments, "  for_each = toset([{keys}])").unwrap();
        } else if let Some(other) = after("each of ") {
            writeln!(self.arguments, "  for_each = fake_thing.{other}").unwrap();
        } else if let Some(size) = after("size ") {
            writeln!(self.arguments, "  size = \"{size}\"").unwrap();
        } else if let Some(kind) = after("kind ") {
            writeln!(self.arguments, "  kind = \"{kind}\"").unwrap();
        } else if let Some(lease) = after("uses ") {
            let argument = if self.lease { "from" } else { "token" };
            let value = format!("ephemeral.fake_lease.{lease}.result");
            writeln!(self.arguments, "  {argument} = {value}").unwrap();
        } else if setting == "lease" {
            self.lease = true;
        } else if setting == "create first" {
            self.lifecycle += "    create_before_destroy = true\n";
        } else if setting == "keep" {
            self.lifecycle += "    destroy = false\n";
        } else if setting == "removed" {
            self.removed = true;
        } else if let Some(id) = after("import ") {
            self.import = Some(id.to_owned());
        } else if let Some(version) = after("expect version ") {
            let condition = format!("self.version == \"{version}\"");
            write!(
                self.lifecycle,
                "    postcondition {{\n      condition = {condition}\n      error_message = \"Another version.\"\n    }}\n"
            )
            .unwrap();
        } else if let Some(command) = after("run ") {
            let (command, rest) = match command.strip_suffix(" or continue") {
                Some(command) => (command, "    on_failure = continue\n"),
                None => (command, ""),
            };
            self.provisioners += &provisioner(command, rest);
        } else if let Some(command) = after("at end ") {
            self.provisioners += &provisioner(command, "    when = destroy\n");
        } else {
            panic!("not a setting: {setting}");
        }
    }
}

fn group_block(name: &str, settings: &str) -> String {
    let mut settings = settings.split(',').map(str::trim);
    let instance = settings.next().unwrap_or_default();
    let command = |line: &str| {
        let line = line.replace("$KEY", "${member.key}");
        format!("command = [\"/bin/sh\", \"-c\", \"{line}\"]")
    };
    let timeout = match settings.clone().any(|setting| setting == "patient") {
        true => "1m",
        false => "200ms",
    };
    let probe = |check: String| {
        format!(
            "    health {{\n      {check}\n      interval = \"20ms\"\n      timeout = \"{timeout}\"\n    }}\n"
        )
    };
    let mut update = String::new();
    for setting in settings {
        let after = |head: &str| setting.strip_prefix(head).map(str::trim);
        update += &if setting == "surge" {
            "    surge = true\n".to_owned()
        } else if let Some(number) = after("batch ") {
            format!("    batch = {number}\n")
        } else if let Some(order) = after("order ") {
            format!("    order = \"{order}\"\n")
        } else if let Some(reaction) = after("on unhealthy ") {
            format!("    on_unhealthy = \"{reaction}\"\n")
        } else if let Some(line) = after("drain ") {
            format!("    drain {{ {} }}\n", command(line))
        } else if let Some(line) = after("health ") {
            probe(command(line))
        } else if let Some(expr) = after("ready ") {
            probe(format!("ready = {expr}"))
        } else if setting == "patient" {
            String::new()
        } else {
            panic!("not a setting: {setting}");
        };
    }
    format!(
        "group \"{name}\" {{\n  instance = fake_thing.{instance}\n  update {{\n{update}  }}\n}}\n"
    )
}

/// The port that no server of an operating system has.
const REFUSED: &str = "    connection {\n      host = \"127.0.0.1\"\n      port = 1\n      timeout = \"100ms\"\n    }\n";

fn provisioner(command: &str, rest: &str) -> String {
    match command.strip_suffix(" remotely") {
        None => {
            format!("  provisioner \"local-exec\" {{\n    command = \"{command}\"\n{rest}  }}\n")
        }
        Some(command) => format!(
            "  provisioner \"remote-exec\" {{\n    inline = [\"{command}\"]\n{rest}{REFUSED}  }}\n"
        ),
    }
}

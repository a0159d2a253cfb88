//! Secrets stay secret: a workspace full of sensitive values goes through everything that can be
//! done with it, what goes wrong included; then every byte that came out of it is searched. Only
//! the tables of state, stage and configuration and the files of `--plan-json` and `state export`
//! may hold them, for their owner alone.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]
#[path = "../xtask/src/pty.rs"]
#[allow(dead_code)]
mod pty;
#[path = "cli/support.rs"]
#[allow(dead_code)]
mod support;

use base64::Engine as _;
use providers::lab::control::{self, Fault, Kind, On};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use support::{Run, Workspace, mode};

/// What nobody may see: by name, so that a failure can say which one it was.
const SECRETS: [(&str, &str); 9] = [
    ("password", "pw-7f3a\"quote\\back/ß9"),
    ("second password", "pw-8c41-after-the-change"),
    ("provider configuration", "region-secret-4411"),
    ("write-only", "note-write-only-5522"),
    (
        "of an object",
        "first-line-secret-661\nsecond-line-secret-772",
    ),
    ("literal marked in the configuration", "literal-secret-8833"),
    ("literal of a sensitive attribute", "schema-secret-9944"),
    ("in a value that is none", "inline-secret-1155"),
    ("number", "554433221199"),
];

const VARIABLES: &str = r#"
variable "password" {
  type      = string
  sensitive = true
}
variable "region" {
  type      = string
  sensitive = true
}
variable "note" {
  type      = string
  ephemeral = true
}
variable "object" {
  type      = object({ key = string, other = string })
  sensitive = true
}
variable "number" {
  type      = number
  sensitive = true
}
"#;

const MAIN: &str = r#"
terraform {
  required_providers {
    lab = { source = "flightdeck.internal/bundled/lab" }
  }
}
provider "lab" {
  file = "../lab.json"
  fault {
    kind     = "latency"
    ms       = 1
    resource = "lab_dns_record"
    text     = var.region
  }
}
locals {
  url = "postgres://app:${var.password}@db"
}
resource "lab_database" "a" {
  name     = "a"
  engine   = "postgres"
  password = var.password
}
resource "lab_database" "plain" {
  name     = "plain"
  engine   = "mysql"
  password = "schema-secret-9944"
}
resource "lab_thing" "a" {
  name    = "visible-name"
  note    = var.note
  data    = { key = var.object.key, url = local.url, open = "visible-value" }
  payload = { list = [sensitive("literal-secret-8833")], number = var.number }
}
resource "terraform_data" "run" {
  input = var.object
  provisioner "local-exec" {
    command     = "echo by argument ${base64encode(var.password)}; echo by variable $KEY; echo visible-output"
    environment = { KEY = var.object.key }
  }
}
resource "lab_thing" "trouble" {
  name     = "trouble"
  triggers = { a = lab_database.a.id, b = lab_thing.a.id }
}
output "password" {
  value     = var.password
  sensitive = true
}
output "nested" {
  value     = { list = [local.url, "literal-secret-8833"], visible = "no" }
  sensitive = true
}
output "open" {
  value = "visible-value"
}
"#;

/// Configurations in which a secret takes part in an error.
const ERRORS: [&str; 20] = [
    "output \"e\" { value = { for x in [1, 2] : var.password => x } }",
    "output \"e\" { value = [for x in [var.password] : parseint(x, 10)] }",
    "output \"e\" { value = cidrsubnet(var.password, 8, 1) }",
    "output \"e\" { value = lookup({ a = 1 }, var.password) }",
    "output \"e\" { value = filesha256(var.password) }",
    "output \"e\" { value = regexall(\"(${var.password}\", \"x\") }",
    "output \"e\" { value = tonumber(var.password) }",
    "output \"e\" { value = { a = 1 }[var.password] }",
    "output \"e\" { value = file(var.password) }",
    "output \"e\" { value = jsondecode(var.password) }",
    "output \"e\" { value = regex(\"^x$\", var.password) }",
    "output \"e\" { value = templatefile(var.password, {}) }",
    "output \"e\" { value = var.object.nothing }",
    "output \"e\" { value = cidrhost(var.password, 1) }",
    "resource \"terraform_data\" \"e\" {\n  for_each = toset([var.password])\n}",
    "resource \"terraform_data\" \"e\" {\n  for_each = { (var.password) = 1 }\n}",
    "resource \"terraform_data\" \"e\" {\n  count = var.password\n}",
    "resource \"terraform_data\" \"e\" {\n  lifecycle {\n    precondition {\n      condition     = var.password == \"x\"\n      error_message = \"it was ${var.password}\"\n    }\n  }\n}",
    "resource \"lab_bucket\" \"e\" {\n  name   = \"e\"\n  policy = var.password\n}",
    "variable \"checked\" {\n  type      = string\n  sensitive = true\n  default   = \"literal-secret-8833\"\n  validation {\n    condition     = length(var.checked) < 3\n    error_message = \"too long: ${var.checked}\"\n  }\n}",
];

/// A workspace and all that came out of it.
struct World {
    w: Workspace,
    /// By what was asked.
    out: BTreeMap<String, Vec<u8>>,
    password: &'static str,
}

impl World {
    fn new() -> Self {
        let world = Self {
            w: Workspace::new(&[]),
            out: BTreeMap::new(),
            password: secret("password"),
        };
        world.w.write("variables.tf", VARIABLES);
        world.w.write("main.tf", MAIN);
        world.w.write(
            "terraform.tfvars",
            &format!("region = {:?}\n", secret("provider configuration")),
        );
        world
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let object = serde_json::json!({ "key": secret("of an object"), "other": "x" }).to_string();
        let mut command = self.w.command(args);
        command
            .env("TF_VAR_password", self.password)
            .env("TF_VAR_note", secret("write-only"))
            .env("TF_VAR_object", object);
        command.env("TF_VAR_number", secret("number"));
        if args.contains(&"trace") {
            command.env("RUST_LOG", "trace");
        }
        command
    }

    /// Runs it, once for people and once for programs where it changes nothing.
    fn run(&mut self, args: &[&str]) -> Run {
        let output = self.command(args).output().unwrap();
        let name = format!("{} ({})", args.join(" "), self.out.len());
        self.out.insert(
            name,
            [output.stdout.clone(), output.stderr.clone()].concat(),
        );
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let run = Run {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        assert!(
            !run.stderr.contains("panicked at src"),
            "{args:?}: {run:#?}"
        );
        run
    }

    fn look(&mut self, args: &[&str]) {
        self.run(args).expect(0);
        self.run(&[args, &["--json"]].concat()).expect(0);
    }
}

fn secret(name: &str) -> &'static str {
    SECRETS.iter().find(|(n, _)| *n == name).unwrap().1
}

/// In which forms a text may stand somewhere: as it is, line by line, escaped for JSON once and
/// twice, as Rust and Go quote it, as a part of an address, in digits, in base64 with whatever
/// before it.
fn forms(text: &str) -> BTreeSet<String> {
    let escaped = |text: &str| {
        let quoted = serde_json::to_string(text).unwrap();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let mut out: BTreeSet<String> = text.lines().map(str::to_owned).collect();
    out.insert(escaped(text));
    out.insert(escaped(&escaped(text)));
    let debug = format!("{text:?}");
    out.insert(debug[1..debug.len() - 1].to_owned());
    // Go's %+q, and an address with digits of either case and blanks of either kind.
    let units = |c: char| {
        c.encode_utf16(&mut [0; 2])
            .iter()
            .map(|u| format!("\\u{u:04x}"))
            .collect::<String>()
    };
    out.insert(
        escaped(text)
            .chars()
            .map(|c| {
                if c.is_ascii() {
                    c.to_string()
                } else {
                    units(c)
                }
            })
            .collect(),
    );
    let kept = |b: u8| b.is_ascii_alphanumeric() || b"-_.~".contains(&b);
    let address: String = text
        .bytes()
        .map(|b| {
            if kept(b) {
                char::from(b).to_string()
            } else {
                format!("%{b:02X}")
            }
        })
        .collect();
    let lower: String = text
        .bytes()
        .map(|b| {
            if kept(b) {
                char::from(b).to_string()
            } else {
                format!("%{b:02x}")
            }
        })
        .collect();
    out.extend([address.replace("%20", "+"), address, lower]);
    out.insert(text.bytes().map(|b| format!("{b:02x}")).collect());
    out.insert(text.bytes().map(|b| format!("{b:02X}")).collect());
    for before in 0..3 {
        let bytes = [&vec![b'-'; before], text.as_bytes()].concat();
        for engine in [
            base64::engine::general_purpose::STANDARD_NO_PAD,
            base64::engine::general_purpose::URL_SAFE_NO_PAD,
        ] {
            // What comes before and after changes the characters at both ends.
            let encoded = engine.encode(&bytes);
            out.insert(encoded[(before * 8).div_ceil(6)..bytes.len() * 8 / 6].to_owned());
        }
    }
    out
}

type Needles = [(&'static str, Vec<String>)];

fn needles() -> Vec<(&'static str, Vec<String>)> {
    SECRETS
        .iter()
        .map(|(name, text)| (*name, forms(text).into_iter().collect()))
        .collect()
}

/// Names of the secrets that a byte string holds, with what stands around each. What is no UTF-8 is
/// no part of any.
fn held(haystack: &[u8], needles: &Needles) -> Vec<String> {
    let text = String::from_utf8_lossy(haystack);
    let around = |at: usize, len: usize| {
        text[text.floor_char_boundary(at.saturating_sub(120))
            ..text.ceil_char_boundary((at + len + 60).min(text.len()))]
            .to_owned()
    };
    let found = |(name, forms): &(&'static str, Vec<String>)| {
        forms.iter().find_map(|form| {
            Some(format!(
                "{name}: …{}…",
                around(text.find(form.as_str())?, form.len())
            ))
        })
    };
    needles.iter().filter_map(found).collect()
}

/// Every file below a directory.
fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        match entry.file_type().unwrap() {
            t if t.is_dir() => out.extend(files(&path)),
            t if t.is_file() => out.push(path),
            _ => {}
        }
    }
    out
}

/// Every text and blob of the store by table and column; the ones that may hold secrets are left
/// out.
fn columns(db: &Path) -> Vec<(String, Vec<u8>)> {
    const MAY: [&str; 4] = ["state_resource", "state_output", "stage", "config_snapshot"];
    let conn =
        rusqlite::Connection::open_with_flags(db, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
            .unwrap();
    let mut tables = conn
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .unwrap();
    let tables: Vec<String> = tables
        .query_map([], |r| r.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(
        MAY.iter().all(|m| tables.iter().any(|t| t == m)),
        "{tables:?}"
    );
    let mut out = Vec::new();
    for table in tables.iter().filter(|t| !MAY.contains(&t.as_str())) {
        let mut query = conn.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let names: Vec<String> = query.column_names().map(str::to_owned).collect();
        let mut rows = query.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for (n, name) in names.iter().enumerate() {
                let bytes = match row.get_ref(n).unwrap() {
                    rusqlite::types::ValueRef::Text(t) | rusqlite::types::ValueRef::Blob(t) => {
                        t.to_vec()
                    }
                    rusqlite::types::ValueRef::Integer(i) => i.to_string().into_bytes(),
                    _ => continue,
                };
                out.push((format!("{table}.{name}"), bytes));
            }
        }
    }
    out
}

/// What the console shows of it: every screen, details opened.
fn console(world: &World) -> Vec<(String, String)> {
    const SOON: Duration = Duration::from_secs(300);
    let base = world.command(&[]);
    let mut command = portable_pty::CommandBuilder::new(base.get_program());
    command.cwd(world.w.path());
    for (name, value) in base.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        }
    }
    let mut c = pty::Pty::start(command, 160, 50).unwrap();
    let mut frames = Vec::new();
    let mut see = |c: &pty::Pty, name: &str| frames.push((name.to_owned(), c.text()));
    // Keys, and what stands on the screen once they are taken.
    let steps = [
        ("plugins", "1", "ready"),
        ("stage", "3s", "lab_database.a"),
        ("stage, detail", "/lab_database\r", "(sensitive)"),
        ("history", "5", "succeeded"),
        ("failures", "f", "WHAT FAILED"),
        ("state", "6", "lab_database.a"),
        ("state, detail", "/lab_thing.a\r", "visible-value"),
        ("logs", "7", ""),
    ];
    for (name, keys, shows) in steps {
        let before = c.text();
        c.keys(keys).unwrap();
        c.wait_until(|now| now != before && now.contains(shows), SOON)
            .unwrap_or_else(|e| panic!("{name}: {e:#}"));
        see(&c, name);
    }
    c.keys("q").unwrap();
    let (code, screen) = c.end(SOON).unwrap();
    frames.push(("after the end".to_owned(), screen.contents()));
    assert_eq!(code, 0, "{frames:#?}");
    frames
}

#[test]
fn a_secret_is_found_nowhere_but_where_it_must_be() {
    let mut world = World::new();
    // Stages and deploys that fail in the plugin's words, one of them with the plugin's death; then
    // one that goes well.
    world.run(&["stage"]).expect(0);
    world
        .run(&[
            "stage",
            "--json",
            "--plan-json",
            "plan.json",
            "--out",
            "kept",
        ])
        .expect(0);
    // As a log writes it: quoted twice, in an address, in digits.
    let address: String = world
        .password
        .bytes()
        .map(|b| format!("%{b:02x}"))
        .collect();
    let digits = address.replace('%', "");
    let spelled = format!("{:?} {address} {digits}", format!("{:?}", world.password));
    let words = format!(
        "visible-error: it was {} and {} at {} with {} and {}; {spelled}",
        world.password,
        secret("of an object"),
        secret("provider configuration"),
        secret("number"),
        secret("write-only")
    );
    let fault = |kind: Kind| Fault {
        on: On::Create,
        name: Some("trouble".into()),
        times: Some(1),
        text: Some(words.clone()),
        ..Fault::new(kind)
    };
    control::set(&lab(&world), fault(Kind::Permanent)).unwrap();
    let said = world.run(&["deploy", "--auto-approve", "--json"]).expect(5);
    let masked = "visible-error: it was (sensitive) and (sensitive) at (sensitive) with (sensitive) and (sensitive); ";
    let again = "(sensitive)\\\\\\\"\\\" (sensitive) (sensitive)";
    assert!(
        said.stdout.contains(masked),
        "the provider's words are shown but for the secrets: {said:#?}"
    );
    assert!(
        said.stdout.contains(again),
        "in other spellings too: {said:#?}"
    );
    control::set(&lab(&world), fault(Kind::Crash)).unwrap();
    world.run(&["deploy", "--auto-approve"]).expect(5);
    // The plugin died before it made anything; nothing is created there before that is said.
    world
        .run(&["state", "forget", "lab_thing.trouble"])
        .expect(0);
    control::set(&lab(&world), fault(Kind::Partial)).unwrap();
    world.run(&["deploy", "--auto-approve"]).expect(5);
    world.run(&["deploy", "--auto-approve", "--json"]).expect(0);
    world.password = secret("second password");
    world.run(&["stage"]).expect(0);
    world
        .run(&["deploy", "--auto-approve", "--log-level", "trace"])
        .expect(0);

    // Errors of the configuration and of values.
    for (n, text) in ERRORS.iter().enumerate() {
        world.w.write("error.tf", text);
        for args in [&["stage"][..], &["stage", "--json"]] {
            let run = world.run(args);
            assert_eq!(run.code, Some(1), "{n}: {text}: {run:#?}");
        }
    }
    std::fs::remove_file(world.w.path().join("error.tf")).unwrap();
    let broken = format!(
        "object={{ key = \"{}\" other",
        secret("in a value that is none")
    );
    let wrong = format!(
        "object={{ key = \"{}\" }}",
        secret("in a value that is none")
    );
    let undeclared = format!("undeclared={}", secret("in a value that is none"));
    for value in [&broken, &wrong, &undeclared] {
        world.run(&["stage", "--var", value]).expect(1);
        world.run(&["stage", "--json", "--var", value]).expect(1);
    }
    world.w.write(
        "broken.tfvars",
        &format!("password = \"{}\n", secret("in a value that is none")),
    );
    world
        .run(&["stage", "--var-file", "broken.tfvars"])
        .expect(1);
    world.w.write(
        "run.tf",
        "resource \"terraform_data\" \"fails\" {\n  provisioner \"local-exec\" {\n    command = \"echo ${var.password}; exit 3\"\n  }\n}\n",
    );
    world.run(&["deploy", "--auto-approve"]).expect(5);
    std::fs::remove_file(world.w.path().join("run.tf")).unwrap();

    // Everything that can be looked at.
    world.look(&["history"]);
    for deploy in 1..=6 {
        world.look(&["history", &deploy.to_string()]);
    }
    for args in [
        &["failures"][..],
        &["logs"],
        &["state", "list"],
        &["state", "show", "lab_database.a"],
        &["state", "show", "lab_thing.a"],
        &["plugins"],
    ] {
        world.look(args);
    }
    world.run(&["state", "export", "out.tfstate"]).expect(0);
    // Back to the first one, so that there is something to stage.
    world.password = secret("password");
    let frames = console(&world);
    let destroyed = world.run(&["destroy", "--auto-approve", "--json"]);
    assert_eq!(destroyed.code, Some(0), "{destroyed:#?}");

    let needles = needles();
    let mut leaks: Vec<String> = Vec::new();
    let mut search = |place: &str, bytes: &[u8]| {
        leaks.extend(
            held(bytes, &needles)
                .into_iter()
                .map(|l| format!("{place}: {l}")),
        )
    };
    for (name, bytes) in &world.out {
        search(&format!("output of {name}"), bytes);
    }
    for (name, text) in &frames {
        // A line of the screen may be cut where a secret would go on, but hardly all of them.
        search(&format!("screen {name}"), text.as_bytes());
    }
    let db = world.w.store();
    for (place, bytes) in columns(&db) {
        search(&place, &bytes);
    }
    // What was written by the operator, what the lab keeps of its objects, what must hold secrets.
    let theirs = [
        "main.tf",
        "terraform.tfvars",
        "broken.tfvars",
        "lab.json",
        "lab.control.json",
        "plan.json",
        "out.tfstate",
    ];
    let root = world.w.path().parent().unwrap().to_owned();
    let mut databases = 0;
    for path in files(&root) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("flightdeck.db") {
            databases += 1;
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        } else if !theirs.contains(&name.as_str()) {
            search(&path.display().to_string(), &std::fs::read(&path).unwrap());
        }
    }
    assert!(databases >= 1);
    assert!(
        leaks.is_empty(),
        "{} leaks:\n{}",
        leaks.len(),
        leaks.join("\n")
    );

    // The search finds what is there: the files that may hold secrets do hold them, for their owner
    // alone.
    for (name, holds) in [
        ("plan.json", "password"),
        ("out.tfstate", "second password"),
    ] {
        let path = world.w.path().join(name);
        let found = held(&std::fs::read(&path).unwrap(), &needles);
        assert!(
            found.iter().any(|f| f.starts_with(&format!("{holds}:"))),
            "{name}: {found:?}"
        );
        assert_eq!(mode(&path), 0o600, "{name}");
    }
    assert_eq!(mode(&world.w.path().join(".flightdeck")), 0o700);
    // What is ephemeral is not even there.
    let whole = std::fs::read(&db).unwrap();
    let note: Vec<_> = needles
        .iter()
        .filter(|(name, _)| *name == "write-only")
        .cloned()
        .collect();
    assert!(
        held(&whole, &note).is_empty(),
        "an ephemeral value is in the database"
    );
}

fn lab(world: &World) -> std::path::PathBuf {
    world.w.path().parent().unwrap().join("lab.json")
}

/// While a deploy runs, its files are there with the log and the index beside them: for their owner
/// alone, too.
#[test]
fn the_stores_files_are_for_their_owner_alone_and_plugins_see_no_variables_while_a_deploy_runs() {
    let mut world = World::new();
    world.run(&["stage"]).expect(0);
    control::set(
        &lab(&world),
        Fault {
            times: Some(1),
            ..Fault::new(Kind::Hang)
        },
    )
    .unwrap();
    let mut child = world
        .command(&["deploy", "--auto-approve", "--json"])
        .spawn()
        .unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let applying = |l: &std::io::Result<String>| {
        l.as_ref()
            .is_ok_and(|l| l.contains("\"call_started\"") && l.contains("ApplyResourceChange"))
    };
    assert!(lines.into_iter().any(|l| applying(&l)));
    for name in ["flightdeck.db", "flightdeck.db-wal", "flightdeck.db-shm"] {
        assert_eq!(
            mode(&world.w.path().join(".flightdeck").join(name)),
            0o600,
            "{name}"
        );
    }
    // Its plugins know of the configuration's variables what they were told in calls, and leave no
    // memory behind.
    let mut plugins = 0;
    for task in std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap() {
        let children = std::fs::read_to_string(task.unwrap().path().join("children")).unwrap();
        for pid in children.split_whitespace() {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
            let has = |name: &[u8]| environment.windows(name.len()).any(|w| w == name);
            if !has(b"TF_PLUGIN_MAGIC_COOKIE=") {
                // The command of a provisioner, which has the environment of the deploy.
                continue;
            }
            assert!(has(b"PATH=") && !has(b"TF_VAR_"));
            let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
            let core = limits
                .lines()
                .find(|l| l.starts_with("Max core file size"))
                .unwrap();
            assert_eq!(
                core.split_whitespace().filter(|w| *w == "0").count(),
                2,
                "{core}"
            );
            plugins += 1;
        }
    }
    assert!(plugins > 0, "no plugin runs");
    child.kill().unwrap();
    child.wait().unwrap();
}

//! Tests of one directory with several environments: `init -reconfigure` with another backend, or
//! one data directory for each. The store of one environment never answers for another one.

use crate::lab_deploys::{Lab, Running};
use crate::server::{Server, Trouble};
use crate::support::{Run, Workspace};

const MAIN: &str = "variable \"e\" {\n  default = \"none\"\n}\nresource \"terraform_data\" \"a\" {\n  input = var.e\n}\noutput \"e\" {\n  value = terraform_data.a.output\n}\n";

const HISTORY: &[&str] = &["history", "--json"];

/// Number of deploys in the answer of [`HISTORY`].
fn deploys(history: &Run) -> usize {
    assert_eq!(history.code, Some(0), "{history:?}");
    history.result()["history"].as_array().unwrap().len()
}

/// One way to switch between environments.
#[derive(Debug, Clone, Copy)]
enum Switch {
    /// `init -reconfigure -backend-config=path=…`
    Flag,
    /// `init -reconfigure -backend-config=FILE`
    File,
    /// `TF_DATA_DIR` of the environment, initialized once.
    DataDir,
    /// The path depends on a variable.
    Variable,
    /// `init -reconfigure` of an http backend.
    Http,
    /// Flag, in a named workspace of the local backend.
    NamedWorkspace,
}

struct Bench {
    w: Workspace,
    switch: Switch,
    dev: Server,
    prod: Server,
    env: String,
}

impl Bench {
    fn new(switch: Switch) -> Self {
        let block = match switch {
            Switch::Http => "terraform {\n  backend \"http\" {}\n}\n",
            Switch::Variable => {
                "terraform {\n  backend \"local\" {\n    path = \"${var.e}.tfstate\"\n  }\n}\n"
            }
            _ => "terraform {\n  backend \"local\" {}\n}\n",
        };
        let w = Workspace::new(&[("main.tf", MAIN), ("backend.tf", block)]);
        for env in ["dev", "prod"] {
            w.write(
                &format!("{env}.backend"),
                &format!("path = \"{env}.tfstate\"\n"),
            );
        }
        Self {
            w,
            switch,
            dev: Server::start(),
            prod: Server::start(),
            env: String::new(),
        }
    }

    fn to(&mut self, env: &str) {
        env.clone_into(&mut self.env);
        let config = match self.switch {
            Switch::Variable => return,
            Switch::Flag | Switch::DataDir => format!("path={env}.tfstate"),
            Switch::NamedWorkspace => format!("workspace_dir={env}"),
            Switch::File => format!("{env}.backend"),
            Switch::Http if env == "dev" => format!("address={}", self.dev.url("/s")),
            Switch::Http => format!("address={}", self.prod.url("/s")),
        };
        let config = format!("-backend-config={config}");
        match self.switch {
            Switch::DataDir => self.run(&["init", &config]),
            _ => self.run(&["init", "-reconfigure", &config]),
        }
        .expect(0);
    }

    fn run(&self, words: &[&str]) -> Run {
        let mut command = self.w.command(words);
        match self.switch {
            Switch::DataDir => command.env("TF_DATA_DIR", format!(".tf-{}", self.env)),
            Switch::NamedWorkspace => command.env("TF_WORKSPACE", "blue"),
            _ => &mut command,
        };
        command.env("TF_VAR_e", &self.env).env("TF_INPUT", "0");
        Run::from_command(&mut command)
    }

    /// Commands that read the state answer for the environment that is in use.
    fn expect_values(&self, value: Option<&str>) {
        let output = self.run(&["output", "-raw", "e"]);
        let listed = self.run(&["state", "list"]).expect(0).stdout;
        let shown = self.run(&["show"]).stdout;
        match value {
            Some(value) => {
                assert_eq!(output.expect(0).stdout, value, "{:?}", self.switch);
                assert!(shown.contains(value), "{shown}");
                assert_eq!(listed.trim(), "terraform_data.a");
            }
            None => {
                assert_ne!(output.code, Some(0), "{output:?}");
                assert_eq!(listed, "", "{:?}", self.switch);
            }
        }
        for other in ["dev", "prod"].iter().filter(|env| **env != self.env) {
            assert!(!shown.contains(other), "{:?}: {shown}", self.switch);
        }
    }
}

#[test]
fn each_environment_has_its_own_copy_of_the_state_and_history_in_any_order() {
    for switch in [
        Switch::Flag,
        Switch::File,
        Switch::DataDir,
        Switch::Variable,
        Switch::Http,
        Switch::NamedWorkspace,
    ] {
        let mut b = Bench::new(switch);
        b.to("dev");
        b.run(&["apply", "-auto-approve"]).expect(0);
        b.expect_values(Some("dev"));
        b.to("prod");
        b.expect_values(None);
        let planned = b.run(&["plan", "-detailed-exitcode"]).expect(2);
        assert!(planned.stdout.contains("1 to create"), "{planned:?}");
        b.run(&["apply", "-auto-approve"]).expect(0);
        b.expect_values(Some("prod"));
        for env in ["dev", "prod", "dev"] {
            b.to(env);
            b.expect_values(Some(env));
            b.run(&["plan", "-detailed-exitcode"]).expect(0);
            assert_eq!(deploys(&b.run(HISTORY)), 1, "{switch:?}, {env}");
        }
        b.run(&["destroy", "-auto-approve"]).expect(0);
        b.to("prod");
        b.expect_values(Some("prod"));
    }
}

#[test]
fn migrated_state_keeps_its_record_and_other_environments_keep_theirs() {
    let w = Workspace::new(&[
        ("main.tf", MAIN),
        ("backend.tf", "terraform {\n  backend \"local\" {}\n}\n"),
    ]);
    let init = |flags: &[&str], path: &str| {
        let config = format!("-backend-config=path={path}.tfstate");
        w.run(&[&["init"], flags, &[&config]].concat()).expect(0)
    };
    let deploys = || deploys(&w.run(HISTORY));
    init(&[], "a");
    w.run(&["apply", "-auto-approve", "-var=e=one"]).expect(0);
    w.run(&["apply", "-auto-approve", "-var=e=two"]).expect(0);
    // The place was in use before, and its state is empty again.
    init(&["-reconfigure"], "b");
    w.run(&["apply", "-auto-approve"]).expect(0);
    w.run(&["destroy", "-auto-approve"]).expect(0);
    std::fs::remove_file(w.path().join("b.tfstate")).unwrap();
    init(&["-reconfigure"], "a");
    assert_eq!(deploys(), 2);
    init(&["-migrate-state", "-force-copy"], "b");
    assert_eq!(deploys(), 2, "the record continues at the new place");
    w.run(&["plan", "-detailed-exitcode", "-var=e=two"])
        .expect(0);
    // The former place still has its state; its record went with the migration.
    init(&["-reconfigure"], "a");
    assert_eq!(deploys(), 0);
    w.run(&["plan", "-detailed-exitcode", "-var=e=two"])
        .expect(0);
    init(&["-reconfigure"], "b");
    assert_eq!(deploys(), 2);
    // Without a backend block the default file is another place.
    std::fs::remove_file(w.path().join("backend.tf")).unwrap();
    w.run(&["init", "-reconfigure"]).expect(0);
    assert_eq!(w.run(&["state", "list"]).expect(0).stdout, "");
    assert_eq!(deploys(), 0);
}

#[test]
fn unwritten_outcomes_of_one_environment_are_never_written_to_another() {
    let w = Workspace::new(&[
        ("main.tf", MAIN),
        ("backend.tf", "terraform {\n  backend \"http\" {}\n}\n"),
    ]);
    let (dev, prod) = (Server::start(), Server::start());
    let to = |server: &Server| {
        let config = format!("-backend-config=address={}", server.url("/s"));
        let retries = "-backend-config=retry_max=0";
        w.run(&["init", "-reconfigure", &config, retries]).expect(0)
    };
    to(&dev);
    dev.trouble("POST", &[Trouble::Code(403); 8]);
    let run = w.run(&["apply", "-auto-approve", "-var=e=dev"]).expect(5);
    assert!(run.stderr.contains("The store has all results"), "{run:?}");
    to(&prod);
    w.run(&["plan", "-var=e=prod", "-detailed-exitcode"])
        .expect(2);
    assert_eq!(w.run(&["state", "list"]).expect(0).stdout, "");
    let refused = w.run(&["state", "use", "record"]).expect(1);
    assert!(
        refused.stderr.contains("nothing was changed"),
        "{refused:?}"
    );
    assert_eq!(prod.state(), None);
    // A migration would replace a record that has outcomes of its own.
    w.run(&["apply", "-auto-approve", "-var=e=prod"]).expect(0);
    dev.at_ease();
    to(&dev);
    let run = w
        .run(&["plan", "-var=e=dev", "-detailed-exitcode"])
        .expect(0);
    assert!(
        run.stderr.contains("it was written now") || run.stderr.contains("written to"),
        "{run:?}"
    );
    let text = |server: &Server| String::from_utf8(server.state().unwrap()).unwrap();
    assert!(text(&dev).contains("\"dev\"") && text(&prod).contains("\"prod\""));
}

#[test]
fn unknown_outcome_belongs_to_the_environment_of_its_deploy() {
    let lab = Lab::new("resource \"lab_bucket\" \"a\" {\n  name = \"a\"\n}\n");
    let w = &lab.workspace;
    w.write("backend.tf", "terraform {\n  backend \"local\" {}\n}\n");
    let to = |env: &str| {
        let config = format!("-backend-config=path={env}.tfstate");
        w.run(&["init", "-reconfigure", &config]).expect(0)
    };
    to("dev");
    lab.set_fault(bundled::lab::control::Fault {
        on: bundled::lab::control::On::Create,
        ms: Some(60_000),
        ..bundled::lab::control::Fault::new(bundled::lab::control::Kind::Latency)
    });
    let mut deploy = Running::start(&lab);
    deploy.until_applying();
    deploy.signal(rustix::process::Signal::KILL);
    deploy.end();
    to("prod");
    let run = w.run(&["state", "list"]).expect(0);
    assert!(!run.stderr.contains("no recorded outcome"), "{run:?}");
    to("dev");
    let run = w.run(&["state", "list"]).expect(0);
    assert!(run.stderr.contains("lab_bucket.a"), "{run:?}");
}

#[test]
fn record_of_another_lineage_replaces_a_state_only_with_force() {
    let w = Workspace::new(&[("main.tf", MAIN)]);
    w.run(&["apply", "-auto-approve", "-var=e=ours"]).expect(0);
    let other = Workspace::new(&[("main.tf", MAIN)]);
    other
        .run(&["apply", "-auto-approve", "-var=e=theirs"])
        .expect(0);
    let theirs = other.read("terraform.tfstate");
    w.write("terraform.tfstate", &theirs);
    let run = w.run(&["state", "use", "record"]).expect(1);
    let lineage = |text: &str| {
        let state: serde_json::Value = serde_json::from_str(text).unwrap();
        state["lineage"].as_str().unwrap().to_owned()
    };
    assert!(run.stderr.contains(&lineage(&theirs)), "{run:?}");
    assert!(run.stderr.contains("--force"), "{run:?}");
    assert_eq!(w.read("terraform.tfstate"), theirs);
    w.run(&["state", "use", "record", "--force"]).expect(0);
    assert_ne!(lineage(&w.read("terraform.tfstate")), lineage(&theirs));
}

#[test]
fn changed_credentials_and_spellings_are_the_same_environment() {
    let server = Server::start();
    let w = Workspace::new(&[
        ("main.tf", MAIN),
        ("backend.tf", "terraform {\n  backend \"http\" {}\n}\n"),
    ]);
    let address = format!("-backend-config=address={}", server.url("/s"));
    let deploys_with = |more: &[&str]| {
        w.run(&[&["init", "-reconfigure", &address], more].concat())
            .expect(0);
        deploys(&w.run(HISTORY))
    };
    assert_eq!(deploys_with(&[]), 0);
    w.run(&["apply", "-auto-approve"]).expect(0);
    assert_eq!(
        deploys_with(&[
            "-backend-config=username=ann",
            "-backend-config=password=one"
        ]),
        1
    );
    assert_eq!(deploys_with(&["-backend-config=retry_max=1"]), 1);
    let w = Workspace::new(&[
        ("main.tf", MAIN),
        ("backend.tf", "terraform {\n  backend \"local\" {}\n}\n"),
    ]);
    let absolute = w.path().join("x.tfstate").display().to_string();
    for (path, expected) in [("x.tfstate", 0), ("./x.tfstate", 1), (&absolute, 1)] {
        let config = format!("-backend-config=path={path}");
        w.run(&["init", "-reconfigure", &config]).expect(0);
        assert_eq!(deploys(&w.run(HISTORY)), expected, "{path}");
        if expected == 0 {
            w.run(&["apply", "-auto-approve"]).expect(0);
        }
        w.run(&["plan", "-detailed-exitcode"]).expect(0);
    }
}

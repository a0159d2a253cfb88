//! Tests of every path that flightdeck writes below a workspace: a clone may hold a symbolic link,
//! hard link, pipe or device there. Nothing outside may change, and no command may block.

use crate::install::platform;
use crate::support::{Run, Workspace};
use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const UGLY: &str = "resource \"terraform_data\" \"a\" {\ninput=\"one\"\n}\n";
/// State of another program, which makes the deploy write a backup.
const STATE: &str = r#"{"version":4,"terraform_version":"1.12.0","serial":1,"lineage":"abc","outputs":{"x":{"value":"1","type":"string"}},"resources":[]}"#;
const PROVIDER: &str = "example.com/acme/lab/1.0.0";

/// Paths that the commands of [`work`] write.
const OF_WORK: [&str; 24] = [
    "main.tf",
    "terraform.tfstate",
    ".terraform.tfstate.lock.info",
    "terraform.tfstate.backup",
    "terraform.tfstate.d",
    "terraform.tfstate.d/other",
    "terraform.tfstate.d/other/terraform.tfstate",
    "terraform.tfstate.d/other/.terraform.tfstate.lock.info",
    "terraform.tfstate.d/other/terraform.tfstate.backup",
    ".terraform",
    ".terraform/environment",
    ".flightdeck",
    ".flightdeck/.gitignore",
    ".flightdeck/flightdeck.db",
    ".flightdeck/flightdeck.db-wal",
    ".flightdeck/flightdeck.db-shm",
    ".flightdeck/flightdeck.db-journal",
    ".flightdeck/lock",
    ".flightdeck/owner",
    ".flightdeck/workspaces",
    ".flightdeck/workspaces/other",
    ".flightdeck/workspaces/other/.flightdeck",
    ".flightdeck/workspaces/other/.flightdeck/flightdeck.db",
    ".flightdeck/workspaces/other/.flightdeck/lock",
];

/// Further paths that the commands of [`work_with_state_flags`] write.
const OF_STATE_FLAGS: [&str; 8] = [
    ".flightdeck/states",
    "named.tfstate",
    ".named.tfstate.lock.info",
    "named.tfstate.backup",
    "out.tfstate",
    ".out.tfstate.lock.info",
    "out.tfstate.backup",
    "kept",
];

/// Paths that the commands of [`run_group_commands`] write.
const OF_GROUPS: [&str; 6] = [
    "app_global.tf.json",
    "app_global.tf.json.new",
    "instance-1.tf.json",
    "instance-1.tf.json.new",
    "terraform.tfvars",
    "web.flightdeck.hcl",
];
/// Specification of a group with one member.
const SPECIFICATION: &str = r#"{"ID": "app", "Properties": {
    "Allocation": {"Size": 1},
    "Instance": {"Properties": {"resource": {
        "terraform_data": {"host": {"input": "a"}, "shared": {"@scope": "app", "input": "b"}}
    }}}
}}"#;
const GROUP: &str = "group \"web\" {\n  instance = terraform_data.a\n}\n";
const SIZED: &str = "variable \"size\" {\n  default = 2\n}\nresource \"terraform_data\" \"a\" {\n  count = var.size\n}\n";

/// Paths that the commands of [`init`] write.
fn paths_written_by_init() -> Vec<String> {
    let mut all: Vec<String> = [
        ".terraform",
        ".terraform/terraform.tfstate",
        ".terraform/plugin_path",
        ".terraform/flightdeck-workspace-packages",
        ".terraform/modules",
        ".terraform/modules/m",
        ".terraform/modules/modules.json",
        ".terraform/providers",
        ".terraform.lock.hcl",
    ]
    .map(str::to_owned)
    .into();
    let mut path = ".terraform/providers".to_owned();
    for part in PROVIDER.split('/').chain([platform().as_str()]) {
        path = format!("{path}/{part}");
        all.push(path.clone());
    }
    all.push(format!("{path}.lock"));
    all
}

/// Runs flightdeck under `timeout`, so that an endless wait fails the test.
fn run(w: &Workspace, args: &[&str]) -> Run {
    let inner = w.command(args);
    let mut command = Command::new("timeout");
    command
        .args(["-s", "KILL", "120"])
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir(w.path())
        .stdin(Stdio::null());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let run = Run::from_command(&mut command);
    assert!(
        run.code.is_some_and(|code| code < 124),
        "{args:?} waits: {run:#?}"
    );
    run
}

fn prepare_deploy_commands() -> Workspace {
    Workspace::new(&[("main.tf", UGLY), ("terraform.tfstate", STATE)])
}

fn run_deploy_commands(w: &Workspace) -> Vec<Run> {
    [
        &["stage"][..],
        &["deploy", "--auto-approve"],
        &["workspace", "select", "-or-create", "other"],
        &["deploy", "--auto-approve"],
        &["deploy", "--auto-approve", "--destroy"],
        &["fmt"],
    ]
    .map(|args| run(w, args))
    .into()
}

fn work_with_state_flags(w: &Workspace) -> Vec<Run> {
    [
        &["deploy", "--auto-approve", "--state=named.tfstate"][..],
        &["taint", "--state=named.tfstate", "terraform_data.a"],
        &[
            "untaint",
            "--state=named.tfstate",
            "--backup=kept",
            "terraform_data.a",
        ],
        &["deploy", "--auto-approve", "--state-out=out.tfstate"],
        &["deploy", "--auto-approve", "--state-out=out.tfstate"],
    ]
    .map(|args| run(w, args))
    .into()
}

fn prepare_group_commands() -> Workspace {
    Workspace::new(&[
        ("main.tf", SIZED),
        ("web.flightdeck.hcl", GROUP),
        ("app.json", SPECIFICATION),
    ])
}

fn run_group_commands(w: &Workspace) -> Vec<Run> {
    [
        &["group", "commit", "app.json"][..],
        &["group", "scale", "app", "2"],
        &["group", "scale", "web", "3", "--write"],
        &["group", "free", "web", "--auto-approve"],
    ]
    .map(|args| run(w, args))
    .into()
}

fn prepare_init_commands() -> Workspace {
    let w = Workspace::new(&[("src/main.tf", "output \"x\" {\n  value = 1\n}\n")]);
    let tar = w.path().join("src.tar");
    let packed = Command::new("tar")
        .arg("cf")
        .arg(&tar)
        .args(["-C", "src", "."])
        .current_dir(w.path())
        .status();
    assert!(packed.unwrap().success());
    w.write(
        "main.tf",
        &format!(
            "terraform {{\n  backend \"local\" {{}}\n  required_providers {{\n    lab = {{\n      source = \"example.com/acme/lab\"\n    }}\n  }}\n}}\nmodule \"m\" {{\n  source = \"{}\"\n}}\n",
            tar.display()
        ),
    );
    let package = format!("mirror/{PROVIDER}/{}", platform());
    w.write(&format!("{package}/terraform-provider-lab_v1.0.0"), "x");
    w
}

fn run_init_commands(w: &Workspace) -> Vec<Run> {
    [&["init", "-plugin-dir=mirror"][..], &["get", "-update"]]
        .map(|args| run(w, args))
        .into()
}

/// Directory next to the workspace, with a file in it.
fn outside_directory(w: &Workspace) -> PathBuf {
    let dir = w.path().parent().unwrap().join("victim");
    std::fs::create_dir_all(dir.join("m")).unwrap();
    std::fs::write(dir.join("file"), "precious").unwrap();
    std::fs::write(dir.join("m/file"), "precious").unwrap();
    for path in [dir.join("file"), dir.clone()] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    dir
}

/// Names, modes and contents of all entries below a directory.
fn snapshot(dir: &Path) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = std::fs::symlink_metadata(&path).unwrap();
        let content = match meta.is_file() {
            true => format!("{:?}", std::fs::read(&path).unwrap()),
            false => String::new(),
        };
        let mode = meta.permissions().mode();
        out.insert(format!("{} {mode:o} {content}", path.display()));
        if meta.is_dir() {
            out.extend(snapshot(&path));
        }
    }
    out
}

type Put = fn(&Path, &Path) -> bool;

/// Entries that a clone may hold at a path; `false` if this machine cannot create one.
const ENTRIES: [(&str, Put); 7] = [
    ("a link to a file", |victim, at| {
        symlink(victim.join("file"), at).is_ok()
    }),
    ("a link to a directory", |victim, at| {
        symlink(victim, at).is_ok()
    }),
    ("a dangling link", |victim, at| {
        symlink(victim.join("new"), at).is_ok()
    }),
    ("a link to a device", |_, at| {
        symlink("/dev/null", at).is_ok()
    }),
    ("a hard link", |victim, at| {
        std::fs::hard_link(victim.join("file"), at).is_ok()
    }),
    ("a pipe", |_, at| {
        Command::new("mkfifo")
            .arg(at)
            .status()
            .is_ok_and(|s| s.success())
    }),
    ("a device", |_, at| {
        let made = Command::new("mknod").arg(at).args(["c", "1", "3"]).output();
        made.is_ok_and(|made| made.status.success())
    }),
];

/// Puts each entry in place of a path and runs the commands; returns the number of entries.
fn attack(path: &str, prepared: fn() -> Workspace, commands: fn(&Workspace) -> Vec<Run>) -> usize {
    let mut attacks = 0;
    let null = crate::support::mode(Path::new("/dev/null"));
    for (what, put) in ENTRIES {
        let w = prepared();
        let victim = outside_directory(&w);
        let at = w.path().join(path);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        if at.is_dir() {
            std::fs::remove_dir_all(&at).unwrap();
        } else {
            std::fs::remove_file(&at).unwrap_or_default();
        }
        if !put(&victim, &at) {
            continue;
        }
        attacks += 1;
        let before = snapshot(&victim);
        let runs = commands(&w);
        assert_eq!(snapshot(&victim), before, "{path} as {what}: {runs:#?}");
        assert_eq!(
            crate::support::mode(Path::new("/dev/null")),
            null,
            "{path} as {what}"
        );
        // A refusal names the path or its first component.
        let name = path.split('/').next().unwrap();
        for refused in runs.iter().filter(|run| run.code != Some(0)) {
            let said = refused.stderr.replace('\n', " ");
            // An earlier refused command did not create this object or group.
            let absent = ["is not in the state", "there is no group"];
            assert!(
                [name, "workspace", "init", "No configuration files"]
                    .iter()
                    .chain(&absent)
                    .any(|word| said.contains(word)),
                "{path} as {what}: {refused:#?}"
            );
        }
    }
    attacks
}

/// Attacks all of these paths on four threads; prints a figure for `cargo xtask attack`.
fn attack_all(paths: &[&str], prepared: fn() -> Workspace, commands: fn(&Workspace) -> Vec<Run>) {
    let attacks: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = paths
            .chunks(paths.len() / 4 + 1)
            .map(|part| {
                let one = |path: &&str| attack(path, prepared, commands);
                scope.spawn(move || part.iter().map(one).sum::<usize>())
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    println!("met: {attacks} entries at {} paths", paths.len());
}

#[test]
fn deploy_commands_write_nothing_outside_through_foreign_entries() {
    attack_all(&OF_WORK, prepare_deploy_commands, run_deploy_commands);
}

#[test]
fn commands_with_state_flags_write_nothing_outside_through_foreign_entries() {
    attack_all(
        &OF_STATE_FLAGS,
        prepare_deploy_commands,
        work_with_state_flags,
    );
}

#[test]
fn group_commands_write_nothing_outside_through_foreign_entries() {
    attack_all(&OF_GROUPS, prepare_group_commands, run_group_commands);
}

#[test]
fn init_commands_write_nothing_outside_through_foreign_entries() {
    let paths = paths_written_by_init();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    attack_all(&paths, prepare_init_commands, run_init_commands);
}

/// Paths below a directory, relative to it.
fn paths(dir: &Path, inner: &Path, out: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(dir.join(inner)).unwrap().flatten() {
        let path = inner.join(entry.file_name());
        out.insert(path.display().to_string());
        if entry.file_type().unwrap().is_dir() {
            paths(dir, &path, out);
        }
    }
}

/// Fails if flightdeck writes a path that is missing in the tables above.
#[test]
fn every_written_path_is_attacked() {
    let of_init = paths_written_by_init();
    let of_init: Vec<&str> = of_init.iter().map(String::as_str).collect();
    for (prepared, commands, known) in [
        (
            prepare_deploy_commands as fn() -> Workspace,
            run_deploy_commands as fn(&Workspace) -> Vec<Run>,
            &OF_WORK[..],
        ),
        (
            prepare_deploy_commands,
            work_with_state_flags,
            &[&OF_WORK[..], &OF_STATE_FLAGS].concat(),
        ),
        (
            prepare_group_commands,
            run_group_commands,
            &[&OF_WORK[..], &OF_GROUPS, &["instance-2.tf.json"]].concat(),
        ),
        (prepare_init_commands, run_init_commands, &of_init),
    ] {
        let w = prepared();
        let (mut before, mut after) = (BTreeSet::new(), BTreeSet::new());
        paths(&w.path(), Path::new(""), &mut before);
        let runs = commands(&w);
        assert!(runs.iter().all(|run| run.code == Some(0)), "{runs:#?}");
        paths(&w.path(), Path::new(""), &mut after);
        // Files of other workspaces have the same names as the first one's; a module's files come
        // from its package.
        let covered = |path: &&String| {
            known.contains(&path.as_str())
                || path.starts_with(".flightdeck/workspaces/other/.flightdeck/")
                || path.starts_with(".flightdeck/states/")
                || path.starts_with(".terraform/modules/m/")
        };
        let new: Vec<&String> = after
            .difference(&before)
            .filter(|path| !covered(path))
            .collect();
        assert!(new.is_empty(), "paths without a row: {new:?}");
    }
}

#[test]
fn data_directory_of_the_operator_may_be_outside() {
    let w = prepare_init_commands();
    let elsewhere = w.path().parent().unwrap().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, w.path().join("data")).unwrap();
    let mut command = w.command(&["init", "-plugin-dir=mirror"]);
    Run::from_command(command.env("TF_DATA_DIR", "data")).expect(0);
    assert!(elsewhere.join("providers/example.com").is_dir());
    // A workspace that is opened through a link works.
    let w = prepare_deploy_commands();
    let link = w.path().parent().unwrap().join("link");
    symlink(w.path(), &link).unwrap();
    let mut command = w.command(&["deploy", "--auto-approve"]);
    Run::from_command(command.current_dir(&link)).expect(0);
    assert!(w.path().join("terraform.tfstate.backup").is_file());
}

#[test]
fn state_behind_a_link_is_refused_for_writes_and_can_be_read() {
    let w = Workspace::new(&[("main.tf", UGLY)]);
    let real = w.path().parent().unwrap().join("real.tfstate");
    std::fs::write(&real, STATE).unwrap();
    symlink(&real, w.path().join("terraform.tfstate")).unwrap();
    let refused = w.run(&["stage"]).expect(1);
    for word in [
        "terraform.tfstate",
        "symbolic link",
        "`path` of a local backend",
    ] {
        assert!(refused.stderr.contains(word), "{refused:#?}");
    }
    w.run(&["state", "list"]).expect(0);
    let doctor = w.run(&["doctor"]);
    assert!(
        doctor.stdout.contains("symbolic link") || doctor.stderr.contains("symbolic link"),
        "{doctor:#?}"
    );
    // The remedy from the error: remove the entry.
    std::fs::remove_file(w.path().join("terraform.tfstate")).unwrap();
    w.write(
        "backend.tf",
        "terraform {\n  backend \"local\" {\n    path = \"../real.tfstate\"\n  }\n}\n",
    );
    w.run(&["init"]).expect(0);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    assert!(
        std::fs::read_to_string(&real)
            .unwrap()
            .contains("terraform_data")
    );
}

#[test]
fn fmt_does_not_write_through_a_link_to_the_outside() {
    let w = Workspace::new(&[]);
    let real = w.path().parent().unwrap().join("real.tf");
    std::fs::write(&real, UGLY).unwrap();
    symlink(&real, w.path().join("main.tf")).unwrap();
    let refused = w.run(&["fmt"]).expect(1);
    assert!(refused.stderr.contains("flightdeck fmt "), "{refused:#?}");
    assert_eq!(std::fs::read_to_string(&real).unwrap(), UGLY);
    // The operator named this path.
    w.run(&["fmt", "main.tf"]).expect(0);
    assert_ne!(std::fs::read_to_string(&real).unwrap(), UGLY);
    assert!(w.path().join("main.tf").is_symlink());
}

#[test]
fn output_does_not_follow_a_link_of_the_repository_around_the_workspace() {
    let w = Workspace::new(&[("envs/prod/main.tf", UGLY), (".git/HEAD", "")]);
    let users = w.path().parent().unwrap().join("precious");
    std::fs::create_dir_all(w.path().join("artifacts")).unwrap();
    std::fs::write(&users, "precious").unwrap();
    std::os::unix::fs::symlink(&users, w.path().join("artifacts/out")).unwrap();
    let dir = w.path().join("envs/prod");
    let out = "../../artifacts/out";
    let run = |words: &[&str]| Run::from_command(w.command(words).current_dir(&dir));
    run(&["deploy", "--auto-approve"]).expect(0);
    let into = format!("-json-into={out}");
    for words in [
        &["plan", "--out", out][..],
        &["stage", "--plan-json", out],
        &["plan", &into],
        &["state", "export", out],
    ] {
        let refused = run(words).expect(1);
        assert!(
            refused.stderr.contains("symbolic link"),
            "{words:?}: {refused:?}"
        );
        assert_eq!(
            std::fs::read_to_string(&users).unwrap(),
            "precious",
            "{words:?}"
        );
    }
    run(&["plan", "--out", "../../artifacts/plan"]).expect(0);
}

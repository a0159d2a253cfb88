//! Tests of `plugin conform --clean`: objects of a killed run are found and destroyed.

use crate::support::Workspace;
use rustix::process::{Pid, Signal};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

const CONFORM: [&str; 2] = ["plugin", "conform"];

fn world(delay: &str) -> Workspace {
    let config = format!(
        "provider \"lab\" {{\n  file = \"lab.json\"\n}}\nresource \"lab_bucket\" \"any\" {{\n  name = \"conform\"\n  {delay}\n}}\n"
    );
    Workspace::new(&[("given.hcl", &config)])
}

fn start(world: &Workspace) -> Child {
    let words = ["bundled/lab", "--config", "given.hcl", "--yes"];
    world
        .command(&[&CONFORM[..], &words].concat())
        .spawn()
        .unwrap()
}

fn records(world: &Workspace) -> Vec<PathBuf> {
    let state = world
        .path()
        .parent()
        .unwrap()
        .join("state/flightdeck/conform");
    let found = std::fs::read_dir(state).into_iter().flatten().flatten();
    let paths = found.map(|entry| entry.path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect()
}

fn wait_for_record(world: &Workspace, has: impl Fn(&str) -> bool) {
    let ends = Instant::now() + Duration::from_secs(60);
    let is_there = || {
        let texts = records(world).into_iter().map(std::fs::read_to_string);
        texts.flatten().any(|text| has(&text))
    };
    while !is_there() {
        assert!(Instant::now() < ends, "there is no record");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill(mut child: Child) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
    child.wait().unwrap();
}

fn objects(world: &Workspace) -> usize {
    let text = std::fs::read_to_string(world.path().join("lab.json")).unwrap_or_default();
    text.matches("bkt-").count()
}

#[test]
fn clean_destroys_the_object_of_a_killed_run_but_not_of_a_live_one() {
    let world = world("read_ms = 1000");
    let clean = |more: &[&str]| world.run(&[&CONFORM[..], &["--clean"], more].concat());
    clean(&[]).expect(0);
    let child = start(&world);
    wait_for_record(&world, |text| text.contains("\"id\":\"bkt-"));
    let mode = std::fs::metadata(&records(&world)[0])
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let live = clean(&["--yes"]).expect(0);
    assert!(live.stderr.contains("is in progress"), "{live:#?}");
    assert_ne!(objects(&world), 0, "{live:#?}");
    kill(child);
    let listed = clean(&[]).expect(1);
    for part in [
        "bundled/lab  lab_bucket bkt-",
        "name = \"conform\"",
        "--clean --yes",
    ] {
        assert!(listed.stdout.contains(part), "{part}: {listed:#?}");
    }
    // Another configuration could lead the provider to other objects.
    let config = world.read("given.hcl");
    world.write("given.hcl", &config.replace("lab.json", "other.json"));
    let refused = clean(&["--yes"]).expect(1);
    assert!(
        refused.stderr.contains("was changed or removed"),
        "{refused:#?}"
    );
    world.write("given.hcl", &config);
    let cleaned = clean(&["--yes"]).expect(0);
    assert!(cleaned.stdout.contains("no objects remain"), "{cleaned:#?}");
    assert_eq!(objects(&world), 0, "{cleaned:#?}");
    assert_eq!(records(&world), Vec::<PathBuf>::new());
}

#[test]
fn clean_keeps_an_object_without_an_answer_until_it_is_discarded() {
    let world = world("create_ms = 60000");
    let clean = |more: &[&str]| world.run(&[&CONFORM[..], &["--clean"], more].concat());
    let child = start(&world);
    wait_for_record(&world, |text| text.contains("lab_bucket"));
    kill(child);
    let listed = clean(&["--yes"]).expect(1).stdout;
    for part in [
        "(id unknown)",
        "name = \"conform\"",
        "had no answer",
        "--discard",
    ] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    clean(&["--discard", "other.1"]).expect(1);
    let name = listed.split_whitespace().next().unwrap();
    let discarded = clean(&["--discard", name]).expect(0).stdout;
    assert!(discarded.contains("no objects remain"), "{discarded}");
}

#[test]
fn complete_run_leaves_no_record() {
    let world = world("");
    let words = ["bundled/lab", "--config", "given.hcl", "--yes"];
    world.run(&[&CONFORM[..], &words].concat()).expect(0);
    assert_eq!(records(&world), Vec::<PathBuf>::new());
}

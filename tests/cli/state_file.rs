//! Tests of the state file during and after a deploy: changed by another program, left by a killed
//! deploy, and the rescue file of a lost store in the temporary directory.

use crate::lab_deploys::{Lab, Running};
use crate::support::Workspace;
use bundled::lab::control::{Fault, Kind, On};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::time::{Duration, Instant};

const TWO: &str = "resource \"lab_bucket\" \"a\" {\n  name = \"a\"\n}\nresource \"lab_bucket\" \"b\" {\n  name = \"b-${lab_bucket.a.name}\"\n}\n";
const OTHER: &str = "{\n  \"version\": 4,\n  \"terraform_version\": \"1.12.0\",\n  \"serial\": 7,\n  \"lineage\": \"theirs\",\n  \"outputs\": {},\n  \"resources\": []\n}\n";

/// Running deploy whose second object is slow.
fn slow() -> (Lab, Running) {
    let lab = Lab::new(TWO);
    lab.set_fault(Fault {
        on: On::Create,
        ms: Some(1_500),
        ..Fault::new(Kind::Latency)
    });
    let mut running = Running::start(&lab);
    running.read_until(|e| e["type"] == "operation" && e["state"] == "done");
    (lab, running)
}

#[test]
fn state_written_by_another_program_during_a_deploy_is_kept_and_reported() {
    for (theirs, next) in [
        (OTHER, "were changed independently"),
        ("{ broken", "cannot be read"),
        ("", "no longer exists"),
    ] {
        let (lab, running) = slow();
        let file = lab.workspace.path().join("terraform.tfstate");
        // Wait for the first write of the state; an earlier foreign change would be found at that
        // write.
        wait_until(|| std::fs::read_to_string(&file).is_ok_and(|text| text.contains("lab_bucket")));
        std::fs::write(&file, theirs).unwrap();
        let (code, _, said) = running.end_with_output();
        assert!(matches!(code, Some(1 | 5)), "{theirs:?}: {said}");
        assert!(said.contains("another program wrote"), "{said}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), theirs);
        let stage = lab.run(&["stage"]).expect(1);
        assert!(stage.stderr.contains(next), "{theirs:?}: {stage:#?}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), theirs);
        // Both versions are kept, whichever the operator uses.
        // The other program has begun a state of another lineage.
        lab.run(&["state", "use", "record", "--force"]).expect(0);
        let listed = lab.run(&["state", "list"]).expect(0).stdout;
        assert_eq!(listed.lines().count(), 2, "{listed}");
        let kept = std::fs::read_dir(lab.workspace.path().join(".flightdeck")).unwrap();
        let kept = kept.flatten().filter(|e| {
            e.path().extension().is_some_and(|e| e == "tfstate")
                && std::fs::read_to_string(e.path()).unwrap() == theirs
        });
        assert_eq!(kept.count(), usize::from(!theirs.is_empty()), "{theirs:?}");
    }
}

fn wait_until(mut holds: impl FnMut() -> bool) {
    let ends = Instant::now() + Duration::from_secs(120);
    while !holds() {
        assert!(Instant::now() < ends, "it did not come about");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn killed_first_deploy_leaves_a_state_with_its_objects() {
    // Killed before its first object exists.
    let lab = Lab::new(TWO);
    lab.set_fault(Fault {
        on: On::Create,
        ms: Some(60_000),
        ..Fault::new(Kind::Latency)
    });
    let mut running = Running::start(&lab);
    running.until_applying();
    running.signal(rustix::process::Signal::KILL);
    drop(running);
    let file = lab.workspace.path().join("terraform.tfstate");
    let state: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(
        (&state["version"], &state["serial"]),
        (&4.into(), &0.into())
    );
    // Killed after its first object exists.
    let (lab, running) = slow();
    let file = lab.workspace.path().join("terraform.tfstate");
    wait_until(|| std::fs::read_to_string(&file).is_ok_and(|text| text.contains("lab_bucket")));
    running.signal(rustix::process::Signal::KILL);
    drop(running);
    let state: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(state["resources"][0]["name"], "a", "{state}");
    let names = std::fs::read_dir(lab.workspace.path()).unwrap().flatten();
    let left = names.filter(|e| e.file_name().to_string_lossy().ends_with(".new"));
    assert_eq!(left.count(), 0, "no temporary file is left");
}

#[test]
fn stage_creates_no_state_file() {
    let w = Workspace::new(&[("main.tf", "resource \"terraform_data\" \"a\" {}\n")]);
    w.run(&["stage"]).expect(0);
    let states = std::fs::read_dir(w.path()).unwrap().flatten();
    let states = states.filter(|e| e.file_name().to_string_lossy().contains("tfstate"));
    assert_eq!(states.count(), 0);
}

#[test]
fn rescue_file_in_the_temporary_directory_is_reported_by_commands_and_doctor() {
    let w = Workspace::new(&[("main.tf", "resource \"terraform_data\" \"a\" {}\n")]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let temp = w.path().parent().unwrap().join("temp");
    std::fs::create_dir(&temp).unwrap();
    let place = w.path().canonicalize().unwrap();
    let digest = Sha256::digest(place.as_os_str().as_encoded_bytes());
    let digest = hex::encode(&digest[..8]);
    let rescue = temp.join(format!("flightdeck-rescue-{digest}-1.db"));
    std::fs::copy(w.store(), &rescue).unwrap();
    let run = |args: &[&str]| {
        let mut command = w.command(args);
        crate::support::Run::from_command(command.env("TMPDIR", &temp))
    };
    // The store exists but may be older than the rescue file: the command works, with a notice.
    let listed = run(&["state", "list"]).expect(0);
    let name = rescue.display().to_string();
    assert!(listed.stderr.contains(&name), "{listed:#?}");
    std::fs::remove_dir_all(w.path().join(".flightdeck")).unwrap();
    let refused = run(&["stage"]).expect(1);
    assert!(refused.stderr.contains(&name), "{refused:#?}");
    let doctor = run(&["doctor"]);
    let said = format!("{}{}", doctor.stdout, doctor.stderr);
    assert!(said.contains(&name) && said.contains("mkdir -p"), "{said}");
    // Run the recovery command from the error.
    let shown = refused.stderr.split('`').nth(1).unwrap().to_owned();
    let done = std::process::Command::new("sh")
        .args(["-c", &shown])
        .current_dir(w.path())
        .status();
    assert!(done.unwrap().success(), "{shown}");
    let listed = run(&["state", "list"]).expect(0);
    assert_eq!(listed.stdout.trim(), "terraform_data.a", "{listed:#?}");
    assert!(!listed.stderr.contains(&name), "{listed:#?}");
}

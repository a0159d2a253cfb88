//! Programs that start children, and reset commands that fail.

use super::*;

#[test]
fn timed_out_program_is_killed_with_its_children() {
    let dir = tempfile::tempdir().unwrap();
    let programs = Programs {
        tofu: PathBuf::new(),
        flightdeck: PathBuf::new(),
        cli: tempfile::NamedTempFile::new().unwrap(),
        world: None,
    };
    let began = Instant::now();
    let run = |script: &str| {
        programs.run(
            Path::new("sh"),
            &["-c", script],
            dir.path(),
            Duration::from_millis(300),
        )
    };
    let why = run("sleep 600 & wait")
        .err()
        .map(|e| e.to_string())
        .unwrap();
    assert_eq!(why, "sh -c sleep 600 & wait did not end within 0 s");
    assert_eq!(
        run("sleep 600 & echo left behind").unwrap().stdout,
        "left behind\n"
    );
    assert!(began.elapsed() < Duration::from_secs(300));
}

#[test]
fn failed_world_reset_is_reported_with_its_command() {
    let dir = tempfile::tempdir().unwrap();
    let made = dir.path().join("made");
    let programs = |world: Option<String>| Programs {
        tofu: PathBuf::new(),
        flightdeck: PathBuf::new(),
        cli: tempfile::NamedTempFile::new().unwrap(),
        world,
    };
    let within = Duration::from_secs(60);
    programs(None).world_anew(within).unwrap();
    programs(Some(format!("touch '{}'", made.display())))
        .world_anew(within)
        .unwrap();
    assert!(made.exists());
    let why = programs(Some("echo no cloud >&2; exit 3".to_owned()))
        .world_anew(within)
        .unwrap_err()
        .to_string();
    assert_eq!(
        why,
        "`echo no cloud >&2; exit 3` ended with code 3: no cloud"
    );
}

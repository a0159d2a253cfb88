//! Tests of the identity of plugins: equal contents mean the same plugin, in any place and with any
//! time.

use crate::support::{Workspace, mode};
use std::fs::{File, FileTimes, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const CONFIG: &str = "terraform {\n  required_providers {\n    lab = { source = \"acme/lab\" }\n  }\n}\nprovider \"lab\" {\n  file = \"lab.json\"\n}\n\
                      resource \"lab_thing\" \"a\" { name = \"a\" }\n";

fn arch() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "amd64",
    }
}

/// Script that records its launches and runs the lab; `word` varies the contents at equal length.
fn script(word: &str) -> String {
    format!(
        "#!/bin/sh\necho {word} >> launches\nexec {} plugin serve lab\n",
        env!("CARGO_BIN_EXE_flightdeck")
    )
}

/// Installs a plugin in the user's mirror below `folder`.
fn install(w: &Workspace, folder: &str, text: &str) -> PathBuf {
    let name = format!(
        "{folder}/registry.opentofu.org/acme/lab/1.0.0/linux_{}/terraform-provider-lab_v1.0.0",
        arch()
    );
    let path = w.path().parent().unwrap().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path
}

fn set_time(path: &Path, at: SystemTime) {
    let times = FileTimes::new().set_modified(at);
    let file = File::options().write(true).open(path).unwrap();
    file.set_times(times).unwrap();
}

fn launches(w: &Workspace) -> String {
    let text = std::fs::read_to_string(w.path().join("launches")).unwrap_or_default();
    std::fs::remove_file(w.path().join("launches")).ok();
    text
}

#[test]
fn deploy_refuses_stage_when_plugin_bytes_changed_at_equal_size_and_time() {
    let w = Workspace::new(&[("main.tf", CONFIG)]);
    let plugin = install(&w, ".terraform.d/plugins", &script("one"));
    let at = std::fs::metadata(&plugin).unwrap().modified().unwrap();
    w.run(&["stage"]).expect(0);
    assert_eq!(launches(&w), "one\n");
    std::fs::write(&plugin, script("two")).unwrap();
    set_time(&plugin, at);
    let run = w.run(&["deploy", "1", "--auto-approve"]).expect(1);
    let why = "the files of the plugin registry.opentofu.org/acme/lab have changed since the stage was made; stage again";
    assert!(run.stderr.contains(why), "{run:?}");
    assert_eq!(launches(&w), "", "other bytes are not even launched");
    w.run(&["deploy", "--auto-approve"]).expect(0);
    assert!(launches(&w).starts_with("two\n"));
}

#[test]
fn deploy_accepts_stage_when_plugin_was_touched_reinstalled_or_moved() {
    let w = Workspace::new(&[("main.tf", CONFIG)]);
    let plugin = install(&w, ".terraform.d/plugins", &script("one"));
    w.run(&["stage"]).expect(0);
    set_time(&plugin, SystemTime::UNIX_EPOCH + Duration::from_secs(1));
    w.run(&["deploy", "1", "--auto-approve"]).expect(0);
    w.write("main.tf", &CONFIG.replace("\"a\" }", "\"b\" }"));
    w.run(&["stage"]).expect(0);
    // Another inode in another directory, with another time.
    std::fs::remove_file(&plugin).unwrap();
    install(&w, "data/opentofu/plugins", &script("one"));
    w.run(&["deploy", "2", "--auto-approve"]).expect(0);
}

#[test]
fn deploy_refuses_stage_of_a_version_that_recorded_paths_and_times() {
    let w = Workspace::new(&[("main.tf", CONFIG)]);
    install(&w, ".terraform.d/plugins", &script("one"));
    w.run(&["stage"]).expect(0);
    launches(&w);
    let store = rusqlite::Connection::open(w.store()).unwrap();
    let old = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    store
        .execute("UPDATE stage SET plugins_digest = ?1", [old])
        .unwrap();
    drop(store);
    let run = w.run(&["deploy", "1", "--auto-approve"]).expect(1);
    let why = "stage #1 is stale: the stage is from an older version of flightdeck, which did not record the contents of plugins";
    assert!(run.stderr.contains(why), "{run:?}");
    assert_eq!(launches(&w), "");
}

#[test]
fn additional_process_is_not_launched_from_changed_bytes() {
    let config = format!(
        "{CONFIG}provider \"lab\" {{\n  alias = \"other\"\n  file  = \"other.json\"\n}}\nresource \"lab_thing\" \"b\" {{\n  provider = lab.other\n  name     = \"b\"\n}}\n"
    );
    let w = Workspace::new(&[("main.tf", &config)]);
    // The first launch replaces the file by one of equal size and time.
    let text = script("one").replace(
        "\nexec",
        "\ntouch -r \"$0\" time\nsed -i s/one/two/ \"$0\"\ntouch -r time \"$0\"\nexec",
    );
    install(&w, ".terraform.d/plugins", &text);
    let run = w.run(&["stage"]).expect(1);
    assert!(
        run.stderr
            .contains("was replaced while it was in use; stage again to use the new file"),
        "{run:?}"
    );
    assert_eq!(launches(&w), "one\n");
}

#[test]
fn digest_cache_is_outside_the_workspace_and_private_to_the_user() {
    let text = "terraform {\n  required_providers {\n    lab = { source = \"flightdeck.internal/bundled/lab\" }\n  }\n}\nresource \"lab_thing\" \"a\" { name = \"a\" }\n";
    let w = Workspace::new(&[("main.tf", text)]);
    let stage = |cache: &Path| {
        let mut command = w.command(&["stage"]);
        let run = command.env("XDG_CACHE_HOME", cache).output().unwrap();
        assert!(run.status.success(), "{run:?}");
    };
    let file = "flightdeck/plugin-digests.json";
    let inside = w.path().join("cache");
    stage(&inside);
    assert!(!inside.exists(), "a clone could bring one");
    let outside = w.path().parent().unwrap().join("cache");
    stage(&outside);
    assert_eq!(mode(&outside.join(file)), 0o600);
    std::fs::write(outside.join(file), "damaged").unwrap();
    stage(&outside);
    let text = std::fs::read_to_string(outside.join(file)).unwrap();
    assert!(text.starts_with("{\"layout\":1,\"digests\":{"), "{text}");
}

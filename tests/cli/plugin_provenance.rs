//! Tests of provenance: no file of a clone is executed without trust, on any path that leads to it.
//! Provenance follows the contents of a plugin, not its directory.

use crate::support::{Run, Workspace};
use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

const PROVIDER: &str = "registry.opentofu.org/acme/lab";

const CONFIG: &str = "terraform {\n  required_providers {\n    lab = { source = \"acme/lab\" }\n  }\n}\nprovider \"lab\" {\n  file = \"lab.json\"\n}\n\
                      resource \"lab_thing\" \"a\" { name = \"a\" }\n";

fn platform() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "linux_arm64",
        _ => "linux_amd64",
    }
}

/// Script that records its launches and runs the lab.
fn script() -> String {
    format!(
        "#!/bin/sh\necho launched >> launches\nexec {} plugin serve lab\n",
        env!("CARGO_BIN_EXE_flightdeck")
    )
}

fn clone() -> Workspace {
    Workspace::new(&[("main.tf", CONFIG)])
}

fn outside(w: &Workspace, name: &str) -> PathBuf {
    w.path().parent().unwrap().join(name)
}

fn executable(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// Directory of an unpacked package below a mirror.
fn package(mirror: &Path) -> PathBuf {
    mirror.join(PROVIDER).join("1.0.0").join(platform())
}

fn unpacked(mirror: &Path) {
    let file = package(mirror).join("terraform-provider-lab_v1.0.0");
    executable(&file, &script());
}

fn packed(mirror: &Path) {
    let name = format!("terraform-provider-lab_1.0.0_{}.zip", platform());
    let path = mirror.join(PROVIDER).join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    let options = zip::write::SimpleFileOptions::default().unix_permissions(0o755);
    zip.start_file("terraform-provider-lab_v1.0.0", options)
        .unwrap();
    zip.write_all(script().as_bytes()).unwrap();
    zip.finish().unwrap();
}

fn launched(w: &Workspace) -> bool {
    std::fs::remove_file(w.path().join("launches")).is_ok()
}

fn run(w: &Workspace, words: &[&str], variables: &[(&str, &str)]) -> Run {
    Run::from_command(w.command(words).envs(variables.iter().copied()))
}

fn init(w: &Workspace, variables: &[(&str, &str)]) {
    run(w, &["init"], variables).expect(0);
    assert!(!launched(w), "init launches nothing");
}

/// Checks that the plugin is launched only with trust.
fn needs_trust(w: &Workspace, variables: &[(&str, &str)]) {
    let refused = run(w, &["stage"], variables).expect(3);
    let words = ["acme/lab", "--trust-workspace"];
    assert!(
        words.iter().all(|word| refused.stderr.contains(word)),
        "{refused:?}"
    );
    assert!(!launched(w), "{refused:?}");
    run(w, &["stage", "--trust-workspace"], variables).expect(0);
    assert!(launched(w));
}

fn git(w: &Workspace, words: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=test", "-c", "user.email=test@example.com"])
        .args(words)
        .current_dir(w.path())
        .status()
        .unwrap();
    assert!(done.success(), "{words:?}");
}

#[test]
fn packed_plugin_of_a_clone_needs_trust_after_init() {
    let w = clone();
    packed(&w.path().join("terraform.d/plugins"));
    init(&w, &[]);
    // The record of `init` is enough, even without the archive and after a move of the clone.
    std::fs::remove_dir_all(w.path().join("terraform.d")).unwrap();
    let refused = w.run(&["stage"]).expect(3);
    assert!(!launched(&w), "{refused:?}");
    let (from, to) = (w.path(), outside(&w, "moved"));
    std::fs::rename(&from, &to).unwrap();
    std::fs::create_dir(&from).unwrap();
    let mut command = w.command(&["stage"]);
    let moved = Run::from_command(command.current_dir(&to)).expect(3);
    assert!(!to.join("launches").exists(), "{moved:?}");
    std::fs::remove_dir(&from).unwrap();
    std::fs::rename(&to, &from).unwrap();
    needs_trust(&w, &[]);
}

#[test]
fn plugin_installed_from_a_clone_by_another_tool_needs_trust() {
    for pack in [packed, unpacked] {
        let w = clone();
        pack(&w.path().join("terraform.d/plugins"));
        unpacked(&w.path().join(".terraform/providers"));
        needs_trust(&w, &[]);
    }
}

#[test]
fn plugin_installed_from_the_users_directory_needs_no_trust() {
    for pack in [packed, unpacked] {
        let w = clone();
        pack(&outside(&w, ".terraform.d/plugins"));
        init(&w, &[]);
        w.run(&["stage"]).expect(0);
        assert!(launched(&w));
    }
}

#[test]
fn plugin_of_a_clone_is_not_cached() {
    let w = clone();
    packed(&w.path().join("terraform.d/plugins"));
    let cache = outside(&w, "cache");
    std::fs::create_dir(&cache).unwrap();
    let variables = [("TF_PLUGIN_CACHE_DIR", cache.to_str().unwrap())];
    init(&w, &variables);
    assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 0);
    needs_trust(&w, &variables);
}

#[test]
fn plugin_in_a_cache_of_the_clone_that_init_installed_needs_no_trust() {
    let mirror = |w: &Workspace| {
        let mirror = outside(w, "mirror");
        packed(&mirror);
        format!(
            "provider_installation {{\n  filesystem_mirror {{\n    path = {:?}\n  }}\n}}\n",
            mirror.display().to_string()
        )
    };
    // The user's own CLI configuration names the source.
    let w = clone();
    let user = outside(&w, "user.tfrc");
    std::fs::write(&user, mirror(&w)).unwrap();
    std::fs::create_dir(w.path().join("cache")).unwrap();
    let variables = [
        ("TF_CLI_CONFIG_FILE", user.to_str().unwrap()),
        ("TF_PLUGIN_CACHE_DIR", "cache"),
    ];
    init(&w, &variables);
    assert!(package(&w.path().join("cache")).exists());
    run(&w, &["stage"], &variables).expect(0);
    assert!(launched(&w));
    // Other contents, with a lock file that agrees: only the decision tells them apart.
    let file = package(&w.path().join("cache")).join("terraform-provider-lab_v1.0.0");
    executable(&file, &format!("{}# changed\n", script()));
    w.write(".terraform.lock.hcl", "");
    needs_trust(&w, &variables);
    // A cache that the repository brings.
    let w = clone();
    std::fs::create_dir(w.path().join("cache")).unwrap();
    unpacked(&w.path().join("cache"));
    std::fs::write(outside(&w, "user.tfrc"), mirror(&w)).unwrap();
    needs_trust(&w, &[("TF_PLUGIN_CACHE_DIR", "cache")]);
    // A CLI configuration of the repository names the source.
    let w = clone();
    w.write("clone.tfrc", &mirror(&w));
    std::fs::create_dir(w.path().join("cache")).unwrap();
    let variables = [
        ("TF_CLI_CONFIG_FILE", "clone.tfrc"),
        ("TF_PLUGIN_CACHE_DIR", "cache"),
    ];
    init(&w, &variables);
    needs_trust(&w, &variables);
}

#[test]
fn sources_named_by_a_clone_or_relative_path_need_trust() {
    let overrides = |folder: &str| {
        format!(
            "provider_installation {{\n  dev_overrides {{\n    \"acme/lab\" = {folder:?}\n  }}\n}}\n"
        )
    };
    let mirror = |folder: &str| {
        format!(
            "provider_installation {{\n  filesystem_mirror {{\n    path = {folder:?}\n  }}\n}}\n"
        )
    };
    let w = clone();
    let folder = w.path().join("vendor");
    unpacked(&folder);
    let build = package(&folder);
    let inside = w.path().join("clone.tfrc");
    let user = outside(&w, "user.tfrc");
    let relative = "./vendor";
    for (file, text) in [
        // Configuration files inside the clone, with absolute and relative paths.
        (&inside, overrides(build.to_str().unwrap())),
        (&inside, mirror(folder.to_str().unwrap())),
        (&inside, mirror(relative)),
        // The user's configuration file, with paths relative to the current directory.
        (&user, mirror(relative)),
        (&user, mirror("../work/vendor")),
        (
            &user,
            overrides(build.strip_prefix(w.path()).unwrap().to_str().unwrap()),
        ),
        (&user, "plugin_cache_dir = \"vendor\"\n".to_owned()),
    ] {
        std::fs::write(file, &text).unwrap();
        std::fs::remove_dir_all(outside(&w, "data")).ok();
        for name in [file.to_str().unwrap(), "clone.tfrc"] {
            if Path::new(name).is_relative() && file != &inside {
                continue;
            }
            std::fs::remove_dir_all(outside(&w, "data")).ok();
            needs_trust(&w, &[("TF_CLI_CONFIG_FILE", name)]);
        }
    }
    std::fs::remove_dir_all(outside(&w, "data")).ok();
    needs_trust(&w, &[("TF_PLUGIN_CACHE_DIR", "vendor")]);
    // An absolute path in the user's own configuration file needs no trust.
    std::fs::remove_dir_all(outside(&w, "data")).ok();
    std::fs::write(&user, mirror(folder.to_str().unwrap())).unwrap();
    let own = [("TF_CLI_CONFIG_FILE", user.to_str().unwrap())];
    run(&w, &["stage"], &own).expect(0);
    assert!(launched(&w));
}

#[test]
fn cli_configuration_in_the_surrounding_repository_counts_as_the_clones() {
    let w = clone();
    let folder = w.path().join("infra");
    std::fs::create_dir(&folder).unwrap();
    std::fs::rename(w.path().join("main.tf"), folder.join("main.tf")).unwrap();
    git(&w, &["init", "-q"]);
    unpacked(&folder.join("vendor"));
    let text = format!(
        "provider_installation {{\n  filesystem_mirror {{\n    path = {:?}\n  }}\n}}\n",
        folder.join("vendor").display().to_string()
    );
    w.write("clone.tfrc", &text);
    let mut command = w.command(&["stage"]);
    command
        .current_dir(&folder)
        .env("TF_CLI_CONFIG_FILE", "../clone.tfrc");
    let refused = Run::from_command(&mut command).expect(3);
    assert!(!folder.join("launches").exists(), "{refused:?}");
}

#[test]
fn relative_plugin_path_needs_trust() {
    let text = "terraform {\n  required_providers {\n    fake = { source = \"acme/fake\" }\n  }\n}\nresource \"fake_box\" \"a\" {}\n";
    let w = Workspace::new(&[("main.tf", text)]);
    let script = "#!/bin/sh\necho launched >> launches\nexit 1\n";
    executable(
        &w.path().join("plug/providers/acme/fake/1.0.0/plugin"),
        script,
    );
    executable(
        &w.path().join("plug/transformers/acme/turn/1.0.0/plugin"),
        script,
    );
    let relative = [
        "BLUELINK_DEPLOY_ENGINE_PLUGIN_PATH",
        "FLIGHTDECK_LAUNCH_ATTEMPTS",
    ];
    for words in [&["stage"][..], &["plugins"]] {
        let refused = run(&w, words, &[(relative[0], "plug"), (relative[1], "1")]).expect(3);
        assert!(!launched(&w), "{refused:?}");
    }
    let trusted = ["stage", "--trust-workspace"];
    run(&w, &trusted, &[(relative[0], "plug"), (relative[1], "1")]).expect(3);
    assert!(launched(&w), "it is launched then, and fails");
}

#[test]
fn link_in_a_clone_needs_trust_for_every_target() {
    // A link in the clone's mirror.
    let w = clone();
    unpacked(&outside(&w, "elsewhere"));
    std::fs::create_dir_all(w.path().join("terraform.d")).unwrap();
    symlink(
        outside(&w, "elsewhere"),
        w.path().join("terraform.d/plugins"),
    )
    .unwrap();
    needs_trust(&w, &[]);
    // Installed by `init` from that mirror, through a link to a link.
    init(&w, &[]);
    std::fs::remove_dir_all(outside(&w, "data")).unwrap();
    needs_trust(&w, &[]);
    // A link committed in place of the directories that `init` creates.
    for link in [
        ".terraform",
        ".terraform/providers",
        ".terraform/providers/registry.opentofu.org",
    ] {
        let w = clone();
        let to = outside(&w, "elsewhere");
        unpacked(&to.join("providers"));
        let to = match link {
            ".terraform" => to,
            ".terraform/providers" => to.join("providers"),
            _ => to.join("providers/registry.opentofu.org"),
        };
        std::fs::create_dir_all(w.path().join(link).parent().unwrap()).unwrap();
        symlink(to, w.path().join(link)).unwrap();
        w.run(&["stage"]).expect(0);
        assert!(launched(&w), "it may be the user's own link: {link}");
        git(&w, &["init", "-q"]);
        git(&w, &["add", "-f", link]);
        needs_trust(&w, &[]);
    }
}

#[test]
fn credentials_helper_of_a_clone_is_not_run() {
    let text = "terraform {\n  required_providers {\n    lab = { source = \"localhost:1/acme/lab\" }\n  }\n}\nresource \"lab_thing\" \"a\" {}\n";
    let w = Workspace::new(&[("main.tf", text)]);
    let helper = |whose: &str| format!("#!/bin/sh\necho {whose} >> helped\necho '{{}}'\n");
    let name = "terraform.d/plugins/terraform-credentials-x";
    executable(&w.path().join(name), &helper("clone"));
    executable(&outside(&w, &format!(".{name}")), &helper("user"));
    let config = "credentials_helper \"x\" {\n  args = []\n}\n";
    let helped = || std::fs::read_to_string(w.path().join("helped")).unwrap_or_default();
    // The user's configuration runs the user's helper.
    std::fs::write(outside(&w, ".tofurc"), config).unwrap();
    w.run(&["init"]).expect(1);
    assert!(helped().starts_with("user\n") && !helped().contains("clone"));
    std::fs::remove_file(w.path().join("helped")).unwrap();
    // A configuration file in the clone runs no helper.
    w.write("clone.tfrc", config);
    let named = run(&w, &["init"], &[("TF_CLI_CONFIG_FILE", "clone.tfrc")]).expect(1);
    assert_eq!(helped(), "", "{named:?}");
}

#[test]
fn git_runs_no_command_from_a_module() {
    let w = Workspace::new(&[]);
    let config = "[core]\n  hooksPath = .githooks\n  fsmonitor = .githooks/monitor\n[protocol \"ext\"]\n  allow = always\n[protocol \"file\"]\n  allow = always\n";
    std::fs::write(outside(&w, ".gitconfig"), config).unwrap();
    let (module, ran) = (outside(&w, "module"), outside(&w, "ran"));
    std::fs::create_dir(&module).unwrap();
    std::fs::write(module.join("main.tf"), "").unwrap();
    let hook = format!("#!/bin/sh\necho \"$0\" >> {}\n", ran.display());
    for name in [
        "post-checkout",
        "post-merge",
        "reference-transaction",
        "monitor",
    ] {
        executable(&module.join(".githooks").join(name), &hook);
    }
    for words in [
        &["init", "-q"][..],
        &["add", "-A"],
        &[
            "-c",
            "core.hooksPath=/dev/null",
            "commit",
            "-q",
            "-m",
            "module",
        ],
        &["tag", "v1"],
    ] {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=test", "-c", "user.email=test@example.com"])
            .args([
                "-c",
                "core.hooksPath=/dev/null",
                "-c",
                "core.fsmonitor=false",
            ]);
        assert!(
            git.args(words)
                .current_dir(&module)
                .status()
                .unwrap()
                .success()
        );
    }
    let source = |address: &str| {
        w.write(
            "main.tf",
            &format!("module \"m\" {{\n  source = {address:?}\n}}\n"),
        );
    };
    source(&format!("git::file://{}?ref=v1", module.display()));
    w.run(&["init"]).expect(0);
    assert!(!ran.exists(), "{}", std::fs::read_to_string(&ran).unwrap());
    std::fs::remove_dir_all(w.path().join(".terraform")).unwrap();
    let command = format!("git::ext::sh -c touch% {}", ran.display());
    source(&command);
    let refused = w.run(&["init"]);
    assert!(refused.code != Some(0) && !ran.exists(), "{refused:?}");
}

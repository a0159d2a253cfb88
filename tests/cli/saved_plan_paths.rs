//! Tests of paths in saved plans: a path that the configuration names equally is stored equally, in
//! any directory.

use crate::support::{Run, Workspace};

const READS: &str = r#"
resource "terraform_data" "a" {
  input = join(" ", concat(
    [file("${path.module}/own.txt"), file("../shared/a.txt"), file("~/home.txt"), filemd5(abspath("own.txt"))],
    [for name in fileset("../shared", "*.txt") : name],
    [fileexists("../shared/none") ? "there" : "absent", path.root, templatefile("${path.cwd}/own.txt", {})],
  ))
}
output "all" { value = terraform_data.a.output }
"#;

/// Workspace with files inside it, next to it and in its home.
fn reading(text: &str) -> Workspace {
    let w = Workspace::new(&[("main.tf", text), ("own.txt", "own")]);
    w.write("../shared/a.txt", "shared");
    w.write("../home.txt", "home");
    w
}

#[test]
fn files_of_a_saved_plan_are_found_by_name_in_another_directory() {
    let w = reading(READS);
    w.run(&["plan", "-out=p"]).expect(0);
    let there = reading(READS);
    there.write("p", &w.read("p"));
    there.run(&["apply", "p"]).expect(0);
    let all = there.run(&["output", "-raw", "all"]).expect(0).stdout;
    assert!(
        all.starts_with("own shared home ") && all.ends_with(" a.txt absent . own"),
        "{all}"
    );
    for (file, named) in [
        ("own.txt", "own.txt"),
        ("../shared/a.txt", "../shared/a.txt"),
        ("../home.txt", "~/home.txt"),
    ] {
        let there = reading(READS);
        there.write("p", &w.read("p"));
        there.write(file, "another");
        let run = there.run(&["apply", "p"]).expect(1);
        assert!(
            run.stderr
                .contains(&format!("external inputs changed: {named}")),
            "{run:?}"
        );
    }
    let there = reading(READS);
    there.write("p", &w.read("p"));
    there.write("../shared/b.txt", "more");
    let run = there.run(&["apply", "p"]).expect(1);
    assert!(
        run.stderr.contains("files that match ../shared/*.txt"),
        "{run:?}"
    );
}

#[test]
fn planned_value_with_the_directory_is_refused_in_another_directory() {
    for value in ["path.cwd", "abspath(path.module)", "abspath(\"x\")"] {
        let text = format!("resource \"terraform_data\" \"a\" {{ input = {value} }}\n");
        let w = Workspace::new(&[("main.tf", &text)]);
        w.run(&["plan", "-out=p"]).expect(0);
        let there = Workspace::new(&[("main.tf", &text), ("p", &w.read("p"))]);
        let run = there.run(&["apply", "p"]);
        assert_ne!(run.code, Some(0), "{run:?}");
        assert!(
            run.stderr.contains("terraform_data.a") && run.stderr.contains("input"),
            "{run:?}"
        );
        assert_eq!(
            there.run(&["state", "list"]).expect(0).stdout,
            "",
            "nothing was made"
        );
        w.run(&["apply", "p"]).expect(0);
    }
}

#[test]
fn installed_modules_match_in_another_data_directory() {
    let module = "output \"x\" { value = 1 }\n";
    let main = "module \"m\" { source = \"git::https://example.com/m.git\" }\noutput \"x\" { value = module.m.x }\n";
    let installed = |w: &Workspace, data: &str, text: &str| {
        let manifest = format!(
            "{{\"Modules\":[{{\"Key\":\"\",\"Source\":\"\",\"Dir\":\".\"}},{{\"Key\":\"m\",\"Source\":\"git::https://example.com/m.git\",\"Dir\":\"{data}/modules/m\"}}]}}"
        );
        w.write(&format!("{data}/modules/modules.json"), &manifest);
        w.write(&format!("{data}/modules/m/main.tf"), text);
    };
    let w = Workspace::new(&[("main.tf", main)]);
    installed(&w, ".terraform", module);
    w.run(&["plan", "-out=p"]).expect(0);
    let there = Workspace::new(&[("main.tf", main), ("p", &w.read("p"))]);
    let apply = || Run::from_command(there.command(&["apply", "p"]).env("TF_DATA_DIR", "data"));
    installed(&there, "data", &module.replace('1', "2"));
    let run = apply().expect(1);
    assert!(
        run.stderr
            .contains(".terraform/modules/m/main.tf changed since"),
        "{run:?}"
    );
    installed(&there, "data", module);
    apply().expect(0);
}

#[test]
fn times_and_permissions_of_configuration_files_are_ignored() {
    let files = [
        ("main.tf", "module \"m\" { source = \"./m\" }\n"),
        ("m/main.tf", "output \"x\" { value = 1 }\n"),
    ];
    let w = Workspace::new(&files);
    w.run(&["plan", "-out=p"]).expect(0);
    let there = Workspace::new(&files);
    there.write("p", &w.read("p"));
    for (name, _) in files {
        let file = std::fs::File::options()
            .write(true)
            .open(there.path().join(name))
            .unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH)
            .unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        file.set_permissions(mode).unwrap();
    }
    there.run(&["apply", "p"]).expect(0);
}

#[test]
fn plan_whose_module_is_not_installed_names_init() {
    let w = Workspace::new(&[("main.tf", "")]);
    let module = w.path().with_file_name("module");
    std::fs::create_dir(&module).unwrap();
    std::fs::write(module.join("main.tf"), "output \"x\" {\n  value = 1\n}\n").unwrap();
    let archive = w.path().with_file_name("module.tar.gz");
    let mut tar = std::process::Command::new("tar");
    tar.arg("-czf")
        .arg(&archive)
        .arg("-C")
        .arg(&module)
        .arg(".");
    assert!(tar.status().unwrap().success());
    let main = format!(
        "module \"m\" {{\n  source = \"{}\"\n}}\nresource \"terraform_data\" \"a\" {{\n  input = module.m.x\n}}\n",
        archive.display()
    );
    w.write("main.tf", &main);
    w.run(&["init"]).expect(0);
    w.run(&["plan", "--out", "p"]).expect(0);
    let clone = Workspace::new(&[("main.tf", main.as_str()), ("p", &w.read("p"))]);
    let run = clone.run(&["apply", "p"]).expect(1);
    assert!(run.stderr.contains("Module not installed"), "{run:?}");
    assert!(run.stderr.contains("flightdeck init"), "{run:?}");
    assert!(!run.stderr.contains("stage again"), "{run:?}");
    clone.run(&["init"]).expect(0);
    let text = main.replace("module.m.x", "\"${module.m.x}\"");
    clone.write("main.tf", &text);
    let run = clone.run(&["apply", "p"]).expect(1);
    assert!(run.stderr.contains("main.tf changed since"), "{run:?}");
    clone.write("main.tf", &main);
    clone.run(&["apply", "p"]).expect(0);
}

//! Tests of `fmt`: selected files, output, written files and exit codes.

use crate::support::Workspace;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

const UGLY: &str = "locals {\na=1 # one\n  bb = 2 # two\n}\n";
const USUAL: &str = "locals {\n  a  = 1 # one\n  bb = 2 # two\n}\n";

fn messy() -> Workspace {
    let w = Workspace::new(&[
        ("main.tf", UGLY),
        ("fine.tf", USUAL),
        ("own.tfvars", "a=1\n"),
        ("x.tf.json", "{  }"),
    ]);
    w.write("sub/more.tofu", UGLY);
    w.write("sub/.hidden/main.tf", UGLY);
    w.write("sub/main.tf~", UGLY);
    w.write("tests/a.tftest.hcl", "run \"a\"   {\n}\n");
    w
}

#[test]
fn files_of_a_directory_are_formatted_and_listed() {
    let w = messy();
    let run = w.run(&["fmt"]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "main.tf\nown.tfvars\n"),
        "{}",
        run.stderr
    );
    assert_eq!(
        (w.read("main.tf").as_str(), w.read("own.tfvars").as_str()),
        (USUAL, "a = 1\n")
    );
    assert_eq!(
        (
            w.read("sub/more.tofu").as_str(),
            w.read("x.tf.json").as_str()
        ),
        (UGLY, "{  }")
    );
    let run = w.run(&["fmt", "--recursive"]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "sub/more.tofu\ntests/a.tftest.hcl\n")
    );
    assert_eq!(
        (
            w.read("sub/.hidden/main.tf").as_str(),
            w.read("sub/main.tf~").as_str()
        ),
        (UGLY, UGLY)
    );
    assert_eq!(w.run(&["fmt", "--recursive"]).stdout, "");
}

#[test]
fn check_changes_nothing_and_exits_with_3_on_differences() {
    let w = messy();
    let run = w.run(&["fmt", "--check", "--diff"]);
    assert_eq!(run.code, Some(3), "{run:#?}");
    assert!(
        run.stdout
            .starts_with("main.tf\n--- old/main.tf\n+++ new/main.tf\n"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("\n-a=1 # one\n") && run.stdout.contains("\n+  a  = 1 # one\n"),
        "{}",
        run.stdout
    );
    assert_eq!(w.read("main.tf"), UGLY);
    let run = w.run(&["fmt", "--check", "--list=false", "main.tf", "fine.tf"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(3), ""));
    assert_eq!(w.run(&["fmt", "--check", "fine.tf"]).code, Some(0));
    let run = w.run(&["fmt", "--write=false"]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "main.tf\nown.tfvars\n")
    );
    assert_eq!(w.read("main.tf"), UGLY);
    let run = w.run(&["fmt", "--check", "--json"]);
    let last: serde_json::Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(
        (run.code, &last["exit_code"], &last["files"]),
        (
            Some(3),
            &3.into(),
            &serde_json::json!(["main.tf", "own.tfvars"])
        )
    );
}

#[test]
fn standard_input_is_formatted() {
    let w = Workspace::new(&[]);
    let fed = |text: &str, args: &[&str]| {
        let mut child = w.command(args).stdin(Stdio::piped()).spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        let out = child.wait_with_output().unwrap();
        (
            out.status.code(),
            String::from_utf8(out.stdout).unwrap(),
            String::from_utf8(out.stderr).unwrap(),
        )
    };
    assert_eq!(
        fed(UGLY, &["fmt", "-"]),
        (Some(0), USUAL.to_owned(), String::new())
    );
    assert_eq!(
        fed(USUAL, &["fmt", "-"]),
        (Some(0), USUAL.to_owned(), String::new())
    );
    assert_eq!(fed(UGLY, &["fmt", "--check", "-"]).0, Some(3));
    let (code, out, err) = fed("a = \n", &["fmt", "-"]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(err.contains("<stdin>:1"), "{err}");
}

#[test]
fn invalid_file_is_reported_with_its_place_and_others_are_formatted() {
    let w = Workspace::new(&[("a.tf", "a = (\n"), ("b.tf", UGLY), ("c.txt", "")]);
    std::fs::write(w.path().join("d.tf"), b"# \xff\n").unwrap();
    let run = w.run(&["fmt"]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(
        run.stderr.contains("a.tf:") && run.stderr.contains("d.tf: invalid utf-8"),
        "{}",
        run.stderr
    );
    assert_eq!(
        (
            run.stdout.as_str(),
            w.read("b.tf").as_str(),
            w.read("a.tf").as_str()
        ),
        ("b.tf\n", USUAL, "a = (\n")
    );
    for (path, why) in [
        ("nowhere", "No such file"),
        ("c.txt", "only files that end in .tf"),
    ] {
        let run = w.run(&["fmt", path]);
        assert!(
            run.code == Some(1) && run.stderr.contains(path) && run.stderr.contains(why),
            "{}",
            run.stderr
        );
    }
    let run = w.run(&["fmt", "-", "b.tf"]);
    assert!(
        run.code == Some(1) && run.stderr.contains("standard input"),
        "{}",
        run.stderr
    );
}

#[test]
fn formatting_keeps_permissions_and_links() {
    let w = Workspace::new(&[("real/main.tf", UGLY)]);
    let (file, link) = (w.path().join("real/main.tf"), w.path().join("main.tf"));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("real/main.tf", &link).unwrap();
    assert_eq!(w.run(&["fmt", "main.tf"]).stdout, "main.tf\n");
    assert_eq!(w.read("real/main.tf"), USUAL);
    assert!(link.is_symlink());
    assert_eq!(
        std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert_eq!(
        std::fs::read_dir(w.path().join("real")).unwrap().count(),
        1,
        "something is left beside it"
    );
}

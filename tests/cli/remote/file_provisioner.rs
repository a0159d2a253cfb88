//! Tests of the `file` provisioner: texts, files, and directories with and without a trailing
//! slash.

use super::{Sshd, read, sshd, tainted};
use std::path::Path;

fn copy(s: &Sshd, what: &str, to: &Path) -> crate::support::Workspace {
    let w = s.workspace(&format!(
        "  provisioner \"file\" {{\n    {what}\n    destination = {to:?}\n  }}\n"
    ));
    w.write("src/one", "1");
    w.write("src/in/two", "22");
    std::os::unix::fs::symlink("in", w.path().join("src/link")).unwrap();
    w
}

#[test]
fn text_and_file_are_copied_to_a_remote_file() {
    let Some(s) = sshd() else { return };
    let to = s.path("a b'c");
    for (what, text) in [
        ("content = \"abc ${self.input}\"", "abc x"),
        ("source = \"src/one\"", "1"),
        ("content = \"\"", ""),
    ] {
        let w = copy(&s, what, &to);
        w.run(&["deploy", "--auto-approve"]).expect(0);
        assert_eq!(read(&to), text);
        assert_eq!(crate::support::mode(&to), 0o644);
        assert_eq!(tainted(&w), Some(false));
    }
}

#[test]
fn directory_is_copied_with_its_name_or_its_contents_with_a_slash() {
    let Some(s) = sshd() else { return };
    let to = s.path("to");
    std::fs::create_dir(&to).unwrap();
    copy(&s, "source = \"src\"", &to)
        .run(&["deploy", "--auto-approve"])
        .expect(0);
    assert_eq!(
        (
            read(to.join("src/one")),
            read(to.join("src/in/two")),
            read(to.join("src/link/two"))
        ),
        ("1".into(), "22".into(), "22".into())
    );
    copy(&s, "source = \"src/\"", &to)
        .run(&["deploy", "--auto-approve"])
        .expect(0);
    assert_eq!(
        (read(to.join("one")), read(to.join("in/two"))),
        ("1".into(), "22".into())
    );
    // If the target directory does not exist, it becomes the copy itself.
    let new = s.path("new");
    copy(&s, "source = \"src\"", &new)
        .run(&["deploy", "--auto-approve"])
        .expect(0);
    assert_eq!(read(new.join("in/two")), "22");
}

#[test]
fn failed_copy_shows_the_remote_error() {
    let Some(s) = sshd() else { return };
    let far = s.path("no/such");
    std::fs::create_dir(s.path("folder")).unwrap();
    for (what, to, why) in [
        (
            "source = \"src/one\"",
            far.join("file"),
            "No such file or directory",
        ),
        (
            "source = \"src\"",
            far.join("folder"),
            "No such file or directory",
        ),
        ("source = \"src/one\"", s.path("folder"), "Is a directory"),
        (
            "source = \"src/none\"",
            s.path("x"),
            "Cannot read the source",
        ),
    ] {
        let w = copy(&s, what, &to);
        let run = w.run(&["deploy", "--auto-approve"]).expect(5);
        assert!(run.stderr.contains(why), "{what} to {to:?}: {run:?}");
        assert_eq!(tainted(&w), Some(true));
    }
}

#[test]
fn large_file_is_copied_completely() {
    let Some(s) = sshd() else { return };
    let w = copy(&s, "source = \"big\"", &s.path("big"));
    let bytes: Vec<u8> = (0..20_u32 << 20)
        .map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3])
        .collect();
    std::fs::write(w.path().join("big"), &bytes).unwrap();
    w.run(&["deploy", "--auto-approve"]).expect(0);
    assert!(std::fs::read(s.path("big")).unwrap() == bytes);
}

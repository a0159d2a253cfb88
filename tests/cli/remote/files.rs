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
fn a_text_and_a_file_become_a_file_over_there() {
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
fn a_folder_is_copied_under_its_name_and_with_a_slash_what_is_in_it() {
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
fn what_cannot_be_copied_says_why_in_the_words_of_the_other_machine() {
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
fn a_file_of_twenty_megabytes_arrives_whole() {
    let Some(s) = sshd() else { return };
    let w = copy(&s, "source = \"big\"", &s.path("big"));
    let bytes: Vec<u8> = (0..20_u32 << 20)
        .map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3])
        .collect();
    std::fs::write(w.path().join("big"), &bytes).unwrap();
    w.run(&["deploy", "--auto-approve"]).expect(0);
    assert!(std::fs::read(s.path("big")).unwrap() == bytes);
}

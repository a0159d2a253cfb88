//! Tests of every operation against every kind of entry that a clone can hold.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use crate::{Refusal, RootedPath};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
    outside: PathBuf,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("clone");
    let outside = dir.path().join("outside");
    fs::create_dir(&root).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "precious").unwrap();
    Place {
        _dir: dir,
        root,
        outside,
    }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().flatten();
    let mut names: Vec<String> = entries
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

impl Place {
    fn unharmed(&self) {
        assert_eq!(names(&self.outside), ["file"]);
        let text = fs::read_to_string(self.outside.join("file")).unwrap();
        assert_eq!(text, "precious");
    }
}

fn fifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

/// Creates an entry of one kind at a path.
type Put = fn(&Place, &Path);
const ENTRIES: [(&str, Put); 6] = [
    ("link to a file", |p, at| {
        symlink(p.outside.join("file"), at).unwrap()
    }),
    ("link to a directory", |p, at| {
        symlink(&p.outside, at).unwrap()
    }),
    ("dangling link", |p, at| {
        symlink(p.outside.join("new"), at).unwrap()
    }),
    ("hard link", |p, at| {
        fs::hard_link(p.outside.join("file"), at).unwrap()
    }),
    ("pipe", |_, at| fifo(at)),
    ("link to a device", |_, at| {
        symlink("/dev/null", at).unwrap()
    }),
];

#[test]
fn file_operations_refuse_a_symlink_in_a_parent_component() {
    for inner in ["a", "a/b"] {
        for link in ["a", inner] {
            let p = place();
            fs::create_dir_all(p.root.join(link).parent().unwrap()).unwrap();
            symlink(&p.outside, p.root.join(link)).unwrap();
            let file = RootedPath::new(&p.root, inner).join("file");
            let refused = |what: &str, e: std::io::Error| {
                assert!(
                    matches!(Refusal::of(&e), Some(Refusal::Link { .. })),
                    "{what}: {e}"
                );
                assert!(e.to_string().contains(link), "{what}: {e}");
            };
            refused("replace", file.replace(b"x", 0o600).unwrap_err());
            refused("create", file.create_new(0o600).unwrap_err());
            refused("open", file.open_in_place().unwrap_err());
            refused("read", file.read().unwrap_err());
            refused("remove", file.remove_file().unwrap_err());
            refused("remove all", file.remove_all().unwrap_err());
            refused("mode", file.set_mode(0o600).unwrap_err());
            refused("directories", file.create_dirs().unwrap_err());
            refused("look", file.check_dirs().unwrap_err());
            refused(
                "create whole",
                file.create_atomic(b"x", 0o600, |_| Ok(())).unwrap_err(),
            );
            refused("link", file.replace_by_link(&p.outside).unwrap_err());
            p.unharmed();
        }
    }
}

#[test]
fn replace_overwrites_a_special_entry_without_following_it() {
    for (what, put) in ENTRIES {
        let p = place();
        put(&p, &p.root.join("name"));
        let file = RootedPath::new(&p.root, "name");
        file.replace(b"new", 0o600)
            .unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(fs::read(p.root.join("name")).unwrap(), b"new", "{what}");
        assert_eq!(names(&p.root), ["name"], "{what}");
        p.unharmed();
    }
}

#[test]
fn open_in_place_accepts_only_a_regular_file_with_one_link() {
    for (what, put) in ENTRIES {
        let p = place();
        put(&p, &p.root.join("name"));
        let file = RootedPath::new(&p.root, "name");
        let why = file.open_in_place().unwrap_err();
        assert!(Refusal::of(&why).is_some(), "{what}: {why}");
        let why = file.open_or_create(0o600).unwrap_err();
        assert!(why.to_string().contains("name"), "{what}: {why}");
        assert!(file.create_new(0o600).is_err(), "{what}");
        assert!(
            file.create_atomic(b"", 0o600, |_| Ok(()))
                .unwrap()
                .is_none(),
            "{what}"
        );
        if what != "hard link" {
            assert!(file.read().is_err(), "{what}");
        }
        p.unharmed();
    }
}

#[test]
fn remove_deletes_the_entry_without_following_links() {
    for (what, put) in ENTRIES {
        let p = place();
        let tree = p.root.join("tree");
        fs::create_dir_all(tree.join("inner")).unwrap();
        put(&p, &tree.join("inner/name"));
        put(&p, &p.root.join("name"));
        RootedPath::new(&p.root, "name").remove_all().unwrap();
        RootedPath::new(&p.root, "tree").remove_all().unwrap();
        assert_eq!(names(&p.root), Vec::<String>::new(), "{what}");
        p.unharmed();
    }
    let p = place();
    RootedPath::new(&p.root, "none").remove_all().unwrap();
    RootedPath::new(&p.root, "none/at/all")
        .remove_file()
        .unwrap();
}

#[test]
fn root_may_be_a_symlink() {
    let p = place();
    let link = p.root.parent().unwrap().join("link");
    symlink(&p.root, &link).unwrap();
    let file = RootedPath::new(&link, "a/b/name");
    file.replace(b"x", 0o644).unwrap();
    assert_eq!(fs::read(p.root.join("a/b/name")).unwrap(), b"x");
    assert_eq!(file.read().unwrap(), b"x");
}

#[test]
fn path_outside_root_is_refused_unless_named_by_the_operator() {
    let p = place();
    let out = RootedPath::new(&p.root, "../outside/file");
    let why = out.replace(b"x", 0o600).unwrap_err();
    assert!(
        matches!(Refusal::of(&why), Some(Refusal::Outside { .. })),
        "{why}"
    );
    p.unharmed();
    // An operator named the path, so links are followed.
    symlink(p.outside.join("file"), p.outside.join("link")).unwrap();
    let named = RootedPath::from_workspace(&p.root, Path::new("../outside/link"));
    assert!(named.open_in_place().unwrap().is_some());
    symlink("new", p.outside.join("dangling")).unwrap();
    let named = RootedPath::from_workspace(&p.root, Path::new("../outside/dangling"));
    assert!(
        named
            .create_atomic(b"", 0o600, |_| Ok(()))
            .unwrap()
            .is_some()
    );
    assert!(p.outside.join("new").exists());
    // Paths inside the root are checked in every spelling.
    symlink(p.outside.join("file"), p.root.join("link")).unwrap();
    for spelling in ["link", "./link", "x/../link"] {
        let named = RootedPath::from_workspace(&p.root, Path::new(spelling));
        assert!(named.open_in_place().is_err(), "{spelling}");
    }
    let whole = p.root.join("link");
    assert!(
        RootedPath::from_workspace(&p.root, &whole)
            .open_in_place()
            .is_err()
    );
}

#[test]
fn create_atomic_never_exposes_an_incomplete_file() {
    let p = place();
    let file = RootedPath::new(&p.root, "name");
    let made = file.create_atomic(b"text", 0o600, |_| {
        assert!(!p.root.join("name").exists());
        Ok(())
    });
    assert!(made.unwrap().is_some());
    assert_eq!(fs::read(p.root.join("name")).unwrap(), b"text");
    let failing = RootedPath::new(&p.root, "other")
        .create_atomic(b"x", 0o600, |_| Err(std::io::Error::other("no")));
    assert!(failing.is_err());
    assert_eq!(names(&p.root), ["name"]);
}

#[test]
fn files_of_another_owner_are_refused_unless_the_root_has_that_owner() {
    if !rustix::process::geteuid().is_root() {
        cty::testing::skipped("without root nothing can be given to somebody else");
        return;
    }
    let p = place();
    let file = RootedPath::new(&p.root, "d/name");
    file.replace(b"x", 0o600).unwrap();
    for stranger in ["d/name", "d"] {
        let path = p.root.join(stranger);
        std::os::unix::fs::chown(&path, Some(12_345), None).unwrap();
        let why = file.open_in_place().unwrap_err();
        assert!(
            matches!(
                Refusal::of(&why),
                Some(Refusal::Owner { owner: 12_345, .. })
            ),
            "{why}"
        );
        std::os::unix::fs::chown(&p.root, Some(12_345), None).unwrap();
        assert!(file.open_in_place().unwrap().is_some());
        std::os::unix::fs::chown(&p.root, Some(0), None).unwrap();
    }
}

#[test]
fn reads_are_size_limited_and_refuse_special_files() {
    let p = place();
    fifo(&p.root.join("pipe"));
    for path in [p.root.join("pipe"), "/dev/zero".into(), "/dev/null".into()] {
        let why = crate::read_regular(&path).unwrap_err();
        assert!(why.to_string().contains("not a regular file"), "{why}");
    }
    fs::write(p.root.join("long"), "12345").unwrap();
    let why = crate::read_at_most(p.root.join("long"), 4).unwrap_err();
    assert_eq!(why.to_string(), "it is larger than 4 bytes");
    assert_eq!(
        crate::read_at_most(p.root.join("long"), 5).unwrap(),
        b"12345"
    );
    // A regular file of the kernel that reports no size.
    assert!(!crate::read_regular("/proc/self/status").unwrap().is_empty());
    assert!(
        crate::read_regular(&p.root)
            .unwrap_err()
            .to_string()
            .contains("directory")
    );
}

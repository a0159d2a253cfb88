//! Tests of trust in commands: whose file names them, and what a decision covers.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use super::*;
use std::os::unix::fs::symlink;

/// Judges commands of `clone/work`, a directory of a repository, for a user at `home`.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        for dir in ["clone/.git", "clone/work", "home/.aws"] {
            std::fs::create_dir_all(place.at(dir)).unwrap();
        }
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        std::fs::write(self.at(name), text).unwrap();
        self.at(name)
    }

    fn trust(&self) -> CommandTrust {
        let home = self.at("home").display().to_string();
        CommandTrust::new(&self.at("clone/work"), move |name| {
            (name == "HOME").then(|| home.clone())
        })
    }

    fn runs(&self, file: &Path) -> bool {
        self.trust().check("touch x", NamedBy::User(file)).is_ok()
    }

    /// Digest of a command that runs in `clone/work`.
    fn digest(&self, words: &[&str]) -> String {
        let words: Vec<Word> = words.iter().map(|word| Word::fixed(*word)).collect();
        self.digest_of(&words)
    }

    fn digest_of(&self, words: &[Word]) -> String {
        let trust = self.trust();
        let executed = trust.executed(words, &self.at("clone/work"));
        trust.digest(words, "pattern", &executed)
    }
}

#[test]
fn command_from_a_file_in_the_workspace_or_its_repository_needs_trust() {
    let place = Place::new();
    let own = place.write("home/.aws/config", "");
    let inside = place.write("clone/work/aws.cfg", "");
    let above = place.write("clone/aws.cfg", "");
    assert!(place.runs(&own));
    for file in [
        inside.as_path(),
        &above,
        Path::new("aws.cfg"),
        Path::new("../aws.cfg"),
        &place.at("clone/work/../work/aws.cfg"),
        Path::new("is-not-there"),
    ] {
        assert!(!place.runs(file), "{}", file.display());
    }
    let link = place.at("home/.aws/credentials");
    symlink(&inside, &link).unwrap();
    assert!(!place.runs(&link), "a link to the clone");
    let link = place.at("clone/work/link");
    symlink(&own, &link).unwrap();
    assert!(place.runs(&link), "a link to the user's own");
}

#[test]
fn user_files_in_a_repository_around_home_need_no_trust() {
    let place = Place::new();
    std::fs::create_dir(place.at("home/.git")).unwrap();
    std::fs::create_dir(place.at("home/work")).unwrap();
    let own = place.write("home/.aws/config", "");
    let home = place.at("home").display().to_string();
    let trust = CommandTrust::new(&place.at("home/work"), |_| Some(home.clone()));
    assert!(trust.check("x", NamedBy::User(&own)).is_ok());
    let inside = place.write("home/work/aws.cfg", "");
    assert!(trust.check("x", NamedBy::User(&inside)).is_err());
}

#[test]
fn file_that_the_workspace_names_belongs_to_it_wherever_it_is() {
    let place = Place::new();
    let own = place.write("home/.aws/config", "");
    let outside = place.write("shared.hcl", "");
    let link = place.at("clone/work/x.flightdeck.hcl");
    symlink(&outside, &link).unwrap();
    let check = |file: NamedBy<'_>| place.trust().check("x", file).is_ok();
    for (file, expected) in [
        (NamedBy::Workspace(&link), false),
        (NamedBy::Workspace(&outside), false),
        (NamedBy::Workspace(Path::new("../../shared.hcl")), false),
        (NamedBy::Workspace(Path::new("none")), false),
        (NamedBy::User(&link), false),
        (NamedBy::User(&outside), true),
        // The user's configuration names it, too.
        (NamedBy::Workspace(&own), true),
    ] {
        assert_eq!(check(file), expected, "{file:?}");
    }
    let (home, named) = (place.at("home"), outside.display().to_string());
    let trust = CommandTrust::new(&place.at("clone/work"), |name| match name {
        "HOME" => Some(home.display().to_string()),
        "AWS_CONFIG_FILE" => Some(named.clone()),
        _ => None,
    });
    assert!(trust.check("x", NamedBy::Workspace(&outside)).is_ok());
}

#[test]
fn submodule_belongs_to_the_repository_around_it() {
    let place = Place::new();
    std::fs::write(place.at("clone/work/.git"), "gitdir: ../.git/modules/work").unwrap();
    let above = place.write("clone/aws.cfg", "");
    assert!(!place.runs(&above));
}

#[test]
fn decision_ends_when_an_executed_file_changes() {
    // Words of a command, and the file below `clone/work` that changes.
    let table: &[(&[&str], &str)] = &[
        (&["./drain.sh"], "drain.sh"),
        (&["././hooks/../drain.sh"], "drain.sh"),
        (&["HERE/drain.sh"], "drain.sh"),
        (&["./my drain.sh"], "my drain.sh"),
        (&["./a=b.sh"], "a=b.sh"),
        (&["../shared/drain.sh"], "../shared/drain.sh"),
        (&["../../other/drain.sh"], "../../other/drain.sh"),
        (&["sh", "drain.sh"], "drain.sh"),
        (&["sh", "-e", "./drain.sh", "now"], "drain.sh"),
        (&["sh", "-c", "./drain.sh"], "drain.sh"),
        (&["sh", "-c", "./dr''ain.sh"], "drain.sh"),
        (&["sh", "-c", r"./dr\ain.sh"], "drain.sh"),
        (&["sh", "-c", "cd hooks && ./drain.sh"], "hooks/drain.sh"),
        (&["sh", "-c", "exec \"$PWD/drain.sh\""], "drain.sh"),
        (&["sh", "-c", ". ./drain.sh"], "drain.sh"),
        (&["sh", "-c", "sh -c 'sh ./drain.sh'"], "drain.sh"),
        (&["python3", "drain.py"], "drain.py"),
        (&["python3", "-m", "drain"], "drain.py"),
        (&["python3", "-m", "pkg.drain"], "pkg/drain.py"),
        (&["python3", "pkg"], "pkg/__main__.py"),
        (&["env", "A=1", "./drain.sh"], "drain.sh"),
        (&["timeout", "5", "./drain.sh"], "drain.sh"),
        (&["awk", "-fdrain.awk"], "drain.awk"),
        (&["curl", "--config=drain.cfg"], "drain.cfg"),
        (&["curl", "-d", "@drain.json"], "drain.json"),
        (&["sh", "-c", "make -s drain"], "Makefile"),
        (&["sh", "-c", "make -s -C hooks"], "hooks/Makefile"),
        (&["make", "-s", "--directory=hooks"], "hooks/Makefile"),
        (&["make", "-s", "-Chooks"], "hooks/Makefile"),
        (&["make", "-sfhooks/other.mk"], "hooks/other.mk"),
        (&["env", "--chdir=hooks", "./in.sh"], "hooks/in.sh"),
        (&["env", "-Chooks", "./in.sh"], "hooks/in.sh"),
        (&["unshare", "--wd=hooks", "./in.sh"], "hooks/in.sh"),
        (&["env", "PATH=hooks:/bin", "in.sh"], "hooks/in.sh"),
        (
            &["git", "-c", "alias.zz=!./hooks/in.sh", "zz"],
            "hooks/in.sh",
        ),
        (
            &["git", "-C", "hooks", "-c", "alias.z=!./in.sh", "z"],
            "hooks/in.sh",
        ),
        (
            &["env", "GIT_CONFIG_VALUE_0=!hooks/in.sh", "git", "z"],
            "hooks/in.sh",
        ),
        (&["env", "HOME=hooks", "git", "z"], "hooks/.gitconfig"),
        (
            &["env", "PYTHONPATH=hooks", "python3", "-c", "import modx"],
            "hooks/modx.py",
        ),
        (&["perl", "-Ihooks", "-Mmody", "-e0"], "hooks/mody.pm"),
        (&["perl", "-Mlib=hooks", "-Mmody", "-e0"], "hooks/mody.pm"),
        (&["run-parts", "--regex", ".", "hooks"], "hooks/in.sh"),
        (&["curl", "-sKhooks/in.sh", "http://x"], "hooks/in.sh"),
        (&["make", "drain"], "Makefile"),
        (&["make", "-C", "hooks", "drain"], "hooks/Makefile"),
        (&["env", "-C", "hooks", "./drain.sh"], "hooks/drain.sh"),
        (
            &["env", "--chdir=hooks", "sh", "-c", "./drain.sh"],
            "drain.sh",
        ),
        (
            &["bash", "-o", "pipefail", "OUT/drain.sh"],
            "../../other/drain.sh",
        ),
        (&["ansible-playbook", "play.yml"], "play.yml"),
    ];
    for (words, file) in table {
        let place = Place::new();
        for dir in [
            "clone/shared",
            "clone/work/hooks",
            "clone/work/pkg",
            "other",
        ] {
            std::fs::create_dir_all(place.at(dir)).unwrap();
        }
        let here = place.at("clone/work").display().to_string();
        let out = place.at("other").display().to_string();
        let words: Vec<String> = words
            .iter()
            .map(|w| w.replace("HERE", &here).replace("OUT", &out))
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let path = format!("clone/work/{file}");
        place.write(&path, "#!/bin/sh\none\n");
        let before = place.digest(&words);
        assert_eq!(before, place.digest(&words), "{words:?}");
        place.write(&path, "#!/bin/sh\ntwo\n");
        assert_ne!(before, place.digest(&words), "{words:?}");
    }
}

#[test]
fn decision_ends_with_an_interpreter_and_a_turned_link() {
    let place = Place::new();
    let interpreter = place.at("clone/work/interpreter").display().to_string();
    place.write("clone/work/interpreter", "#!/bin/sh\none\n");
    for first in [
        format!("#!{interpreter}"),
        "#!./interpreter -x".to_owned(),
        format!("#! {interpreter}"),
        format!("#!/usr/bin/env -S {interpreter} -x"),
        format!("#!/usr/bin/env {interpreter}"),
    ] {
        place.write("clone/work/interpreter", "#!/bin/sh\none\n");
        place.write("clone/work/drain.sh", &format!("{first}\ntext\n"));
        let before = place.digest(&["./drain.sh"]);
        place.write("clone/work/interpreter", "#!/bin/sh\ntwo\n");
        assert_ne!(before, place.digest(&["./drain.sh"]), "{first}");
    }
    // Links of files and of directories, in the workspace and out of it, to the same content.
    for (dir, target) in [("one", "drain.sh"), ("two", "drain.sh")] {
        std::fs::create_dir_all(place.at(&format!("clone/work/{dir}"))).unwrap();
        std::fs::create_dir_all(place.at(&format!("out/{dir}"))).unwrap();
        place.write(&format!("clone/work/{dir}/{target}"), "same");
        place.write(&format!("out/{dir}/{target}"), "same");
    }
    for (link, words, targets) in [
        ("file", "./file", ["one/drain.sh", "two/drain.sh"]),
        ("dir", "./dir/drain.sh", ["one", "two"]),
        (
            "out",
            "./out",
            ["../../out/one/drain.sh", "../../out/two/drain.sh"],
        ),
        (
            "out-dir",
            "./out-dir/drain.sh",
            ["../../out/one", "../../out/two"],
        ),
    ] {
        let path = place.at(&format!("clone/work/{link}"));
        symlink(targets[0], &path).unwrap();
        let before = place.digest(&[words]);
        std::fs::remove_file(&path).unwrap();
        symlink(targets[1], &path).unwrap();
        assert_ne!(before, place.digest(&[words]), "{link}");
    }
}

#[test]
fn decision_is_for_the_words_and_the_workspace() {
    let place = Place::new();
    let digest = place.digest(&["./creds", "--for", "me"]);
    assert_ne!(digest, place.digest(&["./creds", "--for", "you"]));
    assert_ne!(digest, place.digest(&["./creds", "--for me"]));
    assert_ne!(digest, Place::new().digest(&["./creds", "--for", "me"]));
}

#[test]
fn open_part_is_left_out_of_a_decision_only_if_it_is_data() {
    let place = Place::new();
    place.write("clone/work/drain.sh", "#!/bin/sh\n");
    place.write("clone/work/evil.sh", "#!/bin/sh\n");
    let with = |words: &[&str], value: &str| {
        let word = |word: &&str| match word.split_once('@') {
            Some((fixed, _)) => Word(vec![
                Part::Fixed(fixed.to_owned()),
                Part::Open(Some(value.to_owned())),
            ]),
            None => Word::fixed(*word),
        };
        place.digest_of(&words.iter().map(word).collect::<Vec<_>>())
    };
    for (words, one, other, same) in [
        (&["./drain.sh", "@"][..], "10.0.0.1", "10.0.0.2", true),
        (&["./drain.sh", "--ip=@"], "10.0.0.1", "10.0.0.2", true),
        (&["sh", "-c", "./drain.sh @"], "10.0.0.1", "10.0.0.2", true),
        (&["sh", "-c", "./drain.sh @"], "10.0.0.1", "x; evil", false),
        (&["sh", "-c", "@"], "a", "b", false),
        (&["sh", "@"], "./drain.sh", "./evil.sh", false),
        (&["@"], "./drain.sh", "./evil.sh", false),
        (&["./drain.sh", "@"], "10.0.0.1", "./evil.sh", false),
        (&["./@.sh"], "drain", "evil", false),
    ] {
        assert_eq!(with(words, one) == with(words, other), same, "{words:?}");
    }
}

#[test]
fn command_trust_is_saved_by_digest_and_a_change_is_named() {
    let place = Place::new();
    let file = place.write("clone/work/aws.cfg", "");
    let trust = place.trust();
    let digest = trust.digest(&[Word::fixed("touch x")], "touch x", &[]);
    let real = file.canonicalize().unwrap();
    let name = format!("setting in {}", real.display());
    trust.file.add(&digest, &name).unwrap();
    assert!(place.runs(&file));
    let error = trust.check("touch y", NamedBy::User(&file)).unwrap_err();
    assert!(error.to_string().contains("has changed since"), "{error}");
    assert!(CommandError::is_cause_of(&error));
}

#[test]
fn question_shows_the_fixed_parts_of_words() {
    let open = |value: Option<&str>| Part::Open(value.map(str::to_owned));
    let fixed = |text: &str| Part::Fixed(text.to_owned());
    for (parts, shown) in [
        (vec![fixed("--ip="), open(None)], "'--ip=(known later)'"),
        (
            vec![fixed("--ip="), open(Some("10.0.0.1"))],
            "--ip=10.0.0.1",
        ),
        (vec![open(None)], "(known later)"),
        (
            vec![fixed("http://"), open(None), fixed("/x")],
            "'http://(known later)/x'",
        ),
    ] {
        let words = [Word::fixed("./drain.sh"), Word(parts), Word::fixed("a b")];
        let expected = format!("./drain.sh {shown} 'a b'");
        assert_eq!(displayed(&words, "pattern"), expected);
    }
}

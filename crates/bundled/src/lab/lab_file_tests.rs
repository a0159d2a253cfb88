//! Tests of small and large lab files with concurrent writers, manual edits and killed processes.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use serde_json::json;

use super::super::cloud::Object;
use super::*;

fn thing(name: &str, text: &str) -> Object {
    Object {
        kind: "lab_thing".into(),
        name: name.into(),
        attributes: json!({"text": text}).as_object().unwrap().clone(),
        ready_at: None,
    }
}

/// Lab in a temporary directory.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    /// Creates a lab file with the objects `0` to `299`, just too large to be replaced by each
    /// change.
    fn large() -> Place {
        let place = Place::new();
        let fill = |change: &mut Change<'_>| {
            (0..300)
                .for_each(|number| change.put(number.to_string(), thing("old", &"x".repeat(200))));
            Ok::<_, LabError>(())
        };
        place.open().update(fill).unwrap();
        assert!(place.length("lab.json") > MAX_UNJOURNALED);
        place
    }

    /// Opens the lab as a separate process would.
    fn open(&self) -> LabFile {
        LabFile::new(self.path("lab.json"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn length(&self, name: &str) -> u64 {
        fs::metadata(self.path(name)).unwrap().len()
    }

    fn files(&self) -> Vec<String> {
        let mut all: Vec<_> = fs::read_dir(self.0.path())
            .unwrap()
            .map(|one| one.unwrap().file_name().into_string().unwrap())
            .collect();
        all.sort();
        all
    }

    /// Returns the contents of the lab file without its journal.
    fn alone(&self) -> Cloud {
        SharedFile::new(self.path("lab.json")).load().unwrap()
    }
}

const ALONE: [&str; 2] = ["lab.json", "lab.json.lock"];
const WITH_JOURNAL: [&str; 3] = ["lab.json", "lab.json.journal", "lab.json.lock"];

fn alter(file: &LabFile, act: impl FnOnce(&mut Change<'_>)) {
    let change = |change: &mut Change<'_>| -> Result<(), LabError> {
        act(change);
        Ok(())
    };
    file.update(change).unwrap();
}

fn put(file: &LabFile, id: &str) {
    alter(file, |change| change.put(id, thing(id, "new")));
}

fn has(file: &LabFile, id: &str) -> bool {
    file.read(|cloud| cloud.objects.contains_key(id)).unwrap()
}

fn whole(file: &LabFile) -> Cloud {
    file.read(Cloud::clone).unwrap()
}

#[test]
fn small_lab_is_a_single_file_after_each_change() {
    let place = Place::new();
    let file = place.open();
    for number in 0..20 {
        put(&file, &number.to_string());
        assert_eq!(place.files(), ALONE);
        assert_eq!(
            (place.alone().serial, place.alone().objects.len()),
            (number + 1, number as usize + 1)
        );
    }
    let text = fs::read_to_string(place.path("lab.json")).unwrap();
    assert!(
        text.starts_with(
            "{\n  \"serial\": 20,\n  \"objects\": {\n    \"0\": {\n      \"type\": \"lab_thing\","
        ),
        "{text}"
    );
    assert!(text.ends_with("}\n") && !text.contains("fired") && !text.contains("index"));
}

#[test]
fn concurrent_writers_lose_no_change_while_the_lab_grows() {
    for large in [Place::new(), Place::large()] {
        let path = &large.path("lab.json");
        let there = whole(&large.open()).objects.len();
        std::thread::scope(|scope| {
            for writer in 0..6 {
                let file = LabFile::new(path);
                // Two threads of each process.
                for part in 0..2 {
                    let file = file.clone();
                    scope.spawn(move || {
                        for number in 0..25 {
                            let id = format!("{writer}-{part}-{number}");
                            let object = thing(&id, &"y".repeat(1_000));
                            alter(&file, |change| change.put(id.clone(), object));
                            assert!(has(&file, &id) && has(&LabFile::new(path), &id));
                            if number % 5 == 4 {
                                alter(&file, |change| assert!(change.remove(&id)));
                                assert!(!has(&LabFile::new(path), &id));
                            }
                        }
                    });
                }
            }
        });
        let file = large.open();
        let seen = whole(&file);
        assert_eq!(seen.objects.len(), there + 12 * 20);
        assert_eq!(seen.serial, 12 * 30 + u64::from(there > 0));
        assert!(
            large.length("lab.json") > MAX_UNJOURNALED,
            "the test is about large ones"
        );
        file.fold_journal().unwrap();
        assert_eq!(
            (large.files(), large.alone()),
            (ALONE.map(str::to_owned).to_vec(), seen)
        );
    }
}

#[test]
fn change_of_a_large_lab_is_appended_to_the_journal() {
    let place = Place::large();
    let (file, other) = (place.open(), place.open());
    let before = fs::metadata(place.path("lab.json")).unwrap().ino();
    // In turns, so that each must see the other's changes.
    for number in 0..20 {
        put(
            if number % 2 == 0 { &file } else { &other },
            &format!("new-{number}"),
        );
        assert!(has(&file, &format!("new-{number}")) && has(&other, &format!("new-{number}")));
    }
    // The second one found a journal, folded it at its first change, and did not fold again.
    assert_eq!(place.alone().serial, 3);
    assert_eq!(place.files(), WITH_JOURNAL);
    assert_ne!(fs::metadata(place.path("lab.json")).unwrap().ino(), before);
    assert_eq!(
        fs::read_to_string(place.path("lab.json.journal"))
            .unwrap()
            .lines()
            .count(),
        1 + 18
    );
    for name in WITH_JOURNAL {
        assert_eq!(
            fs::metadata(place.path(name)).unwrap().permissions().mode() & 0o777,
            0o600,
            "{name}"
        );
    }
    // Both know all changes: nothing is lost, and the file is complete.
    other.fold_journal().unwrap();
    assert_eq!(place.files(), ALONE);
    assert_eq!((place.alone(), place.alone().serial), (whole(&file), 21));
    file.fold_journal().unwrap();
}

#[test]
fn journal_longer_than_the_lab_file_is_folded() {
    let place = Place::large();
    let file = place.open();
    let mut folded = 0;
    for number in 0..1_000 {
        let before = place.alone_serial();
        alter(&file, |change| {
            change.put("one", thing(&number.to_string(), &"z".repeat(500)))
        });
        folded += u32::from(place.alone_serial() != before);
        let journal =
            fs::metadata(place.path("lab.json.journal")).map_or(0, |metadata| metadata.len());
        assert!(journal < place.length("lab.json") + 1_000);
    }
    assert!((2..20).contains(&folded), "{folded} times");
    assert_eq!(whole(&place.open()), whole(&file));
}

impl Place {
    /// Returns the serial line of the lab file without parsing all of it.
    fn alone_serial(&self) -> String {
        fs::read_to_string(self.path("lab.json"))
            .unwrap()
            .lines()
            .nth(1)
            .unwrap()
            .to_owned()
    }
}

#[test]
fn shrunk_lab_becomes_a_single_file_again() {
    let place = Place::large();
    let file = place.open();
    for number in 0..300 {
        alter(&file, |change| assert!(change.remove(&number.to_string())));
    }
    file.fold_journal().unwrap();
    assert_eq!(
        (place.files(), place.alone().objects.len()),
        (ALONE.map(str::to_owned).to_vec(), 0)
    );
    put(&file, "a");
    assert_eq!(
        (place.files(), place.alone().objects.len()),
        (ALONE.map(str::to_owned).to_vec(), 1)
    );
}

#[test]
fn truncated_journal_loses_only_the_last_change() {
    let place = Place::large();
    let file = place.open();
    put(&file, "answered");
    let answered = place.length("lab.json.journal") as usize;
    put(&file, "unanswered");
    let journal = fs::read(place.path("lab.json.journal")).unwrap();
    for cut in 0..=journal.len() {
        fs::write(place.path("lab.json.journal"), &journal[..cut]).unwrap();
        let next = place.open();
        assert_eq!(
            (has(&next, "answered"), has(&next, "unanswered")),
            (cut >= answered, cut == journal.len()),
            "at {cut}"
        );
        assert!(has(&next, "7"));
    }
    // A process that continues to run interprets the files in the same way.
    for cut in (0..=journal.len())
        .step_by(7)
        .chain([answered, answered + 1, journal.len()])
    {
        let place = Place::large();
        fs::write(place.path("lab.json.journal"), &journal[..cut]).unwrap();
        let next = place.open();
        put(&next, "next");
        let seen = whole(&place.open());
        assert_eq!(seen, whole(&next));
        let expected = [
            ("answered", cut >= answered),
            ("unanswered", cut == journal.len()),
            ("next", true),
        ];
        assert_eq!(
            expected.map(|(id, _)| (id, seen.objects.contains_key(id))),
            expected,
            "at {cut}"
        );
        assert_eq!(
            seen.serial,
            2 + u64::from(cut >= answered) + u64::from(cut == journal.len()),
            "at {cut}"
        );
    }
}

#[test]
fn unfinished_journal_entry_is_ignored() {
    let place = Place::large();
    let file = place.open();
    put(&file, "mine");
    let mut journal = fs::read(place.path("lab.json.journal")).unwrap();
    journal.extend(br#"{"serial":3,"objects":{"theirs":{"type":"lab_th"#);
    fs::write(place.path("lab.json.journal"), &journal).unwrap();
    assert!(has(&file, "mine") && !has(&file, "theirs"));
    put(&file, "next");
    assert_eq!(
        place.files(),
        ALONE,
        "folded, so that nobody reads a mixture"
    );
    let seen = whole(&place.open());
    assert!(
        seen.objects.contains_key("mine")
            && seen.objects.contains_key("next")
            && !seen.objects.contains_key("theirs")
    );
}

#[test]
fn journal_older_than_the_lab_file_is_ignored() {
    let place = Place::large();
    let file = place.open();
    put(&file, "a");
    alter(&file, |change| assert!(change.remove("7")));
    let journal = fs::read(place.path("lab.json.journal")).unwrap();
    file.fold_journal().unwrap();
    alter(&file, |change| assert!(change.remove("a")));
    put(&file, "7");
    file.fold_journal().unwrap();
    // As after a kill before the removal.
    fs::write(place.path("lab.json.journal"), &journal).unwrap();
    for file in [&file, &place.open()] {
        assert!(!has(file, "a") && has(file, "7"));
        put(file, "b");
        assert!(!has(&place.open(), "a") && has(&place.open(), "b"));
    }
    file.fold_journal().unwrap();
    assert_eq!(
        (place.files(), place.alone().serial),
        (ALONE.map(str::to_owned).to_vec(), 6)
    );
}

#[test]
fn manual_edits_of_the_lab_file_survive_while_a_journal_exists() {
    let place = Place::large();
    let file = place.open();
    put(&file, "made");
    alter(&file, |change| assert!(change.remove("9")));
    let text = fs::read_to_string(place.path("lab.json")).unwrap();
    let mut edited: serde_json::Value = serde_json::from_str(&text).unwrap();
    edited["objects"]["7"]["attributes"]["text"] = json!("drift");
    edited["objects"].as_object_mut().unwrap().remove("8");
    fs::write(place.path("lab.json"), edited.to_string()).unwrap();
    for file in [&file, &place.open()] {
        let seen = whole(file);
        assert_eq!(seen.objects["7"].attributes["text"], "drift");
        let there = ["8", "9", "made"].map(|id| seen.objects.contains_key(id));
        assert_eq!(there, [false, false, true]);
    }
    put(&file, "next");
    assert_eq!(
        place.files(),
        ALONE,
        "folded soon, so that the file can be edited in all its parts"
    );
    let seen = place.alone();
    assert_eq!(seen.objects["7"].attributes["text"], "drift");
    assert_eq!(
        ["8", "9", "made", "next"].map(|id| seen.objects.contains_key(id)),
        [false, false, true, true]
    );
}

#[test]
fn manual_edits_are_detected_immediately() {
    let place = Place::large();
    let file = place.open();
    for round in 0..20 {
        put(&file, &format!("n-{round}"));
        let text = fs::read_to_string(place.path("lab.json")).unwrap();
        let (old, new) = if round % 2 == 0 {
            ("\"old\"", "\"odd\"")
        } else {
            ("\"odd\"", "\"old\"")
        };
        fs::write(place.path("lab.json"), text.replacen(old, new, 300)).unwrap();
        let name = file.read(|cloud| cloud.objects["7"].name.clone()).unwrap();
        assert_eq!(format!("{name:?}"), new, "round {round}");
    }
}

#[test]
fn lab_is_empty_after_its_file_is_removed() {
    let place = Place::large();
    let file = place.open();
    put(&file, "a");
    fs::remove_file(place.path("lab.json")).unwrap();
    assert_eq!(whole(&file), Cloud::default());
    assert_eq!(whole(&place.open()), Cloud::default());
    put(&file, "b");
    assert_eq!(
        (place.files(), place.alone().objects.len()),
        (ALONE.map(str::to_owned).to_vec(), 1)
    );
}

#[test]
fn journal_of_another_lab_file_is_ignored() {
    let place = Place::large();
    let file = place.open();
    let backup = fs::read(place.path("lab.json")).unwrap();
    put(&file, "a");
    file.fold_journal().unwrap();
    put(&file, "b");
    // A copy from before the fold is restored.
    fs::write(place.path("lab.json"), backup).unwrap();
    assert_eq!(whole(&file).objects.len(), 300);
    put(&file, "c");
    assert_eq!(whole(&place.open()).objects.len(), 301);
}

#[test]
fn damaged_journal_is_refused_with_its_path_and_line() {
    let place = Place::large();
    let file = place.open();
    put(&file, "a");
    put(&file, "b");
    let good = fs::read_to_string(place.path("lab.json.journal")).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let cases = [
        (
            format!("{}\nnonsense\n{}\n", lines[0], lines[2]),
            "line 2, column 2",
        ),
        (
            format!(
                "{}\n{}\n{{\"serial\": 3, \"objets\": {{}}}}\n",
                lines[0], lines[1]
            ),
            "line 3, column",
        ),
        (format!("nonsense\n{}\n", lines[1]), "line 1, column 2"),
        ("x".repeat(1_000), "line 1, column 1"),
    ];
    for (text, place_of_it) in cases {
        fs::write(place.path("lab.json.journal"), &text).unwrap();
        for file in [place.open(), file.clone()] {
            let error = file.read(|_| ()).unwrap_err().to_string();
            assert!(
                error.contains("lab.json.journal") && error.contains(place_of_it),
                "{error}"
            );
            assert!(
                error.contains("repair this journal, or remove it") && !error.contains("at line"),
                "{error}"
            );
            let error = file
                .update(|change| -> Result<(), LabError> {
                    change.put("c", thing("c", ""));
                    Ok(())
                })
                .unwrap_err()
                .to_string();
            assert!(error.contains(place_of_it), "{error}");
        }
        assert_eq!(
            fs::read_to_string(place.path("lab.json.journal")).unwrap(),
            text,
            "nothing is written over it"
        );
    }
    fs::write(place.path("lab.json.journal"), &good).unwrap();
    assert!(has(&file, "b"), "mended");
    fs::remove_file(place.path("lab.json.journal")).unwrap();
    assert!(!has(&file, "b") && has(&file, "7"), "removed");
}

#[test]
fn damaged_lab_file_is_refused_with_its_path() {
    let place = Place::new();
    fs::write(place.path("lab.json"), "{ nonsense").unwrap();
    let error = place.open().read(|_| ()).unwrap_err().to_string();
    assert!(error.contains("lab.json"), "{error}");
}

#[test]
fn failed_or_panicking_update_changes_nothing() {
    for place in [Place::new(), Place::large()] {
        let file = place.open();
        put(&file, "a");
        let before = whole(&file);
        let bytes: Vec<_> = place
            .files()
            .iter()
            .map(|name| fs::read(place.path(name)).unwrap())
            .collect();
        let refused = file.update(|change| {
            change.put("a", thing("other", ""));
            assert!(change.remove("a"));
            change.count("f", Some(1));
            Err::<(), _>(LabError::NoObject { id: "b".into() })
        });
        assert!(refused.is_err());
        let panicked = std::panic::catch_unwind(|| {
            file.update(|change| -> Result<(), LabError> {
                change.put("b", thing("b", ""));
                panic!("a fault of ours")
            })
        });
        assert!(panicked.is_err());
        alter(&file, |change| change.put("a", before.objects["a"].clone()));
        assert_eq!(whole(&file), before);
        let after: Vec<_> = place
            .files()
            .iter()
            .map(|name| fs::read(place.path(name)).unwrap())
            .collect();
        assert!(after == bytes);
        put(&file, "b");
        assert!(has(&place.open(), "b"));
    }
}

#[test]
fn fault_counts_are_stored_in_the_journal() {
    let place = Place::large();
    let file = place.open();
    alter(&file, |change| change.count("f", Some(1)));
    alter(&file, |change| change.count("g", Some(3)));
    alter(&file, |change| change.count("f", None));
    assert_eq!(place.files(), WITH_JOURNAL);
    let next = place.open();
    assert_eq!(
        next.read(|cloud| cloud.fired.clone()).unwrap(),
        [("g".to_owned(), 3)].into()
    );
    next.fold_journal().unwrap();
    assert_eq!(
        (place.files(), place.alone()),
        (ALONE.map(str::to_owned).to_vec(), whole(&file))
    );
}

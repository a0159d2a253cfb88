//! Reconciliation of a backend and a store, in every combination.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use super::*;
use model::settings::Access;
use statefile::encryption::{Encryption, Hash, KeySource, Method, Secret};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use store::records::{BackendVersion, State, StateEdit};
use store::testing::object;
use store::{Store, version4};
use tempfile::TempDir;

const NAME: &str = "terraform.tfstate";
const BUILTIN: &str = "provider[\"terraform.io/builtin/terraform\"]";

struct Bench {
    dir: TempDir,
    store: Store,
    state: StateOfRecord,
}

fn plain() -> Encryption {
    Encryption::default()
}

fn info() -> LockInfo {
    LockInfo {
        id: "1".into(),
        operation: "OperationTypeApply".into(),
        who: "me@here".into(),
        ..LockInfo::default()
    }
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Access::ReadWrite).unwrap();
        let state = StateOfRecord::new(dir.path(), &store, StatePlace::File(NAME.into()), plain());
        Self { dir, store, state }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join(NAME)
    }

    /// The same workspace after a restart.
    fn again(self) -> Self {
        let state = StateOfRecord::new(
            self.dir.path(),
            &self.store,
            StatePlace::File(NAME.into()),
            plain(),
        );
        Self { state, ..self }
    }

    async fn put(&self, address: &str) {
        let one = store::records::StateObject {
            address: address.to_owned(),
            provider: BUILTIN.into(),
            ..object()
        };
        let edit = StateEdit::Put(Box::new(one));
        self.store.edit_state(vec![edit]).await.unwrap();
    }

    /// A state written by another program.
    fn elsewhere(&self, serial: i64, addresses: &[&str]) {
        let of = |address: &&str| store::records::StateObject {
            address: (*address).to_owned(),
            provider: BUILTIN.into(),
            ..object()
        };
        let state = State {
            serial,
            lineage: "theirs".into(),
            objects: addresses.iter().map(of).collect(),
            ..State::default()
        };
        fs::write(self.file(), version4(&state).to_local()).unwrap();
    }

    async fn open(&self) -> Vec<String> {
        self.state.open(info(), &LockWait::no_wait()).await.unwrap()
    }

    async fn refused(&self) -> String {
        self.state
            .open(info(), &LockWait::no_wait())
            .await
            .unwrap_err()
            .to_string()
    }

    async fn addresses(&self) -> Vec<String> {
        let all = self.state.read().await.unwrap().objects;
        all.into_iter().map(|o| o.address).collect()
    }
}

#[tokio::test]
async fn empty_new_workspace_leaves_no_state_file() {
    let w = Bench::new();
    assert!(w.open().await.is_empty());
    let text = fs::read_to_string(w.file()).unwrap();
    assert!(
        text.contains("\"serial\": 0"),
        "locked, and a state: {text}"
    );
    w.state.close().await.unwrap();
    assert!(!w.file().exists());
    w.open().await;
    w.put("terraform_data.a").await;
    w.state.close().await.unwrap();
    let text = fs::read_to_string(w.file()).unwrap();
    assert_eq!(text, version4(&w.store.state().await.unwrap()).to_local());
    assert!(!w.dir.path().join(".terraform.tfstate.lock.info").exists());
}

#[tokio::test]
async fn foreign_state_is_adopted_and_written_back_byte_for_byte() {
    let w = Bench::new();
    w.elsewhere(7, &["terraform_data.a", "terraform_data.b"]);
    let text = fs::read(w.file()).unwrap();
    assert_eq!(w.addresses().await.len(), 2, "before anything is locked");
    let told = w.open().await;
    assert!(
        told[0].contains("flightdeck now has a copy of the state in"),
        "{told:?}"
    );
    w.state.close().await.unwrap();
    assert_eq!(fs::read(w.file()).unwrap(), text);
    w.elsewhere(9, &["terraform_data.b"]);
    let told = w.open().await;
    assert!(told[0].contains("(serial 7, now 9, 1 object)"), "{told:?}");
    assert_eq!(w.addresses().await, ["terraform_data.b"]);
}

#[tokio::test]
async fn backup_has_the_permissions_of_the_state_and_keeps_its_own() {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    for (state, given, expected) in [(0o664, None, 0o664), (0o600, Some(0o640), 0o640)] {
        let w = Bench::new();
        let backup = w.dir.path().join("terraform.tfstate.backup");
        w.elsewhere(7, &["terraform_data.a"]);
        set(&w.file(), state);
        if let Some(given) = given {
            fs::write(&backup, "{}").unwrap();
            set(&backup, given);
        }
        w.open().await;
        w.put("terraform_data.b").await;
        w.state.close().await.unwrap();
        assert_eq!(mode(&backup), expected, "the state has {state:o}");
    }
}

#[tokio::test]
async fn first_change_writes_a_single_line_backup_of_the_previous_state() {
    let w = Bench::new();
    w.elsewhere(7, &["terraform_data.a"]);
    w.open().await;
    w.put("terraform_data.b").await;
    w.state.write_back().await.unwrap();
    w.put("terraform_data.c").await;
    w.state.close().await.unwrap();
    let backup = fs::read_to_string(w.dir.path().join("terraform.tfstate.backup")).unwrap();
    assert!(backup.contains("terraform_data") && backup.lines().count() == 1);
    assert!(backup.contains("\"serial\":7"), "{backup}");
    assert!(
        fs::read_to_string(w.file())
            .unwrap()
            .contains("\"serial\": 9")
    );
}

#[tokio::test]
async fn unwritten_state_is_written_at_the_next_open() {
    let w = Bench::new();
    w.open().await;
    w.put("terraform_data.a").await;
    w.state.write_back().await.unwrap();
    w.put("terraform_data.b").await;
    // The process ends here: the system releases its lock, and its record stays.
    let w = w.again();
    let told = w.open().await;
    assert!(
        told[0].contains("had not been written to terraform.tfstate"),
        "{told:?}"
    );
    assert!(fs::read_to_string(w.file()).unwrap().contains("\"b\""));
}

#[tokio::test]
async fn partially_written_state_file_is_restored_from_the_record() {
    let w = Bench::new();
    w.open().await;
    w.put("terraform_data.a").await;
    w.state.close().await.unwrap();
    let whole = fs::read(w.file()).unwrap();
    for cut in [0, 1, whole.len() / 2] {
        let known = w.store.backend_version().await.unwrap();
        let writing = BackendVersion {
            writing: true,
            ..known
        };
        w.store.set_backend_version(writing).await.unwrap();
        fs::write(w.file(), &whole[..cut]).unwrap();
        assert_eq!(w.addresses().await, ["terraform_data.a"], "{cut}");
        let told = w.open().await;
        assert!(
            told[0].contains("was only partly written"),
            "{cut}: {told:?}"
        );
        w.state.close().await.unwrap();
        assert_eq!(fs::read(w.file()).unwrap(), whole, "{cut}");
    }
}

#[tokio::test]
async fn foreign_truncated_state_file_is_refused_and_left_unchanged() {
    let w = Bench::new();
    w.elsewhere(7, &["terraform_data.a"]);
    w.open().await;
    w.state.close().await.unwrap();
    fs::write(w.file(), b"{\"version\": 4,").unwrap();
    assert!(w.refused().await.contains("it is not a JSON object"));
    assert_eq!(fs::read(w.file()).unwrap(), b"{\"version\": 4,");
}

#[tokio::test]
async fn conflicting_states_are_kept_until_the_operator_chooses() {
    for with in [
        ConflictChoice::Backend,
        ConflictChoice::Record { force: false },
    ] {
        let w = Bench::new();
        w.elsewhere(7, &["terraform_data.a"]);
        w.open().await;
        w.put("terraform_data.ours").await;
        let w = w.again();
        w.elsewhere(9, &["terraform_data.a", "terraform_data.theirs"]);
        let said = w.refused().await;
        for part in [
            "(serial 9)",
            "(serial 8)",
            "terraform_data.ours is only in the store",
            "terraform_data.theirs is only in the backend",
            "flightdeck state use backend",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let other = w
            .state
            .resolve_conflict(with, info())
            .await
            .unwrap()
            .unwrap();
        let other = fs::read_to_string(other).unwrap();
        w.open().await;
        let (here, there) = match with {
            ConflictChoice::Backend => ("terraform_data.theirs", "\"ours\""),
            ConflictChoice::Record { .. } => ("terraform_data.ours", "\"theirs\""),
        };
        assert_eq!(w.addresses().await[1], here);
        assert!(other.contains(there), "{other}");
        w.state.close().await.unwrap();
        let text = fs::read_to_string(w.file()).unwrap();
        let serial = if with == ConflictChoice::Backend {
            9
        } else {
            10
        };
        assert!(text.contains(&format!("\"serial\": {serial},")), "{text}");
    }
}

#[tokio::test]
async fn record_that_has_no_changes_never_replaces_the_state_of_the_backend() {
    let w = Bench::new();
    w.elsewhere(7, &["terraform_data.a"]);
    let choose = || {
        w.state
            .resolve_conflict(ConflictChoice::Record { force: false }, info())
    };
    let refused = choose().await.unwrap_err().to_string();
    assert!(refused.contains("nothing was changed"), "{refused}");
    w.open().await;
    w.state.close().await.unwrap();
    // Another workspace has written since.
    w.elsewhere(9, &["terraform_data.a", "terraform_data.theirs"]);
    let text = fs::read_to_string(w.file()).unwrap();
    choose().await.unwrap_err();
    assert_eq!(fs::read_to_string(w.file()).unwrap(), text);
}

#[tokio::test]
async fn missing_state_file_is_not_treated_as_an_empty_state() {
    let w = Bench::new();
    w.open().await;
    w.put("terraform_data.a").await;
    w.state.close().await.unwrap();
    fs::remove_file(w.file()).unwrap();
    let said = w.refused().await;
    assert!(
        said.contains("no longer exists, but the store has a copy with 1 objects"),
        "{said}"
    );
    assert!(!w.file().exists(), "nothing is left of the look");
    w.state
        .resolve_conflict(ConflictChoice::Record { force: false }, info())
        .await
        .unwrap();
    assert!(w.file().exists());
    assert!(w.open().await.is_empty());
}

#[tokio::test]
async fn store_of_one_state_is_never_used_for_another_place() {
    let w = Bench::new();
    w.open().await;
    w.put("terraform_data.a").await;
    w.state.close().await.unwrap();
    let elsewhere = StatePlace::File("st/x.tfstate".into());
    w.state.set_place(elsewhere.clone(), plain());
    for with in [
        ConflictChoice::Backend,
        ConflictChoice::Record { force: false },
        ConflictChoice::Record { force: true },
    ] {
        let refused = w.state.resolve_conflict(with, info()).await;
        assert!(matches!(refused, Err(StateError::Moved { .. })), "{with:?}");
    }
    let read = w.state.read().await.unwrap_err().to_string();
    for said in [w.refused().await, read] {
        assert!(
            said.contains("in terraform.tfstate, but the configuration names st/x.tfstate"),
            "{said}"
        );
    }
    assert!(!w.dir.path().join("st/x.tfstate").exists());
    // Another spelling names the same place.
    for same in ["./terraform.tfstate", "st/../terraform.tfstate"] {
        w.state.set_place(StatePlace::File(same.into()), plain());
        assert!(w.open().await.is_empty(), "{same}");
        w.state.close().await.unwrap();
    }
}

#[tokio::test]
async fn state_of_an_older_version_is_moved_to_its_file_once() {
    let w = Bench::new();
    w.put("terraform_data.a").await;
    assert_eq!(w.addresses().await.len(), 1, "before");
    let told = w.open().await;
    assert!(
        told[0].contains("where it is stored from now on"),
        "{told:?}"
    );
    w.state.close().await.unwrap();
    assert!(w.open().await.is_empty());
}

#[tokio::test]
async fn state_lock_excludes_other_processes_in_both_directions() {
    let w = Bench::new();
    w.open().await;
    let other =
        file::StateFileManager::in_directory(w.dir.path(), &FilePlace::at(NAME.as_ref()), true);
    let said = other.lock(info()).await.unwrap_err().to_string();
    assert!(
        said.contains("is locked by me@here (OperationTypeApply"),
        "{said}"
    );
    w.state.close().await.unwrap();
    other.lock(info()).await.unwrap();
    // Without lock info.
    fs::remove_file(w.dir.path().join(".terraform.tfstate.lock.info")).unwrap();
    assert!(w.refused().await.contains("which left no lock information"));
    other.unlock().await.unwrap();
    assert!(w.open().await.is_empty());
}

#[tokio::test]
async fn unknown_fields_survive_a_change_of_other_objects() {
    let w = Bench::new();
    w.elsewhere(7, &["terraform_data.a"]);
    let text = fs::read_to_string(w.file()).unwrap();
    let text = text.replacen(
        "\"schema_version\"",
        "\"fresh\": [1], \"schema_version\"",
        1,
    );
    let text = text.replacen(
        "\"mode\"",
        "\"each\": \"map\", \"extra\": {\"x\": null}, \"mode\"",
        1,
    );
    let text = text.replacen("\"serial\"", "\"footer\": \"f\", \"serial\"", 1);
    fs::write(w.file(), text).unwrap();
    w.open().await;
    w.put("terraform_data.b").await;
    w.state.close().await.unwrap();
    let text = fs::read_to_string(w.file()).unwrap();
    for part in ["\"fresh\": [\n", "\"extra\": {\n", "\"footer\": \"f\""] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

fn sealed_with(passphrase: &str, more: &[Method]) -> Encryption {
    let key = KeySource {
        name: "key_provider.pbkdf2.k".into(),
        secret: Secret::Passphrase(passphrase.into()),
        length: 32,
        iterations: 1_000,
        hash: Hash::Sha256,
        salt_length: 32,
    };
    let aad = Vec::new();
    let mut all = vec![Method::AesGcm { key, aad }];
    all.extend(more.iter().cloned());
    Encryption::new(all)
}

#[tokio::test]
async fn encrypted_state_is_readable_only_with_its_key() {
    let w = Bench::new();
    let place = || StatePlace::File(NAME.into());
    w.state
        .set_place(place(), sealed_with("sixteen letters!", &[]));
    w.open().await;
    w.put("terraform_data.a").await;
    w.state.close().await.unwrap();
    let text = fs::read_to_string(w.file()).unwrap();
    assert!(text.contains("encrypted_data") && !text.contains("terraform_data"));
    assert!(text.starts_with("{\n  \"serial\": 1,\n") && text.ends_with("}\n"));
    // A second store that must read the state.
    let other = Store::open(&w.dir.path().join("other"), Access::ReadOnly).unwrap();
    let with = |encryption| StateOfRecord::new(w.dir.path(), &other, place(), encryption);
    let read = with(sealed_with("sixteen letters!", &[])).read().await;
    assert_eq!(read.unwrap().objects.len(), 1);
    let said = with(sealed_with("another passphrase", &[])).read().await;
    assert!(
        said.unwrap_err()
            .to_string()
            .contains("a passphrase or key other than the configured one")
    );
    let said = with(plain()).read().await.unwrap_err().to_string();
    assert!(said.contains("it is encrypted"), "{said}");
}

#[tokio::test]
async fn plain_state_is_encrypted_at_the_first_change_with_a_fallback() {
    let w = Bench::new();
    w.elsewhere(7, &["terraform_data.a"]);
    let place = || StatePlace::File(NAME.into());
    w.state
        .set_place(place(), sealed_with("sixteen letters!", &[]));
    assert!(w.refused().await.contains("it is not encrypted"));
    let begun = sealed_with("sixteen letters!", &[Method::Unencrypted]);
    w.state.set_place(place(), begun);
    w.open().await;
    w.put("terraform_data.b").await;
    w.state.close().await.unwrap();
    let text = fs::read_to_string(w.file()).unwrap();
    assert!(text.contains("encrypted_data"), "{text}");
    let backup = fs::read_to_string(w.dir.path().join("terraform.tfstate.backup")).unwrap();
    assert!(backup.contains("\"serial\":7"), "as it was");
}

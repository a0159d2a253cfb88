//! Property test: any sequence of edits has the same result in the file as in a small model, and
//! the export is complete.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const ADDRESSES: [&str; 4] = ["a.b", "a.b[0]", "a.b[\"k\"]", "module.m[1].a.b"];
const KEYS: [&str; 2] = ["0000000a", "0000000b"];

fn edit() -> impl Strategy<Value = StateEdit> {
    let address = || prop::sample::select(ADDRESSES.to_vec()).prop_map(str::to_owned);
    let key = || prop::sample::select(KEYS.to_vec()).prop_map(str::to_owned);
    let name = || prop::sample::select(vec!["o", "p"]).prop_map(str::to_owned);
    let deposed = prop_oneof![3 => Just(String::new()), 1 => key()];
    let put = (address(), deposed.clone(), 0u32..9, any::<bool>()).prop_map(
        |(address, deposed, n, tainted)| {
            StateEdit::Put(Box::new(StateObject {
                deposed,
                tainted,
                ..object(&address, &format!("{{\"n\":{n}}}"))
            }))
        },
    );
    let output = (name(), 0u32..9, any::<bool>()).prop_map(|(name, n, sensitive)| {
        StateEdit::PutOutput(StateOutput {
            rest: String::new(),
            name,
            value: n.to_string(),
            ty: "\"number\"".to_owned(),
            sensitive,
        })
    });
    prop_oneof![
        4 => put,
        2 => (address(), deposed).prop_map(|(address, deposed)| StateEdit::Remove { address, deposed }),
        2 => (address(), address()).prop_map(|(from, to)| StateEdit::Move { from, to }),
        2 => (address(), key()).prop_map(|(address, key)| StateEdit::Depose { address, key }),
        2 => (address(), key()).prop_map(|(address, key)| StateEdit::Restore { address, key }),
        1 => output,
        1 => name().prop_map(|name| StateEdit::RemoveOutput { name }),
    ]
}

#[derive(Debug, Clone, Default)]
struct Model {
    objects: BTreeMap<(String, String), StateObject>,
    outputs: BTreeMap<String, StateOutput>,
}

impl Model {
    /// Returns false if the edit is refused.
    fn apply(&mut self, edit: &StateEdit) -> bool {
        match edit {
            StateEdit::Put(object) => drop(self.objects.insert(
                (object.address.clone(), object.deposed.clone()),
                (**object).clone(),
            )),
            StateEdit::Remove { address, deposed } => {
                drop(self.objects.remove(&(address.clone(), deposed.clone())))
            }
            StateEdit::Move { from, to } if from == to => {}
            StateEdit::Move { from, to } => {
                let at = |address: &str| {
                    self.objects
                        .keys()
                        .filter(|(a, _)| a == address)
                        .cloned()
                        .collect::<Vec<_>>()
                };
                let (moving, there) = (at(from), at(to));
                if !moving.is_empty() && !there.is_empty() {
                    return false;
                }
                for key in moving {
                    let object = self.objects.remove(&key).unwrap();
                    self.objects.insert(
                        (to.clone(), key.1),
                        StateObject {
                            address: to.clone(),
                            ..object
                        },
                    );
                }
            }
            StateEdit::PutOutput(output) => {
                drop(self.outputs.insert(output.name.clone(), output.clone()))
            }
            StateEdit::RemoveOutput { name } => drop(self.outputs.remove(name)),
            // Does not affect objects or outputs.
            StateEdit::Checks(_) => {}
            StateEdit::Depose { address, key } => return self.shift(address, "", key),
            StateEdit::Restore { address, key } => {
                if !self.objects.contains_key(&(address.clone(), String::new())) {
                    return self.shift(address, key, "");
                }
            }
        }
        true
    }

    fn shift(&mut self, address: &str, from: &str, to: &str) -> bool {
        let (from, place) = (
            (address.to_owned(), from.to_owned()),
            (address.to_owned(), to.to_owned()),
        );
        if self.objects.contains_key(&from) && self.objects.contains_key(&place) {
            return false;
        }
        if let Some(object) = self.objects.remove(&from) {
            self.objects.insert(
                place,
                StateObject {
                    deposed: to.to_owned(),
                    ..object
                },
            );
        }
        true
    }
}

#[test]
fn arbitrary_state_edits_match_the_model() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let config = ProptestConfig {
        cases: 40,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(batches in prop::collection::vec(prop::collection::vec(edit(), 0..4), 1..8))| {
        let folder = tempfile::tempdir().unwrap();
        let mut model = Model::default();
        let mut serial = 0;
        let store = open(folder.path());
        for batch in batches {
            let mut next = model.clone();
            let taken = batch.iter().all(|edit| next.apply(edit));
            let answer = runtime.block_on(store.edit_state(batch.clone()));
            prop_assert_eq!(answer.is_ok(), taken, "{:?}: {:?}", batch, answer);
            if taken {
                model = next;
                serial += i64::from(!batch.is_empty());
            }
        }
        let state = runtime.block_on(store.state()).unwrap();
        prop_assert_eq!(state.serial, serial);
        prop_assert_eq!(&state.objects, &model.objects.into_values().collect::<Vec<_>>());
        prop_assert_eq!(&state.outputs, &model.outputs.into_values().collect::<Vec<_>>());
        let file: serde_json::Value = serde_json::from_str(&version4(&state).to_line()).unwrap();
        let instances: usize = file["resources"].as_array().unwrap().iter().map(|r| r["instances"].as_array().unwrap().len()).sum();
        prop_assert_eq!(instances, state.objects.len());
        prop_assert_eq!(file["outputs"].as_object().unwrap().len(), state.outputs.len());
    });
}

#[tokio::test]
async fn check_results_are_stored_and_their_order_changes_no_serial() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let one = |name: &str, status: &str| {
        format!(
            "{{\"object_kind\":\"check\",\"config_addr\":\"check.{name}\",\"status\":{status:?},\"objects\":[{{\"object_addr\":\"check.{name}\",\"status\":{status:?}}}]}}"
        )
    };
    let keep = async |texts: &[String]| {
        let text = format!("[{}]", texts.join(","));
        let edit = StateEdit::Checks(Some(text).filter(|_| !texts.is_empty()));
        store.edit_state(vec![edit]).await.unwrap()
    };
    let (a, b) = (one("a", "pass"), one("b", "fail"));
    assert_eq!(keep(&[a.clone(), b.clone()]).await, 1);
    assert_eq!(keep(&[b.clone(), a]).await, 1);
    assert_eq!(keep(&[one("a", "fail"), b]).await, 2);
    assert!(store.state().await.unwrap().check_results.is_some());
    assert_eq!(keep(&[]).await, 3);
    assert_eq!(store.state().await.unwrap().check_results, None);
}

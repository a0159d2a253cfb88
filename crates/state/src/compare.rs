//! Comparison of two states, and a summary of their differences.

use std::collections::{BTreeMap, BTreeSet};
use store::records::State;
use store::version4;

/// Number of addresses in a summary; the others are counted.
const MAX_LISTED: usize = 5;

/// Each object and output of a state, in a comparable form.
fn comparable_parts(state: &State) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for object in &state.objects {
        let alone = State {
            objects: vec![object.clone()],
            ..State::default()
        };
        let name = if object.deposed.is_empty() {
            object.address.clone()
        } else {
            format!("{} (deposed object {})", object.address, object.deposed)
        };
        all.insert(name, version4(&alone).to_line());
    }
    for output in &state.outputs {
        let alone = State {
            outputs: vec![output.clone()],
            ..State::default()
        };
        let name = format!("output.{}", output.name);
        all.insert(name, version4(&alone).to_line());
    }
    all
}

/// Are two states equal, apart from serials and check results?
pub(super) fn same_content(a: &State, b: &State) -> bool {
    let spelt = |state: &State| {
        let mut file = version4(state);
        (file.serial, file.check_results) = (0, None);
        file.to_line()
    };
    // A cheap check first: it saves serializing large states that differ anyway.
    let shape = |state: &State| (state.objects.len(), state.outputs.len());
    shape(a) == shape(b) && a.lineage == b.lineage && spelt(a) == spelt(b)
}

/// Summary of the differences.
pub(super) fn summarize_differences(home: &State, copy: &State) -> String {
    let (there, here) = (comparable_parts(home), comparable_parts(copy));
    let names: BTreeSet<&String> = there.keys().chain(here.keys()).collect();
    let mut words: Vec<String> = Vec::new();
    let mut more = 0;
    for name in names {
        let word = match (there.get(name), here.get(name)) {
            (Some(a), Some(b)) if a == b => continue,
            (Some(_), Some(_)) => format!("{name} differs"),
            (Some(_), None) => format!("{name} is only in the backend"),
            (None, _) => format!("{name} is only in the store"),
        };
        if words.len() < MAX_LISTED {
            words.push(word);
        } else {
            more += 1;
        }
    }
    if home.lineage != copy.lineage {
        words.push("the lineages differ".to_owned());
    }
    if more > 0 {
        words.push(format!("{more} more differ"));
    }
    if words.is_empty() {
        words.push("only unknown fields differ".to_owned());
    }
    words.join(", ")
}

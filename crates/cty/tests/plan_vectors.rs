//! Tests of the plan rules with the tables of OpenTofu.

use cty::plan::{
    Violation, assert_object_compatible, assert_plan_valid, normalize_legacy, proposed_new,
};
use cty::schema::Schema;
use cty::testing::{readable, recorded, schema, vectors};
use serde_json::Value as Json;

fn run(file: &str, same: impl Fn(&Json) -> Result<(), String>) {
    let Some(rows) = vectors(file) else { return };
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|r| same(r).err().map(|e| format!("{}\n{e}", r["name"])))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
    println!("{} rows", rows.len());
}

fn same_words(got: Vec<Violation>, row: &Json) -> Result<(), String> {
    let mut got: Vec<String> = got
        .into_iter()
        .map(|(path, words)| format!("{path}: {words}"))
        .collect();
    let mut want: Vec<String> = row["want_errs"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|w| w.as_str())
        .map(readable)
        .collect();
    got.sort();
    want.sort();
    if got == want {
        Ok(())
    } else {
        Err(format!("  want {want:?}\n  got  {got:?}"))
    }
}

#[test]
fn proposed_new_matches_the_recordings() {
    run("proposed_new.jsonl", |row| {
        let block = schema(&row["schema"]);
        let (prior, config) = (recorded(&row["prior"]), recorded(&row["config"]));
        let got = proposed_new(&block, &prior, &config);
        let whole = Schema::new(0, block);
        let want = recorded(&row["want"]);
        // The second call uses the values cached by the first.
        let kept = (0..2).all(|_| whole.proposed_new(&prior, &config) == got);
        if got == want && kept {
            Ok(())
        } else {
            Err(format!("  want {want:?}\n  got  {got:?}"))
        }
    });
}

#[test]
fn plan_validation_matches_the_recordings() {
    run("plan_valid.jsonl", |row| {
        let (prior, config, planned) = (
            recorded(&row["prior"]),
            recorded(&row["config"]),
            recorded(&row["planned"]),
        );
        same_words(
            assert_plan_valid(&schema(&row["schema"]), &prior, &config, &planned),
            row,
        )
    });
}

#[test]
fn object_compatibility_matches_the_recordings() {
    run("object_compatible.jsonl", |row| {
        let (planned, actual) = (recorded(&row["planned"]), recorded(&row["actual"]));
        same_words(
            assert_object_compatible(&schema(&row["schema"]), &planned, &actual),
            row,
        )
    });
}

#[test]
fn legacy_normalization_matches_the_recordings() {
    run("normalize_legacy.jsonl", |row| {
        let got = normalize_legacy(&schema(&row["schema"]), &recorded(&row["input"]));
        let want = recorded(&row["want"]);
        if got == want {
            Ok(())
        } else {
            Err(format!("  want {want:?}\n  got  {got:?}"))
        }
    });
}

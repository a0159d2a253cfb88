//! Tests of conversion and unification with the tables of go-cty.

use cty::testing::{optional_value, ty, types, value, vectors};
use cty::{convert, unify};

#[test]
fn conversions_match_go_cty_recordings() {
    let Some(rows) = vectors("cty_convert.jsonl") else {
        return;
    };
    let mut wrong = Vec::new();
    for row in &rows {
        let (given, want_type) = (
            value(row["value"].as_str().unwrap()),
            ty(row["type"].as_str().unwrap()),
        );
        let want = optional_value(row["want"].as_str().unwrap());
        let got = convert(&given, &want_type);
        let error = row["want_error"].as_str().unwrap();
        let same = match (&got, &want) {
            (Ok(got), Some(want)) => error.is_empty() && got == want,
            (Err(e), None) => e.message == error,
            _ => false,
        };
        if !same {
            wrong.push(format!(
                "{given:?} to {want_type:?}\n  want {want:?} {error}\n  got  {got:?}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
    println!("{} rows", rows.len());
}

#[test]
fn unifications_match_go_cty_recordings() {
    let Some(rows) = vectors("cty_unify.jsonl") else {
        return;
    };
    let mut wrong = Vec::new();
    for row in &rows {
        let given = types(row["input"].as_str().unwrap());
        let want = row["want"].as_str().unwrap();
        let want_conversions: Option<Vec<bool>> = row["want_convs"]
            .as_array()
            .map(|a| a.iter().map(|b| b.as_bool().unwrap()).collect());
        let got = unify(&given);
        let same = match &got {
            None => want == "cty.NilType" && want_conversions.is_none(),
            Some(u) => {
                want != "cty.NilType"
                    && u.ty == ty(want)
                    && want_conversions.is_none_or(|w| {
                        w == u
                            .conversions
                            .iter()
                            .map(Option::is_some)
                            .collect::<Vec<_>>()
                    })
            }
        };
        if !same {
            wrong.push(format!(
                "{given:?}\n  want {want} {}\n  got  {got:?}",
                row["want_convs"]
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
    println!("{} rows", rows.len());
}

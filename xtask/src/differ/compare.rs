//! Compares the answers of both programs.

use super::program::{Places, Planned};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    BothAccept,
    SamePlan,
    BothRefuse,
    /// Both reject it while planning.
    BothRefusePlan,
    TofuAlone,
    FlightdeckAlone,
    OtherPlaces,
    OtherPlan,
    /// Applied by both, planned again, destroyed, with equal results.
    SameState,
    OtherState,
    TofuAloneApplies,
    TofuCannotApply,
    NotHeld,
}

impl Verdict {
    pub fn is_difference(self) -> bool {
        // Without `TofuCannotApply` and `NotHeld`: they do not judge flightdeck.
        matches!(
            self,
            Self::TofuAlone
                | Self::FlightdeckAlone
                | Self::OtherPlaces
                | Self::OtherPlan
                | Self::OtherState
                | Self::TofuAloneApplies
        )
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BothAccept => "both accept it",
            Self::SamePlan => "both plan it, and the plans are equal",
            Self::BothRefuse => "both refuse it, at the same places",
            Self::BothRefusePlan => "both refuse to plan it, at the same places",
            Self::TofuAlone => "only tofu accepts it",
            Self::FlightdeckAlone => "only flightdeck accepts it",
            Self::OtherPlaces => "both refuse it, at different places",
            Self::OtherPlan => "both plan it, and the plans differ",
            Self::SameState => {
                "both apply it: equal states and equal second plans, and everything is destroyed"
            }
            Self::OtherState => {
                "both apply it, and the states, the second plans or the destroys differ"
            }
            Self::TofuAloneApplies => "equal plans, and only tofu applies it",
            Self::TofuCannotApply => "equal plans, and tofu cannot apply it",
            Self::NotHeld => {
                "not compared: a provider or module is missing, or a step failed or took too long"
            }
        })
    }
}

/// Compares two validations, tofu's first.
pub fn places(theirs: &Places, ours: &Places) -> (Verdict, Vec<String>) {
    let verdict = match (theirs.is_empty(), ours.is_empty()) {
        (true, true) => Verdict::BothAccept,
        (true, false) => Verdict::TofuAlone,
        (false, true) => Verdict::FlightdeckAlone,
        // The texts may differ; only the places must agree.
        (false, false) if theirs.keys().eq(ours.keys()) => Verdict::BothRefuse,
        (false, false) => Verdict::OtherPlaces,
    };
    let alone = |who: &str, these: &Places, others: &Places| -> Vec<String> {
        these
            .iter()
            .filter(|(place, _)| !others.contains_key(*place))
            .flat_map(|(place, words)| words.iter().map(move |w| (place.clone(), w.clone())))
            .map(|(place, words)| format!("{who} {place}: {words}"))
            .collect()
    };
    let mut said = alone("tofu", theirs, ours);
    said.extend(alone("flightdeck", ours, theirs));
    (verdict, said)
}

/// Compares two plans, tofu's first.
pub fn plans((theirs, ours): (&Planned, &Planned)) -> (Verdict, Vec<String>) {
    let (theirs, ours) = match (theirs, ours) {
        (Ok(theirs), Ok(ours)) => (theirs, ours),
        (theirs, ours) => {
            // A program that has a plan has no errors, so it counts as accepting.
            let none = Places::new();
            let (theirs, ours) = (
                theirs.as_ref().err().unwrap_or(&none),
                ours.as_ref().err().unwrap_or(&none),
            );
            return match places(theirs, ours) {
                (Verdict::BothRefuse, said) => (Verdict::BothRefusePlan, said),
                other => other,
            };
        }
    };
    let mut said = Vec::new();
    for (list, key) in [
        ("resource_changes", "address"),
        ("resource_drift", "address"),
    ] {
        let (a, b) = (listed(&theirs[list], key), listed(&ours[list], key));
        let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        for name in names {
            match (a.get(name), b.get(name)) {
                (Some(a), Some(b)) => differences(&format!("{list} {name}"), a, b, &mut said),
                (Some(_), None) => said.push(format!("{list} {name}: tofu alone has it")),
                _ => said.push(format!("{list} {name}: flightdeck alone has it")),
            }
        }
    }
    differences(
        "output_changes",
        &theirs["output_changes"],
        &ours["output_changes"],
        &mut said,
    );
    (
        if said.is_empty() {
            Verdict::SamePlan
        } else {
            Verdict::OtherPlan
        },
        said,
    )
}

/// Drops differences at places where two plans of tofu itself differ: a clock, a random name, a
/// directory.
pub fn without_restless(said: Vec<String>, own: &[String]) -> (Verdict, Vec<String>) {
    // A difference is `PLACE: tofu VALUE, flightdeck VALUE`.
    let place = |line: &str| line.split(": tofu ").next().unwrap_or(line).to_owned();
    let restless: BTreeSet<String> = own.iter().map(|line| place(line)).collect();
    let (restless, left): (Vec<String>, Vec<String>) = said
        .into_iter()
        .partition(|line| restless.contains(&place(line)));
    // Named even though they do not count, so that a reader can judge them.
    if left.is_empty() {
        let named = restless
            .iter()
            .map(|line| format!("{}: tofu's own plans differ here", place(line)));
        return (Verdict::SamePlan, named.collect());
    }
    (Verdict::OtherPlan, left)
}

fn listed<'v>(list: &'v Value, key: &str) -> BTreeMap<String, &'v Value> {
    // Deposed objects have the address of the current one, so their key is added.
    let name = |v: &Value| {
        format!(
            "{}{}",
            v[key].as_str().unwrap_or(""),
            v["deposed"]
                .as_str()
                .map_or_else(String::new, |d| format!(" ({d})"))
        )
    };
    list.as_array()
        .into_iter()
        .flatten()
        .map(|v| (name(v), v))
        .collect()
}

/// Lists differences of two values. False, null and empty count as absent; numbers compare by
/// value.
pub fn differences(at: &str, a: &Value, b: &Value, said: &mut Vec<String>) {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            // An absent member is compared as null, because a program may leave null members out.
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                differences(
                    &format!("{at}.{name}"),
                    member(a, name),
                    member(b, name),
                    said,
                );
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&format!("{at}[{i}]"), a, b, said);
            }
        }
        // One program may write `1` where the other writes `1.0`.
        (Value::Number(x), Value::Number(y)) if x.as_f64() == y.as_f64() => {}
        _ if a == b || is_nothing(a) && is_nothing(b) => {}
        _ => said.push(format!("{at}: tofu {}, flightdeck {}", short(a), short(b))),
    }
}

fn member<'v>(of: &'v Map<String, Value>, name: &str) -> &'v Value {
    of.get(name).unwrap_or(&Value::Null)
}

fn is_nothing(v: &Value) -> bool {
    match v {
        Value::Null | Value::Bool(false) => true,
        Value::Array(all) => all.iter().all(is_nothing),
        Value::Object(all) => all.values().all(is_nothing),
        Value::Number(_) | Value::String(_) | Value::Bool(true) => false,
    }
}

fn short(v: &Value) -> String {
    const SHOWN: usize = 100;
    let text = v.to_string();
    let end: String = text.chars().take(SHOWN).collect();
    if end.len() < text.len() {
        format!("{end}…")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(all: &[&str]) -> Places {
        all.iter()
            .map(|p| ((*p).to_owned(), vec!["words".to_owned()]))
            .collect()
    }

    #[test]
    fn diagnostic_positions_give_the_expected_verdict() {
        for (theirs, ours, verdict, lines) in [
            (vec![], vec![], Verdict::BothAccept, 0),
            (vec![], vec!["a.tf:1"], Verdict::TofuAlone, 1),
            (vec!["a.tf:1"], vec![], Verdict::FlightdeckAlone, 1),
            (vec!["a.tf:1"], vec!["a.tf:1"], Verdict::BothRefuse, 0),
            (
                vec!["a.tf:1", "b.tf:2"],
                vec!["a.tf:1", "-"],
                Verdict::OtherPlaces,
                2,
            ),
        ] {
            let (got, said) = places(&at(&theirs), &at(&ours));
            assert_eq!((got, said.len()), (verdict, lines), "{theirs:?} {ours:?}");
        }
    }

    #[test]
    fn plans_are_compared_by_content() {
        let change = |after: Value| json!({ "resource_changes": [{ "address": "a.b", "change": { "after": after, "before_sensitive": false } }] });
        let plan = |theirs: Value, ours: Value| plans((&Ok(theirs), &Ok(ours)));
        assert_eq!(
            plan(
                change(json!({"n": 1})),
                change(json!({"n": 1.0, "none": null}))
            )
            .0,
            Verdict::SamePlan
        );
        let (verdict, said) = plan(
            change(json!({"n": [1, "x"]})),
            change(json!({"n": [1, "y"]})),
        );
        assert_eq!(
            (verdict, said),
            (
                Verdict::OtherPlan,
                vec![
                    "resource_changes a.b.change.after.n[1]: tofu \"x\", flightdeck \"y\""
                        .to_owned()
                ]
            )
        );
        let clock = |now: &str| change(json!({ "at": now, "n": 1 }));
        let (_, own) = plan(clock("10:00"), clock("10:01"));
        let (_, said) = plan(clock("10:00"), clock("10:02"));
        assert_eq!(
            without_restless(said, &own),
            (
                Verdict::SamePlan,
                vec![
                    "resource_changes a.b.change.after.at: tofu's own plans differ here".to_owned()
                ]
            )
        );
        let (_, said) = plan(clock("10:00"), change(json!({ "at": "10:02", "n": 2 })));
        assert_eq!(
            without_restless(said, &own),
            (
                Verdict::OtherPlan,
                vec!["resource_changes a.b.change.after.n: tofu 1, flightdeck 2".to_owned()]
            )
        );
        let (_, said) = plan(
            change(json!(1)),
            json!({ "resource_drift": [{ "address": "a.b", "deposed": "k" }] }),
        );
        assert_eq!(
            said,
            [
                "resource_changes a.b: tofu alone has it",
                "resource_drift a.b (k): flightdeck alone has it"
            ]
        );
        assert_eq!(
            plans((&Err(at(&["a:1"])), &Err(at(&["a:1"])))).0,
            Verdict::BothRefusePlan
        );
        assert_eq!(
            plans((&Ok(json!({})), &Err(at(&["a:1"])))).0,
            Verdict::TofuAlone
        );
    }
}

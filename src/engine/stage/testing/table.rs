//! Tables of planning rules as text. Rows are separated by blank lines:
//!
//! ```text
//! # A changed argument is an update.
//! config: resource lab_thing a { name = "b" }
//! state:  lab_thing.a name=a
//! values: ~ lab_thing.a: name "a" > "b"
//! ```
//!
//! A line without a key continues the one before. A row without `config` uses that of the row
//! before. Sections of expected lines are those of [`Plan`]; `says` has the diagnostics, and a row
//! without it expects none. `explains` has a part of each detail, `valid` the diagnostics of a
//! validation without a plan. `tofu` is the recorded order of OpenTofu: no operation may wait for
//! one that it does not wait for there, and without `order` both are equal. `before` is the
//! configuration that the recorded state comes from. `taken` and `along` are the selection after
//! the steps of `select`.
//!
//! Each stage must also survive the store, and a deploy of each of its changes, alone or left out,
//! must have an order.

use super::plan::{Plan, plan, summaries};
use super::workspace::read;
use crate::stage::change::{Change, Stage};
use crate::stage::select::{references, select, select_only};
use crate::stage::staging::validated;
use crate::stage::steps::has_effect;
use crate::stage::{encoding, nodes, show};
use lang::addr::Resource;
use model::Select;
use std::collections::{BTreeMap, BTreeSet};

const KEYS: &[&str] = &[
    "config",
    "state",
    "flags",
    "valid",
    "says",
    "explains",
    "changes",
    "values",
    "because",
    "deselected",
    "drift",
    "aspects",
    "edits",
    "outputs",
    "checks",
    "inputs",
    "needs",
    "depends",
    "relevant",
    "commands",
    "order",
    "before",
    "tofu",
    "calls",
    "select",
    "taken",
    "along",
];

/// Sections that are not expected lines.
const INPUTS: &[&str] = &[
    "config", "state", "flags", "select", "says", "before", "tofu",
];

/// Row of a table: the rule, and the lines of each section.
struct Row<'a> {
    rule: &'a str,
    sections: Vec<(&'static str, Vec<&'a str>)>,
}

impl<'a> Row<'a> {
    fn parse(text: &'a str) -> Self {
        let mut lines = text.lines().map(str::trim);
        let first = lines.next().unwrap_or_default();
        let rule = first
            .strip_prefix("# ")
            .expect("a row begins with its rule");
        let mut row = Self {
            rule,
            sections: Vec::new(),
        };
        for line in lines {
            let key = line.split_once(':').map_or("", |(key, _)| key);
            match KEYS.iter().find(|known| **known == key) {
                Some(known) => {
                    let rest = line[key.len() + 1..].trim();
                    let lines = Some(rest).filter(|rest| !matches!(*rest, "" | "none"));
                    row.sections.push((known, lines.into_iter().collect()));
                }
                None => {
                    let (_, lines) = row.sections.last_mut().expect("a section");
                    lines.push(line);
                }
            }
        }
        row
    }

    fn section(&self, key: &str) -> Option<&Vec<&'a str>> {
        let found = self.sections.iter().find(|(name, _)| *name == key);
        found.map(|(_, lines)| lines)
    }
}

fn lines_of(plan: &Plan, key: &str, select: &[&str]) -> Vec<String> {
    match key {
        "says" => plan.diagnostics(),
        "changes" => plan.changes(),
        "values" => plan.values(),
        "because" => plan.because(),
        "deselected" => plan.deselected(),
        "drift" => plan.drift(),
        "aspects" => plan.aspects(),
        "edits" => plan.edits(),
        "outputs" => plan.outputs(),
        "checks" => plan.checks(),
        "inputs" => plan.inputs(),
        "needs" => plan.needs(),
        "depends" => plan.depends(),
        "relevant" => plan.relevant(),
        "commands" => plan.commands(),
        "order" => plan.order(),
        "calls" => plan.calls(),
        "taken" => plan.selection(select).taken,
        "along" => {
            let along = plan.selection(select).along.into_iter();
            along
                .map(|(id, cause)| format!("{id} with {cause}"))
                .collect()
        }
        "explains" => {
            let details = plan.diags.iter().map(|d| d.detail.to_string());
            details.collect()
        }
        key => panic!("{key} is no section of expected lines"),
    }
}

/// Validates a configuration without values of its variables; returns the diagnostics.
async fn validate(config: &str) -> Vec<String> {
    match read(config, &[], &["validate"]).1 {
        Err(diags) => summaries(&diags),
        Ok(mut workspace) => {
            let found = validated(&workspace.input).await;
            workspace.warnings.append(found);
            summaries(&workspace.warnings)
        }
    }
}

/// Stores the stage and restores it, which must lose nothing.
fn check_stored(plan: &Plan, rule: &str) {
    let Some(stage) = &plan.stage else { return };
    let record = |stage: &Stage| {
        let show = || show::summary(stage);
        let (record, _) = encoding::record(stage, show, Vec::new(), None).expect("encode");
        record
    };
    let (stored, schemas) = (record(stage), plan.lab.schemas());
    let schema = |_: &str, resource: &Resource| nodes::schema_of(&schemas, resource).cloned();
    let restored = encoding::restore(&stored, None, schema).expect("decode");
    let detail = |stage| record(stage).detail.text().expect("a text");
    assert_eq!(detail(&restored), detail(stage), "{rule}");
}

/// Deselects and selects each change by itself, which must leave a selection that can be deployed.
fn check_selections(plan: &Plan, rule: &str) {
    let Some(stage) = &plan.stage else { return };
    let changes = references(stage);
    for id in stage
        .changes
        .iter()
        .filter(|c| has_effect(c))
        .map(Change::id)
    {
        let left = BTreeSet::new();
        let without = select(&changes, &left, &Select::Leave(id.clone())).expect("a change");
        let alone = select_only(&changes, std::slice::from_ref(&id)).expect("a change");
        for selection in [without, alone] {
            let all = stage.changes.iter().enumerate();
            let taken = all.filter(|(_, c)| selection.taken.contains(&c.id()));
            let steps = plan.steps(stage, &taken.map(|(i, _)| i).collect());
            assert!(
                steps.is_ok(),
                "{rule}: {:?} cannot be deployed",
                selection.taken
            );
        }
    }
}

/// Renders a section that differs; empty if it does not.
fn difference(rule: &str, key: &str, got: &[String], want: &[&str]) -> String {
    let part = |(got, want): (&String, &&str)| got.contains(want);
    let equal = match key {
        "explains" => got.len() == want.len() && got.iter().zip(want).all(part),
        _ => got == want,
    };
    if equal {
        return String::new();
    }
    let (got, want) = (got.join("\n    "), want.join("\n    "));
    format!("\n{rule}\n  {key}, got:\n    {got}\n  want:\n    {want}\n")
}

/// Compares an order of operations with a recorded one. With `may_be_shorter`, operations may wait
/// for fewer others than recorded.
fn longer_waits(rule: &str, got: &[String], recorded: &[&str], may_be_shorter: bool) -> String {
    let got: Vec<&str> = got.iter().map(String::as_str).collect();
    let (got, recorded) = (waits(&got), waits(recorded));
    let mut wrong = String::new();
    for (operation, waited) in &got {
        let allowed = recorded.get(operation).cloned().unwrap_or_default();
        for more in waited.difference(&allowed) {
            wrong += &format!("\n{rule}\n  {operation} waits for {more}, and not in OpenTofu\n");
        }
    }
    for (operation, waited) in &recorded {
        match got.get(operation) {
            None => wrong += &format!("\n{rule}\n  {operation} is missing\n"),
            Some(own) if !may_be_shorter && waited != own => {
                wrong += &format!(
                    "\n{rule}\n  {operation} waits for {own:?}, in OpenTofu for {waited:?}\n"
                );
            }
            _ => {}
        }
    }
    wrong
}

/// Parses lines `OPERATION after OPERATION, OPERATION`; returns all operations that each one waits
/// for, also through others.
fn waits<'a>(lines: &[&'a str]) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let line = |line: &&'a str| {
        let (operation, after) = line.split_once(" after ").unwrap_or((line, ""));
        let after = after.split(", ").filter(|one| !one.is_empty());
        (operation, after.collect::<BTreeSet<&str>>())
    };
    let direct: BTreeMap<&str, BTreeSet<&str>> = lines.iter().map(line).collect();
    let all = |start: &BTreeSet<&'a str>| {
        let (mut seen, mut queue) = (start.clone(), Vec::from_iter(start.iter().copied()));
        while let Some(next) = queue.pop() {
            let more = direct.get(next).into_iter().flatten();
            queue.extend(more.filter(|one| seen.insert(one)));
        }
        seen
    };
    direct.iter().map(|(one, on)| (*one, all(on))).collect()
}

/// Plans or validates each row of a table, and reports all sections that differ.
pub async fn check(table: &str) {
    let mut wrong = String::new();
    let mut config = String::new();
    for row in table.trim().split("\n\n").map(Row::parse) {
        if let Some(lines) = row.section("config") {
            config = lines.join("\n");
        }
        let lines = |key| row.section(key).cloned().unwrap_or_default();
        if let Some(want) = row.section("valid") {
            wrong += &difference(row.rule, "valid", &validate(&config).await, want);
            continue;
        }
        let flags: Vec<&str> = lines("flags").iter().flat_map(|l| l.split(' ')).collect();
        let plan = plan(&config, &lines("state"), &flags).await;
        check_stored(&plan, row.rule);
        check_selections(&plan, row.rule);
        let keys = row.sections.iter().map(|(key, _)| *key);
        let keys: Vec<_> = keys.filter(|key| !INPUTS.contains(key)).collect();
        if let Some(recorded) = row.section("tofu") {
            let may_be_shorter = row.section("order").is_some();
            wrong += &longer_waits(row.rule, &plan.order(), recorded, may_be_shorter);
        }
        let expects = ["says", "tofu"]
            .iter()
            .any(|key| row.section(key).is_some());
        let expects = expects || !keys.is_empty();
        assert!(expects, "{} expects nothing", row.rule);
        for key in keys.into_iter().chain(["says"]) {
            let got = lines_of(&plan, key, &lines("select"));
            let found = difference(row.rule, key, &got, &lines(key));
            if !found.is_empty() && key == "says" {
                let details = plan.diags.iter().map(|d| format!("  {}\n", d.detail));
                wrong.extend(details);
            }
            wrong += &found;
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

//! Test of all providers of a mirror: each starts with its schema, and validates and plans
//! generated examples of its resource types. A provider may refuse an example; crashes, unanswered
//! calls and unreadable answers are failures.

use crate::provider_workspace::{Plan, ProviderWorkspace};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Number of types tried per provider, spread evenly over all.
const TYPES: usize = 40;

#[test]
fn every_provider_of_the_mirror_plans_examples_of_its_types() {
    let Some(mirror) = std::env::var_os("FLIGHTDECK_TEST_MIRROR").map(PathBuf::from) else {
        cty::testing::skipped("FLIGHTDECK_TEST_MIRROR names no filesystem mirror");
        return;
    };
    let addresses = addresses(&mirror);
    assert!(
        !addresses.is_empty(),
        "{} holds no provider",
        mirror.display()
    );
    for address in addresses {
        let text =
            json!({"terraform": {"required_providers": {"p": {"source": address}}}}).to_string();
        let place = ProviderWorkspace::new(
            std::fs::canonicalize(&mirror).unwrap(),
            &[("main.tf.json", &text)],
        );
        let (host, short) = address.split_once('/').unwrap();
        let name = if host == "registry.terraform.io" {
            short
        } else {
            &address
        };
        let result = place.run(&["plugins", name, "--json"]).expect(0).result();
        let plugin = &result["plugins"][0];
        println!("{address}: {}", plugin["attempts"][0]["phases"]);
        assert_eq!(
            plugin["attempts"][0]["verdict"]["kind"], "ready",
            "{address}"
        );
        examples(&place, &address, &plugin["schema"]);
    }
}

/// Plans examples of resource types, and validates examples of data sources.
fn examples(place: &ProviderWorkspace, address: &str, schema: &Value) {
    let mut config = json!({"terraform": {"required_providers": {"p": {"source": address}}}, "provider": {"p": provider(&schema["provider"]["block"])}});
    for (part, list) in [("resource", "resources"), ("data", "data_sources")] {
        let mut all = Map::new();
        let schemas = schema[list].as_object().unwrap();
        let step = schemas.len().div_ceil(TYPES).max(1);
        for (name, one) in schemas.iter().step_by(step) {
            let mut body = block(&one["block"]);
            body.insert("provider".into(), "p".into());
            if part == "data" {
                // With `count = 0` it is validated but not read.
                body.insert("count".into(), 0.into());
            }
            all.insert(name.clone(), json!({"example": body}));
        }
        config[part] = all.into();
    }
    let types: usize = ["resource", "data"]
        .iter()
        .map(|part| config[part].as_object().unwrap().len())
        .sum();
    // A refused example would prevent the plan of the others, so it is removed.
    let refused = stage(place, address, &config);
    for (part, prefix) in [("resource", ""), ("data", "data.")] {
        config[part]
            .as_object_mut()
            .unwrap()
            .retain(|name, _| !refused.contains(&format!("{prefix}{name}.example")));
    }
    let left = config["resource"].as_object().unwrap().len();
    let again = stage(place, address, &config);
    println!(
        "{address}: {types} types tried, {} examples refused as configured, {} of {left} refused when planned",
        refused.len(),
        again.len()
    );
}

/// Stages a configuration; returns the addresses that the provider refused.
fn stage(place: &ProviderWorkspace, address: &str, config: &Value) -> BTreeSet<String> {
    place.workspace.write("main.tf.json", &config.to_string());
    let run = place.run(&["stage", "--json"]);
    assert!(
        matches!(run.code, Some(0 | 1)),
        "{address}: {:?} {}",
        run.code,
        run.stderr
    );
    let crashes: Vec<Value> = run
        .lines()
        .into_iter()
        .filter(|l| l["type"] == "plugin" && l["what"] == "crash")
        .collect();
    assert!(crashes.is_empty(), "{address}: {crashes:#?}");
    let mut refused = BTreeSet::new();
    for diagnostic in run
        .diagnostics()
        .iter()
        .filter(|d| d["severity"] == "error")
    {
        let summary = diagnostic["summary"].as_str().unwrap();
        // SDKs share a few summaries with flightdeck, but not the details.
        let theirs = summary == "Missing required argument"
            && !diagnostic["detail"]
                .as_str()
                .unwrap()
                .starts_with("The argument");
        assert!(
            theirs || !OURS.contains(&summary),
            "{address}: {diagnostic:#}"
        );
        refused.extend(
            diagnostic["address"]
                .as_str()
                .map(|a| a.split('[').next().unwrap().to_owned()),
        );
    }
    if run.code == Some(0) {
        let Plan(plan) = place.plan(&[]);
        let planned = plan["resource_changes"].as_array().map_or(0, Vec::len);
        assert_eq!(
            planned,
            config["resource"].as_object().unwrap().len(),
            "{address}: every example is planned"
        );
    }
    refused
}

/// Summaries of flightdeck's own errors. Examples follow the schema, so none of these is expected.
const OURS: [&str; 9] = [
    "Plugin call failed",
    "Provider produced invalid plan",
    "Invalid resource type",
    "Invalid data source",
    "Missing required argument",
    "Unsupported argument",
    "Unsupported block type",
    "Incorrect attribute value type",
    "Invalid configuration for provider",
];

/// Required part of a provider's configuration, and arguments that avoid requests to its service.
fn provider(schema: &Value) -> Map<String, Value> {
    let mut out = block(schema);
    for (name, attribute) in schema["attributes"].as_object().unwrap() {
        let known = ["region", "access_key", "secret_key"].contains(&name.as_str());
        if known || name.starts_with("skip_") && attribute["type"] == "bool" {
            out.insert(name.clone(), value(name, &attribute["type"]));
        }
    }
    out
}

/// Object with the attributes that the schema requires.
fn block(schema: &Value) -> Map<String, Value> {
    let mut out = attributes(&schema["attributes"]);
    for (name, nested) in schema["blocks"].as_object().into_iter().flatten() {
        let least = nested["min_items"].as_u64().unwrap_or(0);
        if least > 0 {
            let one = || Value::Object(block(&nested["block"]));
            let all = match nested["nesting"].as_str().unwrap() {
                "map" => json!({"key": one()}),
                "single" | "group" => one(),
                _ => (0..least).map(|_| one()).collect(),
            };
            out.insert(name.clone(), all);
        }
    }
    out
}

fn attributes(schema: &Value) -> Map<String, Value> {
    let required = schema
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, a)| a["required"] == true);
    required
        .map(|(name, a)| (name.clone(), attribute(name, a)))
        .collect()
}

fn attribute(name: &str, schema: &Value) -> Value {
    let nested = &schema["nested"];
    match nested["nesting"].as_str() {
        None => value(name, &schema["type"]),
        Some("map") => json!({"key": attributes(&nested["attributes"])}),
        Some("list" | "set") => json!([attributes(&nested["attributes"])]),
        Some(_) => attributes(&nested["attributes"]).into(),
    }
}

/// Value of a type, plausible for the attribute's name.
fn value(name: &str, ty: &Value) -> Value {
    match ty {
        Value::String(word) => match word.as_str() {
            "number" => 1.into(),
            "bool" => true.into(),
            _ => text(name).into(),
        },
        Value::Array(parts) => match parts[0].as_str().unwrap() {
            "list" | "set" => json!([value(name, &parts[1])]),
            "map" => json!({"key": value(name, &parts[1])}),
            "tuple" => parts[1]
                .as_array()
                .unwrap()
                .iter()
                .map(|ty| value(name, ty))
                .collect(),
            _ => parts[1]
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, ty)| (name.clone(), value(name, ty)))
                .collect::<Map<_, _>>()
                .into(),
        },
        _ => Value::Null,
    }
}

fn text(name: &str) -> &'static str {
    let has = |part: &str| name.contains(part);
    match () {
        () if has("arn") => "arn:aws:iam::123456789012:role/example",
        () if has("cidr") => "10.0.0.0/16",
        () if has("region") => "us-east-1",
        () if has("email") => "someone@example.com",
        () if has("rfc3339") || has("date") || has("timestamp") => "2026-11-21T10:00:00Z",
        () if has("duration") => "1m",
        () if has("url") || has("endpoint") => "https://example.com",
        () if has("policy") || has("json") || has("document") => "{}",
        () if name.ends_with("_id") || name == "id" => "example-0123456789abcdef0",
        () if has("access_key") || has("secret") => "example0example0example0",
        () => "example",
    }
}

/// `HOST/NAMESPACE/TYPE` of every provider in the mirror.
fn addresses(mirror: &Path) -> Vec<String> {
    let mut level = vec![(String::new(), mirror.to_owned())];
    for _ in 0..3 {
        let inner = |(address, folder): &(String, PathBuf)| -> Vec<(String, PathBuf)> {
            let entries = std::fs::read_dir(folder)
                .unwrap()
                .flatten()
                .filter(|e| e.path().is_dir());
            entries
                .map(|e| {
                    (
                        format!("{address}/{}", e.file_name().to_string_lossy()),
                        e.path(),
                    )
                })
                .collect()
        };
        level = level.iter().flat_map(inner).collect();
    }
    let mut all: Vec<String> = level
        .into_iter()
        .map(|(address, _)| address.trim_start_matches('/').to_owned())
        .collect();
    all.sort();
    all
}

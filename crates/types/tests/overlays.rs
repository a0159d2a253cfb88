//! Tests of overlays: their layers, what they say of an object, and wrong ones of every kind.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use cty::schema::{Attribute, Block, NestedBlock, Nesting, Schema};
use cty::{Type, Value};
use lang::config::{Inputs, load_root};
use lang::diag::Severity;
use lang::source::SourceMap;
use model::{FailureClass, Readiness};
use std::time::Duration;
use types::{Layer, Overlays, TypeSettings};

fn block(text: &str) -> String {
    format!("type \"shop_database\" {{\n{text}\n}}\n")
}

/// Settings of one valid block of the workspace.
fn settings(text: &str) -> TypeSettings {
    let sources = SourceMap::new();
    let (overlays, diags) = Overlays::of_text(&block(text), Layer::Workspace, &sources);
    let problems: Vec<String> = diags.iter().map(|d| d.render(&sources)).collect();
    assert_eq!(problems, [""; 0]);
    overlays.effective("shop_database")
}

fn schema() -> Schema {
    let mut block = Block::default();
    for (name, ty) in [
        ("status", Type::String),
        ("size", Type::Number),
        ("tags", Type::map(Type::String)),
    ] {
        block
            .attributes
            .insert(name.into(), Attribute::computed(ty));
    }
    let mut inner = Block::default();
    let key = Attribute::optional(Type::String);
    inner.attributes.insert("key".into(), key);
    let inner = NestedBlock::new(Nesting::List, inner);
    block.blocks.insert("disk".into(), inner);
    Schema::new(0, block)
}

fn object(status: Value) -> Value {
    Value::object([("status", status), ("size", Value::number(3_u64))])
}

#[test]
fn readiness_follows_from_ready_and_states() {
    let both = "ready = self.status == \"available\"\nstates = { creating = \"Creating\", gone = \"Deleting\", odd = \"Available\" }";
    let only_states = "status = self.status\nstates = { up = \"Available\" }";
    let text = |text: &str| Value::string(text);
    let unknown = Value::unknown(Type::String);
    for (block, status, expected) in [
        (both, text("available"), Readiness::Available),
        (both, text("creating"), Readiness::Creating),
        (both, text("gone"), Readiness::Deleting),
        (both, text("failed"), Readiness::Unavailable),
        // The expression decides that the object is not available.
        (both, text("odd"), Readiness::Unavailable),
        (both, unknown, Readiness::Unknown),
        (only_states, text("up"), Readiness::Available),
        (only_states, text("down"), Readiness::Unknown),
        ("ready = self.size > 2", text("x"), Readiness::Available),
        ("ready = self.size > 3", text("x"), Readiness::Unavailable),
        ("ready = self.missing", text("x"), Readiness::Unknown),
    ] {
        let found = settings(block).condition(&object(status.clone())).unwrap();
        assert_eq!(found.readiness, expected, "{block} {status:?}");
    }
    assert_eq!(settings("name = \"x\"").condition(&object(text("x"))), None);
}

#[test]
fn status_is_named_unless_it_is_sensitive() {
    let settings = settings(
        "ready = self.status == \"up\"\ncolumns = { SIZE = self.size, STATE = status, NONE = self.nothing }",
    );
    let plain = object(Value::string("down"));
    assert_eq!(
        settings.condition(&plain).unwrap().status.as_deref(),
        Some("down")
    );
    let columns = settings.columns_of(&plain);
    let text: Vec<String> = columns.iter().map(|(n, v)| format!("{n}={v}")).collect();
    assert_eq!(text, ["SIZE=3", "STATE=down", "NONE="]);
    let redacted = self::settings("columns = { STATE = self.status }\nredact = [self.status]");
    assert_eq!(redacted.columns_of(&plain)[0].1, "(sensitive)");
    let hidden = object(Value::string("up").mark(cty::Mark::Sensitive));
    let found = settings.condition(&hidden).unwrap();
    assert_eq!(
        (found.readiness, found.status),
        (Readiness::Available, None)
    );
    assert_eq!(settings.columns_of(&hidden)[1].1, "(sensitive)");
}

/// Loads a built-in overlay of aws, and blocks of a called module, the workspace and the user.
fn layers(module: &str, workspace: &str, user: &str) -> (Overlays, SourceMap) {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("main.tf", "module \"child\" {\n  source = \"./child\"\n}\n");
    write("types.flightdeck.hcl", workspace);
    write("child/types.flightdeck.hcl", module);
    write("user/mine.hcl", user);
    write("user/ignored.txt", "not an overlay");
    let sources = SourceMap::new();
    let (loaded, diags) = load_root(dir.path(), &sources, &Inputs::default());
    assert!(diags.is_empty(), "{}", diags.joined());
    let user = dir.path().join("user");
    let (overlays, found) = Overlays::load(Some(&loaded.root), Some(&user), &sources);
    assert!(found.is_empty(), "{}", found.joined());
    (overlays, sources)
}

#[test]
fn s1_12_highest_layer_with_a_setting_decides_and_redactions_add_up() {
    let (overlays, _) = layers(
        &block("name = \"module\"\nredact = [self.status]\nwait { timeout = \"1m\" }"),
        &block("name = \"workspace\"\nready = self.status == \"up\""),
        &block("redact = [self.size]\nwait { interval = \"2s\" }"),
    );
    let found = overlays.effective("shop_database");
    let fields = found.fields();
    let fields: Vec<(&str, &str, Layer)> = fields
        .iter()
        .map(|(name, text, origin)| (name.as_str(), *text, origin.layer))
        .collect();
    assert_eq!(
        fields,
        [
            ("name", "\"workspace\"", Layer::Workspace),
            ("status", "self.status", Layer::Workspace),
            ("ready", "self.status == \"up\"", Layer::Workspace),
            ("redact", "[self.status]", Layer::Module),
            ("redact", "[self.size]", Layer::User),
            ("wait.interval", "\"2s\"", Layer::User),
            ("wait.timeout", "\"1m\"", Layer::Module),
        ]
    );
    let redacts = |leaf: &str| found.redacts(leaf);
    assert!(redacts("status") && redacts("size") && !redacts("tags.size"));
    assert_eq!(found.wait_interval(), Duration::from_secs(2));
    let mut schema = schema();
    found.redact_schema(&mut schema);
    let sensitive = |name: &str| schema.block.attributes[name].sensitive;
    assert_eq!(
        ["status", "size", "tags"].map(sensitive),
        [true, true, false]
    );
}

#[test]
fn s1_12_replacing_layer_hides_all_but_the_redactions() {
    let (overlays, _) = layers(
        &block("redact = [self.status]\nname = \"module\""),
        &block("docs = \"https://example.com\""),
        &block("replace = true\nusual { create = \"5m\" }"),
    );
    let found = overlays.effective("shop_database");
    let fields = found.fields().into_iter().map(|(name, _, _)| name);
    assert!(fields.eq(["redact", "usual.create"]));
}

#[test]
fn apply_waits_only_for_readiness_that_is_not_built_in() {
    let (overlays, _) = layers("", "", "");
    let built_in = overlays.effective("aws_db_instance");
    assert!(built_in.ready.is_some() && !built_in.waits());
    let wait = "type \"aws_db_instance\" {\n  wait { enabled = true }\n}\n";
    let (overlays, _) = layers("", wait, "");
    assert!(overlays.effective("aws_db_instance").waits());
    assert!(settings("ready = self.size > 2").waits());
    assert!(!settings("ready = self.size > 2\nwait { enabled = false }").waits());
    assert!(!settings("wait { enabled = true }").waits());
}

#[test]
fn failures_are_classified_by_parts_of_their_messages() {
    let settings = settings("errors = { \"not in a valid state\" = \"transient\" }");
    let class = |text| settings.failure_class(text);
    let found = class("Database db-1 is not in a valid state.");
    assert_eq!(found, Some(FailureClass::Transient));
    assert_eq!(class("other"), None);
}

#[test]
fn wrong_overlay_is_left_out_with_a_place() {
    for (text, place, problem) in [
        ("unknown = 1", "2:1", "\"unknown\" is not expected here"),
        ("name = 3", "2:8", "use a string that is not empty"),
        ("name = self.name", "2:8", "use a constant"),
        ("ready = var.x", "2:9", "var.x cannot be used here"),
        ("ready = ready", "2:9", "\"ready\" refers to itself"),
        (
            "status = ready\nready = status == 1",
            "2:10",
            "refer to each other",
        ),
        (
            "states = { a = \"Up\" }",
            "2:10",
            "a: use one of \"Creating\"",
        ),
        ("states = \"a\"", "2:10", "give an object"),
        (
            "columns = self.tags",
            "2:11",
            "use an object of column names",
        ),
        (
            "columns = { A = local.b }",
            "2:17",
            "local.b cannot be used here",
        ),
        ("redact = [\"status\"]", "2:10", "use a list of attributes"),
        (
            "errors = { a = \"fatal\" }",
            "2:10",
            "a: use one of \"transient\"",
        ),
        ("wait { interval = \"0s\" }", "2:19", "use 1 second or more"),
        ("wait { timeout = \"soon\" }", "2:18", "is not a duration"),
        ("wait {}\nwait {}", "3:1", "already given"),
        ("timeouts {}", "2:10", "at least one of create"),
        ("reconcile {}", "2:11", "at least one of mode"),
        (
            "usual { boot = \"1m\" }",
            "2:9",
            "\"boot\" is not expected here",
        ),
        (
            "reconcile { mode = \"repair\" }",
            "2:20",
            "use one of \"observe\"",
        ),
        (
            "reconcile { jitter = \"200%\" }",
            "2:22",
            "from \"0%\" to \"100%\"",
        ),
    ] {
        let sources = SourceMap::new();
        let (overlays, diags) = Overlays::of_text(&block(text), Layer::Workspace, &sources);
        let first = diags
            .iter()
            .next()
            .unwrap_or_else(|| panic!("{text}: valid"));
        assert_eq!(first.severity, Severity::Warning, "{text}");
        let start = first.range(&sources).unwrap().start;
        assert_eq!(format!("{}:{}", start.line, start.column), place, "{text}");
        let said = first.render(&sources);
        assert!(said.contains(problem), "{text}: {said}");
        assert!(
            overlays.effective("shop_database").fields().is_empty(),
            "{text}"
        );
    }
}

#[test]
fn overlay_that_does_not_fit_the_schema_is_left_out_with_a_place() {
    let schema = schema();
    for (text, problem) in [
        (
            "ready = self.statsu == \"up\"",
            Some("does not have an attribute named \"statsu\""),
        ),
        ("ready = self.size", Some("a bool")),
        ("status = self.tags", Some("a string, a number or a bool")),
        ("columns = { A = self.nothing }", Some("\"nothing\"")),
        ("redact = [self.disk[0].name]", Some("no such attribute")),
        ("ready = file(\"x\") == \"\"", Some("cannot read files")),
        ("ready = self.status == \"up\"", None),
        (
            "columns = { A = self.size, B = self.tags[\"x\"], C = status }",
            None,
        ),
        ("redact = [self.disk[0].key, self.tags[\"x\"]]", None),
    ] {
        let sources = SourceMap::new();
        let (mut overlays, diags) = Overlays::of_text(&block(text), Layer::User, &sources);
        assert!(diags.is_empty(), "{text}: {}", diags.joined());
        let diags = overlays.check(|name| (name == "shop_database").then_some(&schema));
        let said: Vec<String> = diags.iter().map(|d| d.render(&sources)).collect();
        match problem {
            Some(problem) => {
                assert!(
                    said.len() == 1 && said[0].contains(problem),
                    "{text}: {said:?}"
                );
                assert!(said[0].contains("types.flightdeck.hcl"), "{text}: {said:?}");
                assert!(
                    overlays.effective("shop_database").fields().is_empty(),
                    "{text}"
                );
            }
            None => {
                assert_eq!(said, [""; 0], "{text}");
                assert!(
                    !overlays.effective("shop_database").fields().is_empty(),
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn second_block_of_a_type_in_a_file_is_left_out() {
    let text = block("name = \"a\"") + &block("name = \"b\"");
    let sources = SourceMap::new();
    let (overlays, diags) = Overlays::of_text(&text, Layer::Workspace, &sources);
    let said = diags.joined();
    assert!(said.contains("already in line 1"), "{said}");
    assert_eq!(overlays.effective("shop_database").fields()[0].1, "\"a\"");
}

#[test]
fn policy_of_a_provider_is_found_by_every_form_of_its_address() {
    let text = "provider \"acme/shop\" {\n  reconcile {\n    every = \"1h\"\n  }\n}\n";
    let (overlays, diags) = Overlays::of_text(text, Layer::User, &SourceMap::new());
    assert!(diags.is_empty(), "{}", diags.joined());
    for (address, found) in [
        ("registry.opentofu.org/acme/shop", true),
        ("registry.terraform.io/acme/shop", true),
        ("acme/shop", true),
        ("example.com/acme/shop", false),
        ("registry.opentofu.org/acme/other", false),
    ] {
        let policy = overlays.of_provider(address).reconcile();
        let every = policy.map(|policy| policy.every.as_secs());
        assert_eq!(every, found.then_some(3_600), "{address}");
    }
}

#[test]
fn wrong_provider_block_is_left_out_with_a_place() {
    let policy = "reconcile {\n    every = \"1h\"\n  }";
    for (label, body, said) in [
        ("acme/shop", "", "Missing reconcile block"),
        ("a/b/c/d", policy, "is not a provider source"),
        (
            "acme/shop",
            "ready = true",
            "\"ready\" is not expected here",
        ),
        (
            "acme/shop",
            "reconcile {\n    every = \"0s\"\n  }",
            "use 1 second or more",
        ),
    ] {
        let sources = SourceMap::new();
        let text = format!("provider \"{label}\" {{\n  {body}\n}}\n");
        let (overlays, diags) = Overlays::of_text(&text, Layer::Workspace, &sources);
        let problems: String = diags.iter().map(|d| d.render(&sources)).collect();
        assert!(problems.contains(said), "{problems}");
        assert!(problems.contains("types.flightdeck.hcl:"), "{problems}");
        assert!(overlays.of_provider(label).reconcile().is_none(), "{label}");
    }
}

#[test]
fn each_setting_of_a_reconcile_block_makes_a_policy() {
    for text in [
        "mode = \"observe\"",
        "every = \"1h\"",
        "jitter = \"5%\"",
        "allow_replace = true",
    ] {
        let block = format!("reconcile {{\n{text}\n}}");
        assert!(settings(&block).reconcile().is_some(), "{text}");
    }
    assert!(settings("name = \"a\"").reconcile().is_none());
}

#[test]
fn called_module_does_not_unmask_a_value_of_its_caller() {
    let secret = object(Value::string("hunter2").mark(cty::Mark::Sensitive));
    for shown in [
        "nonsensitive(self.status)",
        "upper(nonsensitive(self.status))",
        "jsonencode(nonsensitive(self.status))",
        "nonsensitive(self).status",
        "nonsensitive(self[\"status\"])",
        "join(\"\", [for v in [self.status]: nonsensitive(v)])",
        "base64encode(nonsensitive(self.status))",
        "nonsensitive(self.status) == \"hunter2\" ? \"yes\" : \"no\"",
        "try(nonsensitive(self.status), \"\")",
    ] {
        let text = block(&format!(
            "ready = false\nstatus = {shown}\ncolumns = {{ A = {shown}, B = status, C = nonsensitive(status), D = self.size }}"
        ));
        let (overlays, _) = layers(&text, "", "");
        let found = overlays.effective("shop_database");
        let condition = found.condition(&secret).unwrap();
        assert_eq!(condition.status, None, "{shown}");
        let columns = found.columns_of(&secret);
        let texts: Vec<&str> = columns.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(
            texts,
            ["(sensitive)", "(sensitive)", "(sensitive)", "3"],
            "{shown}"
        );
    }
    // The workspace itself decides about its own values.
    let text = block("columns = { A = nonsensitive(self.status) }");
    let (overlays, _) = layers("", &text, "");
    let columns = overlays.effective("shop_database").columns_of(&secret);
    assert_eq!(columns[0].1, "hunter2");
}

#[test]
fn expression_beyond_the_limits_makes_the_readiness_unknown() {
    let began = std::time::Instant::now();
    for ready in [
        "length([for a in range(1000): [for b in range(1000): [for c in range(1000): a]]]) > 1",
        "length([for a in range(1000): [for b in range(1000): [for c in range(1000): a]]]) > 1 || true",
        "length(join(\"\", [for a in range(1000): format(\"%1000000s\", a)])) > 1",
        "length(flatten([for a in range(1024): range(1024)])) > 1",
        "length(setproduct(range(1000), range(1000), range(1000))) > 1",
    ] {
        let found = settings(&format!("ready = {ready}"));
        let condition = found.condition(&object(Value::string("x"))).unwrap();
        assert_eq!(condition.readiness, Readiness::Unknown, "{ready}");
    }
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "{:?}",
        began.elapsed()
    );
}

//! Tests of errors from plugins, retries of calls, and unknown outcomes.

use crate::support::Run;
use crate::workspace::TestWorkspace;

const MAIN: &str = "resource \"fake_box\" \"a\" {\n  name = \"a\"\n}\n";

fn summaries(run: &Run) -> Vec<String> {
    let all = run.diagnostics().into_iter();
    all.map(|d| d["summary"].as_str().unwrap().to_owned())
        .collect()
}

/// Workspace whose plugin allows three retries, a few milliseconds apart.
fn bench(main: &str) -> TestWorkspace {
    let bench = TestWorkspace::with_plugin(main);
    bench.write_fault_file("retry", "3 0.01 0.05 2");
    bench
}

#[test]
fn s2_13_transient_errors_of_reads_and_changes_are_retried_by_the_providers_policy() {
    let bench = bench("resource \"fake_slow_thing\" \"s\" {\n  name = \"s\"\n}\n");
    bench.write_fault_file(
        "troubles",
        "DeployResource transient 3\nResourceHasStabilised transient 2\n",
    );
    bench.deploy().expect(0);
    assert_eq!(bench.calls("DeployResource").len(), 4);
    assert_eq!(bench.calls("ResourceHasStabilised").len(), 3);
    bench.write_fault_file("troubles", "GetResourceExternalState transient 3\n");
    bench.stage().expect(0);
    bench.write_fault_file("troubles", "DestroyResource transient 1\n");
    bench.run(&["destroy", "--auto-approve"]).expect(0);
    assert_eq!(bench.calls("DestroyResource").len(), 2);
}

#[test]
fn s2_13_other_calls_are_never_retried() {
    let bench = bench(MAIN);
    bench.write_fault_file("troubles", "CustomValidateResource transient 1\n");
    let run = bench.run(&["validate"]);
    assert_ne!(run.code, Some(0));
    assert_eq!(bench.calls("CustomValidateResource").len(), 1);
}

#[test]
fn s2_12_exhausted_retries_are_a_failure_with_a_class() {
    let bench = bench(MAIN);
    bench.write_fault_file("troubles", "DeployResource transient 99\n");
    let run = bench.run(&["deploy", "--auto-approve"]).expect(5);
    assert!(
        run.stdout
            .contains("failed: retryable error: throttled by the cloud (transient)"),
        "{run:#?}"
    );
    assert!(
        run.stderr.contains("transient, after 4 attempts"),
        "{run:#?}"
    );
    assert_eq!(bench.calls("DeployResource").len(), 4);
}

#[test]
fn s2_12_bad_input_and_unexpected_errors_are_reported_at_once_with_reasons() {
    for (trouble, shown) in [
        (
            "bad-input",
            "failed: the box is too red; the lid is loose (bad input)",
        ),
        ("unexpected", "failed: the cloud is on fire (unexpected)"),
    ] {
        let bench = bench(MAIN);
        bench.write_fault_file("troubles", &format!("DeployResource {trouble} 1\n"));
        let run = bench.run(&["deploy", "--auto-approve"]).expect(5);
        assert!(run.stdout.contains(shown), "{run:#?}");
        assert_eq!(bench.calls("DeployResource").len(), 1);
        // A failed create leaves no known object. The next deploy creates again, and sends no state
        // because a state without a spec is invalid.
        bench.deploy().expect(0);
        assert_eq!(bench.calls("DeployResource")[1]["state"], false);
    }
}

#[test]
fn call_without_an_answer_has_an_unknown_outcome() {
    let bench = bench(MAIN);
    bench.write_fault_file("troubles", "Deployed crash 1\n");
    let run = bench.run(&["deploy", "--auto-approve"]).expect(5);
    assert!(
        run.stdout.contains("fake_box.a: unknown outcome"),
        "{run:#?}"
    );
    assert_eq!(
        bench.calls("DeployResource").len(),
        1,
        "it is not made again"
    );
    assert_eq!(bench.plugin_objects().len(), 1, "it was carried out");
    let next = bench.run(&["stage"]);
    assert!(next.stderr.contains("Unknown outcome"), "{next:#?}");
}

#[test]
fn refused_destroy_is_a_failure() {
    let bench = bench(MAIN);
    bench.deploy().expect(0);
    bench.write_fault_file("troubles", "Destroyed not 1\n");
    let run = bench.run(&["destroy", "--auto-approve"]).expect(5);
    assert!(
        run.stdout.contains("the resource was not destroyed"),
        "{run:#?}"
    );
    assert_eq!(
        bench.state_attributes("fake_box")["attributes"]["id"],
        "a-1"
    );
}

#[test]
fn value_outside_the_schema_is_refused_before_any_call() {
    let table = [
        (
            "name = \"Bad!\"",
            "the value must match the pattern ^[a-z0-9-]+$",
        ),
        ("name = \"a\"\n  size = 0", "the value must be at least 1"),
        (
            "name = \"a\"\n  size = 101",
            "the value must be at most 100",
        ),
        (
            "name = \"a\"\n  size = 1.5",
            "the value must be a whole number",
        ),
        (
            "name = \"a\"\n  colour = \"blue\"",
            "\"blue\" is not one of the allowed values: \"red\", \"green\"",
        ),
        ("name = \"\"", "the value must have at least 1 characters"),
        (
            "name = \"a\"\n  id = \"b\"",
            "the plugin sets this field; remove it from the configuration",
        ),
        ("size = 3", "name"),
        ("name = \"a\"\n  lid = 1", "lid"),
    ];
    for (body, words) in table {
        let bench = bench(&format!("resource \"fake_box\" \"a\" {{\n  {body}\n}}\n"));
        let run = bench.run(&["validate"]);
        assert_ne!(run.code, Some(0), "{body}");
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains(words), "{body}: {said}");
        assert_eq!(bench.calls("CustomValidateResource").len(), 0, "{body}");
    }
}

#[test]
fn validation_error_of_the_plugin_is_reported_with_a_remedy() {
    let bench = bench("resource \"fake_box\" \"a\" {\n  name = \"forbidden\"\n}\n");
    let run = bench.run(&["validate", "--json"]);
    assert_ne!(run.code, Some(0));
    let said = format!("{run:#?}");
    assert!(
        said.contains("a box must not be called forbidden"),
        "{said}"
    );
    assert!(said.contains("call it something else"), "{said}");
}

#[test]
fn plugin_that_crashes_during_a_call_is_restarted_and_other_operations_continue() {
    let bench = bench(&format!(
        "{MAIN}resource \"fake_box\" \"b\" {{\n  name = \"b\"\n}}\n"
    ));
    bench.write_fault_file("troubles", "DeployResource crash 1\n");
    let deploy = ["deploy", "--auto-approve", "--json", "--parallelism", "1"];
    let run = bench.run(&deploy).expect(5);
    let dead = |s: &String| s.contains("panic: a nil map was written to");
    assert!(summaries(&run).iter().any(dead), "{run:#?}");
    let operations = &run.result()["operations"];
    assert_eq!(
        (&operations["done"], &operations["unknown"]),
        (&1.into(), &1.into())
    );
    assert_eq!(bench.plugin_objects().len(), 1);
}

#[test]
fn oversized_request_is_not_sent() {
    let bench = bench("resource \"fake_box\" \"a\" {\n  name = \"a\"\n  note = file(\"big\")\n}\n");
    bench.workspace.write("big", &"x".repeat(5 << 20));
    let run = bench.run(&["validate"]);
    assert_ne!(run.code, Some(0));
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(said.contains("but plugins accept at most 4 MiB"), "{said}");
    assert_eq!(bench.calls("CustomValidateResource").len(), 0);
}

#[test]
fn crashed_plugin_is_restarted_up_to_the_configured_count() {
    let states = |limit: Option<&str>| {
        let mut bench = TestWorkspace::with_plugin(MAIN);
        if let Some(limit) = limit {
            bench.set("FLIGHTDECK_CRASH_LIMIT", limit);
        }
        bench.write_fault_file("troubles", "CustomValidateResource crash 1\n");
        let run = bench.stage();
        assert_ne!(run.code, Some(0), "{run:#?}");
        let lines = run.lines();
        let crashed = lines
            .iter()
            .position(|e| e["state"]["state"] == "crashed")
            .unwrap_or_else(|| panic!("{run:#?}"));
        lines[crashed + 1..]
            .iter()
            .find(|e| e["what"] == "state")
            .unwrap()["state"]
            .clone()
    };
    assert_eq!(states(None)["state"], "backoff");
    let given_up = states(Some("1"));
    assert_eq!(given_up["state"], "gave_up");
    let why = given_up["why"].as_str().unwrap();
    assert!(
        why.starts_with("the plugin crashed once and is not relaunched automatically"),
        "{why}"
    );
}

#[test]
fn provider_without_a_retry_policy_gets_the_configured_one() {
    let mut bench = TestWorkspace::with_plugin(MAIN);
    let name = "BLUELINK_DEPLOY_ENGINE_BLUEPRINTS_DEFAULT_RETRY_POLICY";
    bench.set(name, "{\"maxRetries\": 1, \"firstRetryDelay\": 0.01}");
    bench.write_fault_file("troubles", "DeployResource transient 99\n");
    let run = bench.run(&["deploy", "--auto-approve"]).expect(5);
    assert!(
        run.stderr.contains("transient, after 2 attempts"),
        "{run:#?}"
    );
    bench.set(name, "5");
    let run = bench.run(&["stage"]).expect(0);
    assert!(
        run.stderr
            .contains(&format!("{name} is not a valid retry policy")),
        "{run:#?}"
    );
}

#[test]
fn total_launch_time_is_limited_by_either_variable() {
    for family in ["BLUELINK", "CELERITY"] {
        let mut bench = TestWorkspace::with_plugin(MAIN);
        bench.set("FLIGHTDECK_LAUNCH_ATTEMPTS", "50");
        bench.set("FLIGHTDECK_LAUNCH_DEADLINE_MS", "400");
        let name = format!("{family}_DEPLOY_ENGINE_PLUGINS_V1_TOTAL_LAUNCH_WAIT_TIMEOUT_MS");
        bench.set(&name, "900");
        bench.write_fault_file("faults", &"late\n".repeat(50));
        let (run, plugin) = bench.plugin();
        let run = run.expect(3);
        let attempts = plugin["attempts"].as_array().unwrap();
        assert!((1..=3).contains(&attempts.len()), "{family}: {plugin:#}");
        let words = format!("was given up after {} launches", attempts.len());
        assert!(run.stdout.contains(&words), "{words}: {run:#?}");
        let words =
            "the time limit for all launches together is 900 ms (FLIGHTDECK_LAUNCH_TOTAL_MS)";
        assert!(run.stdout.contains(words), "{run:#?}");
    }
}

#[test]
fn registration_deadline_is_set_by_either_variable() {
    for family in ["BLUELINK", "CELERITY"] {
        let mut bench = TestWorkspace::with_plugin(MAIN);
        bench.set("FLIGHTDECK_LAUNCH_ATTEMPTS", "1");
        bench.set(
            &format!("{family}_DEPLOY_ENGINE_PLUGINS_V1_LAUNCH_WAIT_TIMEOUT_MS"),
            "700",
        );
        bench.write_fault_file("faults", "late\n");
        let run = bench.run(&["stage"]).expect(3);
        assert!(
            run.stderr
                .contains("did not complete its registration within 700 ms"),
            "{run:#?}"
        );
    }
}

#[test]
fn data_field_outside_the_schema_is_a_warning_and_is_not_kept() {
    let bench = bench(
        "resource \"fake_box\" \"a\" {\n  name = \"a\"\n}\n\
         data \"fake_box\" \"found\" {\n  filter     = [{ field = \"name\", operator = \"=\", search = [\"a\"] }]\n  depends_on = [fake_box.a]\n}\n",
    );
    bench.write_fault_file("troubles", "Fetched outside 1\n");
    let run = bench.deploy().expect(0);
    let wanted = "The plugin returned \"outside\", which is not in the schema of fake/box";
    assert!(summaries(&run).iter().any(|s| s == wanted), "{run:#?}");
    assert!(!bench.workspace.read("terraform.tfstate").contains("odd"));
}

#[test]
fn message_about_a_single_attempt_is_singular() {
    let bench = bench(MAIN);
    bench.write_fault_file("retry", "0 0.01 0.05 2");
    bench.write_fault_file("troubles", "DeployResource transient 1\n");
    let run = bench.run(&["deploy", "--auto-approve"]).expect(5);
    assert!(
        run.stderr.contains("transient, after 1 attempt)"),
        "{run:#?}"
    );
}

//! Settings of groups: defaults, values, and errors with their lines.

use super::*;
use crate::policy::Threshold;
use lang::config::{Inputs, load_root};
use lang::source::SourceMap;

fn read(body: &str) -> (Vec<DeclaredGroup>, Vec<String>) {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text);
    write("main.tf", "resource \"lab_server\" \"web\" { count = 3 }\n").expect("written");
    let text = format!("group \"web\" {{\n  instance = lab_server.web\n{body}\n}}\n");
    write("web.flightdeck.hcl", &text).expect("written");
    let sources = SourceMap::new();
    let (loaded, diags) = load_root(dir.path(), &sources, &Inputs::default());
    assert!(!diags.has_errors(), "{diags:?}");
    let (groups, diags) = declared_groups(&loaded.root);
    let line = |d: &lang::diag::Diagnostic| d.range(&sources).map_or(0, |r| r.start.line);
    let errors = diags.errors();
    let errors = errors.map(|d| format!("{} {}: {}", line(d), d.summary, d.detail));
    (groups, errors.collect())
}

#[test]
fn group_without_settings_has_the_defaults() {
    let (groups, errors) = read("");
    assert_eq!(errors, [""; 0]);
    assert_eq!(groups[0].policy, UpdatePolicy::default());
    assert_eq!(groups[0].reconcile, ReconcilePolicy::default());
}

#[test]
fn settings_become_a_policy() {
    let (groups, errors) = read(
        r#"
  update {
    batch           = "25%"
    max_unavailable = 2
    order           = "key"
    pause_between   = "30s"
    on_unhealthy    = "abort"
    drain {
      command = ["true"]
      timeout = "2m"
    }
    health {
      tcp         = "localhost:80"
      interval    = "1s"
      consecutive = 3
      timeout     = "1m"
    }
  }
  reconcile {
    mode   = "enforce"
    every  = "1m"
    jitter = "10%"
  }"#,
    );
    assert_eq!(errors, [""; 0]);
    let seconds = Duration::from_secs;
    let policy = UpdatePolicy {
        batch: Amount::Percent(25),
        max_unavailable: Some(Amount::Count(2)),
        order: Order::Key,
        pause_between: seconds(30),
        on_unhealthy: OnUnhealthy::Abort,
        drain: Some(DrainPolicy {
            timeout: seconds(120),
        }),
        health: Some(HealthPolicy {
            threshold: Threshold::Consecutive(3),
            interval: seconds(1),
            timeout: seconds(60),
        }),
        ..UpdatePolicy::default()
    };
    assert_eq!(groups[0].policy, policy);
    let reconcile = ReconcilePolicy {
        mode: Mode::Enforce,
        every: seconds(60),
        jitter: 10,
        allow_replace: false,
    };
    assert_eq!(groups[0].reconcile, reconcile);
}

#[test]
fn wrong_settings_are_errors_with_their_lines() {
    let health = |rest: &str| {
        format!("  update {{\n    health {{\n      tcp = \"a:1\"\n{rest}\n    }}\n  }}")
    };
    for (body, error) in [
        (
            "  update { batch = \"many\" }".to_owned(),
            "3 Invalid value of \"batch\"",
        ),
        (
            "  update { batch = 0 }".to_owned(),
            "3 Invalid update policy: batch",
        ),
        (
            "  update { batch = [1] }".to_owned(),
            "3 Invalid value of \"batch\"",
        ),
        (
            "  update { surge = 3 }".to_owned(),
            "3 Invalid value of \"surge\"",
        ),
        (
            "  update { order = \"random\" }".to_owned(),
            "3 Invalid value of \"order\": \"random\" is unknown; use one of",
        ),
        (
            "  update { pause_between = \"soon\" }".to_owned(),
            "3 Invalid value of \"pause_between\"",
        ),
        (
            "  update { on_unhealthy = \"abort\" }".to_owned(),
            "3 Invalid update policy: on_unhealthy",
        ),
        (
            health("      consecutive = 0"),
            "6 Invalid update policy: health.consecutive",
        ),
        (
            health("      interval = \"0s\""),
            "6 Invalid update policy: health.interval",
        ),
        (
            health("      consecutive = 2\n      duration = \"3s\""),
            "4 Invalid update policy: health",
        ),
        (
            "  reconcile { mode = \"force\" }".to_owned(),
            "3 Invalid value of \"mode\"",
        ),
        (
            "  reconcile { every = \"1ms\" }".to_owned(),
            "3 Invalid value of \"every\"",
        ),
        (
            "  reconcile { jitter = 3 }".to_owned(),
            "3 Invalid value of \"jitter\"",
        ),
        (
            "  reconcile { jitter = \"300%\" }".to_owned(),
            "3 Invalid value of \"jitter\"",
        ),
    ] {
        let (groups, errors) = read(&body);
        assert!(groups.is_empty(), "{body}");
        assert_eq!(errors.len(), 1, "{body}: {errors:?}");
        assert!(errors[0].starts_with(error), "{body}: {errors:?}");
    }
}

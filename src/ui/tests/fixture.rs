//! A made-up workspace, told in events as an engine would tell it.

use crate::app::schema::SchemaRow;
use crate::engine::words::*;

pub const NOW: UnixMs = 1_795_269_731_000;

pub fn id(name: &str) -> PluginId {
    PluginId(name.to_owned())
}

fn found(address: &str, version: &str, dialect: Option<&str>) -> PluginFound {
    PluginFound {
        address: format!("registry.terraform.io/{address}"),
        version: Some(version.into()),
        dialect: dialect.map(Into::into),
        executable: Some(format!("/opt/mirror/{address}/{version}/plugin")),
        source: "filesystem mirror /opt/mirror".into(),
        why: "newest of 3 versions that ~> 3.0 allows".into(),
    }
}

fn attempt(number: u32, ok: bool) -> LaunchAttempt {
    let phase = |name, at_ms| Phase { name, at_ms };
    let mut phases = vec![
        phase(PhaseName::EXEC, 2),
        phase(PhaseName::FIRST_OUTPUT, 31),
    ];
    if ok {
        phases.extend([
            phase(PhaseName::new("handshake"), 33),
            phase(PhaseName::new("connected"), 41),
            phase(PhaseName::SCHEMA, 120),
        ]);
    }
    LaunchAttempt {
        number,
        limit: 5,
        began: NOW - 134_000 + i64::from(number) * 4_000,
        phases,
        pid: Some(41_820 + number),
        start_time: Some(1),
        deadline_ms: 60_000,
        exit_code: (!ok).then_some(2),
        signal: None,
        last_lines: if ok {
            vec![]
        } else {
            vec![
                "panic: assignment to entry in nil map".into(),
                "goroutine 1 [running]:".into(),
            ]
        },
        verdict: Some(Verdict {
            kind: if ok { "ready" } else { "exited" }.into(),
            text: if ok {
                String::new()
            } else {
                "exited before registering: exit code 2".into()
            },
            retryable: true,
        }),
        took_ms: Some(if ok { 120 } else { 44 }),
        doing: None,
    }
}

pub fn log(plugin: &str, level: LogLevel, text: &str) -> EventKind {
    EventKind::Plugin(PluginEvent::Log {
        line: LogLine {
            plugin: id(plugin),
            at: NOW - 5_000,
            level,
            stream: LogStream::Stderr,
            module: None,
            text: text.into(),
            panic: false,
        },
    })
}

/// Four plugins: ready, ready at the third launch, backing off, given up.
pub fn plugins() -> Vec<EventKind> {
    let mut out = Vec::new();
    let mut p = |e| out.push(EventKind::Plugin(e));
    for (name, version, dialect) in [
        ("hashicorp/aws", "6.2.0", "tfplugin5"),
        ("hashicorp/random", "3.7.2", "tfplugin5"),
    ] {
        p(PluginEvent::Found {
            plugin: id(name),
            found: found(name, version, Some(dialect)),
        });
        p(PluginEvent::Attempt {
            plugin: id(name),
            attempt: attempt(1, true),
        });
        p(PluginEvent::State {
            plugin: id(name),
            state: PluginState::Ready {
                since: NOW - 134_000,
            },
        });
        p(PluginEvent::Usage {
            plugin: id(name),
            usage: Usage {
                pid: 41_822,
                cpu_percent: 3.2,
                rss_bytes: 180 << 20,
            },
        });
    }
    p(PluginEvent::Found {
        plugin: id("bundled/slowstart"),
        found: found("bundled/slowstart", "0.1.0", None),
    });
    for n in 1..=2 {
        p(PluginEvent::Attempt {
            plugin: id("bundled/slowstart"),
            attempt: attempt(n, false),
        });
    }
    let why = "exited before registering: exit code 2".to_owned();
    p(PluginEvent::State {
        plugin: id("bundled/slowstart"),
        state: PluginState::Backoff {
            until: NOW + 3_000,
            attempt: 2,
            limit: 5,
            why,
        },
    });
    p(PluginEvent::Found {
        plugin: id("acme/legacy"),
        found: found("acme/legacy", "1.0.0", None),
    });
    for n in 1..=5 {
        p(PluginEvent::Attempt {
            plugin: id("acme/legacy"),
            attempt: attempt(n, false),
        });
    }
    let why = "5 of 5 launches failed: exited before registering: exit code 2; panic: assignment to entry in nil map".to_owned();
    p(PluginEvent::State {
        plugin: id("acme/legacy"),
        state: PluginState::GaveUp { why },
    });
    out.push(log(
        "hashicorp/aws",
        LogLevel::Info,
        "configured for eu-central-1",
    ));
    out.push(log(
        "hashicorp/aws",
        LogLevel::Warn,
        &crate::engine::visible::uncoloured("\u{1b}[31mrate limit\u{1b}[0m at 80 percent"),
    ));
    out.push(log("hashicorp/random", LogLevel::Debug, "nothing to do"));
    out.push(EventKind::Lock {
        holder: Some(LockHolder {
            who: "ana".into(),
            host: "deck".into(),
            pid: 4242,
            start_time: 1,
            boot_id: "b".into(),
            pid_namespace: String::new(),
            leased: false,
            since: NOW - 140_000,
            reason: "console".into(),
        }),
        ours: true,
    });
    out
}

pub fn attr(path: &str, before: Option<&str>, after: Option<&str>) -> AttributeChange {
    AttributeChange {
        path: path.into(),
        before: before.map(Into::into),
        after: after.map(Into::into),
        unknown: false,
        sensitive: false,
        forces_replacement: false,
        changed: before != after,
    }
}

fn change(
    address: &str,
    action: Action,
    attributes: Vec<AttributeChange>,
    needs: &[&str],
) -> ChangeView {
    ChangeView {
        address: address.into(),
        previous_address: None,
        resource_type: address.split('.').next().unwrap_or("").into(),
        provider: "registry.terraform.io/hashicorp/aws".into(),
        action,
        action_reason: None,
        why: format!("the configuration wants it ({})", action.word()),
        attributes,
        needs: needs.iter().map(|n| (*n).to_owned()).collect(),
        drifted: false,
        commands: Vec::new(),
    }
}

pub fn summary() -> StageSummary {
    let policy = |n: u32| {
        serde_json::to_string(&format!(
            "{{\"Version\":\"2012-10-17\",\"Statement\":[{{\"Sid\":\"a\",\"N\":{n}}}]}}\n"
        ))
        .unwrap()
    };
    let mut ami = attr("ami", Some("\"ami-1\""), Some("\"ami-2\""));
    ami.forces_replacement = true;
    let mut web_id = attr("id", Some("\"i-0f3\""), None);
    (web_id.unknown, web_id.changed) = (true, true);
    let mut secret = attr("password", Some("\"hunter2\""), Some("\"hunter3\""));
    secret.sensitive = true;
    let changes = vec![
        change(
            "aws_s3_bucket.logs",
            Action::Create,
            vec![
                attr("bucket", None, Some("\"shop-logs\"")),
                attr("acl", None, Some("\"private\"")),
            ],
            &[],
        ),
        change(
            "aws_iam_role.app",
            Action::Update,
            vec![
                attr("policy", Some(&policy(1)), Some(&policy(2))),
                attr("name", Some("\"app\""), Some("\"app\"")),
            ],
            &[],
        ),
        change(
            "aws_db_instance.main",
            Action::Create,
            vec![secret, attr("engine", None, Some("\"postgres\""))],
            &["aws_s3_bucket.logs"],
        ),
        change(
            "aws_instance.web",
            Action::Replace,
            vec![
                ami,
                web_id,
                attr("size", Some("\"small\""), Some("\"small\"")),
            ],
            &["aws_db_instance.main", "aws_iam_role.app"],
        ),
        change(
            "aws_eip.old",
            Action::Destroy,
            vec![attr("id", Some("\"eip-1\""), None)],
            &[],
        ),
        change(
            "aws_vpc.main",
            Action::NoOp,
            vec![attr("id", Some("\"vpc-1\""), Some("\"vpc-1\""))],
            &[],
        ),
        change("data.aws_ami.base", Action::Read, vec![], &[]),
    ];
    let mut counts = Counts::default();
    changes.iter().for_each(|c| counts.add(c.action));
    StageSummary {
        stage: 12,
        mode: StageMode::Normal,
        at: NOW,
        took_ms: 212,
        counts,
        changes,
        left: vec![],
        outputs: vec![],
        drift: vec![],
    }
}

pub fn staged() -> Vec<EventKind> {
    vec![
        EventKind::StageStarted(StageStarted {
            stage: 12,
            mode: StageMode::Normal,
            resources: 7,
        }),
        EventKind::Staged(summary().into()),
    ]
}

pub fn operation(index: u32, address: &str, action: Action, state: OperationState) -> Operation {
    Operation {
        deploy: 31,
        index,
        address: address.into(),
        plugin: Some(id("hashicorp/aws")),
        action,
        state,
        step: Reached::Unsaid,
        half_done: false,
        attempt: 1,
        retry: None,
        began: None,
        took_ms: None,
        waits_for: vec![],
        usual_ms: None,
        failure: None,
        warnings: vec![],
    }
}

pub fn failure() -> Failure {
    Failure {
        class: FailureClass::BadInput,
        fingerprint: "policy-json".into(),
        summary: "policy is not valid JSON".into(),
        detail: "unexpected end of input at line 3, column 1".into(),
        address: Some("aws_iam_role.app".into()),
        plugin: Some(id("hashicorp/aws")),
        method: Some("ApplyResourceChange".into()),
        incident: None,
        last_lines: vec!["PutRolePolicy: 400 MalformedPolicyDocument".into()],
        last_lines_at: vec![NOW + 900],
    }
}

pub fn operations() -> Vec<Operation> {
    use OperationState::*;
    let mut out = vec![
        operation(0, "aws_s3_bucket.logs", Action::Create, Waiting),
        operation(1, "aws_iam_role.app", Action::Update, Waiting),
        operation(2, "aws_db_instance.main", Action::Create, Waiting),
        operation(3, "aws_instance.web", Action::Replace, Waiting),
        operation(4, "aws_eip.old", Action::Destroy, Waiting),
    ];
    out[3].waits_for = vec!["aws_db_instance.main".into()];
    out
}

/// One done, one failed, one running with a call, one waiting with a call in the queue, one not
/// begun.
pub fn deploying() -> Vec<EventKind> {
    let all = operations();
    let mut out = vec![EventKind::DeployStarted(DeployStarted {
        deploy: 31,
        stage: 12,
        mode: StageMode::Normal,
        who: "ana".into(),
        host: "deck".into(),
        operations: all.clone(),
    })];
    let mut done = all[0].clone();
    (done.state, done.began, done.took_ms) = (OperationState::Done, Some(NOW), Some(812));
    let mut failed = all[1].clone();
    (failed.state, failed.began, failed.took_ms, failed.failure) = (
        OperationState::Failed,
        Some(NOW),
        Some(2_100),
        Some(Box::new(failure())),
    );
    let mut running = all[2].clone();
    (running.state, running.step, running.began) = (
        OperationState::Running,
        "creating".into(),
        Some(NOW + 1_000),
    );
    (running.usual_ms, running.attempt) = (Some(270_000), 1);
    out.extend([done, failed, running].map(EventKind::Operation));
    let usual = Latency {
        count: 4,
        errors: 0,
        p50_ms: 30_000,
        p95_ms: 40_000,
        max_ms: 45_000,
    };
    out.push(EventKind::CallStarted(CallStarted {
        call: 7,
        plugin: id("hashicorp/aws"),
        slot: 1,
        slots: 1,
        method: "ApplyResourceChange".into(),
        resource: Some("aws_db_instance.main".into()),
        deadline_ms: Some(600_000),
        usual: Some(usual),
        queued_ms: 0,
    }));
    out.push(EventKind::CallQueued(CallQueued {
        call: 8,
        plugin: id("hashicorp/aws"),
        method: "PlanResourceChange".into(),
        resource: Some("aws_eip.old".into()),
        waits_for: "slot of hashicorp/aws, held by aws_db_instance.main (ApplyResourceChange)"
            .into(),
        blocker: Some(7),
    }));
    for (call, took_ms, outcome) in [(5, 800, CallOutcome::Ok), (6, 2_100, CallOutcome::Error)] {
        let latency = Latency {
            count: call - 4,
            errors: call - 5,
            p50_ms: 800,
            p95_ms: 800,
            max_ms: 800,
        };
        out.push(EventKind::CallFinished(CallFinished {
            call,
            plugin: id("hashicorp/aws"),
            method: "ApplyResourceChange".into(),
            resource: Some(
                if call == 5 {
                    "aws_s3_bucket.logs"
                } else {
                    "aws_iam_role.app"
                }
                .into(),
            ),
            resource_type: Some(
                if call == 5 {
                    "aws_s3_bucket"
                } else {
                    "aws_iam_role"
                }
                .into(),
            ),
            action: Some(if call == 5 { "create" } else { "update" }.into()),
            took_ms,
            outcome,
            error: (call == 6).then(|| "policy is not valid JSON".into()),
            again: None,
            measured: Some(Measured {
                method: latency,
                plugin: latency,
            }),
        }));
    }
    out
}

pub fn finished(outcome: DeployOutcome) -> DeploySummary {
    DeploySummary {
        deploy: 31,
        stage: 12,
        mode: StageMode::Normal,
        began: NOW,
        ended: Some(NOW + 72_000),
        who: "ana".into(),
        host: "deck".into(),
        outcome,
        operations: OperationCounts {
            done: 3,
            failed: 1,
            not_attempted: 1,
            ..OperationCounts::default()
        },
        counts: summary().counts,
        config_digest: "9f86d081884c7d659a2feaa0c55ad015".into(),
    }
}

pub fn history() -> Vec<DeploySummary> {
    let mut older = finished(DeployOutcome::Succeeded);
    (older.deploy, older.began, older.ended) = (30, NOW - 86_400_000, Some(NOW - 86_360_000));
    older.operations = OperationCounts {
        done: 5,
        ..OperationCounts::default()
    };
    vec![finished(DeployOutcome::Failed), older]
}

/// What the store would have of deploy 31.
pub fn record() -> DeployRecord {
    let mut operations = operations();
    let kinds: Vec<EventKind> = deploying()
        .into_iter()
        .filter(|k| matches!(k, EventKind::DeployStarted(_) | EventKind::Operation(_)))
        .chain([EventKind::DeployFinished(finished(DeployOutcome::Failed))])
        .collect();
    for k in &kinds {
        if let EventKind::Operation(o) = k {
            operations[o.index as usize] = o.clone();
        }
    }
    operations[3].state = OperationState::NotAttempted;
    let events = kinds
        .into_iter()
        .enumerate()
        .map(|(i, kind)| Event {
            seq: 900 + i as u64,
            at: NOW + i as i64 * 1_000,
            kind,
        })
        .collect();
    DeployRecord {
        summary: finished(DeployOutcome::Failed),
        operations,
        events,
    }
}

pub fn failures() -> Vec<FailureGroup> {
    let f = failure();
    vec![FailureGroup {
        fingerprint: f.fingerprint,
        class: f.class,
        summary: f.summary,
        detail: f.detail,
        count: 4,
        first: NOW - 7 * 86_400_000,
        last: NOW,
        plugin: f.plugin,
        addresses: vec!["aws_iam_role.app".into(), "aws_iam_role.job".into()],
        deploys: vec![31, 27, 24, 22],
        followed_by: Some("updated in deploy #28 after the configuration changed".into()),
        last_lines: f.last_lines,
        last_lines_at: f.last_lines_at,
    }]
}

pub fn state_rows() -> Vec<StateRow> {
    let row =
        |module: &str, ty: &str, name: &str, dependencies: &[&str], dependents: &[&str]| StateRow {
            address: if module.is_empty() {
                format!("{ty}.{name}")
            } else {
                format!("{module}.{ty}.{name}")
            },
            deposed: None,
            module: module.into(),
            data: false,
            resource_type: ty.into(),
            name: name.into(),
            provider: "registry.terraform.io/hashicorp/aws".into(),
            tainted: name == "app",
            drift: None,
            dependencies: dependencies.iter().map(|d| (*d).to_owned()).collect(),
            dependents: dependents.iter().map(|d| (*d).to_owned()).collect(),
            attributes: vec![
                ("id".into(), "\"x-1\"".into()),
                ("password".into(), "(sensitive)".into()),
            ],
        };
    vec![
        row(
            "module.network",
            "aws_vpc",
            "main",
            &[],
            &["aws_instance.web"],
        ),
        row(
            "",
            "aws_instance",
            "web",
            &["module.network.aws_vpc.main"],
            &[],
        ),
        row("", "aws_iam_role", "app", &[], &[]),
    ]
}

/// A row of a schema's tree.
pub fn schema_row(path: &str, depth: usize, folder: bool) -> SchemaRow {
    let name = path.rsplit('/').next().unwrap().into();
    SchemaRow {
        path: path.into(),
        depth,
        name,
        kind: "string".into(),
        folder,
        ..SchemaRow::default()
    }
}

/// What deploy 3 began and has no end on record.
pub fn unknown(step: &str, address: &str, id: Option<&str>) -> Unknown {
    Unknown {
        intent: 1,
        deploy: 3,
        address: address.to_owned(),
        deposed: None,
        step: step.parse().expect("a step"),
        begun_at: NOW - 60_000,
        creation: step == "create",
        provisioner: step.contains("provisioner"),
        id: id.map(str::to_owned),
        detail: format!(
            "the {step} of {address} was begun in deploy #3, and its end is not on record: `flightdeck state forget {address}`."
        ),
    }
}

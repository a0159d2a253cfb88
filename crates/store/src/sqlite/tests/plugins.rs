//! Stored plugin data: launch attempts, latencies, log lines.

use super::*;
use model::{Action, LogQuery};

fn attempt(number: u32, began: UnixMs, verdict: Option<&str>) -> LaunchAttempt {
    LaunchAttempt {
        number,
        limit: 5,
        began,
        phases: vec![Phase {
            name: PhaseName::EXEC,
            at_ms: 1,
        }],
        pid: Some(7),
        start_time: Some(8),
        deadline_ms: 60_000,
        exit_code: None,
        signal: Some(9),
        last_lines: vec!["panic: no".into()],
        verdict: verdict.map(|kind| Verdict {
            kind: kind.into(),
            text: "why".into(),
            retryable: true,
        }),
        took_ms: Some(10),
        doing: None,
        beside: false,
    }
}

#[tokio::test]
async fn launch_attempts_are_updated_and_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let id = PluginId("bundled/lab".into());
    store
        .launch_attempt(id.clone(), attempt(1, 100, None))
        .await
        .unwrap();
    store
        .launch_attempt(id.clone(), attempt(1, 100, Some("exited")))
        .await
        .unwrap();
    let found = PluginFound {
        address: "flightdeck.internal/bundled/lab".into(),
        version: None,
        dialect: None,
        executable: None,
        source: "bundled".into(),
        why: "the only one".into(),
        ..PluginFound::default()
    };
    store.plugin_found(id.clone(), found.clone()).await.unwrap();
    let rows = store.plugins().await.unwrap();
    assert_eq!(
        (rows.len(), &rows[0].found, &rows[0].attempts),
        (1, &Some(found), &vec![attempt(1, 100, Some("exited"))])
    );
    for n in 0..150 {
        store
            .launch_attempt(id.clone(), attempt(1, 200 + n, Some("ready")))
            .await
            .unwrap();
    }
    let rows = store.plugins().await.unwrap();
    assert_eq!(rows[0].attempts.len(), 100);
    assert_eq!(rows[0].attempts[99].began, 349);
}

#[tokio::test]
async fn launch_attempts_keep_their_order_when_the_clock_went_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let id = PluginId("bundled/lab".into());
    // Others fill the bounded list; each is written twice.
    let times: Vec<UnixMs> = [9_000, 8_000, 1_000, 500]
        .into_iter()
        .chain(501..601)
        .collect();
    for began in &times {
        for verdict in [None, Some("ready")] {
            store
                .launch_attempt(id.clone(), attempt(1, *began, verdict))
                .await
                .unwrap();
        }
    }
    let rows = store.plugins().await.unwrap();
    let kept: Vec<UnixMs> = rows[0].attempts.iter().map(|a| a.began).collect();
    assert_eq!(kept, times[4..]);
}

#[tokio::test]
async fn latencies_merge_across_sessions() {
    let dir = tempfile::tempdir().unwrap();
    let sample = |took_ms, ok| CallSample {
        plugin: PluginId("p#2".into()),
        method: "ApplyResourceChange".into(),
        resource_type: "lab_bucket".into(),
        action: Some(Action::Destroy),
        took_ms,
        ok,
    };
    for _ in 0..2 {
        let store = open(dir.path());
        store
            .add_calls((1..=100).map(|ms| sample(ms, ms != 100)).collect())
            .await
            .unwrap();
    }
    let store = open(dir.path());
    let stats = store.latencies().await.unwrap();
    assert_eq!(stats.len(), 1);
    assert_eq!(stats[0].action, Some(Action::Destroy));
    // Failed calls are only counted.
    assert_eq!(
        stats[0].latency,
        Latency {
            count: 200,
            errors: 2,
            p50_ms: 50,
            p95_ms: 95,
            max_ms: 99
        }
    );
    store
        .add_calls((0..1_000).map(|_| sample(7, true)).collect())
        .await
        .unwrap();
    let now = store.latencies().await.unwrap()[0].latency;
    assert_eq!(
        (now.count, now.p95_ms, now.max_ms),
        (1_200, 7, 99),
        "what is usual is told by the newest calls"
    );
}

fn line(n: i64, level: LogLevel, plugin: &str) -> LogLine {
    LogLine {
        plugin: PluginId(plugin.into()),
        at: n,
        level,
        stream: LogStream::Stderr,
        module: Some("m".into()),
        text: format!("line {n}"),
        panic: false,
    }
}

#[tokio::test]
async fn log_lines_are_queried_by_plugin_level_time_and_id() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let lines = vec![
        line(1, LogLevel::Debug, "hashicorp/aws"),
        line(2, LogLevel::Error, "hashicorp/aws"),
        line(3, LogLevel::Warn, "lab"),
    ];
    store.append_logs(lines.clone()).await.unwrap();
    let texts =
        |rows: Vec<model::LogRow>| rows.into_iter().map(|r| r.line.text).collect::<Vec<_>>();
    let all = store.logs(LogQuery::default()).await.unwrap();
    assert_eq!(
        all.iter().map(|r| r.line.clone()).collect::<Vec<_>>(),
        lines
    );
    let query = LogQuery {
        level: Some(LogLevel::Warn),
        ..LogQuery::default()
    };
    assert_eq!(
        texts(store.logs(query).await.unwrap()),
        ["line 2", "line 3"]
    );
    let query = LogQuery {
        plugin: Some("aws".into()),
        since: Some(2),
        ..LogQuery::default()
    };
    assert_eq!(texts(store.logs(query).await.unwrap()), ["line 2"]);
    assert_eq!(
        texts(
            store
                .logs(LogQuery {
                    limit: 1,
                    ..LogQuery::default()
                })
                .await
                .unwrap()
        ),
        ["line 3"]
    );
    assert_eq!(
        texts(
            store
                .logs_after(
                    all[0].id,
                    LogQuery {
                        limit: 1,
                        ..LogQuery::default()
                    }
                )
                .await
                .unwrap()
        ),
        ["line 2"]
    );
}

#[tokio::test]
async fn log_lines_are_bounded_and_trimmed_ones_counted() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let total = MAX_LOG_LINES + 5_000;
    store
        .append_logs((0..total).map(|n| line(n, LogLevel::Info, "p")).collect())
        .await
        .unwrap();
    let kept = store
        .read(|c| Ok(c.query_row("SELECT count(*) FROM log", [], |r| r.get::<_, i64>(0))?))
        .await
        .unwrap();
    assert!(
        (MAX_LOG_LINES..MAX_LOG_LINES + 2_000).contains(&kept),
        "{kept}"
    );
    assert_eq!(store.logs_trimmed().await.unwrap(), total - kept);
    assert_eq!(
        store
            .logs(LogQuery {
                limit: 1,
                ..LogQuery::default()
            })
            .await
            .unwrap()[0]
            .line
            .at,
        total - 1
    );
}

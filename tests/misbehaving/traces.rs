//! Tests of traces: a deploy is exported to a collector of the test over OTLP/HTTP.

use crate::observed_run::{FaultWorkspace, assert_contains};
use crate::retries::SOON;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Collector that answers every request with one status until the test ends.
struct Collector {
    address: SocketAddr,
    spans: Arc<Mutex<Vec<Span>>>,
    /// Request line and headers of each request.
    heads: Arc<Mutex<Vec<String>>>,
}

impl Collector {
    fn answering(status: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let it = Self {
            address: listener.local_addr().unwrap(),
            spans: Arc::default(),
            heads: Arc::default(),
        };
        let (spans, heads) = (it.spans.clone(), it.heads.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (head, body) = answer(stream.unwrap(), status);
                let sent = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
                for resource in sent.resource_spans {
                    let about = resource.resource.unwrap().attributes;
                    assert!(about.iter().any(|a| a.key == "service.name"), "{about:?}");
                    let scopes = resource.scope_spans.into_iter();
                    spans.lock().unwrap().extend(scopes.flat_map(|s| s.spans));
                }
                heads.lock().unwrap().push(head);
            }
        });
        it
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

fn answer(stream: TcpStream, status: &str) -> (String, Vec<u8>) {
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let mut from = BufReader::new(stream);
    let (mut all, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        all.push_str(&format!("{line}\n"));
        if let Some(n) = line.strip_prefix("content-length: ") {
            length = n.parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).unwrap();
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    from.get_mut().write_all(head.as_bytes()).unwrap();
    (all, body)
}

fn attribute(span: &Span, name: &str) -> String {
    let found = span.attributes.iter().find(|a| a.key == name);
    let value = found.and_then(|a| a.value.clone()?.value);
    match value {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(n)) => n.to_string(),
        other => format!("{other:?}"),
    }
}

fn failed(span: &Span) -> bool {
    let status = span.status.as_ref();
    status.is_some_and(|s| s.code() == StatusCode::Error)
}

/// The only span of this name within another.
fn within<'s>(all: &'s [Span], outer: &Span, name: &str) -> &'s Span {
    let inner: Vec<&Span> = all
        .iter()
        .filter(|s| s.parent_span_id == outer.span_id && s.name == name)
        .collect();
    assert_eq!(inner.len(), 1, "{name} in {}: {all:#?}", outer.name);
    let inner = inner[0];
    assert_eq!(inner.trace_id, outer.trace_id);
    assert!(outer.start_time_unix_nano <= inner.start_time_unix_nano);
    assert!(inner.start_time_unix_nano <= inner.end_time_unix_nano);
    assert!(inner.end_time_unix_nano <= outer.end_time_unix_nano);
    inner
}

#[test]
fn deploy_trace_has_operations_attempts_and_calls() {
    let bench = FaultWorkspace::new("busy-in-plan");
    let collector = Collector::answering("200 OK");
    let url = collector.url();
    let args = ["deploy", "--auto-approve", "--json", "--otlp", &url];
    let team = ("OTEL_EXPORTER_OTLP_HEADERS", "x-team=ops");
    bench.run(&args, &[SOON, team]).expect(0);
    let head = collector.heads.lock().unwrap()[0].clone();
    assert_contains(&head, &["post /v1/traces http/1.1\n", "x-team: ops\n"]);
    let all = collector.spans.lock().unwrap();

    let roots: Vec<&Span> = all.iter().filter(|s| s.parent_span_id.is_empty()).collect();
    assert_eq!(roots.len(), 1, "{all:#?}");
    let deploy = roots[0];
    assert_eq!(deploy.name, "deploy #1");
    assert_eq!(attribute(deploy, "flightdeck.outcome"), "succeeded");
    assert_eq!(attribute(deploy, "flightdeck.done"), "2");
    assert!(!failed(deploy));

    let operation = within(&all, deploy, "create fake_thing.x");
    assert_eq!(attribute(operation, "flightdeck.outcome"), "done");
    within(&all, deploy, "create lab_bucket.good");
    // Three attempts of the plan call, and one apply call.
    let attempts: Vec<(String, &Span)> = all
        .iter()
        .filter(|s| s.parent_span_id == operation.span_id)
        .map(|attempt| {
            let call = all.iter().find(|s| s.parent_span_id == attempt.span_id);
            (attempt.name.clone(), call.unwrap())
        })
        .filter(|(_, call)| call.name == "PlanResourceChange" || call.name == "ApplyResourceChange")
        .collect();
    let seen: Vec<(&str, &str, bool)> = attempts
        .iter()
        .map(|(name, call)| (name.as_str(), call.name.as_str(), failed(call)))
        .collect();
    assert_eq!(
        seen,
        [
            ("attempt 1", "PlanResourceChange", true),
            ("attempt 2", "PlanResourceChange", true),
            ("attempt 3", "PlanResourceChange", false),
            ("attempt 1", "ApplyResourceChange", false),
        ]
    );
    for (_, call) in attempts {
        assert_eq!(attribute(call, "flightdeck.plugin"), bench.address());
        assert_eq!(attribute(call, "rpc.method"), call.name);
    }
}

#[test]
fn failed_and_not_attempted_operations_are_in_the_trace() {
    let bench = FaultWorkspace::new("panics-in-apply");
    bench.add("resource \"lab_bucket\" \"after\" {\n  name = fake_thing.x.name\n  depends_on = [fake_thing.x]\n}\n");
    let collector = Collector::answering("200 OK");
    let url = collector.url();
    let args = ["deploy", "--auto-approve", "--json", "--otlp", &url];
    bench.run(&args, &[SOON]).expect(5);
    let all = collector.spans.lock().unwrap();
    let deploy = all.iter().find(|s| s.parent_span_id.is_empty()).unwrap();
    assert!(failed(deploy));
    let operation = within(&all, deploy, "create fake_thing.x");
    assert!(failed(operation));
    assert_eq!(
        attribute(operation, "flightdeck.outcome"),
        "unknown outcome"
    );
    let after = within(&all, deploy, "create lab_bucket.after");
    assert_eq!(attribute(after, "flightdeck.outcome"), "not attempted");
}

#[test]
fn undeliverable_traces_are_reported_once_without_delaying_the_deploy() {
    let bench = FaultWorkspace::new("good");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("http://{}", taken.local_addr().unwrap());
    drop(taken);
    let refusing = Collector::answering("503 Service Unavailable");
    // Accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for (url, why) in [
        (format!("http://{}", silent.local_addr().unwrap()), ""),
        (nobody.clone(), "Connection refused"),
        (refusing.url(), "503 Service Unavailable"),
    ] {
        let args = ["deploy", "--auto-approve", "--otlp", &url];
        let seen = bench.run(&args, &[]).expect(0);
        assert_contains(&seen.stderr, &["failed to send traces to ", &url, why]);
        assert_eq!(seen.stderr.matches("failed to send traces").count(), 1);
    }
    let seen = bench.run(&["stage", "--otlp", &nobody], &[]).expect(1);
    assert_contains(&seen.stderr, &["`stage` does not support --otlp"]);
    let seen = bench.run(&["deploy", "--otlp", "127.0.0.1:4317"], &[]);
    assert_contains(&seen.expect(1).stderr, &["http://127.0.0.1:4318"]);
}

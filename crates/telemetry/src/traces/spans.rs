//! Folds events into spans, with the times of the events. The number of open spans is bounded by
//! the concurrent work.

use model::bus::Listener;
use model::mutex::lock;
use model::*;
use opentelemetry::trace::{SpanKind, Status, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::SdkTracer;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// Creates spans from events.
pub(super) struct Spans {
    tracer: SdkTracer,
    open: Mutex<Open>,
    /// Number of ended spans.
    ended_spans: Arc<AtomicU64>,
}

/// Open spans.
#[derive(Default)]
struct Open {
    /// Running deploy; work outside a deploy has no trace.
    deploy: Option<(DeployId, Context)>,
    /// Its operations by index: instance and span, or `None` once ended.
    operations: HashMap<u32, Option<(String, Context)>>,
    calls: HashMap<CallId, Attempt>,
    /// Number of the next attempt of a call that failed temporarily, by method and object.
    next_attempts: HashMap<(MethodName, Option<Arc<str>>), u32>,
}

/// Spans of one attempt, from the wait for a slot, and of its call, from when it is sent.
struct Attempt {
    call_span: Context,
    call: Context,
}

impl Listener for Spans {
    fn on_event(&self, event: &Event) {
        let open = &mut *lock(&self.open);
        match &event.kind {
            EventKind::DeployStarted(deploy) => self.deploy_begins(open, deploy, event.at),
            EventKind::Operation(operation) => self.operation(open, operation, event.at),
            EventKind::CallStarted(call) => self.call_begins(open, call, event.at),
            EventKind::CallFinished(call) if !call.covers => self.call_ends(open, call, event.at),
            EventKind::DeployFinished(summary) => self.deploy_ends(open, summary, event.at),
            _ => {}
        }
    }
}

impl Spans {
    pub(super) fn new(tracer: SdkTracer, made: Arc<AtomicU64>) -> Self {
        Self {
            tracer,
            ended_spans: made,
            open: Mutex::default(),
        }
    }

    /// Starts a span within another.
    fn begin(
        &self,
        (name, kind): (String, SpanKind),
        parent: &Context,
        at: UnixMs,
        attributes: Vec<KeyValue>,
    ) -> Context {
        let span = self
            .tracer
            .span_builder(name)
            .with_kind(kind)
            .with_start_time(time(at))
            .with_attributes(attributes)
            .start_with_context(&self.tracer, parent);
        parent.with_span(span)
    }

    fn deploy_begins(&self, open: &mut Open, deploy: &DeployStarted, at: UnixMs) {
        let attributes = vec![
            number("flightdeck.deploy", deploy.deploy),
            number("flightdeck.stage", deploy.stage),
            text(
                "flightdeck.mode",
                &format!("{:?}", deploy.mode).to_lowercase(),
            ),
            text("user.name", &deploy.who),
            text("host.name", &deploy.host),
            number("flightdeck.operations", deploy.operations.len()),
        ];
        let name = (format!("deploy #{}", deploy.deploy), SpanKind::Internal);
        let span = self.begin(name, &Context::new(), at, attributes);
        // Spans of an earlier deploy that never ended are dropped.
        *open = Open {
            deploy: Some((deploy.deploy, span)),
            ..Open::default()
        };
    }

    fn operation(&self, open: &mut Open, operation: &Operation, at: UnixMs) {
        use OperationState::{Running, Waiting};
        let Some((id, deploy)) = &open.deploy else {
            return;
        };
        if *id != operation.deploy || operation.state == Waiting {
            return;
        }
        // Events repeat the full record, so skip operations that have ended or are already open.
        let known = open.operations.get_mut(&operation.index);
        if known
            .as_ref()
            .is_some_and(|it| it.is_none() || operation.state == Running)
        {
            return;
        }
        let begun = known.and_then(Option::take).map(|(_, span)| span);
        let span = begun.unwrap_or_else(|| {
            let attributes = [
                Some(text("flightdeck.address", &operation.address)),
                Some(text("flightdeck.action", operation.action.operation_word())),
                operation
                    .plugin
                    .as_ref()
                    .map(|p| text("flightdeck.plugin", &p.0)),
            ];
            let word = operation.action.operation_word();
            let name = (format!("{word} {}", operation.address), SpanKind::Internal);
            // An operation that was not attempted starts when it ends.
            let began = operation.began.unwrap_or(at);
            let attributes = attributes.into_iter().flatten().collect();
            self.begin(name, deploy, began, attributes)
        });
        if operation.state == Running {
            let of = (operation.instance().to_owned(), span);
            open.operations.insert(operation.index, Some(of));
            return;
        }
        open.operations.insert(operation.index, None);
        let ended = span.span();
        ended.set_attribute(text("flightdeck.outcome", operation.state.label()));
        if let Some(failure) = &operation.failure {
            ended.set_attribute(text("flightdeck.failure", failure.class.label()));
            ended.set_status(Status::error(failure.summary.clone()));
        } else if operation.is_incomplete() {
            ended.set_status(Status::error(operation.state.label()));
        }
        self.end(&span, at);
    }

    fn call_begins(&self, open: &mut Open, call: &CallStarted, at: UnixMs) {
        let Some((_, deploy)) = &open.deploy else {
            return;
        };
        // An object has one operation; calls without an object belong to the deploy.
        let mut operations = open.operations.values().flatten();
        let parent = call.resource.as_deref().and_then(|resource| {
            let mine = operations.find(|(address, _)| address == resource)?;
            Some(&mine.1)
        });
        let of = (call.method.clone(), call.resource.clone());
        let number_of_it = open.next_attempts.remove(&of).unwrap_or(1);
        let queued = i64::try_from(call.queued_ms).unwrap_or_default();
        let attributes = vec![
            number("flightdeck.attempt", number_of_it),
            number("flightdeck.queued_ms", call.queued_ms),
        ];
        let name = (format!("attempt {number_of_it}"), SpanKind::Internal);
        let whole = self.begin(name, parent.unwrap_or(deploy), at - queued, attributes);
        let attributes = [
            Some(text("rpc.system", "grpc")),
            Some(text("rpc.method", &call.method)),
            Some(text("flightdeck.plugin", &call.plugin.0)),
            Some(number("flightdeck.slot", call.slot)),
            call.resource
                .as_ref()
                .map(|r| text("flightdeck.address", r)),
        ];
        let attributes = attributes.into_iter().flatten().collect();
        let name = (call.method.to_string(), SpanKind::Client);
        let sent = self.begin(name, &whole, at, attributes);
        open.calls.insert(
            call.call,
            Attempt {
                call_span: whole,
                call: sent,
            },
        );
    }

    fn call_ends(&self, open: &mut Open, call: &CallFinished, at: UnixMs) {
        // Outside a deploy, nothing would remove the entry.
        if let (Some(again), true) = (&call.again, open.deploy.is_some()) {
            let of = (call.method.clone(), call.resource.clone());
            open.next_attempts.insert(of, again.attempt);
        }
        let Some(Attempt {
            call_span: whole,
            call: sent,
        }) = open.calls.remove(&call.call)
        else {
            return;
        };
        sent.span()
            .set_attribute(text("flightdeck.outcome", call.outcome.word()));
        // The inner span ends first.
        for span in [sent, whole] {
            if call.outcome != CallOutcome::Ok {
                let why = call.error.clone();
                let why = why.unwrap_or_else(|| call.outcome.word().into());
                span.span().set_status(Status::error(why));
            }
            self.end(&span, at);
        }
    }

    fn deploy_ends(&self, open: &mut Open, summary: &DeploySummary, at: UnixMs) {
        // Spans that are still open end here, without an outcome.
        let Open {
            deploy,
            operations,
            calls,
            ..
        } = std::mem::take(open);
        for Attempt {
            call_span: whole,
            call,
        } in calls.into_values()
        {
            self.end(&call, at);
            self.end(&whole, at);
        }
        for (_, span) in operations.into_values().flatten() {
            self.end(&span, at);
        }
        let Some((_, whole)) = deploy.filter(|(id, _)| *id == summary.deploy) else {
            return;
        };
        let span = whole.span();
        span.set_attribute(text("flightdeck.outcome", summary.outcome.label()));
        let counts = &summary.operations;
        span.set_attribute(number("flightdeck.done", counts.done));
        span.set_attribute(number("flightdeck.failed", counts.failed));
        if summary.outcome != DeployOutcome::Succeeded {
            span.set_status(Status::error(summary.outcome.label()));
        }
        self.end(&whole, summary.ended.unwrap_or(at));
    }

    fn end(&self, span: &Context, at: UnixMs) {
        self.ended_spans.fetch_add(1, Ordering::Relaxed);
        span.span().end_with_timestamp(time(at));
    }
}

fn text(name: &'static str, value: &str) -> KeyValue {
    KeyValue::new(name, value.to_owned())
}

fn number(name: &'static str, value: impl TryInto<i64>) -> KeyValue {
    KeyValue::new(name, value.try_into().unwrap_or(i64::MAX))
}

fn time(at: UnixMs) -> SystemTime {
    let since = Duration::from_millis(u64::try_from(at).unwrap_or_default());
    SystemTime::UNIX_EPOCH + since
}

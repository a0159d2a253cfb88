//! Export to a collector: OTLP over HTTP in batches, on the existing HTTP client and runtime.

use super::spans::Spans;
use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use model::bus::Bus;
use model::causes;
use model::{Endpoint, EventKind};
use net::HttpOptions;
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider, SpanData, SpanExporter as Exporter,
};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;

/// Timeout of one batch.
const BATCH_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of queued spans, of about a kilobyte each; further ones are dropped and reported.
const MAX_QUEUED_SPANS: usize = 32_768;
/// Maximum number of spans per request.
const MAX_BATCH: usize = 2_048;
/// Maximum time for the last export.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Error of traces that cannot be exported.
#[derive(Debug, thiserror::Error)]
#[error("cannot send traces to {to}: {why}")]
pub struct TracesError {
    to: String,
    why: String,
}

/// Trace export, until [`Traces::flush`].
pub struct Traces {
    provider: SdkTracerProvider,
    notice: Arc<FailureNotice>,
    /// Number of ended spans, and number of those passed to the exporter.
    ended_spans: Arc<AtomicU64>,
    exported_spans: Arc<AtomicU64>,
}

impl Traces {
    /// Starts to export traces of the events on the bus.
    ///
    /// # Errors
    /// The client cannot be created.
    pub fn start(to: &Endpoint, bus: &Bus) -> Result<Self, TracesError> {
        let failed = |why: String| TracesError {
            to: to.to_string(),
            why,
        };
        let client = net::http_client(&HttpOptions::default());
        let told = Arc::new(FailureNotice {
            to: to.to_string(),
            bus: bus.clone(),
            failed: AtomicBool::new(false),
        });
        let over = RuntimeClient {
            client: client.map_err(|e| failed(e.to_string()))?,
            runtime: Handle::current(),
            notice: told.clone(),
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(over)
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(BATCH_TIMEOUT)
            .with_endpoint(to.to_string())
            .build()
            .map_err(|e| failed(e.to_string()))?;
        let resource = Resource::builder()
            .with_service_name("flightdeck")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(MAX_QUEUED_SPANS)
            .with_max_export_batch_size(MAX_BATCH)
            .build();
        let (made, taken) = <(Arc<AtomicU64>, Arc<AtomicU64>)>::default();
        let counted = CountingExporter {
            exporter,
            exported_spans: taken.clone(),
        };
        let processor = BatchSpanProcessor::builder(counted)
            .with_batch_config(batches)
            .build();
        let provider = SdkTracerProvider::builder()
            .with_span_processor(processor)
            .with_resource(resource)
            .build();
        let tracer = provider.tracer("flightdeck");
        bus.listen(Arc::new(Spans::new(tracer, made.clone())));
        Ok(Self {
            provider,
            notice: told,
            ended_spans: made,
            exported_spans: taken,
        })
    }

    /// Exports the remaining spans, for a few seconds at most.
    pub async fn flush(self) {
        let Self {
            provider,
            notice: told,
            ended_spans: made,
            exported_spans: taken,
        } = self;
        // The library's shutdown blocks the thread.
        let ended =
            tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(FLUSH_TIMEOUT));
        if let Ok(Err(error)) = ended.await {
            told.failed(&error.to_string());
        }
        // Spans that ended but never reached the exporter were dropped from the full queue.
        let left = made
            .load(Ordering::Relaxed)
            .saturating_sub(taken.load(Ordering::Relaxed));
        if left > 0 {
            told.failed(&format!(
                "{left} spans were dropped, because the collector was too slow"
            ));
        }
    }
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traces").finish_non_exhaustive()
    }
}

/// Reports failures of the export: the first one, and again after a success.
struct FailureNotice {
    to: String,
    bus: Bus,
    failed: AtomicBool,
}

impl FailureNotice {
    fn failed(&self, why: &str) {
        // A collector that stays down would otherwise cause a notice per batch.
        if !self.failed.swap(true, Ordering::Relaxed) {
            let text = format!("failed to send traces to {}: {why}", self.to);
            let text = net::redacted(&text);
            self.bus.emit(EventKind::Notice { text });
        }
    }
}

/// Exporter that counts the spans passed to it.
#[derive(Debug)]
struct CountingExporter {
    exporter: SpanExporter,
    exported_spans: Arc<AtomicU64>,
}

impl Exporter for CountingExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        // Counted before the export: a failed batch is reported separately.
        self.exported_spans
            .fetch_add(batch.len() as u64, Ordering::Relaxed);
        self.exporter.export(batch).await
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// HTTP client for the library's export thread. That thread has no runtime, so requests run on the
/// engine's.
struct RuntimeClient {
    client: reqwest::Client,
    runtime: Handle,
    notice: Arc<FailureNotice>,
}

impl fmt::Debug for RuntimeClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Over").finish_non_exhaustive()
    }
}

#[async_trait]
impl HttpClient for RuntimeClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let asked = self
            .runtime
            .spawn(async move { send_request(&client, request).await });
        let answer = asked.await.map_err(HttpError::from).flatten();
        match &answer {
            Ok(answer) if answer.status().is_success() => {
                self.notice.failed.store(false, Ordering::Relaxed);
            }
            Ok(answer) => self
                .notice
                .failed(&format!("the collector answered {}", answer.status())),
            Err(error) => self.notice.failed(&causes::told(&**error)),
        }
        answer
    }
}

async fn send_request(
    client: &reqwest::Client,
    request: Request<Bytes>,
) -> Result<Response<Bytes>, HttpError> {
    let mut request: reqwest::Request = request.try_into()?;
    *request.timeout_mut() = Some(BATCH_TIMEOUT);
    let answer = client.execute(request).await?;
    let mut whole = Response::builder().status(answer.status());
    if let Some(headers) = whole.headers_mut() {
        headers.clone_from(answer.headers());
    }
    Ok(whole.body(answer.bytes().await?)?)
}

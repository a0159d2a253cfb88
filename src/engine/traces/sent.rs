//! The way to the collector: OTLP over HTTP, in batches, on the client and the runtime that are
//! here already.

use super::spans::Spans;
use crate::engine::bus::Bus;
use crate::engine::causes;
use crate::engine::words::{Endpoint, EventKind};
use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
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

/// How long the collector may take for one batch.
const EACH: Duration = Duration::from_secs(10);
/// Spans that may wait to be sent, of a kilobyte or less; beyond them they are left out, and that
/// is told.
const WAITING: usize = 32_768;
/// Spans in one request.
const TOGETHER: usize = 2_048;
/// How long is waited at the end for what is not sent yet.
const AT_THE_END: Duration = Duration::from_secs(5);

/// Why traces cannot be sent.
#[derive(Debug, thiserror::Error)]
#[error("traces cannot be sent to {to}: {why}")]
pub struct TracesError {
    to: String,
    why: String,
}

/// Traces that are sent until [`Traces::end`].
pub struct Traces {
    provider: SdkTracerProvider,
    told: Arc<Told>,
    /// How many spans have ended, and how many were taken to be sent.
    made: Arc<AtomicU64>,
    taken: Arc<AtomicU64>,
}

impl Traces {
    /// Follows from now on what the bus says.
    ///
    /// # Errors
    /// The client cannot be made.
    pub fn start(to: &Endpoint, bus: &Bus) -> Result<Self, TracesError> {
        let failed = |why: String| TracesError {
            to: to.to_string(),
            why,
        };
        let tls = tls::verifier(tls::Roots::System)
            .map_err(tls::TlsError::from)
            .and_then(|verifier| tls::web_client(verifier, None))
            .map_err(|e| failed(e.to_string()))?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .timeout(EACH)
            .build();
        let told = Arc::new(Told {
            to: to.to_string(),
            bus: bus.clone(),
            failed: AtomicBool::new(false),
        });
        let over = Over {
            client: client.map_err(|e| failed(e.to_string()))?,
            runtime: Handle::current(),
            told: told.clone(),
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(over)
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(EACH)
            .with_endpoint(to.to_string())
            .build()
            .map_err(|e| failed(e.to_string()))?;
        let resource = Resource::builder()
            .with_service_name("flightdeck")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(WAITING)
            .with_max_export_batch_size(TOGETHER)
            .build();
        let (made, taken) = <(Arc<AtomicU64>, Arc<AtomicU64>)>::default();
        let counted = Counted {
            exporter,
            taken: taken.clone(),
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
            told,
            made,
            taken,
        })
    }

    /// Sends what is not sent yet; waits for that a few seconds.
    pub async fn end(self) {
        let Self {
            provider,
            told,
            made,
            taken,
        } = self;
        let ended = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(AT_THE_END));
        if let Ok(Err(error)) = ended.await {
            told.failed(&error.to_string());
        }
        let left = made
            .load(Ordering::Relaxed)
            .saturating_sub(taken.load(Ordering::Relaxed));
        if left > 0 {
            told.failed(&format!("it was too slow, and {left} spans were left out"));
        }
    }
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traces").finish_non_exhaustive()
    }
}

/// Says that traces do not arrive: the first time, and again where they had arrived meanwhile.
struct Told {
    to: String,
    bus: Bus,
    failed: AtomicBool,
}

impl Told {
    fn failed(&self, why: &str) {
        if !self.failed.swap(true, Ordering::Relaxed) {
            let text = format!("traces do not arrive at {}: {why}", self.to);
            self.bus.emit(EventKind::Notice { text });
        }
    }
}

/// Counts what comes to be sent.
#[derive(Debug)]
struct Counted {
    exporter: SpanExporter,
    taken: Arc<AtomicU64>,
}

impl Exporter for Counted {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.taken.fetch_add(batch.len() as u64, Ordering::Relaxed);
        self.exporter.export(batch).await
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// The library asks on a thread of its own, which has no runtime: the request is made on ours.
struct Over {
    client: reqwest::Client,
    runtime: Handle,
    told: Arc<Told>,
}

impl fmt::Debug for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Over").finish_non_exhaustive()
    }
}

#[async_trait]
impl HttpClient for Over {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let asked = self
            .runtime
            .spawn(async move { ask(&client, request).await });
        let answer = asked.await.map_err(HttpError::from).flatten();
        match &answer {
            Ok(answer) if answer.status().is_success() => {
                self.told.failed.store(false, Ordering::Relaxed);
            }
            Ok(answer) => self
                .told
                .failed(&format!("it answered {}", answer.status())),
            Err(error) => self.told.failed(&causes::told(&**error)),
        }
        answer
    }
}

async fn ask(
    client: &reqwest::Client,
    request: Request<Bytes>,
) -> Result<Response<Bytes>, HttpError> {
    let answer = client.execute(request.try_into()?).await?;
    let mut whole = Response::builder().status(answer.status());
    if let Some(headers) = whole.headers_mut() {
        headers.clone_from(answer.headers());
    }
    Ok(whole.body(answer.bytes().await?)?)
}

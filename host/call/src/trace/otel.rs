//! The export of spans to a collector of OpenTelemetry. Its `OTEL_*` variables configure it: see docs/observability.md.
//!
//! No call waits for the collector: a thread of its own sends the spans in batches, and spans that do not fit into its queue
//! are dropped. The exporter is not traced itself.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use opentelemetry::Context;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{TraceContextExt as _, TracerProvider as _};
use opentelemetry_otlp::{
    ExporterBuildError, SpanExporter as Exporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{
    BatchSpanProcessor, SdkTracerProvider, Span, SpanData, SpanExporter, SpanProcessor,
};
use parking_lot::Mutex;
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use super::{TRACEPARENT, TRACESTATE, TraceContext};
use crate::client;

/// The time between two warnings that the collector accepts no spans.
const BETWEEN_COMPLAINTS: Duration = Duration::from_secs(60);

/// How long the last spans may take to reach the collector.
const LAST_SPANS: Duration = Duration::from_secs(3);

/// The variables that hold the address of a collector. Without one of them, no span is exported.
const ENDPOINTS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
];

/// The variables that hold how long a collector may take, in milliseconds.
const TIMEOUTS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
    "OTEL_EXPORTER_OTLP_TIMEOUT",
];

/// Exports spans, from [`Export::connect`] to [`Export::finish`].
#[derive(Debug)]
pub struct Export {
    provider: SdkTracerProvider,
    late: Late,
    resource: Resource,
}

impl Export {
    /// Prepares the exporter if the environment asks for one. Starts no thread.
    pub fn configured() -> Option<Self> {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let is = |name, wanted: &str| {
            variable(name).is_some_and(|value| value.trim().eq_ignore_ascii_case(wanted))
        };
        let asked = ENDPOINTS.into_iter().find_map(variable).is_some();
        if !asked || is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
            return None;
        }
        let mut resource = Resource::builder();
        if variable("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name("toolhost");
        }
        let resource = resource.build();
        let late = Late::default();
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.clone())
            .with_span_processor(late.clone())
            .build();
        Some(Self {
            provider,
            late,
            resource,
        })
    }

    /// Returns the layer that exports spans of `tracing` to OpenTelemetry. It takes the spans of Toolhost only, not those of
    /// the libraries that send them.
    pub fn layer<S>(&self) -> impl Layer<S> + Send + Sync + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("toolhost"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(filter_fn(|metadata| {
                metadata.is_span() && metadata.target().starts_with("toolhost")
            }))
    }

    /// Starts to send spans. Spans that ended before are lost. Must be called outside of a runtime.
    ///
    /// # Errors
    ///
    /// If the variables make no sense, or no thread can be started.
    pub fn connect(&self) -> Result<(), ExporterBuildError> {
        let failed = |error: &dyn Error| ExporterBuildError::InternalFailure(error.to_string());
        // The exporter's own client would find no cryptography, and on a system without certificates fail also over http.
        let tls = client::tls(client::system_roots()).map_err(|error| failed(&error))?;
        let http = reqwest::blocking::Client::builder()
            .tls_backend_preconfigured(tls)
            .timeout(patience());
        let exporter = Exporter::builder()
            .with_http()
            .with_http_client(http.build().map_err(|error| failed(&error))?)
            .with_protocol(opentelemetry_otlp::Protocol::HttpBinary)
            .build()?;
        let mut processor = BatchSpanProcessor::builder(Complaining {
            exporter,
            last: Mutex::default(),
        })
        .build();
        processor.set_resource(&self.resource);
        _ = self.late.0.set(processor);
        Ok(())
    }

    /// Sends the spans that are left, for a few seconds at most. Must be called outside of a runtime.
    pub fn finish(&self) {
        // The reason of a failure was already logged.
        _ = self.provider.shutdown_with_timeout(LAST_SPANS);
    }
}

/// Returns how long the collector may take for a batch of spans: 10 s by default, as the exporter's own client.
fn patience() -> Duration {
    let read = |name| std::env::var(name).ok()?.parse().ok();
    let milliseconds = TIMEOUTS.into_iter().find_map(read).unwrap_or(10_000);
    Duration::from_millis(milliseconds)
}

/// A processor that passes spans on from [`Export::connect`] on. The thread that sends them must not be started before the
/// spawner is forked.
#[derive(Clone, Debug, Default)]
struct Late(Arc<OnceLock<BatchSpanProcessor>>);

impl SpanProcessor for Late {
    fn on_start(&self, span: &mut Span, context: &Context) {
        if let Some(processor) = self.0.get() {
            processor.on_start(span, context);
        }
    }

    fn on_end(&self, span: SpanData) {
        if let Some(processor) = self.0.get() {
            processor.on_end(span);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.get().map_or(Ok(()), SpanProcessor::force_flush)
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        let processor = self.0.get();
        processor.map_or(Ok(()), |processor| processor.shutdown_with_timeout(timeout))
    }
}

/// Logs now and then that spans do not arrive.
#[derive(Debug)]
struct Complaining {
    exporter: Exporter,
    last: Mutex<Option<Instant>>,
}

impl Complaining {
    fn is_time(&self) -> bool {
        let mut last = self.last.lock();
        let due = last.is_none_or(|last| last.elapsed() >= BETWEEN_COMPLAINTS);
        if due {
            *last = Some(Instant::now());
        }
        due
    }
}

impl SpanExporter for Complaining {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let result = self.exporter.export(batch).await;
        if let Err(error) = &result
            && self.is_time()
        {
            tracing::warn!(%error, spans, "the collector accepts no spans; this is logged once a minute at most");
        }
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// Makes a span a child of the caller's.
pub(super) fn adopt(span: &tracing::Span, caller: &TraceContext) {
    let mut attributes = BTreeMap::new();
    caller.set(&mut attributes);
    let carrier: HashMap<_, _> = attributes.into_iter().collect();
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &carrier);
    // This fails if spans are not exported.
    _ = span.set_parent(context);
}

/// Returns the context of a span, if it is recorded.
pub(super) fn context(span: &tracing::Span) -> Option<TraceContext> {
    let context = span.context();
    let is_recording = context.span().is_recording();
    let mut carrier = HashMap::new();
    TraceContextPropagator::new().inject_context(&context, &mut carrier);
    let state = carrier.get(TRACESTATE).map(String::as_str);
    TraceContext::parse(carrier.get(TRACEPARENT)?, state).filter(|_| is_recording)
}

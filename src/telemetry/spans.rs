//! Spans of deliveries and passes to an OpenTelemetry collector, by OTLP over HTTP.
//!
//! Built with the feature `otlp` only: who has no collector carries none of it. Everything is set up by the
//! variables that OpenTelemetry gives every program (`OTEL_EXPORTER_OTLP_ENDPOINT`, `_HEADERS`, `_TIMEOUT`,
//! `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER`,
//! <https://opentelemetry.io/docs/specs/otel/protocol/exporter/>); without an endpoint nothing is sent.
//!
//! A span `delivery` carries the delivery's id and the keys that it woke, a span `pass` its key: that is how
//! one leads to the other. They are no parent and child, since one pass follows from many deliveries.
//!
//! Sent in batches by a thread of its own: a collector that is away delays nothing, and what it missed is
//! lost. What is still unsent when the server stops is sent then, for some seconds at most.

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracerProvider, Tracer};
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::filter::{Filtered, Targets};
use tracing_subscriber::layer::Layer as _;
use tracing_subscriber::registry::LookupSpan;

use super::TelemetryError;

/// Sends what is unsent when it goes.
pub struct Unsent(SdkTracerProvider);

impl Drop for Unsent {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown() {
            tracing::warn!(%error, "the last spans could not be sent to the collector");
        }
    }
}

type Spans<S> = Filtered<OpenTelemetryLayer<S, Tracer>, Targets, S>;

/// Where spans go; `None` where no collector is named.
///
/// # Errors
/// [`TelemetryError::Collector`] when the variables cannot be used.
pub fn layer<S>() -> Result<Option<(Spans<S>, Unsent)>, TelemetryError>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    if !super::collector_is_named() {
        return Ok(None);
    }
    let exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .build()
        .map_err(|error| TelemetryError::Collector(error.to_string()))?;
    let resource = Resource::builder();
    let resource = match std::env::var_os("OTEL_SERVICE_NAME") {
        Some(_) => resource,
        None => resource.with_service_name(env!("CARGO_PKG_NAME")),
    };
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource.build())
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer(env!("CARGO_PKG_NAME")));
    // Of this program only: the exporter's own requests would make spans of their own.
    let ours = Targets::new().with_target(env!("CARGO_PKG_NAME"), tracing::Level::INFO);
    Ok(Some((layer.with_filter(ours), Unsent(provider))))
}

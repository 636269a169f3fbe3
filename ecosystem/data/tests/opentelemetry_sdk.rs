use ::opentelemetry::trace::TracerProvider;
use ::opentelemetry_sdk::runtime::Tokio;
use ::opentelemetry_sdk::trace::span_processor_with_async_runtime::BatchSpanProcessor;
use ::opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use tracing::instrument::WithSubscriber;
use tracing::{Instrument, info_span};
use tracing_subscriber::prelude::*;

/// Traces a request through tasks, and returns the names of the spans that were exported.
async fn trace(provider: SdkTracerProvider, exporter: InMemorySpanExporter) -> Vec<String> {
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("blitz"));
    let request = async {
        let step = async { blitz::task::yield_now().instrument(info_span!("step")).await };
        let traced = step.instrument(info_span!("request")).with_current_subscriber();
        blitz::spawn(traced).await.unwrap();
    };
    request.with_subscriber(tracing_subscriber::registry().with(layer)).await;
    // `force_flush` waits for its exporter, which may need a thread of the runtime.
    let flushing = provider.clone();
    blitz::spawn_blocking(move || flushing.force_flush()).await.unwrap().unwrap();
    let spans = exporter.get_finished_spans().unwrap();
    let (step, request) = (&spans[0], &spans[1]);
    assert_eq!(step.parent_span_id, request.span_context.span_id());
    spans.iter().map(|span| span.name.to_string()).collect()
}

#[blitz::test(workers = 2)]
async fn as_is() {
    let exporter = InMemorySpanExporter::default();
    // The crate has a thread that exports the batches.
    let provider = SdkTracerProvider::builder().with_batch_exporter(exporter.clone()).build();
    assert_eq!(trace(provider, exporter).await, ["step", "request"]);
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    let exporter = InMemorySpanExporter::default();
    let batches = BatchSpanProcessor::builder(exporter.clone(), Tokio).build();
    let provider = SdkTracerProvider::builder().with_span_processor(batches).build();
    assert_eq!(trace(provider, exporter).await, ["step", "request"]);
}

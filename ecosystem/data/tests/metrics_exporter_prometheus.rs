use ::metrics_exporter_prometheus::PrometheusBuilder;

#[blitz::test(workers = 2)]
async fn as_is() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let shown = recorder.handle();
    metrics::set_global_recorder(recorder).unwrap();
    let tasks: Vec<_> = (0..10)
        .map(|_| blitz::spawn(async { metrics::counter!("requests").increment(1) }))
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let text = shown.render();
    assert!(text.contains("requests 10"), "{text}");
}

use ::rdkafka::config::ClientConfig;
use ::rdkafka::consumer::{Consumer, StreamConsumer};
use ::rdkafka::message::Message;
use ::rdkafka::mocking::MockCluster;
use ::rdkafka::producer::{DefaultProducerContext, FutureProducer, FutureRecord};
use ::rdkafka::util::{AsyncRuntime, NaiveRuntime, TokioRuntime};
use blitz_adapters::rdkafka::BlitzRuntime;
use futures_util::StreamExt;
use std::time::Duration;

const MESSAGES: usize = 100;

/// Starts the cluster that librdkafka brings along for tests: its brokers listen on loopback.
fn cluster() -> MockCluster<'static, DefaultProducerContext> {
    let cluster = MockCluster::new(2).unwrap();
    cluster.create_topic("visits", 1, 1).unwrap();
    cluster
}

/// Sends messages to the brokers and reads them back.
async fn send_and_read<R: AsyncRuntime>(brokers: String) {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", brokers);
    config.set("message.timeout.ms", "60000");

    let producer: FutureProducer<_, R> = config.create().unwrap();
    for number in 0..MESSAGES {
        let text = number.to_string();
        let record = FutureRecord::to("visits").key("k").payload(&text);
        producer.send(record, Duration::from_secs(60)).await.unwrap();
    }

    config.set("group.id", "readers").set("auto.offset.reset", "earliest");
    let consumer: StreamConsumer<_, R> = config.create().unwrap();
    consumer.subscribe(&["visits"]).unwrap();
    let mut messages = consumer.stream();
    for number in 0..MESSAGES {
        let message = messages.next().await.unwrap().unwrap();
        assert_eq!(message.payload_view::<str>(), Some(Ok(number.to_string().as_str())));
    }
}

#[blitz::test(workers = 2)]
async fn by_trait() {
    let cluster = cluster();
    let work = send_and_read::<BlitzRuntime>(cluster.bootstrap_servers());
    blitz::spawn(work).await.unwrap();
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    let cluster = cluster();
    let work = send_and_read::<TokioRuntime>(cluster.bootstrap_servers());
    blitz::spawn(work).await.unwrap();
}

#[blitz::test(workers = 2)]
async fn by_feature() {
    let cluster = cluster();
    let work = send_and_read::<NaiveRuntime>(cluster.bootstrap_servers());
    blitz::spawn(work).await.unwrap();
}

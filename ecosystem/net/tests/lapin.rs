use crate::peers::Peer;
use ::async_rs::Runtime;
use ::async_rs::traits::{Executor, Reactor};
use ::futures_util::StreamExt;
use ::lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, ConfirmSelectOptions,
    QueueDeclareOptions, QueueDeleteOptions,
};
use ::lapin::types::FieldTable;
use ::lapin::{BasicProperties, Connection, ConnectionProperties};
use blitz_adapters::lapin::BlitzKit;
use std::io::{Read, Write};
use std::time::Duration;

/// How many messages are published.
const JOBS: usize = 10;

/// Publishes to a queue and consumes from it, over a connection to a broker.
async fn work(connection: Connection) {
    let channel = connection.create_channel().await.unwrap();
    channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
    let declared =
        channel.queue_declare("jobs".into(), QueueDeclareOptions::default(), FieldTable::default());
    assert_eq!(declared.await.unwrap().name().as_str(), "jobs");
    let jobs = channel.basic_consume(
        "jobs".into(),
        "worker".into(),
        BasicConsumeOptions::default(),
        FieldTable::default(),
    );
    let mut jobs = jobs.await.unwrap();
    let consumed = blitz::spawn(async move {
        let mut consumed = Vec::new();
        while consumed.len() < JOBS {
            let job = jobs.next().await.unwrap().unwrap();
            job.ack(BasicAckOptions::default()).await.unwrap();
            consumed.push(String::from_utf8(job.data).unwrap());
        }
        consumed
    });
    let names: Vec<_> = (0..JOBS).map(|n| format!("job {n}")).collect();
    for name in &names {
        let options = BasicPublishOptions::default();
        let properties = BasicProperties::default();
        let sent =
            channel.basic_publish("".into(), "jobs".into(), options, name.as_bytes(), properties);
        assert!(sent.await.unwrap().await.unwrap().is_ack());
    }
    assert_eq!(consumed.await.unwrap(), names);
    let deleted = channel.queue_delete("jobs".into(), QueueDeleteOptions::default());
    assert_eq!(deleted.await.unwrap(), 0, "each job was consumed");
    channel.close(200, "done".into()).await.unwrap();
    connection.close(200, "done".into()).await.unwrap();
}

#[blitz::test(workers = 2)]
async fn by_trait() {
    // Test the parts of the trait that lapin itself does not use: other sockets, and ticks.
    let (here, mut there) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut here = BlitzKit.register(here).unwrap();
    let written = ::futures_util::AsyncWriteExt::write_all(&mut here, b"hello").await;
    assert!(written.is_ok());
    let mut text = [0; 5];
    there.read_exact(&mut text).unwrap();
    there.write_all(&text).unwrap();
    ::futures_util::AsyncReadExt::read_exact(&mut here, &mut text).await.unwrap();
    assert_eq!(&text, b"hello");
    let ticks = std::pin::pin!(BlitzKit.interval(Duration::from_millis(1)));
    assert_eq!(ticks.take(3).count().await, 3);
    assert_eq!(BlitzKit.spawn(std::future::pending::<()>()).cancel().await, None);

    let Some(server) = Peer::rabbitmq() else { return };
    let uri = format!("amqp://127.0.0.1:{}/%2f", server.port);
    let options = ConnectionProperties::default();
    let runtime = Runtime::new(BlitzKit);
    work(Connection::connect_with_runtime(&uri, options, runtime).await.unwrap()).await;
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    let Some(server) = Peer::rabbitmq() else { return };
    let uri = format!("amqp://127.0.0.1:{}/%2f", server.port);
    work(Connection::connect(&uri, ConnectionProperties::default()).await.unwrap()).await;
}

#[blitz::test(workers = 2)]
async fn by_feature() {
    let Some(server) = Peer::rabbitmq() else { return };
    let uri = format!("amqp://127.0.0.1:{}/%2f", server.port);
    // Here lapin has the feature `tokio`, too, which decides what `Connection::connect` uses.
    let (options, runtime) = (ConnectionProperties::default(), Runtime::smol());
    work(Connection::connect_with_runtime(&uri, options, runtime).await.unwrap()).await;
}

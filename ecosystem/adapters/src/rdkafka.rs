//! Tasks and timers for producers and consumers of rdkafka.

use rdkafka::util::AsyncRuntime;
use std::future::Future;
use std::time::Duration;

/// Tasks and timers of the current pool.
///
/// ```no_run
/// use blitz_adapters::rdkafka::BlitzRuntime;
/// use rdkafka::client::DefaultClientContext;
/// use rdkafka::config::ClientConfig;
/// use rdkafka::producer::FutureProducer;
///
/// let mut config = ClientConfig::new();
/// config.set("bootstrap.servers", "127.0.0.1:9092");
/// let producer: FutureProducer<DefaultClientContext, BlitzRuntime> = config.create()?;
/// # drop(producer);
/// # Ok::<(), rdkafka::error::KafkaError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct BlitzRuntime;

impl AsyncRuntime for BlitzRuntime {
    type Delay = blitz::time::Sleep;

    fn spawn<T>(task: T)
    where
        T: Future<Output = ()> + Send + 'static,
    {
        blitz::spawn(task);
    }

    fn delay_for(duration: Duration) -> Self::Delay {
        blitz::time::sleep(duration)
    }
}

use ::tracing::instrument::WithSubscriber;
use ::tracing::{Instrument, info, info_span};
use std::io;
use std::sync::{Arc, Mutex};

/// Collects the written bytes.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[blitz::test(workers = 2)]
async fn as_is() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber =
        tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let work = async {
        // The span follows the task from worker to worker.
        for n in 0..10 {
            blitz::task::yield_now().await;
            info!(n, "turn");
        }
    };
    let request = async move { work.instrument(info_span!("request", id = 7)).await };
    blitz::spawn(request.with_subscriber(subscriber)).await.unwrap();
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert_eq!(text.lines().count(), 10, "{text}");
    assert!(text.lines().all(|line| line.contains("request{id=7}")), "{text}");
}

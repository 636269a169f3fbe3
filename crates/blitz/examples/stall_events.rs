//! Receives stalls through the crate `tracing`.
//!
//! ```text
//! cargo run --features tracing --example stall_events
//! ```

use std::fmt::Debug;
use std::sync::mpsc::{Sender, channel};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Sends each stall to a channel.
///
/// A real program would use the subscriber of another crate instead.
struct Stalls(Sender<String>);

/// The fields of an event as text.
#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push_str(&format!("{field}={value:?} "));
    }
}

impl Subscriber for Stalls {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "blitz::stall"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        // Without a receiver the text is not needed.
        let _ = self.0.send(text.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (send, receive) = channel();
    tracing::subscriber::set_global_default(Stalls(send))?;
    let pool = blitz::Pool::builder().workers(1).spares(1).build()?;
    let (begin, begun) = channel();
    // This task computes until the stall is known.
    let stuck = pool.spawn(async move {
        begin.send(()).ok();
        loop {
            if let Ok(stall) = receive.try_recv() {
                return stall;
            }
            std::hint::spin_loop();
        }
    });
    begun.recv()?;
    // The watch checks the workers only while work waits.
    let waits = pool.spawn_cpu(|| ());
    println!("{}", stuck.join()?);
    waits.join()?;
    Ok(())
}

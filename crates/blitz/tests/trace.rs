//! The events that the signal scheduler sends to the crate `tracing`.
#![cfg(feature = "tracing")]

mod common;

use blitz::{Runtime, Scheduler};
use common::wait_for;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The names of the events of the signal scheduler, with those of their fields.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<BTreeSet<String>>>);

impl Heard {
    fn has(&self, event: &str) -> bool {
        self.0.lock().unwrap().contains(event)
    }
}

impl Subscriber for Heard {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "blitz::signal"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        self.0.lock().unwrap().insert(format!("{}:{}", text.message, text.fields));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        } else {
            self.fields.push(' ');
            self.fields.push_str(field.name());
        }
    }
}

#[test]
fn events_tell_of_signals_leaves_permits_and_tasks() {
    let heard = Heard::default();
    tracing::subscriber::set_global_default(heard.clone()).unwrap();
    let runtime = Runtime::builder().workers(1).scheduler(Scheduler::Signal).build().unwrap();
    let all = [
        "signal set: leaf word bit",
        "leaf activated: leaf",
        "permit taken: worker",
        "task acquired: worker leaf word bit",
    ];
    // A worker that does not count as a sleeper takes a task without a permit.
    wait_for(|| {
        wait_for(|| runtime.pool().dump().signal.unwrap().sleepers == 1);
        runtime.block_on(runtime.spawn(async {})).unwrap();
        all.iter().all(|event| heard.has(event))
    });
}

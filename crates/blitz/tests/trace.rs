//! The events that pools send to the crate `tracing`: of the signal scheduler, and of stalls.
#![cfg(feature = "tracing")]

mod common;

use blitz::{Pool, Runtime, Scheduler};
use common::{wait_for, watched};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The names of the events of pools, with the names of their fields.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<BTreeSet<String>>>);

impl Heard {
    fn has(&self, event: &str) -> bool {
        self.0.lock().unwrap().contains(event)
    }
}

impl Subscriber for Heard {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("blitz::")
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

/// Returns the events of all pools of this process.
fn heard() -> Heard {
    static HEARD: OnceLock<Heard> = OnceLock::new();
    let listen = || {
        let heard = Heard::default();
        tracing::subscriber::set_global_default(heard.clone()).unwrap();
        heard
    };
    HEARD.get_or_init(listen).clone()
}

#[test]
fn a_stall_is_an_event() {
    watched("a_stall_is_an_event", |watch| {
        let heard = heard();
        let pool = watch.pool(Pool::builder().workers(1).spares(1).build().unwrap());
        let begun = Arc::new(AtomicBool::new(false));
        let stuck = pool.spawn({
            let begun = begun.clone();
            async move {
                begun.store(true, SeqCst);
                wait_for(|| heard.has("a worker does not come back: worker inside looks"));
            }
        });
        wait_for(|| begun.load(SeqCst));
        // The watch checks workers only while work waits. This work is a job, because a relief
        // worker would take a task, but takes no jobs.
        let waits = pool.spawn_cpu(|| ());
        stuck.join().unwrap();
        waits.join().unwrap();
    });
}

#[test]
fn events_tell_of_signals_leaves_permits_and_tasks() {
    let heard = heard();
    let runtime = Runtime::builder().workers(1).scheduler(Scheduler::Signal).build().unwrap();
    let all = [
        "signal set: leaf word bit",
        "leaf activated: leaf",
        "permit taken: worker",
        "task acquired: worker leaf word bit",
    ];
    // A worker that does not count as a sleeper takes a task without a permit. So wait until the
    // worker counts as one, and try again if it has woken before the task comes.
    wait_for(|| {
        wait_for(|| runtime.pool().dump().signal.unwrap().sleepers == 1);
        runtime.block_on(runtime.spawn(async {})).unwrap();
        all.iter().all(|event| heard.has(event))
    });
}

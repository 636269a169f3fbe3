//! Actors on the signal scheduler, woken by a thread that is not a worker: a meter reads sensors
//! and hands each value to the actor that keeps the sensor's mean. `Pool::dump` shows where each
//! actor waits.

use blitz::sync::mpsc;
use blitz::{Runtime, Scheduler};
use std::thread;

const SENSORS: usize = 8;
const READINGS: u32 = 1_000;

/// Computes the mean of its readings, until every sender has gone.
async fn mean_of(mut readings: mpsc::UnboundedReceiver<u32>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    while let Some(reading) = readings.recv().await {
        sum += f64::from(reading);
        count += 1.0;
    }
    sum / count
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = Runtime::builder().workers(2).scheduler(Scheduler::Signal).build()?;
    let (actors, means): (Vec<_>, Vec<_>) = (0..SENSORS)
        .map(|_| {
            let (actor, readings) = mpsc::unbounded_channel();
            (actor, runtime.spawn(mean_of(readings)))
        })
        .unzip();

    // An actor that was woken and has not run yet is not queued again by further readings: it finds
    // all of them in its channel when it runs.
    let meter = thread::spawn(move || {
        for reading in 0..READINGS {
            for (sensor, actor) in actors.iter().enumerate() {
                actor
                    .send(reading + sensor as u32)
                    .expect("an actor listens until its sender goes");
            }
        }
        actors
    });
    let actors = meter.join().expect("the meter does not panic");
    println!("{}", runtime.pool().dump());

    drop(actors);
    for (sensor, mean) in means.into_iter().enumerate() {
        let mean = runtime.block_on(mean)?;
        println!("sensor {sensor}: {mean}");
        assert_eq!(mean, f64::from(READINGS - 1) / 2.0 + sensor as f64);
    }
    Ok(())
}

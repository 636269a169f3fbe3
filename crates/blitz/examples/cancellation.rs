//! The ways in which a task ends early: by an abort, with its set, with its runtime. In each case
//! the future is dropped, and the values in the future clean up.

use blitz::sync::mpsc;
use blitz::{JoinSet, Runtime};
use std::future::pending;

/// Reports when it is dropped.
struct Resource {
    name: &'static str,
    released: mpsc::UnboundedSender<&'static str>,
}

impl Drop for Resource {
    fn drop(&mut self) {
        // The receiver may be gone.
        let _ = self.released.send(self.name);
    }
}

/// Reports to `held` that the task has `resource`, and keeps the resource for ever.
async fn hold(resource: Resource, held: mpsc::UnboundedSender<&'static str>) {
    held.send(resource.name).expect("the receiver waits for this");
    pending::<()>().await;
}

fn main() -> Result<(), blitz::BuildError> {
    let runtime = Runtime::builder().workers(2).build()?;
    let (released, mut releases) = mpsc::unbounded_channel();
    let (held, mut holds) = mpsc::unbounded_channel();
    let job = |name| hold(Resource { name, released: released.clone() }, held.clone());
    runtime.block_on(async {
        let task = blitz::spawn(job("aborted by its handle"));
        let mut set = JoinSet::new();
        set.spawn(job("dropped with its set"));
        drop(blitz::spawn(job("detached, ends with the runtime")));
        for _ in 0..3 {
            holds.recv().await.expect("three tasks begin");
        }

        task.abort();
        assert!(task.await.is_err_and(|error| error.is_cancelled()));
        println!("released: {}", releases.recv().await.expect("the first release"));

        drop(set);
        println!("released: {}", releases.recv().await.expect("the second release"));
        assert!(releases.try_recv().is_err());
    });
    // A drop waits until every future of the runtime is dropped.
    drop(runtime);
    println!("released: {}", releases.try_recv().expect("the third release"));
    Ok(())
}

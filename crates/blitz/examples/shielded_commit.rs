//! A commit that an abort does not tear apart: `shield` delays the abort until both halves are
//! written.

use blitz::sync::{Notify, oneshot};
use std::sync::{Arc, Mutex};

/// Money, in two places that have to agree.
#[derive(Clone, Default)]
struct Accounts(Arc<Mutex<(i64, i64)>>);

impl Accounts {
    /// Moves `amount` from one account to the other; waits for `go_on` in between.
    async fn transfer(&self, amount: i64, begun: oneshot::Sender<()>, go_on: Arc<Notify>) {
        self.0.lock().expect("not poisoned").0 -= amount;
        begun.send(()).expect("the caller waits for the start");
        go_on.notified().await;
        self.0.lock().expect("not poisoned").1 += amount;
    }

    fn read(&self) -> (i64, i64) {
        *self.0.lock().expect("not poisoned")
    }
}

/// Returns the accounts after a task was aborted in the middle of a transfer.
async fn abort_in_the_middle(shielded: bool) -> (i64, i64) {
    let accounts = Accounts::default();
    let go_on = Arc::new(Notify::new());
    let (begun, begin) = oneshot::channel();
    let (own, notified) = (accounts.clone(), go_on.clone());
    let task = blitz::spawn(async move {
        let transfer = own.transfer(100, begun, notified);
        if shielded {
            blitz::task::shield(transfer).await;
        } else {
            transfer.await;
        }
        std::future::pending::<()>().await;
    });
    begin.await.expect("the transfer begins");
    task.abort();
    if shielded {
        // The abort waits for the transfer, and the transfer waits for this notification.
        go_on.notify_one();
    }
    let error = task.await.expect_err("the task is aborted, sooner or later");
    assert!(error.is_cancelled());
    accounts.read()
}

#[blitz::main(workers = 2)]
async fn main() {
    let torn = abort_in_the_middle(false).await;
    println!("without a shield: {torn:?}");
    assert_eq!(torn, (-100, 0));
    let whole = abort_in_the_middle(true).await;
    println!("with a shield:    {whole:?}");
    assert_eq!(whole, (-100, 100));
}

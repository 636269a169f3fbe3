use ::bb8::{ManageConnection, Pool};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Manages connections that are only numbers.
#[derive(Default)]
struct Numbers(AtomicU32);

impl ManageConnection for Numbers {
    type Connection = u32;
    type Error = Infallible;

    async fn connect(&self) -> Result<u32, Infallible> {
        Ok(self.0.fetch_add(1, Relaxed))
    }

    async fn is_valid(&self, _: &mut u32) -> Result<(), Infallible> {
        Ok(())
    }

    fn has_broken(&self, _: &mut u32) -> bool {
        false
    }
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    let pool = Pool::builder().max_size(2).build(Numbers::default()).await.unwrap();
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let pool = pool.clone();
            blitz::spawn(async move {
                let connection = pool.get().await.unwrap();
                blitz::task::yield_now().await;
                *connection
            })
        })
        .collect();
    for task in tasks {
        assert!(task.await.unwrap() < 2);
    }
}

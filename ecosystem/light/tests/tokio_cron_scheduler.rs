use ::tokio_cron_scheduler::{Job, JobScheduler};
use std::time::Duration;

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    let (send, mut receive) = blitz::sync::mpsc::unbounded_channel();
    let mut scheduler = JobScheduler::new().await.unwrap();
    let job = Job::new_one_shot_async(Duration::from_millis(1), move |_, _| {
        let send = send.clone();
        Box::pin(async move {
            let _ = send.send(blitz::spawn(async { 7 }).await.unwrap());
        })
    });
    scheduler.add(job.unwrap()).await.unwrap();
    scheduler.start().await.unwrap();
    assert_eq!(receive.recv().await, Some(7));
    scheduler.shutdown().await.unwrap();
}

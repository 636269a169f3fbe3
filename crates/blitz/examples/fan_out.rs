//! Many tasks at once, results as they come: a `JoinSet` in which one task fails.

use blitz::JoinSet;
use blitz::sync::Semaphore;
use std::sync::Arc;

/// Answers a question after some back and forth.
async fn ask(question: u32) -> Result<u32, String> {
    for _ in 0..question % 5 {
        blitz::task::yield_now().await;
    }
    if question == 13 {
        Err(format!("question {question} has no answer"))
    } else {
        Ok(question * 2)
    }
}

#[blitz::main(workers = 4)]
async fn main() {
    // At most ten questions at a time, as a remote server may require.
    let permits = Arc::new(Semaphore::new(10));
    let mut set = JoinSet::new();
    for question in 0..100 {
        let permits = permits.clone();
        set.spawn(async move {
            let _permit = permits.acquire().await.expect("the semaphore stays open");
            ask(question).await
        });
    }
    let (mut sum, mut failures) = (0, Vec::new());
    while let Some(joined) = set.join_next().await {
        match joined.expect("no task panics") {
            Ok(answer) => sum += answer,
            Err(failure) => failures.push(failure),
        }
    }
    println!("99 answers, {sum} in sum; {failures:?}");
    assert_eq!(sum, 9_900 - 26);
    assert_eq!(failures, ["question 13 has no answer"]);
}

//! Parallel code right inside an async function: the sort runs on the worker that polls the
//! task, and idle workers steal halves. There is no second pool, and no bridge to one.

use blitz::sync::mpsc;

fn quicksort<T: Ord + Send>(items: &mut [T]) {
    if items.len() <= 1 {
        return;
    }
    let middle = items.len() / 2;
    items.select_nth_unstable(middle);
    let (low, high) = items.split_at_mut(middle);
    blitz::join(|| quicksort(low), || quicksort(&mut high[1..]));
}

/// Returns `count` numbers in no order.
fn shuffled(count: u64, mut state: u64) -> Vec<u64> {
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> 33
    };
    (0..count).map(|_| next()).collect()
}

#[blitz::main]
async fn main() {
    let (requests, mut inbox) = mpsc::channel::<Vec<u64>>(4);
    let (responses, mut outbox) = mpsc::channel(4);
    let sorter = blitz::spawn(async move {
        while let Some(mut numbers) = inbox.recv().await {
            quicksort(&mut numbers);
            responses.send(numbers).await.expect("the receiver waits for the numbers");
        }
    });
    let sender = blitz::spawn(async move {
        for seed in 0..5 {
            requests.send(shuffled(100_000, seed)).await.expect("the sorter is there");
        }
    });
    let mut batches = 0;
    while let Some(numbers) = outbox.recv().await {
        assert!(numbers.is_sorted());
        batches += 1;
    }
    sender.await.expect("the sender does not panic");
    sorter.await.expect("the sorter does not panic");
    println!("sorted {batches} batches on {} workers", blitz::current_num_workers());
    assert_eq!(batches, 5);
}

//! A private pool: jobs in the background, errors as values, and a look at the workers.

use std::error::Error;

fn collatz_steps(mut n: u64) -> u32 {
    let mut steps = 0;
    while n != 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = blitz::Pool::builder()
        .workers(3)
        .thread_name(|index| format!("background-{index}"))
        .panic_handler(|_| eprintln!("a detached job panicked"))
        .build()?;
    let handles: Vec<_> = (1..=20u64)
        .map(|block| {
            let numbers = (block - 1) * 10_000 + 1..=block * 10_000;
            pool.spawn_cpu(move || numbers.map(|n| (collatz_steps(n), n)).max())
        })
        .collect();
    let mut longest = None;
    for handle in handles {
        longest = longest.max(handle.join()?);
    }
    assert_eq!(longest, Some((382, 156_159)));
    println!("longest chain below 200,001: {longest:?}");
    let failed = pool.spawn_cpu(|| -> u32 { "not a number".parse().unwrap() }).join();
    assert!(failed.is_err_and(|error| error.is_panic()));
    print!("{}", pool.metrics());
    Ok(())
}

use ::polars::prelude::*;

const ROWS: i64 = 10_000;

/// The sum of the numbers below `ROWS` that leave `rest` when divided by four, by a lazy query.
fn sum_of(rest: i64) -> PolarsResult<i64> {
    let numbers: Vec<i64> = (0..ROWS).collect();
    let rests: Vec<i64> = numbers.iter().map(|number| number % 4).collect();
    let table = df!("number" => numbers, "rest" => rests)?;
    let sums = table
        .lazy()
        .group_by([col("rest")])
        .agg([col("number").sum()])
        .filter(col("rest").eq(lit(rest)))
        .collect()?;
    sums.column("number")?.i64()?.get(0).ok_or_else(|| polars_err!(NoData: "no such rest"))
}

#[blitz::test(workers = 2)]
async fn as_is() {
    // Queries run on Rayon's threads, and each task waits for its own query.
    let queries: Vec<_> = (0..4).map(|rest| blitz::spawn(async move { sum_of(rest) })).collect();
    for (rest, query) in (0..).zip(queries) {
        let expected = (0..ROWS).filter(|number| number % 4 == rest).sum::<i64>();
        assert_eq!(query.await.unwrap().unwrap(), expected);
    }
    // Both halves of a fork may run queries, too.
    let (one, other) = blitz::join(|| sum_of(0), || sum_of(1));
    assert_eq!(other.unwrap() - one.unwrap(), ROWS / 4);
}

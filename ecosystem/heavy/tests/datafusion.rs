use ::datafusion::arrow::array::{Int64Array, RecordBatch};
use ::datafusion::arrow::datatypes::{DataType, Field, Schema};
use ::datafusion::datasource::MemTable;
use ::datafusion::error::Result;
use ::datafusion::prelude::{SessionConfig, SessionContext};
use std::sync::Arc;

const ROWS: i64 = 10_000;

/// Makes a session with a table of the numbers below `ROWS`. It has four partitions, so that
/// DataFusion spawns tasks.
fn session() -> Result<SessionContext> {
    let session = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(4));
    let schema = Arc::new(Schema::new(vec![Field::new("number", DataType::Int64, false)]));
    let partition = |rest: i64| {
        let numbers: Int64Array = (0..ROWS).filter(|number| number % 4 == rest).collect();
        RecordBatch::try_new(schema.clone(), vec![Arc::new(numbers)]).map(|batch| vec![batch])
    };
    let partitions = (0..4).map(partition).collect::<std::result::Result<Vec<_>, _>>()?;
    session.register_table("numbers", Arc::new(MemTable::try_new(schema, partitions)?))?;
    Ok(session)
}

/// Computes with SQL, for each digit, the sum of the numbers that end in that digit.
async fn sums() -> Result<Vec<i64>> {
    let query = "select number % 10 as digit, sum(number) as total from numbers \
                 group by number % 10 order by digit";
    let batches = session()?.sql(query).await?.collect().await?;
    let columns = batches.iter().map(|batch| batch.column(1).as_any().downcast_ref::<Int64Array>());
    Ok(columns.flatten().flat_map(|column| column.values().to_vec()).collect())
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    let queries: Vec<_> = (0..4).map(|_| blitz::spawn(sums())).collect();
    let of_digit = |digit| (0..ROWS).filter(|number| number % 10 == digit).sum::<i64>();
    let expected: Vec<i64> = (0..10).map(of_digit).collect();
    for query in queries {
        assert_eq!(query.await.unwrap().unwrap(), expected);
    }
}

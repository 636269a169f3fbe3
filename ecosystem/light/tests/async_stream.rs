use ::async_stream::stream;
use ::futures_util::StreamExt;
use std::pin::pin;

#[blitz::test]
async fn as_is() {
    let numbers = stream! {
        for n in 0..3_u32 {
            blitz::time::sleep(std::time::Duration::from_millis(1)).await;
            yield n;
        }
    };
    assert_eq!(pin!(numbers).collect::<Vec<_>>().await, [0, 1, 2]);
}

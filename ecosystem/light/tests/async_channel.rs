use ::async_channel::bounded;

#[blitz::test(workers = 2)]
async fn as_is() {
    let (send, receive) = bounded(1);
    let sender = blitz::spawn(async move {
        for n in 0..100_u32 {
            send.send(n).await.unwrap();
        }
    });
    let mut sum = 0;
    while let Ok(n) = receive.recv().await {
        sum += n;
    }
    sender.await.unwrap();
    assert_eq!(sum, 4_950);
}

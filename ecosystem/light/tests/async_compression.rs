use ::async_compression::tokio::bufread::GzipDecoder;
use ::async_compression::tokio::write::GzipEncoder;
use blitz::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use blitz::net::UnixStream;

#[blitz::test(workers = 2)]
async fn as_is() {
    let (here, there) = UnixStream::pair().unwrap();
    let text = "packed ".repeat(10_000);
    let sent = text.clone();
    let writer = blitz::spawn(async move {
        let mut packed = GzipEncoder::new(here);
        packed.write_all(sent.as_bytes()).await.unwrap();
        packed.shutdown().await.unwrap();
    });
    let mut unpacked = String::new();
    GzipDecoder::new(BufReader::new(there)).read_to_string(&mut unpacked).await.unwrap();
    writer.await.unwrap();
    assert_eq!(unpacked, text);
}

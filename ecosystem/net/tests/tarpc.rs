use ::tarpc::client::{self, RpcError};
use ::tarpc::context;
use ::tarpc::serde_transport::tcp;
use ::tarpc::server::{BaseChannel, Channel};
use ::tarpc::tokio_serde::formats::Json;
use futures_util::StreamExt;
use std::future::pending;
use std::time::{Duration, Instant};

/// The methods of the server.
#[::tarpc::service]
trait Numbers {
    /// Doubles a number.
    async fn double(n: u32) -> u32;
    /// Never answers.
    async fn never();
}

/// The server.
#[derive(Clone)]
struct Server;

impl Numbers for Server {
    async fn double(self, _: context::Context, n: u32) -> u32 {
        2 * n
    }

    async fn never(self, _: context::Context) {
        pending::<()>().await;
    }
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    let mut listener = tcp::listen("127.0.0.1:0", Json::default).await.unwrap();
    let address = listener.local_addr();
    let server = blitz::spawn(async move {
        let transport = listener.next().await.unwrap().unwrap();
        let requests = BaseChannel::with_defaults(transport).execute(Server.serve());
        requests.for_each(|request| async { drop(tokio::spawn(request)) }).await;
    });
    let transport = tcp::connect(address, Json::default).await.unwrap();
    let client = NumbersClient::new(client::Config::default(), transport).spawn();
    assert_eq!(client.double(context::current(), 21).await.unwrap(), 42);
    let mut soon = context::current();
    soon.deadline = Instant::now() + Duration::from_millis(5);
    assert!(matches!(client.never(soon).await, Err(RpcError::DeadlineExceeded)));
    drop(client);
    server.await.unwrap();
}

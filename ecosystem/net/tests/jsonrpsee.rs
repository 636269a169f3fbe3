use ::jsonrpsee::core::client::ClientT;
use ::jsonrpsee::http_client::HttpClientBuilder;
use ::jsonrpsee::rpc_params;
use ::jsonrpsee::server::{RpcModule, ServerBuilder};
use ::jsonrpsee::ws_client::WsClientBuilder;

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    let server = ServerBuilder::default().build("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().unwrap();
    let mut methods = RpcModule::new(());
    methods.register_method("double", |given, (), _| given.one::<u32>().map(|n| 2 * n)).unwrap();
    let handle = server.start(methods);
    let http = HttpClientBuilder::default().build(format!("http://{address}")).unwrap();
    let answer: u32 = http.request("double", rpc_params![21]).await.unwrap();
    assert_eq!(answer, 42);
    let socket = WsClientBuilder::default().build(format!("ws://{address}")).await.unwrap();
    let answer =
        blitz::spawn(
            async move { socket.request::<u32, _>("double", rpc_params![21]).await.unwrap() },
        );
    assert_eq!(answer.await.unwrap(), 42);
    handle.stop().unwrap();
    handle.stopped().await;
}

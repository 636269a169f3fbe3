use crate::peers::Peer;
use ::tokio_postgres::{Client, Config, NoTls};
use blitz::net::TcpStream;

/// Creates, fills, reads and drops a table.
async fn ask(mut client: Client) {
    client.batch_execute("CREATE TABLE IF NOT EXISTS numbers (n INT4)").await.unwrap();
    let change = client.transaction().await.unwrap();
    for n in 1..=4_i32 {
        change.execute("INSERT INTO numbers VALUES ($1)", &[&n]).await.unwrap();
    }
    change.commit().await.unwrap();
    let row = client.query_one("SELECT sum(n) FROM numbers", &[]).await.unwrap();
    assert_eq!(row.get::<_, i64>(0), 10);
    client.batch_execute("DROP TABLE numbers").await.unwrap();
    assert!(client.query_one("SELECT n FROM numbers", &[]).await.is_err());
}

#[blitz::test(workers = 2)]
async fn as_is() {
    let Some(server) = Peer::postgres() else { return };
    let stream = TcpStream::connect(("127.0.0.1", server.port)).await.unwrap();
    let mut config = Config::new();
    config.user("blitz").dbname("postgres");
    let (client, connection) = config.connect_raw(stream, NoTls).await.unwrap();
    let connection = blitz::spawn(connection);
    blitz::spawn(ask(client)).await.unwrap();
    connection.await.unwrap().unwrap();
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    let Some(server) = Peer::postgres() else { return };
    let config = format!("host=127.0.0.1 port={} user=blitz dbname=postgres", server.port);
    let (client, connection) = ::tokio_postgres::connect(&config, NoTls).await.unwrap();
    let connection = blitz::spawn(connection);
    blitz::spawn(ask(client)).await.unwrap();
    connection.await.unwrap().unwrap();
}

use ::hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ProtocolConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use ::hickory_resolver::net::runtime::TokioRuntimeProvider;
use ::hickory_resolver::{ConnectionProvider, Resolver};
use blitz::io::{AsyncReadExt, AsyncWriteExt};
use blitz::net::{TcpListener, UdpSocket};
use blitz_adapters::hickory::BlitzProvider;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

const ANSWER: Ipv4Addr = Ipv4Addr::new(10, 1, 2, 3);

/// The answer to a question: always the same IPv4 address, and no IPv6 address.
fn answer(packet: &[u8]) -> Vec<u8> {
    // A header of twelve bytes, then the question: labels up to an empty one, type, class.
    let labels = packet[12..].iter().position(|byte| *byte == 0).unwrap();
    let question = 12..12 + labels + 5;
    let is_v4 = packet[question.end - 4..question.end] == [0, 1, 0, 1];
    let mut answer = packet[..2].to_vec();
    answer.extend([0x81, 0x80, 0, 1, 0, u8::from(is_v4), 0, 0, 0, 0]);
    answer.extend(&packet[question]);
    if is_v4 {
        // A record: the name at byte twelve, the type, the class, an hour to live, and four bytes.
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 14, 16, 0, 4]);
        answer.extend(ANSWER.octets());
    }
    answer
}

/// A DNS server over UDP.
async fn by_packets() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    drop(blitz::spawn(async move {
        let mut packet = [0; 512];
        while let Ok((_, peer)) = socket.recv_from(&mut packet).await {
            socket.send_to(&answer(&packet), peer).await.unwrap();
        }
    }));
    address
}

/// A DNS server over TCP: each message follows its length.
async fn by_connections() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(blitz::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            drop(blitz::spawn(async move {
                while let Ok(length) = stream.read_u16().await {
                    let mut packet = vec![0; length.into()];
                    stream.read_exact(&mut packet).await?;
                    let answer = answer(&packet);
                    stream.write_u16(answer.len() as u16).await?;
                    stream.write_all(&answer).await?;
                }
                io::Result::Ok(())
            }));
        }
    }));
    address
}

/// Looks a name up.
async fn look_up<P: ConnectionProvider>(provider: P, mut way: ConnectionConfig) {
    let server = match way.protocol {
        ProtocolConfig::Udp => by_packets().await,
        _ => by_connections().await,
    };
    way.port = server.port();
    let server = NameServerConfig::new(server.ip(), true, vec![way]);
    let config = ResolverConfig::from_name_servers(vec![server]);
    let mut options = ResolverOpts::default();
    options.use_hosts_file = ResolveHosts::Never;
    let resolver = Resolver::builder_with_config(config, provider).with_options(options);
    let resolver = resolver.build().unwrap();
    let found = resolver.lookup_ip("service.example.").await.unwrap();
    assert_eq!(found.iter().collect::<Vec<_>>(), [IpAddr::from(ANSWER)]);
}

#[blitz::test(workers = 2)]
async fn by_trait() {
    look_up(BlitzProvider, ConnectionConfig::udp()).await;
    look_up(BlitzProvider, ConnectionConfig::tcp()).await;
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    look_up(TokioRuntimeProvider::default(), ConnectionConfig::udp()).await;
    look_up(TokioRuntimeProvider::default(), ConnectionConfig::tcp()).await;
}

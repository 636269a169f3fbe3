//! Converts names, strings and tuples to socket addresses.

#![forbid(unsafe_code)]

use sealed::{Addresses, LookUp};
use std::future::Future;
use std::io;
use std::net::ToSocketAddrs as BlockingLookUp;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::vec;

/// Stands for one or several socket addresses.
///
/// It is an address, a slice of addresses, or a name and a port. A name is looked up on a thread
/// that may block.
///
/// Implemented for the same types as [`std::net::ToSocketAddrs`], and for no others.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # blitz::block_on(async {
/// use blitz::net::TcpListener;
/// TcpListener::bind("127.0.0.1:0").await?;
/// TcpListener::bind(("127.0.0.1", 0)).await?;
/// TcpListener::bind(std::net::SocketAddr::from(([127, 0, 0, 1], 0))).await?;
/// # Ok(())
/// # })
/// # }
/// ```
pub trait ToSocketAddrs: sealed::Addresses {}

/// Looks up the addresses of `host`, such as `"localhost:80"` or `("localhost", 80)`.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # blitz::block_on(async {
/// let mut addresses = blitz::net::lookup_host("localhost:80").await?;
/// assert!(addresses.all(|address| address.ip().is_loopback() && address.port() == 80));
/// # Ok(())
/// # })
/// # }
/// ```
///
/// # Errors
/// If the name cannot be looked up.
pub async fn lookup_host<A: ToSocketAddrs>(
    host: A,
) -> io::Result<impl Iterator<Item = SocketAddr>> {
    resolve(&host).await
}

/// Resolves `addresses`.
pub(super) fn resolve<A: ToSocketAddrs + ?Sized>(
    addresses: &A,
) -> impl Future<Output = io::Result<vec::IntoIter<SocketAddr>>> + Send + use<A> {
    let known = addresses.look_up();
    async {
        let addresses = match known {
            LookUp::Known(addresses) => addresses,
            LookUp::Ask(host, port) => {
                // On a blocking thread: the system's resolver blocks for any length of time.
                blitz_core::spawn_blocking(move || ask(&host, port))
                    .await
                    .map_err(io::Error::other)??
            }
        };
        Ok(addresses.into_iter())
    }
}

fn ask(host: &str, port: Option<u16>) -> io::Result<Vec<SocketAddr>> {
    let addresses = match port {
        Some(port) => (host, port).to_socket_addrs(),
        None => host.to_socket_addrs(),
    };
    Ok(addresses?.collect())
}

/// Calls `attempt` with one address after the other until a call succeeds.
pub(super) async fn first_that_works<A, R, F>(
    addresses: A,
    mut attempt: impl FnMut(SocketAddr) -> F,
) -> io::Result<R>
where
    A: ToSocketAddrs,
    F: Future<Output = io::Result<R>>,
{
    let mut last = None;
    for address in resolve(&addresses).await? {
        match attempt(address).await {
            Ok(result) => return Ok(result),
            Err(error) => last = Some(error),
        }
    }
    let none = || io::Error::new(io::ErrorKind::InvalidInput, "there is no address to use");
    Err(last.unwrap_or_else(none))
}

mod sealed {
    use std::net::SocketAddr;

    /// Seals [`ToSocketAddrs`](super::ToSocketAddrs): other crates cannot implement it.
    pub trait Addresses {
        /// Returns the addresses, or the name to look up, without waiting.
        #[doc(hidden)]
        fn look_up(&self) -> LookUp;
    }

    /// Addresses, or the name to look up.
    #[derive(Debug)]
    pub enum LookUp {
        /// Addresses that need no look-up.
        Known(Vec<SocketAddr>),
        /// A name and a port; `None` if the name contains the port.
        Ask(String, Option<u16>),
    }
}

/// Implements the trait for types that are one address.
macro_rules! one_address {
    ($($kind:ty),*) => {$(
        impl ToSocketAddrs for $kind {}
        impl Addresses for $kind {
            fn look_up(&self) -> LookUp {
                LookUp::Known(vec![SocketAddr::from(*self)])
            }
        }
    )*};
}

one_address!(SocketAddr, SocketAddrV4, SocketAddrV6);
one_address!((IpAddr, u16), (Ipv4Addr, u16), (Ipv6Addr, u16));

impl ToSocketAddrs for [SocketAddr] {}
impl Addresses for [SocketAddr] {
    fn look_up(&self) -> LookUp {
        LookUp::Known(self.to_vec())
    }
}

impl ToSocketAddrs for str {}
impl Addresses for str {
    fn look_up(&self) -> LookUp {
        match self.parse() {
            Ok(address) => LookUp::Known(vec![address]),
            Err(_) => LookUp::Ask(self.to_owned(), None),
        }
    }
}

impl ToSocketAddrs for (&str, u16) {}
impl Addresses for (&str, u16) {
    fn look_up(&self) -> LookUp {
        match self.0.parse::<IpAddr>() {
            Ok(ip) => LookUp::Known(vec![SocketAddr::new(ip, self.1)]),
            Err(_) => LookUp::Ask(self.0.to_owned(), Some(self.1)),
        }
    }
}

impl ToSocketAddrs for String {}
impl Addresses for String {
    fn look_up(&self) -> LookUp {
        self.as_str().look_up()
    }
}

impl ToSocketAddrs for (String, u16) {}
impl Addresses for (String, u16) {
    fn look_up(&self) -> LookUp {
        (self.0.as_str(), self.1).look_up()
    }
}

impl<T: ToSocketAddrs + ?Sized> ToSocketAddrs for &T {}
impl<T: Addresses + ?Sized> Addresses for &T {
    fn look_up(&self) -> LookUp {
        (**self).look_up()
    }
}

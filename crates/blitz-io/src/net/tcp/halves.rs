//! Halves of TCP streams.

crate::net::split::halves!(TcpStream, std::net::SocketAddr);

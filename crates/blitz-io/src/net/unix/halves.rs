//! Halves of Unix streams.

crate::net::split::halves!(UnixStream, super::SocketAddr);

//! Halves of Unix streams.

#![forbid(unsafe_code)]

crate::net::split::halves!(UnixStream, super::SocketAddr);

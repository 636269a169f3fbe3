//! Gives access to the descriptors of sockets, for code that makes system calls itself.

/// Implements the descriptor traits for a socket with a field `io: Registration<…>`.
macro_rules! descriptor {
    ($($Socket:ident),*) => {$(
        impl ::std::os::fd::AsRawFd for $Socket {
            fn as_raw_fd(&self) -> ::std::os::fd::RawFd {
                self.io.get().as_raw_fd()
            }
        }

        impl ::std::os::fd::AsFd for $Socket {
            fn as_fd(&self) -> ::std::os::fd::BorrowedFd<'_> {
                self.io.get().as_fd()
            }
        }
    )*};
}

pub(super) use descriptor;

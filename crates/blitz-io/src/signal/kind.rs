//! Kinds of signals.

#![forbid(unsafe_code)]

use rustix::process::Signal;

/// A signal, by its name or its number.
///
/// ```
/// use blitz::signal::unix::SignalKind;
/// assert_eq!(SignalKind::interrupt(), SignalKind::from_raw(2));
/// assert_eq!(SignalKind::terminate().as_raw_value(), 15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignalKind(i32);

/// A function for each name.
macro_rules! names {
    ($($(#[doc = $doc:literal])+ $name:ident: $signal:ident;)*) => {
        impl SignalKind {
            $($(#[doc = $doc])+
            pub const fn $name() -> SignalKind {
                SignalKind(Signal::$signal.as_raw())
            })*
        }
    };
}

names! {
    /// `SIGALRM`: a timer of the system has run out.
    alarm: ALARM;
    /// `SIGCHLD`: a child process has ended, was stopped or goes on.
    child: CHILD;
    /// `SIGHUP`: the terminal is gone; tells daemons to read their settings again.
    hangup: HUP;
    /// `SIGINT`: an interrupt from the keyboard, usually Ctrl+C.
    interrupt: INT;
    /// `SIGIO`: a descriptor is ready.
    io: IO;
    /// `SIGPIPE`: a write to a pipe or socket without a reader. Rust programs ignore it unless they
    /// listen to it.
    pipe: PIPE;
    /// `SIGQUIT`: an interrupt from the keyboard that asks for a dump, usually Ctrl+\.
    quit: QUIT;
    /// `SIGTERM`: a request to end.
    terminate: TERM;
    /// `SIGUSR1`: the program chooses its meaning.
    user_defined1: USR1;
    /// `SIGUSR2`: the program chooses its meaning.
    user_defined2: USR2;
    /// `SIGWINCH`: the terminal has another size.
    window_change: WINCH;
}

impl SignalKind {
    /// Returns the signal with this number. Numbers differ between systems.
    #[must_use]
    pub const fn from_raw(number: i32) -> SignalKind {
        SignalKind(number)
    }

    /// Returns the number of the signal.
    #[must_use]
    pub const fn as_raw_value(&self) -> i32 {
        self.0
    }
}

impl From<i32> for SignalKind {
    fn from(number: i32) -> SignalKind {
        SignalKind(number)
    }
}

impl From<SignalKind> for i32 {
    fn from(kind: SignalKind) -> i32 {
        kind.0
    }
}

//! Settings of the page: its address, its token and its names.

use crate::token::Token;
use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Settings of the page: its address, its token and its names.
///
/// An address alone, such as `"127.0.0.1:6680"`, converts to settings with `into`.
///
/// ```
/// use blitz_inspect::{Inspect, Token};
/// let near = Inspect::from("127.0.0.1:0");
/// let far = Inspect::at("0.0.0.0:6680").token(Token::random()?).name("api");
/// # let _ = (near, far);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "settings do nothing until a pool or a builder gets them"]
pub struct Inspect {
    pub(crate) address: Option<String>,
    pub(crate) token: Option<Token>,
    pub(crate) hosts: Vec<String>,
    pub(crate) name: Option<String>,
}

impl Inspect {
    /// Serves the page at an address such as `127.0.0.1:6680`; port 0 means any free one.
    ///
    /// `localhost:6680`, `:6680` and `6680` mean `127.0.0.1:6680`. An address that other machines
    /// can reach needs a [`token`](Inspect::token).
    pub fn at(address: impl Into<String>) -> Inspect {
        Inspect { address: Some(address.into()), ..Inspect::default() }
    }

    /// Serves no page, only the Unix socket for tools of the same user. Pages that other pools ask
    /// for do not show the pool.
    pub fn tools_only() -> Inspect {
        Inspect::default()
    }

    /// Requires a token for each request for data.
    pub fn token(self, token: Token) -> Inspect {
        Inspect { token: Some(token), ..self }
    }

    /// Serves the page under a host name, too. Names that are not listed are refused, because
    /// another site could make its own name resolve to this address. The first pool of a page has
    /// to list all host names of the page: a later pool cannot add one.
    pub fn host(mut self, name: impl Into<String>) -> Inspect {
        self.hosts.push(name.into());
        self
    }

    /// Shows the pool under this name.
    pub fn name(self, name: impl Into<String>) -> Inspect {
        Inspect { name: Some(name.into()), ..self }
    }

    /// Returns the name that the pool was given.
    #[must_use]
    pub fn pool_name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Checks the settings without serving anything.
    ///
    /// # Errors
    /// If the address is not valid, or if other machines can reach it and there is no token.
    pub fn check(&self) -> io::Result<()> {
        self.socket_addr().map(drop)
    }

    /// Returns the address to serve the page at; `None` if no page is to be served.
    ///
    /// # Errors
    /// If the address is not valid, or if other machines can reach it and there is no token.
    pub(crate) fn socket_addr(&self) -> io::Result<Option<SocketAddr>> {
        let Some(text) = &self.address else { return Ok(None) };
        let address = parse(text).ok_or_else(|| {
            let why = format!(
                "{text:?} is no address to serve the page at: use an IP address and a port, such as \
                 127.0.0.1:6680"
            );
            io::Error::new(io::ErrorKind::InvalidInput, why)
        })?;
        if !address.ip().is_loopback() && self.token.is_none() {
            let why = format!(
                "{address} can be reached from other machines, so the page needs a token: set one \
                 with Inspect::token or BLITZ_INSPECT_TOKEN (the value `random` makes one), or serve \
                 it at 127.0.0.1 and use a tunnel"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Ok(Some(address))
    }
}

fn parse(text: &str) -> Option<SocketAddr> {
    let text = text.trim();
    let port = text.strip_prefix("localhost").unwrap_or(text);
    let port = port.strip_prefix(':').unwrap_or(port);
    match port.parse() {
        Ok(port) => Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)),
        Err(_) => text.parse().ok(),
    }
}

impl From<&str> for Inspect {
    fn from(address: &str) -> Inspect {
        Inspect::at(address)
    }
}

impl From<String> for Inspect {
    fn from(address: String) -> Inspect {
        Inspect::at(address)
    }
}

impl From<SocketAddr> for Inspect {
    fn from(address: SocketAddr) -> Inspect {
        Inspect::at(address.to_string())
    }
}

/// Reads the settings from `BLITZ_INSPECT` and `BLITZ_INSPECT_TOKEN`.
///
/// Returns `None` if `BLITZ_INSPECT` is missing or empty.
///
/// # Errors
/// If a value cannot be used. The error names the variable, and quotes the address but not the
/// token.
pub fn from_env() -> io::Result<Option<Inspect>> {
    let variable = |name: &str| text_of(name, std::env::var_os(name));
    let Some(address) = variable("BLITZ_INSPECT")? else { return Ok(None) };
    of_variables(&address, variable("BLITZ_INSPECT_TOKEN")?.as_deref()).map(Some)
}

/// Returns the text of the variable `name`; `None` if it is missing or empty. An error does not
/// quote the value, which may be a token.
fn text_of(name: &str, value: Option<OsString>) -> io::Result<Option<String>> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    let error = |_| io::Error::new(io::ErrorKind::InvalidInput, format!("{name} is not Unicode"));
    value.into_string().map(Some).map_err(error)
}

fn of_variables(address: &str, token: Option<&str>) -> io::Result<Inspect> {
    let named = |name: &'static str| {
        move |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"))
    };
    let token = match token {
        None => None,
        Some("random") => Some(Token::of_process().map_err(named("BLITZ_INSPECT_TOKEN"))?),
        Some(token) => Some(Token::new(token).map_err(named("BLITZ_INSPECT_TOKEN"))?),
    };
    let settings = Inspect { token, ..Inspect::at(address) };
    settings.check().map_err(named("BLITZ_INSPECT"))?;
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::{Inspect, of_variables, parse, text_of};
    use crate::token::Token;

    #[cfg(unix)]
    #[test]
    fn an_error_does_not_quote_a_value_that_is_not_unicode() {
        use std::os::unix::ffi::OsStringExt;

        let value = std::ffi::OsString::from_vec(b"secret\xff".to_vec());
        let error = text_of("BLITZ_INSPECT_TOKEN", Some(value)).unwrap_err().to_string();
        assert_eq!(error, "BLITZ_INSPECT_TOKEN is not Unicode");
        assert_eq!(text_of("A", Some("b".into())).unwrap().as_deref(), Some("b"));
        assert_eq!(text_of("A", Some("".into())).unwrap(), None);
        assert_eq!(text_of("A", None).unwrap(), None);
    }

    #[test]
    fn short_addresses_mean_this_machine() {
        for text in ["127.0.0.1:80", "localhost:80", ":80", "80", " 80 "] {
            assert_eq!(parse(text), "127.0.0.1:80".parse().ok(), "{text}");
        }
        assert_eq!(parse("[::1]:80"), "[::1]:80".parse().ok());
        for text in ["", "localhost", "example.org:80", "127.0.0.1", "1:2:3", "99999"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn other_machines_need_a_token() {
        for far in ["0.0.0.0:0", "[::]:0", "10.0.0.1:80"] {
            let error = Inspect::at(far).socket_addr().unwrap_err().to_string();
            assert!(error.contains("needs a token"), "{error}");
            let token = Token::random().unwrap();
            assert!(Inspect::at(far).token(token).socket_addr().unwrap().is_some());
        }
        assert!(Inspect::at("127.0.0.1:0").socket_addr().unwrap().is_some());
        assert_eq!(Inspect::tools_only().socket_addr().unwrap(), None);
    }

    #[test]
    fn variables_are_read_as_settings_are() {
        assert_eq!(of_variables("80", None).unwrap(), Inspect::at("80"));
        let why = |address, token| of_variables(address, token).unwrap_err().to_string();
        assert!(why("80", Some("short")).starts_with("BLITZ_INSPECT_TOKEN: a token has at least"));
        assert!(why("nonsense", None).starts_with("BLITZ_INSPECT: \"nonsense\" is no address"));
        let random = of_variables("80", Some("random")).unwrap();
        assert_eq!(random.token.as_ref().unwrap().reveal().len(), 32);
        let again = of_variables("80", Some("random")).unwrap();
        assert_eq!(again, random, "all pools of a process share one random token");
        let error = Inspect::from("nonsense".to_owned()).socket_addr().unwrap_err().to_string();
        assert!(error.contains("\"nonsense\" is no address"), "{error}");
    }
}

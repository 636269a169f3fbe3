//! Decides which requests are allowed, by their host, their origin and their token.

use crate::head::{Head, Method};
use crate::response::Status;
use crate::token::Token;
use std::net::{IpAddr, SocketAddr};

/// The rules of one listener.
#[derive(Clone, Debug)]
pub struct Guard {
    /// `None` for a Unix socket, where the permissions of the file decide.
    address: Option<SocketAddr>,
    hosts: Vec<String>,
    token: Option<Token>,
}

/// Why a request is refused: the status, and a reason that people can read.
pub type Refusal = (Status, &'static str);

impl Guard {
    pub(crate) fn tcp(address: SocketAddr, hosts: Vec<String>, token: Option<Token>) -> Guard {
        Guard { address: Some(address), hosts, token }
    }

    pub(crate) fn unix() -> Guard {
        Guard { address: None, hosts: Vec::new(), token: None }
    }

    /// Whether clients come by TCP.
    pub(crate) fn is_tcp(&self) -> bool {
        self.address.is_some()
    }

    /// Returns the token that clients have to show.
    pub(crate) fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    /// Checks the rules for every request.
    pub(crate) fn admit(&self, head: &Head<'_>) -> Result<(), Refusal> {
        if self.address.is_none() {
            return Ok(());
        }
        // Another site can make its own name resolve to this address. Then that name is in `Host`.
        let host = head.host.unwrap_or_default();
        if !self.is_own_host(host) {
            return Err((Status::Forbidden, "this host is not served here"));
        }
        let is_own = |origin: &str| {
            let authority =
                origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
        };
        if !head.origin.is_none_or(is_own) {
            return Err((Status::Forbidden, "requests from pages of other origins are refused"));
        }
        Ok(())
    }

    /// Checks the additional rules for a request for data.
    pub(crate) fn admit_to_data(&self, head: &Head<'_>) -> Result<(), Refusal> {
        if self.address.is_none() {
            return Ok(());
        }
        // Browsers send no origin if a page embeds data of another site as an image or a script,
        // but they say in another field how the two sites relate.
        let is_near = |site: &str| matches!(site, "same-origin" | "none");
        if !head.fetch_site.is_none_or(is_near) {
            return Err((Status::Forbidden, "requests from pages of other sites are refused"));
        }
        match &self.token {
            Some(token) if !head.authorization.is_some_and(|shown| token.is_shown_by(shown)) => {
                Err((
                    Status::Unauthorized,
                    "the token is missing or wrong: it follows `#` in the page's address",
                ))
            }
            None if head.method == Method::Post => Err((
                Status::Forbidden,
                "this request changes the pool, so it needs a server with a token",
            )),
            _ => Ok(()),
        }
    }

    /// Whether `host` is one of our names or one of our addresses.
    ///
    /// Loopback addresses are ours, too. If the listener has all addresses of the machine, every
    /// address counts as ours. The name of another site never does. The port does not matter here:
    /// a tunnel may change it, and the origin must have the same port.
    fn is_own_host(&self, host: &str) -> bool {
        let Some(name) = without_port(host) else { return false };
        if name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        if self.hosts.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            return true;
        }
        let literal = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            Some(inner) => inner.parse().map(IpAddr::V6),
            None => name.parse().map(IpAddr::V4),
        };
        let (Ok(ip), Some(own)) = (literal, self.address) else { return false };
        ip.is_loopback() || ip == own.ip() || own.ip().is_unspecified()
    }
}

/// Returns `name` for `name` and for `name:80`; `None` for anything else.
fn without_port(host: &str) -> Option<&str> {
    let end = match host.strip_prefix('[') {
        Some(inner) => inner.find(']')? + 2,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, port) = host.split_at(end);
    let is_port = match port.strip_prefix(':') {
        Some(digits) => digits.parse::<u16>().is_ok(),
        None => port.is_empty(),
    };
    (is_port && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::Guard;
    use crate::head::Head;
    use crate::response::Status;
    use crate::token::Token;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    fn guard(address: &str, token: Option<&str>) -> Guard {
        let token = token.map(|token| Token::new(token).unwrap());
        Guard::tcp(address.parse().unwrap(), vec!["box.example".to_owned()], token)
    }

    fn admits(guard: &Guard, fields: &str) -> bool {
        let text = format!("GET / HTTP/1.1\r\n{fields}");
        guard.admit(&Head::parse(text.as_bytes()).unwrap()).is_ok()
    }

    #[test]
    fn only_own_hosts_are_served() {
        let local = guard("127.0.0.1:80", None);
        for host in
            ["localhost", "LOCALHOST:7", "127.0.0.1:80", "[::1]:80", "127.9.9.9", "box.example:1"]
        {
            assert!(admits(&local, &format!("Host: {host}")), "{host}");
        }
        for host in [
            "",
            ":80",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "localhost:x",
            "localhost:80:80",
            "10.0.0.1",
            "[::2]",
            "[::1",
            "::1",
            "127.1",
            "2130706433",
            "a@localhost",
            "localhost:99999",
            "[::1]x",
        ] {
            assert!(!admits(&local, &format!("Host: {host}")), "{host}");
        }
        let wide = guard("0.0.0.0:80", Some(TOKEN));
        assert!(admits(&wide, "Host: 10.0.0.1:80"));
        assert!(!admits(&wide, "Host: evil.example"));
    }

    #[test]
    fn only_own_pages_may_ask() {
        let local = guard("127.0.0.1:80", None);
        assert!(admits(&local, "Host: localhost:8\r\nOrigin: http://localhost:8"));
        assert!(admits(&local, "Host: box.example\r\nOrigin: https://box.example"));
        for origin in [
            "null",
            "http://localhost",
            "http://localhost:9",
            "http://evil.example",
            "localhost:8",
            "",
        ] {
            assert!(!admits(&local, &format!("Host: localhost:8\r\nOrigin: {origin}")), "{origin}");
        }
    }

    #[test]
    fn data_needs_the_token_and_no_foreign_page() {
        let outcome = |guard: &Guard, head: &str| {
            let text = format!("{head} HTTP/1.1\r\nHost: localhost{}", "");
            guard
                .admit_to_data(&Head::parse(text.as_bytes()).unwrap())
                .map_err(|(status, _)| status)
        };
        let with = |guard: &Guard, field: &str| {
            let text = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{field}");
            guard
                .admit_to_data(&Head::parse(text.as_bytes()).unwrap())
                .map_err(|(status, _)| status)
        };
        let (open, closed) = (guard("127.0.0.1:80", None), guard("127.0.0.1:80", Some(TOKEN)));
        assert_eq!(outcome(&open, "GET /"), Ok(()));
        assert_eq!(outcome(&open, "POST /"), Err(Status::Forbidden));
        assert_eq!(outcome(&closed, "GET /"), Err(Status::Unauthorized));
        assert_eq!(with(&closed, &format!("Authorization: Bearer {TOKEN}")), Ok(()));
        assert_eq!(with(&open, "Sec-Fetch-Site: same-origin"), Ok(()));
        assert_eq!(with(&open, "Sec-Fetch-Site: cross-site"), Err(Status::Forbidden));
        assert_eq!(with(&open, "Sec-Fetch-Site: same-site"), Err(Status::Forbidden));
        assert_eq!(outcome(&Guard::unix(), "POST /"), Ok(()));
    }
}

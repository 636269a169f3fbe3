//! The secret that a client has to show.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

/// The shortest and the longest token: 32 hexadecimal digits hold 128 bits.
const LETTERS_MIN: usize = 32;
const LETTERS_MAX: usize = 256;

/// A secret that every request for data has to show: at least 128 bits.
///
/// ```
/// use blitz_inspect::Token;
/// let token = Token::new("0123456789abcdef0123456789abcdef")?;
/// assert_eq!(format!("{token:?}"), "Token(..)");
/// assert!(Token::new("secret").is_err());
/// assert_ne!(Token::random()?.reveal(), Token::random()?.reveal());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Takes a token of 32 to 256 letters, digits, `-` and `_`, which have to be random.
    ///
    /// # Errors
    /// If it is too short, too long, or has other characters.
    pub fn new(text: impl Into<String>) -> io::Result<Token> {
        let text = text.into();
        let is_word =
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        if is_word && (LETTERS_MIN..=LETTERS_MAX).contains(&text.len()) {
            return Ok(Token(text));
        }
        let why = "a token has at least 32 and at most 256 letters, digits, `-` or `_`, with 128 \
                   random bits: take `openssl rand -hex 16`, or Token::random (as a variable: \
                   `random`)";
        Err(io::Error::new(io::ErrorKind::InvalidInput, why))
    }

    /// Makes a new token of 128 bits from the system's generator.
    ///
    /// # Errors
    /// If the system has no `/dev/urandom`.
    pub fn random() -> io::Result<Token> {
        let mut bytes = [0; 16];
        let mut source = File::open("/dev/urandom").map_err(|error| {
            let why = format!("/dev/urandom cannot be opened ({error}): pass a token of your own");
            io::Error::new(error.kind(), why)
        })?;
        source.read_exact(&mut bytes)?;
        Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Returns a random token that is the same for all pools of the process.
    pub(crate) fn of_process() -> io::Result<Token> {
        static TOKEN: Mutex<Option<Token>> = Mutex::new(None);
        let mut token = TOKEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = &*token {
            return Ok(token.clone());
        }
        Ok(token.insert(Token::random()?).clone())
    }

    /// Returns the token itself, for the address of the page.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether a field `Authorization` shows this token. The time that the comparison takes reveals
    /// at most the token's length.
    pub(crate) fn is_shown_by(&self, authorization: &str) -> bool {
        let Some((scheme, shown)) = authorization.split_once(' ') else { return false };
        let (own, shown) = (self.0.as_bytes(), shown.as_bytes());
        let differs =
            own.iter().zip(shown).fold(0, |differs, (own, shown)| differs | (own ^ shown));
        scheme.eq_ignore_ascii_case("bearer") && own.len() == shown.len() && differs == 0
    }
}

// `Debug` does not show the token, so that no log reveals it.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::Token;

    #[test]
    fn only_the_whole_token_is_taken() {
        let token = Token::new("0123456789abcdef0123456789abcdeF").unwrap();
        assert!(token.is_shown_by("Bearer 0123456789abcdef0123456789abcdeF"));
        assert!(token.is_shown_by("bearer 0123456789abcdef0123456789abcdeF"));
        for wrong in [
            "",
            "Bearer",
            "Bearer ",
            "Bearer 0123456789abcdef0123456789abcdef",
            "Bearer 0123456789abcdef0123456789abcde",
            "Bearer 0123456789abcdef0123456789abcdeF0",
            "Basic 0123456789abcdef0123456789abcdeF",
            "0123456789abcdef0123456789abcdeF",
        ] {
            assert!(!token.is_shown_by(wrong), "{wrong}");
        }
    }

    #[test]
    fn tokens_that_could_leave_their_place_in_an_address_are_refused() {
        let bad = ["", &"a".repeat(31), &"a".repeat(257), &"a b".repeat(20), &"é".repeat(40)];
        for text in bad {
            assert!(Token::new(text).is_err(), "{text}");
        }
        assert_eq!(Token::random().unwrap().reveal().len(), 32);
    }
}

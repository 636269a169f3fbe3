//! Parallel iterators over strings.

#![forbid(unsafe_code)]

pub use crate::source::string::{Bytes, CharIndices, Chars, EncodeUtf16, Lines, MatchIndices};
pub use crate::source::string::{Drain, Matches, Pattern, Split, SplitAsciiWhitespace};
pub use crate::source::string::{SplitInclusive, SplitTerminator, SplitWhitespace};

use crate::iter::{IntoParallelIterator, ParallelIterator};
use crate::source::string::{CharIndicesPiece, CharsPiece, EncodeUtf16Piece};

/// Parallel operations on strings. Patterns are single characters: see [`Pattern`].
pub trait ParallelString {
    /// The string.
    fn as_parallel_string(&self) -> &str;

    /// Makes an iterator over the characters.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!("aß".par_chars().map(char::len_utf8).sum::<usize>(), 3);
    /// ```
    fn par_chars(&self) -> Chars<'_> {
        CharsPiece::source(self.as_parallel_string())
    }

    /// Makes an iterator over the characters and the indexes at which they begin.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!("ßa".par_char_indices().collect::<Vec<_>>(), [(0, 'ß'), (2, 'a')]);
    /// ```
    fn par_char_indices(&self) -> CharIndices<'_> {
        CharIndicesPiece::source(self.as_parallel_string())
    }

    /// Makes an iterator over the bytes.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!("ab".par_bytes().max(), Some(b'b'));
    /// ```
    fn par_bytes(&self) -> Bytes<'_> {
        self.as_parallel_string().as_bytes().into_par_iter().copied()
    }

    /// Makes an iterator over the code units of the string in UTF-16.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!("a𝄞".par_encode_utf16().count(), 3);
    /// ```
    fn par_encode_utf16(&self) -> EncodeUtf16<'_> {
        EncodeUtf16Piece::source(self.as_parallel_string())
    }

    /// Makes an iterator over the parts between characters that match.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!("1,2,3".par_split(',').map(|n| n.parse::<i32>().unwrap()).sum::<i32>(), 6);
    /// ```
    fn par_split<P: Pattern>(&self, separator: P) -> Split<'_, P> {
        Split { text: self.as_parallel_string(), pattern: separator }
    }

    /// Works like [`par_split`](Self::par_split), with each match at the end of its part.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!("a,b".par_split_inclusive(',').collect::<Vec<_>>(), ["a,", "b"]);
    /// ```
    fn par_split_inclusive<P: Pattern>(&self, separator: P) -> SplitInclusive<'_, P> {
        SplitInclusive { text: self.as_parallel_string(), pattern: separator }
    }

    /// Works like [`par_split`](Self::par_split), without an empty part at the end.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!("a,b,".par_split_terminator(',').collect::<Vec<_>>(), ["a", "b"]);
    /// ```
    fn par_split_terminator<P: Pattern>(&self, terminator: P) -> SplitTerminator<'_, P> {
        SplitTerminator { text: self.as_parallel_string(), pattern: terminator }
    }

    /// Makes an iterator over the lines, without their ends. As in Rayon, and unlike `str::lines`,
    /// it also removes a carriage return at the end of a text that does not end with a line feed.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!("a\r\nb\n".par_lines().collect::<Vec<_>>(), ["a", "b"]);
    /// ```
    fn par_lines(&self) -> Lines<'_> {
        Lines { text: self.as_parallel_string() }
    }

    /// Makes an iterator over the words between whitespace.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!(" a  b\n".par_split_whitespace().collect::<Vec<_>>(), ["a", "b"]);
    /// ```
    fn par_split_whitespace(&self) -> SplitWhitespace<'_> {
        SplitWhitespace { text: self.as_parallel_string() }
    }

    /// Makes an iterator over the words between ASCII whitespace.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!(" a  b\n".par_split_ascii_whitespace().count(), 2);
    /// ```
    fn par_split_ascii_whitespace(&self) -> SplitAsciiWhitespace<'_> {
        SplitAsciiWhitespace { text: self.as_parallel_string() }
    }

    /// Makes an iterator over the characters that match.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!("a1b22".par_matches(char::is_numeric).collect::<String>(), "122");
    /// ```
    fn par_matches<P: Pattern>(&self, pattern: P) -> Matches<'_, P> {
        self.par_match_indices(pattern).map(|(_, text)| text)
    }

    /// Makes an iterator over the characters that match and the indexes at which they begin.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!("a1b2".par_match_indices(['1', '2']).collect::<Vec<_>>(), [(1, "1"), (3, "2")]);
    /// ```
    fn par_match_indices<P: Pattern>(&self, pattern: P) -> MatchIndices<'_, P> {
        MatchIndices { text: self.as_parallel_string(), pattern }
    }
}

impl ParallelString for str {
    fn as_parallel_string(&self) -> &str {
        self
    }
}

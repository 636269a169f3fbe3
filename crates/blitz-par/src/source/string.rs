//! The characters, bytes and words of strings.

#![forbid(unsafe_code)]

use super::piece::Source;
use super::slice;
use super::split_on::{Separated, SplitOn};
use crate::adapt::each::{Copied, Map};
use crate::iter::ParallelDrainRange;
use crate::iter::ParallelIterator;
use crate::piece::Piece;
use crate::plan::Turn;
use crate::range_of::simplify;
use crate::reducer::{Reducer, Run};
use crate::run::begin;
use memchr::{Memchr, memchr, memchr_iter, memrchr};
use std::fmt;
use std::ops::{Range, RangeBounds};
use std::str;

/// Folds all parts of `text`. It is a macro, since a function would have to name the standard
/// library's trait for patterns, which is unstable.
macro_rules! fold_parts {
    ($pattern:expr, $kind:expr, $text:expr, $init:expr, $f:expr) => {
        match $kind {
            Kind::Between => $text.split($pattern).fold($init, $f),
            Kind::With => $text.split_inclusive($pattern).fold($init, $f),
            Kind::Ended => $text.split_terminator($pattern).fold($init, $f),
        }
    };
}

/// A pattern whose matches are single characters: `char`, `&[char]`, `[char; N]`, `&[char; N]` or a
/// function of `char`. The trait cannot be implemented for other types.
pub trait Pattern: Sealed + Sync + Send {
    /// Whether the character matches.
    fn matches(&self, c: char) -> bool;

    /// Where the first match begins.
    fn find_in(&self, text: &str) -> Option<usize> {
        text.find(|c| self.matches(c))
    }

    /// Where the last match begins.
    fn rfind_in(&self, text: &str) -> Option<usize> {
        text.rfind(|c| self.matches(c))
    }

    /// Folds all parts of `text`, by the loop of the standard library.
    #[doc(hidden)]
    #[inline]
    fn fold_parts<'a, B>(
        &self,
        kind: Kind,
        text: &'a str,
        init: B,
        f: impl FnMut(B, &'a str) -> B,
    ) -> B {
        fold_parts!(|c| self.matches(c), kind, text, init, f)
    }
}

/// Seals [`Pattern`]: only the types below implement it.
pub trait Sealed {}

impl Sealed for char {}

impl Pattern for char {
    #[inline]
    fn matches(&self, c: char) -> bool {
        *self == c
    }

    #[inline]
    fn find_in(&self, text: &str) -> Option<usize> {
        match byte(*self) {
            Some(byte) => memchr(byte, text.as_bytes()),
            None => text.find(*self),
        }
    }

    #[inline]
    fn rfind_in(&self, text: &str) -> Option<usize> {
        match byte(*self) {
            Some(byte) => memrchr(byte, text.as_bytes()),
            None => text.rfind(*self),
        }
    }

    #[inline]
    fn fold_parts<'a, B>(
        &self,
        kind: Kind,
        text: &'a str,
        init: B,
        mut f: impl FnMut(B, &'a str) -> B,
    ) -> B {
        match byte(*self) {
            Some(byte) => {
                let parts =
                    Parts { text, begin: 0, ends: memchr_iter(byte, text.as_bytes()), kind };
                parts.fold(init, f)
            }
            None => fold_parts!(*self, kind, text, init, &mut f),
        }
    }
}

/// Returns the byte of an ASCII character; `None` for any other character.
#[inline]
fn byte(c: char) -> Option<u8> {
    u8::try_from(c).ok().filter(u8::is_ascii)
}

/// The parts into which an ASCII character divides a text.
struct Parts<'a> {
    text: &'a str,
    /// Where the next part begins; after the text if there is none.
    begin: usize,
    /// Where the separators are.
    ends: Memchr<'a>,
    kind: Kind,
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a str;

    #[inline]
    fn next(&mut self) -> Option<&'a str> {
        let begin = self.begin;
        if let Some(at) = self.ends.next() {
            self.begin = at + 1;
            let end = if self.kind == Kind::With { at + 1 } else { at };
            return Some(&self.text[begin..end]);
        }
        self.begin = self.text.len() + 1;
        let is_ended = begin == self.text.len() && self.kind != Kind::Between;
        if is_ended { None } else { self.text.get(begin..) }
    }
}

macro_rules! pattern {
    ([$($params:tt)*] $type:ty, |$self:ident, $c:ident| $matches:expr) => {
        impl<$($params)*> Sealed for $type {}

        impl<$($params)*> Pattern for $type {
            #[inline]
            fn matches(&$self, $c: char) -> bool {
                $matches
            }
        }
    };
}

pattern!([] & [char], |self, c| self.contains(&c));
pattern!([const N: usize] [char; N], |self, c| self.contains(&c));
pattern!([const N: usize] &[char; N], |self, c| self.contains(&c));
pattern!([F: Fn(char) -> bool + Sync + Send] F, |self, c| self(c));

/// The first index from `at` on where a character begins, or the end.
fn boundary(text: &str, at: usize) -> usize {
    (at..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

/// The units of a text: characters, code units.
macro_rules! units {
    ($(#[$doc:meta])* $name:ident, $piece:ident, $item:ty, $block:ty, |$offset:ident, $text:ident| $make:expr) => {
        $(#[$doc])*
        pub type $name<'a> = Source<$piece<'a>>;

        #[doc = concat!("A piece of [`", stringify!($name), "`].")]
        #[derive(Debug, Clone)]
        pub struct $piece<'a> {
            offset: usize,
            text: &'a str,
        }

        impl<'a> $piece<'a> {
            pub(crate) fn source(text: &'a str) -> Source<Self> {
                Source { piece: $piece { offset: 0, text } }
            }
        }

        impl<'a> Piece for $piece<'a> {
            type Item = $item;
            type Block = $block;

            fn steps(&self) -> usize {
                self.text.len()
            }

            fn split_off(&mut self, at: usize) -> Option<Self> {
                let (left, text) = self.text.split_at(boundary(self.text, at));
                self.text = left;
                Some($piece { offset: self.offset + left.len(), text })
            }

            fn block(&mut self, steps: usize) -> Self::Block {
                let ($text, rest) = self.text.split_at(boundary(self.text, steps));
                let $offset = self.offset;
                self.offset += $text.len();
                self.text = rest;
                $make
            }
        }
    };
}

units! {
    /// The characters of a string: made by
    /// [`par_chars`](crate::str::ParallelString::par_chars).
    Chars, CharsPiece, char, str::Chars<'a>, |_offset, text| text.chars()
}

units! {
    /// The characters of a string and where they begin: made by
    /// [`par_char_indices`](crate::str::ParallelString::par_char_indices).
    CharIndices, CharIndicesPiece, (usize, char), OffsetChars<'a>,
    |offset, text| OffsetChars { offset, chars: text.char_indices() }
}

units! {
    /// The code units of a string in UTF-16: made by
    /// [`par_encode_utf16`](crate::str::ParallelString::par_encode_utf16).
    EncodeUtf16, EncodeUtf16Piece, u16, str::EncodeUtf16<'a>, |_offset, text| text.encode_utf16()
}

/// The bytes of a string: made by [`par_bytes`](crate::str::ParallelString::par_bytes).
pub type Bytes<'a> = Copied<slice::Iter<'a, u8>>;

/// A block of [`CharIndices`].
#[derive(Debug, Clone)]
pub struct OffsetChars<'a> {
    offset: usize,
    chars: str::CharIndices<'a>,
}

impl Iterator for OffsetChars<'_> {
    type Item = (usize, char);

    #[inline]
    fn next(&mut self) -> Option<(usize, char)> {
        self.chars.next().map(|(at, c)| (self.offset + at, c))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.chars.size_hint()
    }
}

/// Parts of a string that lie between matches, include them, or are ended by them.
macro_rules! split {
    ($(#[$doc:meta])* $name:ident, $kind:expr) => {
        $(#[$doc])*
        #[must_use = "parallel iterators are lazy and do nothing unless consumed"]
        #[derive(Clone)]
        pub struct $name<'a, P> {
            pub(crate) text: &'a str,
            pub(crate) pattern: P,
        }

        impl<P> fmt::Debug for $name<'_, P> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("text", &self.text).finish_non_exhaustive()
            }
        }

        impl<'a, P: Pattern> ParallelIterator for $name<'a, P> {
            type Item = &'a str;

            drive!(|self, turn, next, acc| {
                let part = Part { text: self.text, pattern: &self.pattern, kind: $kind };
                begin(turn, next, SplitOn::new(part), acc)
            });
        }
    };
}

split! {
    /// Parts of a string between matches: made by
    /// [`par_split`](crate::str::ParallelString::par_split).
    Split, Kind::Between
}

split! {
    /// Parts of a string that end with matches: made by
    /// [`par_split_inclusive`](crate::str::ParallelString::par_split_inclusive).
    SplitInclusive, Kind::With
}

split! {
    /// Parts of a string, each ended by a match, which is left out: made by
    /// [`par_split_terminator`](crate::str::ParallelString::par_split_terminator).
    SplitTerminator, Kind::Ended
}

/// How matches divide a text into parts.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Parts lie between matches.
    Between,
    /// Each part ends with its match.
    With,
    /// Each part is ended by a match, which is left out.
    Ended,
}

/// A part of a split string.
struct Part<'a, 'p, P> {
    text: &'a str,
    pattern: &'p P,
    kind: Kind,
}

impl<P: Pattern> Part<'_, '_, P> {
    /// Where the left part of a cut ends if the match begins at `at`.
    fn end(&self, at: usize) -> usize {
        if self.kind == Kind::With { at + self.match_len(at) } else { at }
    }

    /// How long the match at `at` is.
    fn match_len(&self, at: usize) -> usize {
        self.text[at..].chars().next().map_or(0, char::len_utf8)
    }
}

impl<'a, 'p, P: Pattern> Separated for Part<'a, 'p, P> {
    type Item = &'a str;
    type Items = PartItems<'a, 'p, P>;
    const EMPTY_COUNTS: bool = true;

    fn len(&self) -> usize {
        self.text.len()
    }

    fn find(&self, range: Range<usize>) -> Option<usize> {
        let (from, to) = (boundary(self.text, range.start), boundary(self.text, range.end));
        let at = from + self.pattern.find_in(self.text.get(from..to)?)?;
        Some(self.end(at))
    }

    fn find_back(&self, before: usize) -> Option<usize> {
        let before = boundary(self.text, before);
        let at = self.pattern.rfind_in(&self.text[..before])?;
        Some(self.end(at))
    }

    fn cut_at(self, end: usize) -> (Self, Self) {
        let skip = if self.kind == Kind::With { 0 } else { self.match_len(end) };
        // The left part ends with a match, so it has an item even if that item is empty.
        let kind = if self.kind == Kind::With { Kind::With } else { Kind::Between };
        let right = Part { text: &self.text[end + skip..], ..self };
        (Part { text: &self.text[..end], kind, ..right }, right)
    }

    fn items(self) -> Self::Items {
        PartItems(Some(self))
    }

    fn whole(self) -> Option<&'a str> {
        Some(self.text).filter(|text| self.kind == Kind::Between || !text.is_empty())
    }
}

/// The items of a part of a split string.
struct PartItems<'a, 'p, P>(Option<Part<'a, 'p, P>>);

impl<'a, P: Pattern> Iterator for PartItems<'a, '_, P> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let part = self.0.as_mut()?;
        let Some(at) = part.pattern.find_in(part.text) else {
            return self.0.take()?.whole();
        };
        let item = &part.text[..part.end(at)];
        part.text = &part.text[at + part.match_len(at)..];
        Some(item)
    }

    #[inline]
    fn fold<B, F: FnMut(B, &'a str) -> B>(self, init: B, f: F) -> B {
        match self.0 {
            Some(part) => part.pattern.fold_parts(part.kind, part.text, init, f),
            None => init,
        }
    }
}

/// Whether a part is not empty.
fn is_some_text(text: &&str) -> bool {
    !text.is_empty()
}

/// A line without the carriage return before its end.
fn without_return(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

/// A parallel iterator over parts of a string that hides a chain of adaptors with closures. If it
/// were an alias of the chain's type, the closures would have to be function pointers, and the loop
/// would spend its time on a call for each character or part.
macro_rules! parts {
    ($(#[$doc:meta])* $name:ident, |$text:ident| $chain:expr) => {
        $(#[$doc])*
        #[must_use = "parallel iterators are lazy and do nothing unless consumed"]
        #[derive(Debug, Clone)]
        pub struct $name<'a> {
            pub(crate) text: &'a str,
        }

        impl<'a> ParallelIterator for $name<'a> {
            type Item = &'a str;

            fn drive<N: Reducer<&'a str>>(
                self,
                turn: Turn<'_>,
                next: &N,
                acc: Option<N::Acc>,
            ) -> Run<N::Acc, N::Out> {
                let $text = self.text;
                $chain.drive(turn, next, acc)
            }
        }
    };
}

parts! {
    /// The lines of a string: made by [`par_lines`](crate::str::ParallelString::par_lines).
    Lines, |text| SplitTerminator { text, pattern: '\n' }.map(without_return)
}

parts! {
    /// The words of a string: made by
    /// [`par_split_whitespace`](crate::str::ParallelString::par_split_whitespace).
    SplitWhitespace, |text| Split { text, pattern: char::is_whitespace }.filter(is_some_text)
}

parts! {
    /// The words of a string between ASCII whitespace: made by
    /// [`par_split_ascii_whitespace`](crate::str::ParallelString::par_split_ascii_whitespace).
    SplitAsciiWhitespace,
    |text| Split { text, pattern: |c: char| c.is_ascii_whitespace() }.filter(is_some_text)
}

/// Where a pattern matches: made by
/// [`par_match_indices`](crate::str::ParallelString::par_match_indices).
#[must_use = "parallel iterators are lazy and do nothing unless consumed"]
#[derive(Clone)]
pub struct MatchIndices<'a, P> {
    pub(crate) text: &'a str,
    pub(crate) pattern: P,
}

impl<P> fmt::Debug for MatchIndices<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MatchIndices").field("text", &self.text).finish_non_exhaustive()
    }
}

impl<'a, P: Pattern> ParallelIterator for MatchIndices<'a, P> {
    type Item = (usize, &'a str);

    drive!(|self, turn, next, acc| {
        let MatchIndices { text, pattern } = self;
        let found = CharIndicesPiece::source(text)
            .filter(|&(_, c)| pattern.matches(c))
            .map(|(at, c)| (at, &text[at..at + c.len_utf8()]));
        found.drive(turn, next, acc)
    });
}

/// The matches of a pattern: made by [`par_matches`](crate::str::ParallelString::par_matches).
pub type Matches<'a, P> = Map<MatchIndices<'a, P>, fn((usize, &'a str)) -> &'a str>;

/// The characters of a range of a `String`: made by [`String::par_drain`](ParallelDrainRange).
/// Dropping the iterator removes the characters.
#[must_use = "parallel iterators are lazy and do nothing unless consumed"]
#[derive(Debug)]
pub struct Drain<'a> {
    string: &'a mut String,
    range: Range<usize>,
}

impl<'a> ParallelDrainRange<usize> for &'a mut String {
    type Iter = Drain<'a>;
    type Item = char;

    fn par_drain<R: RangeBounds<usize>>(self, range: R) -> Drain<'a> {
        let range = simplify(range, self.len());
        assert!(self.is_char_boundary(range.start), "the range starts inside a character");
        assert!(self.is_char_boundary(range.end), "the range ends inside a character");
        Drain { string: self, range }
    }
}

impl ParallelIterator for Drain<'_> {
    type Item = char;

    drive!(|self, turn, next, acc| CharsPiece::source(&self.string[self.range.clone()])
        .drive(turn, next, acc));
}

impl Drop for Drain<'_> {
    fn drop(&mut self) {
        drop(self.string.drain(self.range.clone()));
    }
}

//! Appending to strings, and strings of items.

#![forbid(unsafe_code)]

use super::extend::joined;
use crate::iter::{FromParallelIterator, IntoParallelIterator, ParallelExtend};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};

macro_rules! strings {
    ($string:ident, $push:ident, [$($life:lifetime)?] $item:ty) => {
        impl<$($life)?> ParallelExtend<$item> for $string {
            fn par_extend<I: IntoParallelIterator<Item = $item>>(&mut self, iter: I) {
                let (parts, len) = joined::<$string, I>(iter);
                self.reserve(len);
                parts.iter().for_each(|part| self.$push(part));
            }
        }

        impl<$($life)?> FromParallelIterator<$item> for $string {
            fn from_par_iter<I: IntoParallelIterator<Item = $item>>(iter: I) -> $string {
                let mut string = $string::new();
                string.par_extend(iter);
                string
            }
        }
    };
}

strings!(String, push_str, [] char);
strings!(String, push_str, ['a] &'a char);
strings!(String, push_str, ['a] &'a str);
strings!(String, push_str, [] String);
strings!(String, push_str, [] Box<str>);
strings!(String, push_str, ['a] Cow<'a, str>);
strings!(OsString, push, [] OsString);
strings!(OsString, push, ['a] &'a OsStr);
strings!(OsString, push, ['a] Cow<'a, OsStr>);

macro_rules! boxed {
    ([$($life:lifetime)?] $item:ty) => {
        impl<$($life)?> FromParallelIterator<$item> for Box<str> {
            fn from_par_iter<I: IntoParallelIterator<Item = $item>>(iter: I) -> Box<str> {
                String::from_par_iter(iter).into_boxed_str()
            }
        }
    };
}

boxed!([] char);
boxed!(['a] &'a char);
boxed!(['a] &'a str);
boxed!([] String);
boxed!([] Box<str>);
boxed!(['a] Cow<'a, str>);

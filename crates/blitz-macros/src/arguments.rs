//! Parses the arguments of the attributes.

use crate::tokens::{at, group, is_mark, parse};
use crate::{Error, Kind};
use proc_macro::{Delimiter, Span, TokenStream, TokenTree};

/// The name of each scheduler in an attribute, and its variant of `Scheduler`.
const SCHEDULERS: &[(&str, &str)] = &[("stealing", "Stealing"), ("signal", "Signal")];

/// Tokio's flavors of runtimes, and whether the calling thread is the only worker.
const FLAVORS: &[(&str, bool)] = &[("multi_thread", false), ("current_thread", true)];

/// The arguments that messages list. Tokio's names for them are left out.
const KNOWN: &str =
    "`workers = N`, `scheduler = \"signal\"`, `start_paused = true`, `tokio`, `crate = path`";

/// The arguments, checked, as tokens.
#[derive(Default)]
pub struct Arguments {
    workers: Option<TokenStream>,
    /// Whether the calling thread is to be the only worker.
    current_thread: Option<bool>,
    scheduler: Option<Choice>,
    start_paused: Option<TokenStream>,
    tokio: Option<TokenStream>,
    library: Option<TokenStream>,
}

/// A scheduler.
enum Choice {
    /// The name of a variant, and its place in the attribute.
    Variant(&'static str, Span),
    /// A path to a variant, as it was written.
    Path(TokenStream),
}

impl Arguments {
    pub fn parse(tokens: TokenStream) -> Result<Arguments, Error> {
        let mut arguments = Arguments::default();
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for argument in tokens.split(|token| is_mark(Some(token), ',')) {
            // A trailing comma is allowed.
            if let Some((name, rest)) = argument.split_first() {
                arguments.add(name, rest)?;
            }
        }
        Ok(arguments)
    }

    fn add(&mut self, name: &TokenTree, rest: &[TokenTree]) -> Result<(), Error> {
        let text = name.to_string();
        let given = match text.as_str() {
            "workers" | "worker_threads" => self.workers.is_some(),
            "flavor" => self.current_thread.is_some(),
            "scheduler" => self.scheduler.is_some(),
            "start_paused" => self.start_paused.is_some(),
            "tokio" => self.tokio.is_some(),
            "crate" => self.library.is_some(),
            _ => {
                let message = format!("there is no argument `{text}`; there are {KNOWN}");
                return Err(Error::new(name.span(), message));
            }
        };
        if given {
            let message = match text.as_str() {
                "workers" | "worker_threads" => {
                    "the number of workers is given twice: `worker_threads` is a name of it, too"
                        .to_owned()
                }
                _ => format!("`{text}` is given twice"),
            };
            return Err(Error::new(name.span(), message));
        }
        if text == "tokio" && rest.is_empty() {
            self.tokio = Some(at(name.span(), parse("1")));
            return Ok(());
        }
        let value = match rest.split_first() {
            Some((equals, value)) if is_mark(Some(equals), '=') && !value.is_empty() => value,
            _ => {
                let message = format!("`{text}` needs a value; the arguments are {KNOWN}");
                return Err(Error::new(name.span(), message));
            }
        };
        match text.as_str() {
            "workers" | "worker_threads" => {
                self.workers = Some(number(value, &text, "0 means one per core")?);
            }
            "flavor" => self.current_thread = Some(flavor(value)?),
            "tokio" => self.tokio = Some(number(value, "tokio", "it counts the guest's threads")?),
            "scheduler" => self.scheduler = Some(scheduler(value)?),
            "start_paused" => self.start_paused = Some(truth(value)?),
            _ => self.library = Some(path_or_text(value)?),
        }
        if self.current_thread == Some(true) && self.workers.is_some() {
            let message =
                "a runtime of the current thread has one worker: leave out `flavor` or the workers";
            return Err(Error::new(name.span(), message));
        }
        Ok(())
    }

    /// The path to the library.
    pub fn library(&self) -> TokenStream {
        self.library.clone().unwrap_or_else(|| parse("::blitz"))
    }

    /// An expression for the runtime's builder.
    pub fn builder(&self, kind: Kind) -> TokenStream {
        let mut builder = self.plain_builder(kind);
        if let Some(threads) = &self.tokio {
            builder.extend(parse(","));
            builder.extend(threads.clone());
            let arguments = group(Delimiter::Parenthesis, builder);
            return [self.library(), parse("::__macros::with_guest"), arguments]
                .into_iter()
                .collect();
        }
        builder
    }

    /// Works like `builder`, without a guest.
    fn plain_builder(&self, kind: Kind) -> TokenStream {
        let mut builder = self.library();
        builder.extend(parse("::Builder::new()"));
        let workers = match (&self.workers, kind) {
            _ if self.current_thread == Some(true) => parse(".workers(1).use_current_thread()"),
            (Some(workers), _) => TokenStream::from_iter([
                parse(".workers"),
                group(Delimiter::Parenthesis, workers.clone()),
            ]),
            // 0 means one per core.
            (None, Kind::Main) => parse(".workers_from_env(0)"),
            (None, Kind::Test) => parse(".workers_from_env(1)"),
        };
        builder.extend(workers);
        if let Some(choice) = &self.scheduler {
            let scheduler = match choice {
                Choice::Path(path) => path.clone(),
                Choice::Variant(name, span) => {
                    let variant = at(*span, parse(&format!("::Scheduler::{name}")));
                    [self.library(), variant].into_iter().collect()
                }
            };
            builder.extend([parse(".scheduler"), group(Delimiter::Parenthesis, scheduler)]);
        }
        if let Some(paused) = self.start_paused.clone() {
            builder.extend([parse(".start_paused"), group(Delimiter::Parenthesis, paused)]);
        }
        builder
    }
}

/// Parses a number: any expression, but a literal has to be a number.
fn number(value: &[TokenTree], name: &str, meaning: &str) -> Result<TokenStream, Error> {
    if let [TokenTree::Literal(literal)] = value {
        if !is_whole(&literal.to_string()) {
            let message = format!("`{name}` is a whole number, as in `{name} = 4`; {meaning}");
            return Err(Error::new(literal.span(), message));
        }
    }
    Ok(value.iter().cloned().collect())
}

/// Whether `literal` is one of a `usize`, in any of Rust's notations.
fn is_whole(literal: &str) -> bool {
    let plain = literal.replace('_', "");
    let plain = plain.strip_suffix("usize").unwrap_or(&plain);
    let (digits, radix) = match plain.get(..2) {
        Some("0x") => (&plain[2..], 16),
        Some("0o") => (&plain[2..], 8),
        Some("0b") => (&plain[2..], 2),
        _ => (plain, 10),
    };
    usize::from_str_radix(digits, radix).is_ok()
}

/// Parses a kind of runtime: returns whether the calling thread is its only worker.
fn flavor(value: &[TokenTree]) -> Result<bool, Error> {
    let Some(last) = value.last() else { unreachable!("a value is not empty") };
    let text = last.to_string();
    let known = FLAVORS.iter().find(|(name, _)| text.trim_matches('"') == *name);
    let unknown = || {
        let message = "`flavor` is `\"multi_thread\"` or `\"current_thread\"`";
        Error::new(last.span(), message)
    };
    known.map(|(_, current_thread)| *current_thread).ok_or_else(unknown)
}

/// Parses a truth value: any expression, but a literal has to be `true` or `false`.
fn truth(value: &[TokenTree]) -> Result<TokenStream, Error> {
    if let [TokenTree::Literal(literal)] = value {
        let message = "`start_paused` is `true` or `false`";
        return Err(Error::new(literal.span(), message));
    }
    Ok(value.iter().cloned().collect())
}

/// Parses a scheduler: its name, its variant, or a path that ends in its variant.
fn scheduler(value: &[TokenTree]) -> Result<Choice, Error> {
    let Some(last) = value.last() else { unreachable!("a value is not empty") };
    let known = |named: &str| {
        let entry = SCHEDULERS.iter().find(|(name, variant)| named == *name || named == *variant);
        let unknown = || {
            let names: Vec<String> =
                SCHEDULERS.iter().map(|(name, _)| format!("`\"{name}\"`")).collect();
            let message = format!("there is no scheduler `{named}`, only {}", names.join(", "));
            Error::new(last.span(), message)
        };
        entry.map(|(_, variant)| *variant).ok_or_else(unknown)
    };
    if let [TokenTree::Literal(literal)] = value {
        let text = literal.to_string();
        return Ok(Choice::Variant(known(text.trim_matches('"'))?, literal.span()));
    }
    let variant = known(&last.to_string())?;
    if value.len() == 1 {
        return Ok(Choice::Variant(variant, last.span()));
    }
    Ok(Choice::Path(value.iter().cloned().collect()))
}

/// Parses a path, with or without quotes.
fn path_or_text(value: &[TokenTree]) -> Result<TokenStream, Error> {
    let [TokenTree::Literal(literal)] = value else {
        return Ok(value.iter().cloned().collect());
    };
    let text = literal.to_string();
    let path = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    match path.and_then(|path| path.parse::<TokenStream>().ok()) {
        Some(path) if !path.is_empty() => Ok(at(literal.span(), path)),
        _ => Err(Error::new(
            literal.span(),
            "`crate` is a path, as in `crate = my_framework::blitz`",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::is_whole;

    #[test]
    fn whole_numbers_have_any_notation() {
        for literal in
            ["0", "12", "70_000", "4usize", "4_usize", "0x10", "0xfusize", "0o17", "0b_11"]
        {
            assert!(is_whole(literal), "{literal}");
        }
        for literal in ["\"2\"", "1.5", "2u8", "0x", "'2'", "99999999999999999999"] {
            assert!(!is_whole(literal), "{literal}");
        }
    }
}

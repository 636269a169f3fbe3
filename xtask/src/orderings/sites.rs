//! Finds the orderings and fences of blitz-parts in its source.
//!
//! A site is a fence, or a call with an ordering other than `Relaxed`. Sites are read from the
//! source, so those that no model reaches are found, too. A model names each site that it reaches
//! by the file, line and column that `#[track_caller]` gives for the call. So each call of a
//! function with that attribute is a site. The function has no sites of its own, except for the
//! ordering of a failed exchange, if it chooses that ordering itself.

use crate::source::{Token, after_group, starts_with};
use crate::tree::{File, Tree};
use std::collections::BTreeMap;

/// Where the protocols are.
pub const SOURCES: &str = "crates/blitz-parts/src/";

/// The folder of the checkers' own wrappers, whose orderings are no sites.
const PRIM: &str = "prim";

/// One ordering, or one fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The protocol: a folder of blitz-parts, or a file beside the folders, without `.rs`.
    pub folder: String,
    /// The function, with its type: `Deque::steal`.
    pub function: String,
    /// The call: `top.compare_exchange`, `fence`.
    pub operation: String,
    /// `SeqCst`, `Acquire on failure`.
    pub ordering: String,
    /// As the models name it: `deque/mod.rs:252:21:0`. For an ordering in a function with
    /// `#[track_caller]`, several places with commas between them.
    pub place: String,
}

/// A function whose orderings cannot be told apart.
#[derive(Debug, PartialEq, Eq)]
pub struct Unclear {
    pub path: String,
    /// Counted from 0.
    pub line: usize,
    pub message: String,
}

impl Site {
    /// A name of the site without a line number, so that an edit nearby does not change it.
    pub fn key(&self) -> String {
        format!("{} {} {}", self.function, self.operation, self.ordering)
    }

    /// The file, from the workspace's root.
    pub fn path(&self) -> String {
        let path = self.place.split(':').next().unwrap_or_default();
        format!("{SOURCES}{path}")
    }

    /// The line, counted from 0.
    pub fn line(&self) -> usize {
        let line = self.place.split(':').nth(1).and_then(|line| line.parse().ok());
        line.unwrap_or(1usize).saturating_sub(1)
    }
}

/// Every site of the library, by folder and place.
pub fn find(tree: &Tree) -> Result<Vec<Site>, Vec<Unclear>> {
    let files: Vec<Source<'_>> = tree
        .rust()
        .filter_map(|file| Some((file.path.strip_prefix(SOURCES)?, file)))
        .filter(|(path, _)| folder_of(path) != PRIM)
        .map(|(path, file)| Source::new(path, file))
        .collect();
    let mut helpers = Helpers::of(&files);
    let (mut sites, mut unclear) = (Vec::new(), Vec::new());
    for file in &files {
        file.collect(&mut helpers, &mut sites, &mut unclear);
    }
    sites.extend(helpers.orderings.into_values().flatten().filter(|site| !site.place.is_empty()));
    sites.sort_by(|a, b| a.folder.cmp(&b.folder));
    number(&mut sites);
    if unclear.is_empty() { Ok(sites) } else { Err(unclear) }
}

/// The protocol that the file at `path`, below [`SOURCES`], belongs to.
pub fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or_else(|| path.trim_end_matches(".rs"), |(folder, _)| folder)
}

/// Numbers equal sites of one function: the second gets ` #2`.
fn number(sites: &mut [Site]) {
    let mut seen = BTreeMap::new();
    for site in sites {
        let count = seen.entry((site.folder.clone(), site.key())).or_insert(0);
        *count += 1;
        if *count > 1 {
            site.operation = format!("{} #{count}", site.operation);
        }
    }
}

/// One file, its tokens and functions.
struct Source<'a> {
    path: &'a str,
    file: &'a File,
    tokens: Vec<Token<'a>>,
    functions: Vec<Function>,
    /// First and last token of blocks that only canaries run.
    broken: Vec<(usize, usize)>,
}

/// One function with a body.
struct Function {
    name: String,
    /// With its type.
    title: String,
    /// From `fn` to the end of its body.
    begin: usize,
    body: usize,
    end: usize,
    /// Whether it has `#[track_caller]`.
    is_tracked: bool,
    takes_ordering: bool,
}

/// Functions with `#[track_caller]`.
struct Helpers {
    /// Functions that take an ordering, by folder and name. The value is the ordering of a failed
    /// exchange inside, if the function chooses that one itself.
    orderings: BTreeMap<(String, String), Option<Site>>,
    /// The names of functions that are fences.
    fences: Vec<String>,
}

impl Helpers {
    fn of(files: &[Source<'_>]) -> Helpers {
        let mut helpers = Helpers { orderings: BTreeMap::new(), fences: vec!["fence".to_owned()] };
        for file in files {
            for function in file.functions.iter().filter(|function| function.is_tracked) {
                let name = function.name.clone();
                if function.takes_ordering {
                    let key = (folder_of(file.path).to_owned(), name);
                    helpers.orderings.insert(key, file.failure_in(function));
                } else {
                    helpers.fences.push(name);
                }
            }
        }
        helpers
    }
}

impl<'a> Source<'a> {
    fn new(path: &'a str, file: &'a File) -> Source<'a> {
        let tokens = file.tokens();
        let functions = functions(&tokens);
        let broken = broken_blocks(&tokens);
        Source { path, file, tokens, functions, broken }
    }

    /// The innermost function whose body holds the token at `at`.
    fn function_at(&self, at: usize) -> Option<&Function> {
        let around = self.functions.iter().filter(|f| f.body < at && at < f.end);
        around.max_by_key(|function| function.begin)
    }

    /// The ordering of a failed exchange in a function that takes the success ordering as an
    /// argument.
    fn failure_in(&self, function: &Function) -> Option<Site> {
        let calls = (function.body..function.end).filter(|&at| self.is_call(at));
        let mut exchanges = calls.filter(|&at| self.tokens[at].text.starts_with(EXCHANGE));
        exchanges.find_map(|at| {
            let ordering = self.orderings(at, function).last().copied().flatten()?;
            Some(Site {
                folder: folder_of(self.path).to_owned(),
                function: function.title.clone(),
                operation: self.operation(at, at),
                ordering: format!("{ordering}{ON_FAILURE}"),
                place: String::new(),
            })
        })
    }

    fn is_call(&self, at: usize) -> bool {
        starts_with(&self.tokens, at + 1, &["("]) && (at == 0 || self.tokens[at - 1].text != "fn")
    }

    fn collect(&self, helpers: &mut Helpers, sites: &mut Vec<Site>, unclear: &mut Vec<Unclear>) {
        for function in &self.functions {
            let line = self.tokens[function.begin].line;
            if function.takes_ordering && !function.is_tracked && !self.file.is_test(line) {
                let message = format!(
                    "`{}` takes an ordering: add `#[cfg_attr(blitz_loom, track_caller)]`, so that \
                     `cargo xtask orderings` can tell its callers apart",
                    function.title
                );
                unclear.push(Unclear { path: self.file.path.clone(), line, message });
            }
        }
        for at in (0..self.tokens.len()).filter(|&at| self.is_call(at)) {
            let token = self.tokens[at];
            let Some(function) = self.function_at(at) else { continue };
            let is_broken = self.broken.iter().any(|(open, end)| (*open..*end).contains(&at));
            if function.is_tracked || is_broken || self.file.is_test(token.line) {
                continue;
            }
            let folder = folder_of(self.path).to_owned();
            let place = |first: usize| {
                let token = self.tokens[first];
                format!("{}:{}:{}", self.path, token.line + 1, token.column + 1)
            };
            for (first, slot, ordering) in self.sites_of(at, function, helpers) {
                sites.push(Site {
                    folder: folder.clone(),
                    function: function.title.clone(),
                    operation: self.operation(at, first),
                    ordering,
                    place: format!("{}:{slot}", place(first)),
                });
            }
            let helper = helpers.orderings.get_mut(&(folder, token.text.to_owned()));
            if let Some(shared) = helper.and_then(Option::as_mut) {
                if !self.orderings(at, function).is_empty() {
                    let comma = if shared.place.is_empty() { "" } else { "," };
                    shared.place += &format!("{comma}{}:1", place(at));
                }
            }
        }
    }

    /// The sites of the call at `at`: first token, slot, ordering.
    fn sites_of(
        &self,
        at: usize,
        function: &Function,
        helpers: &Helpers,
    ) -> Vec<(usize, u32, String)> {
        let name = self.tokens[at].text;
        let is_method = at > 0 && self.tokens[at - 1].text == ".";
        let orderings = self.orderings(at, function);
        if !is_method && helpers.fences.iter().any(|fence| fence == name) {
            let ordering = orderings.first().copied().flatten().unwrap_or("fence");
            return vec![(self.path_begin(at), 0, ordering.to_owned())];
        }
        if !is_method || orderings.is_empty() {
            return Vec::new();
        }
        let key = (folder_of(self.path).to_owned(), name.to_owned());
        let is_helper = helpers.orderings.contains_key(&key);
        let failure = orderings.get(1).copied().flatten().filter(|_| !is_helper);
        let first = orderings[0].map(|ordering| (at, 0, ordering.to_owned()));
        let second = failure.map(|ordering| (at, 1, format!("{ordering}{ON_FAILURE}")));
        first.into_iter().chain(second).collect()
    }

    /// The orderings among the arguments of the call at `at`; `None` for one that is `Relaxed`.
    fn orderings(&self, at: usize, function: &Function) -> Vec<Option<&'static str>> {
        let end = after_group(&self.tokens, at + 1) - 1;
        let arguments = arguments(&self.tokens[at + 2..end.max(at + 2)]);
        let found = arguments.iter().filter_map(|argument| match argument.as_slice() {
            [name] if rank(name).is_none() => self.bound(name, at, function),
            words => strongest(words),
        });
        found.map(|rank| NAMES[rank]).collect()
    }

    /// The ordering that the variable `name` has before the token at `at`.
    fn bound(&self, name: &str, at: usize, function: &Function) -> Option<usize> {
        let mut back = (function.body..at).rev();
        let begin = back.find(|&i| starts_with(&self.tokens, i, &["let", name, "="]))?;
        let end = (begin..at).find(|&i| self.tokens[i].text == ";")?;
        strongest(&arguments(&self.tokens[begin + 3..end]).concat())
    }

    /// The first token of the path, such as `prim::fence`, that ends at `at`.
    fn path_begin(&self, mut at: usize) -> usize {
        while at >= 3 && starts_with(&self.tokens, at - 2, &[":", ":"]) {
            at -= 3;
        }
        at
    }

    /// The text of the call at `at`: the field and the method, or the path.
    fn operation(&self, at: usize, first: usize) -> String {
        let name = self.tokens[at].text;
        if first < at {
            return self.tokens[first..=at].iter().map(|token| token.text).collect();
        }
        let receiver = at.checked_sub(2).map(|before| self.tokens[before].text);
        let is_name = |text: &&str| text.starts_with(|c: char| c.is_alphabetic() || c == '_');
        match receiver.filter(is_name) {
            Some(receiver) if self.tokens[at - 1].text == "." => format!("{receiver}.{name}"),
            _ => name.to_owned(),
        }
    }
}

const EXCHANGE: &str = "compare_exchange";
const ON_FAILURE: &str = " on failure";

/// The names of orderings, from weak to strong.
const WORDS: [&str; 5] = ["Relaxed", "Release", "Acquire", "AcqRel", "SeqCst"];
const NAMES: [Option<&str>; 5] =
    [None, Some("Release"), Some("Acquire"), Some("AcqRel"), Some("SeqCst")];

fn rank(word: &str) -> Option<usize> {
    WORDS.iter().position(|name| *name == word)
}

/// The strongest ordering that `words` name.
fn strongest(words: &[&str]) -> Option<usize> {
    words.iter().filter_map(|word| rank(word)).max()
}

/// The words of each argument, without inner parentheses, which belong to other calls.
fn arguments<'a>(tokens: &[Token<'a>]) -> Vec<Vec<&'a str>> {
    let mut found = vec![Vec::new()];
    let (mut at, mut depth) = (0, 0usize);
    while at < tokens.len() {
        let text = tokens[at].text;
        match text {
            "(" => {
                at = after_group(tokens, at);
                continue;
            }
            "[" | "{" => depth += 1,
            "]" | "}" => depth = depth.saturating_sub(1),
            "," if depth == 0 => {
                found.push(Vec::new());
                at += 1;
                continue;
            }
            _ => {}
        }
        if let Some(last) = found.last_mut() {
            last.push(text);
        }
        at += 1;
    }
    found
}

/// Every function with a body.
fn functions(tokens: &[Token<'_>]) -> Vec<Function> {
    let blocks = blocks(tokens);
    let mut found = Vec::new();
    for begin in (0..tokens.len()).filter(|&at| tokens[at].text == "fn") {
        let Some(name) = tokens.get(begin + 1).filter(|token| token.text != "(") else { continue };
        let Some(body) = body_of(tokens, begin) else { continue };
        let around = blocks.iter().filter(|(_, open, end)| *open < begin && begin < *end);
        let title = match around.max_by_key(|(_, open, _)| *open) {
            Some((of, ..)) => format!("{of}::{}", name.text),
            None => name.text.to_owned(),
        };
        let attributes = tokens[..begin].iter().rev();
        let mut attributes = attributes.take_while(|t| !matches!(t.text, "{" | "}" | ";"));
        found.push(Function {
            name: name.text.to_owned(),
            title,
            begin,
            body,
            end: after_group(tokens, body),
            is_tracked: attributes.any(|token| token.text == "track_caller"),
            takes_ordering: tokens[begin..body].iter().any(|token| token.text == "Ordering"),
        });
    }
    found
}

/// The index of the brace that opens the body of the item at `at`.
fn body_of(tokens: &[Token<'_>], mut at: usize) -> Option<usize> {
    loop {
        match tokens.get(at)?.text {
            "{" => return Some(at),
            ";" => return None,
            "(" | "[" => at = after_group(tokens, at),
            _ => at += 1,
        }
    }
}

/// The blocks of `if broken(…) { … }`: no shipped build has them.
fn broken_blocks(tokens: &[Token<'_>]) -> Vec<(usize, usize)> {
    let begins = (0..tokens.len()).filter(|&at| starts_with(tokens, at, &["if", "broken", "("]));
    let blocks = begins.map(|at| after_group(tokens, at + 2));
    let blocks = blocks.filter(|&open| starts_with(tokens, open, &["{"]));
    blocks.map(|open| (open, after_group(tokens, open))).collect()
}

/// Every `impl` and `trait`: the type's name, where it opens, where it ends.
fn blocks<'a>(tokens: &[Token<'a>]) -> Vec<(&'a str, usize, usize)> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let before = at.checked_sub(1).map_or(";", |before| tokens[before].text);
        let is_item = matches!(before, ";" | "}" | "{" | "]" | "unsafe" | "pub" | ")");
        if !is_item || !matches!(tokens[at].text, "impl" | "trait") {
            continue;
        }
        let Some(open) = body_of(tokens, at) else { continue };
        if let Some(name) = type_name(&tokens[at + 1..open]) {
            found.push((name, open, after_group(tokens, open)));
        }
    }
    found
}

/// The name of the type in the head of an `impl`: the last word of the path after `for`, if there
/// is one.
fn type_name<'a>(head: &[Token<'a>]) -> Option<&'a str> {
    let (mut depth, mut name, mut ended) = (0usize, None, false);
    for token in head {
        match token.text {
            "<" => depth += 1,
            ">" => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            "for" => (name, ended) = (None, false),
            "where" => break,
            // Bounds of a trait.
            ":" if name.is_some() && !ended => {}
            text if text.starts_with(|c: char| c.is_alphabetic() || c == '_') => name = Some(text),
            _ => ended = true,
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::{Unclear, find};
    use crate::tree::Tree;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let owned =
            files.iter().map(|(path, text)| (format!("{}{path}", super::SOURCES), (*text).into()));
        Tree::of(owned.collect())
    }

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let sites = find(&tree(files)).expect("every ordering is clear");
        sites
            .iter()
            .map(|site| format!("{}: {} @ {}", site.folder, site.key(), site.place))
            .collect()
    }

    #[test]
    fn loads_stores_and_exchanges_are_sites_unless_they_are_relaxed() {
        let code = "impl<T: Send> Deque<T> {\n\
                    fn steal(&self) {\n\
                    let top = self.top.load(Acquire);\n\
                    self.open.end.load(Relaxed);\n\
                    if self.top.compare_exchange(top, next(top), SeqCst, Acquire).is_err() {}\n\
                    self.top.compare_exchange(top, top + 1, Relaxed, Relaxed);\n\
                    unsafe { (*this).word.swap(SET, AcqRel) };\n\
                    }\n}";
        let expected = [
            "deque: Deque::steal top.load Acquire @ deque/mod.rs:3:20:0",
            "deque: Deque::steal top.compare_exchange SeqCst @ deque/mod.rs:5:13:0",
            "deque: Deque::steal top.compare_exchange Acquire on failure @ deque/mod.rs:5:13:1",
            "deque: Deque::steal word.swap AcqRel @ deque/mod.rs:7:23:0",
        ];
        assert_eq!(found(&[("deque/mod.rs", code)]), expected);
    }

    #[test]
    fn an_ordering_may_be_a_variable() {
        let code = "impl fmt::Debug for Lock { fn f(&self) {\n\
                    let order = if broken(Step::X) { Relaxed } else { Release };\n\
                    self.taken.store(false, order);\n\
                    self.state.load(if a { Relaxed } else { Acquire }); } }";
        let expected = [
            "wheel: Lock::f taken.store Release @ wheel/lock.rs:3:12:0",
            "wheel: Lock::f state.load Acquire @ wheel/lock.rs:4:12:0",
        ];
        assert_eq!(found(&[("wheel/lock.rs", code)]), expected);
    }

    #[test]
    fn fences_are_sites_where_they_are_called() {
        let barrier = "#[inline]\n#[cfg_attr(blitz_loom, track_caller)]\npub fn light() { prim::fence(prim::SeqCst); }";
        let code = "fn f() {\nfence(SeqCst); // O1\nif x || barrier::light() {}\nlight.light();\n}";
        let expected = [
            "alarm: f fence SeqCst @ alarm/mod.rs:2:1:0",
            "alarm: f barrier::light fence @ alarm/mod.rs:3:9:0",
        ];
        assert_eq!(found(&[("barrier/mod.rs", barrier), ("alarm/mod.rs", code)]), expected);
    }

    #[test]
    fn a_function_with_an_ordering_leaves_the_site_to_its_callers() {
        let code = "impl State {\n#[cfg_attr(blitz_loom, track_caller)]\nfn exchange<D>(&self, order: Ordering, step: impl Fn() -> D) {\n\
                    self.word.compare_exchange(a, b, order, Acquire);\n}\n\
                    fn wake(&self) {\nself.exchange(AcqRel, |word| match word { _ => 1 })\n}\n}";
        let expected = [
            "task: State::wake self.exchange AcqRel @ task/state.rs:7:6:0",
            "task: State::exchange word.compare_exchange Acquire on failure @ task/state.rs:7:6:1",
        ];
        assert_eq!(found(&[("task/state.rs", code)]), expected);
        let code = code.replace("#[cfg_attr(blitz_loom, track_caller)]\n", "");
        let unclear = find(&tree(&[("task/state.rs", &code)])).expect_err("it is not marked");
        assert!(matches!(&unclear[..], [Unclear { line: 1, .. }]), "{unclear:?}");
    }

    #[test]
    fn equal_sites_of_a_function_are_numbered() {
        let code = "fn f() { a.load(Acquire);\na.load(Acquire); }";
        let keys = found(&[("slots.rs", code)]);
        assert!(keys[1].starts_with("slots: f a.load #2 Acquire"), "{keys:?}");
    }

    #[test]
    fn tests_canaries_and_the_checkers_wrappers_have_no_sites() {
        let code = "#[cfg(test)]\nmod tests {\nfn f() { a.load(Acquire); }\n}\n\
                    fn g() { if broken(Step::X) { a.load(Acquire); } }";
        assert!(
            found(&[("ring/mod.rs", code), ("prim.rs", "fn f() { a.load(Acquire); }")]).is_empty()
        );
    }
}

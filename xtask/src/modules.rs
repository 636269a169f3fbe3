//! Finds which modules of a crate name which others, from the paths in its files. The rule about
//! the direction of calls uses the result, and so do its drawings.
//!
//! A module here is a file; modules inside a file belong to it. A path counts for the module
//! that defines what the path names, not for the one that re-exports it.

use crate::source::{Token, after_group, starts_with};
use crate::tree::{File, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// The modules of one crate and which of them names which.
pub struct Graph {
    /// Paths without the crate's name, for example `task::local`; the root is the empty path.
    pub modules: BTreeSet<String>,
    pub edges: Vec<Edge>,
}

/// One place where a module names another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    pub from: String,
    pub to: String,
    pub file: String,
    /// Counted from 0.
    pub line: usize,
    /// Whether the place is compiled for tests only.
    pub test: bool,
}

/// Whether module `inner` is `outer` or lies inside it.
pub fn is_within(inner: &str, outer: &str) -> bool {
    outer.is_empty()
        || inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Joins the path of a module with the name of one inside it.
fn join(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

/// The path of the module around `module`, which must not be the root.
fn parent(module: &str) -> &str {
    module.rsplit_once("::").map_or("", |(parent, _)| parent)
}

impl Graph {
    /// Reads the files below `sources`, a folder such as `crates/blitz-core/src`.
    pub fn of(tree: &Tree, sources: &str) -> Graph {
        let mut files = BTreeMap::new();
        let mut scopes = BTreeMap::new();
        for file in tree.rust() {
            if let Some(module) = module_of(&file.path, sources) {
                Reader::new(file, &module, &mut scopes).run();
                files.insert(module, file);
            }
        }
        let modules: BTreeSet<String> = files.keys().cloned().collect();
        let crate_ = Crate { scopes, modules };
        let mut edges = BTreeSet::new();
        for (name, scope) in &crate_.scopes {
            let from = crate_.file_module(name);
            for mention in &scope.mentions {
                let Some(to) = crate_.meant_by(name, scope, mention) else { continue };
                if to != from {
                    let file = files[&from];
                    let (line, test) = (mention.line, file.is_test(mention.line));
                    edges.insert(Edge {
                        from: from.clone(),
                        to,
                        file: file.path.clone(),
                        line,
                        test,
                    });
                }
            }
        }
        Graph { modules: crate_.modules, edges: edges.into_iter().collect() }
    }

    /// Returns one cycle of modules for each group of modules that depend on each other. A node is
    /// a module of one folder with everything inside it, or the folder's own `mod.rs`. Edges for
    /// which `counts` returns false are ignored.
    pub fn cycles(&self, counts: impl Fn(&Edge) -> bool) -> Vec<Vec<&Edge>> {
        let edges: Vec<&Edge> = self.edges.iter().filter(|edge| counts(edge)).collect();
        let folders: BTreeSet<&str> =
            self.modules.iter().filter(|m| !m.is_empty()).map(|m| parent(m)).collect();
        let mut found = Vec::new();
        for folder in folders {
            let mut arcs: BTreeMap<&str, BTreeMap<&str, &Edge>> = BTreeMap::new();
            for &edge in &edges {
                // The root may name every module.
                let ends = [&edge.from, &edge.to].map(|end| inside(end, folder));
                if let [Some(from), Some(to)] = ends {
                    if from != to && !from.is_empty() && !to.is_empty() {
                        arcs.entry(from).or_default().entry(to).or_insert(edge);
                    }
                }
            }
            let mut knotted = BTreeSet::new();
            for &start in arcs.keys() {
                if !knotted.contains(start) {
                    if let Some(cycle) = shortest_cycle(&arcs, start) {
                        knotted.extend(cycle.iter().filter_map(|edge| inside(&edge.from, folder)));
                        found.push(cycle);
                    }
                }
            }
        }
        found
    }
}

/// The module directly inside `folder` that contains `module`; `folder` itself for its `mod.rs`.
fn inside<'m>(module: &'m str, folder: &str) -> Option<&'m str> {
    if !is_within(module, folder) {
        return None;
    }
    let skip = if folder.is_empty() { 0 } else { folder.len() + 2 };
    let rest = module.get(skip..).unwrap_or("");
    Some(match rest.find("::") {
        Some(end) => &module[..skip + end],
        None => module,
    })
}

/// The shortest path from `start` back to `start`.
fn shortest_cycle<'e>(
    arcs: &BTreeMap<&'e str, BTreeMap<&'e str, &'e Edge>>,
    start: &'e str,
) -> Option<Vec<&'e Edge>> {
    let mut came_by: BTreeMap<&str, (&str, &Edge)> = BTreeMap::new();
    let mut row = vec![start];
    while !row.is_empty() && !came_by.contains_key(start) {
        let mut next = Vec::new();
        for node in row {
            for (&to, &edge) in arcs.get(node).into_iter().flatten() {
                if !came_by.contains_key(to) {
                    came_by.insert(to, (node, edge));
                    next.push(to);
                }
            }
        }
        row = next;
    }
    let mut cycle = Vec::new();
    let mut at = start;
    loop {
        let (before, edge) = came_by.get(at)?;
        cycle.push(*edge);
        at = before;
        if at == start {
            cycle.reverse();
            return Some(cycle);
        }
    }
}

/// The module whose text is the file at `path`, if the file is below `sources`.
fn module_of(path: &str, sources: &str) -> Option<String> {
    let inner = path.strip_prefix(sources)?.strip_prefix('/')?.strip_suffix(".rs")?;
    let inner = inner.strip_suffix("/mod").unwrap_or(inner);
    Some(if inner == "lib" { String::new() } else { inner.replace('/', "::") })
}

/// The names that a path of one module can begin with, and the module's paths.
#[derive(Default)]
struct Scope {
    /// The paths of names that a `use` has imported.
    imports: BTreeMap<String, Vec<String>>,
    mentions: Vec<Mention>,
    /// Words outside `use` items that may be imported names.
    words: BTreeSet<String>,
    /// The macros that the module defines by `macro_rules`.
    macros: BTreeSet<String>,
}

/// A path as it is written.
struct Mention {
    segments: Vec<String>,
    line: usize,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Imported by `use`, for the module itself.
    Import,
    /// Imported by `pub use` in any of its forms.
    Export,
    /// Everything in a module is imported.
    Glob,
    /// Named in the code itself.
    Inline,
    /// Called as a macro.
    Macro,
}

struct Crate {
    /// The scope of each module, modules inside files included.
    scopes: BTreeMap<String, Scope>,
    /// The modules that are files.
    modules: BTreeSet<String>,
}

/// The target of a path.
enum Target {
    Module(String),
    /// Something that the module defines.
    Item(String),
}

impl Crate {
    /// The module whose file has the text of `module`.
    fn file_module(&self, module: &str) -> String {
        let mut at = module;
        while !self.modules.contains(at) && !at.is_empty() {
            at = parent(at);
        }
        at.to_owned()
    }

    /// Returns the module on which `module` depends because `mention` is in its `scope`.
    fn meant_by(&self, module: &str, scope: &Scope, mention: &Mention) -> Option<String> {
        let target = match self.resolve(module, &mention.segments, 0) {
            // `macro_export` puts a macro into the root, and `macro_use` into every later module,
            // wherever it is defined.
            Some(Target::Item(root)) if mention.kind == Kind::Macro && root.is_empty() => {
                self.definer(module, mention.segments.last()?)?
            }
            None if mention.kind == Kind::Macro => {
                self.definer(module, mention.segments.last()?)?
            }
            found => found?,
        };
        let counts = match (mention.kind, &target) {
            // Importing a module does not count: the paths that begin with it count.
            (Kind::Import | Kind::Export, Target::Module(_)) => false,
            // A `mod.rs` that re-exports its own submodules does not depend on them.
            (Kind::Export, Target::Item(inner)) => {
                let name = mention.segments.last()?;
                !is_within(inner, module) || scope.words.contains(name)
            }
            _ => true,
        };
        let (Target::Module(to) | Target::Item(to)) = target;
        counts.then(|| self.file_module(&to))
    }

    /// The module of this crate that defines macro `name`; `module` itself if that defines such a
    /// macro.
    fn definer(&self, module: &str, name: &str) -> Option<Target> {
        let defines = |scope: &Scope| scope.macros.contains(name);
        let own = self.scopes.get_key_value(module).filter(|(_, scope)| defines(scope));
        let found = own.or_else(|| self.scopes.iter().find(|(_, scope)| defines(scope)));
        found.map(|(definer, _)| Target::Item(definer.clone()))
    }

    /// Resolves `segments` in `module`; `None` if they lead to another crate.
    fn resolve(&self, module: &str, segments: &[String], depth: usize) -> Option<Target> {
        const DEPTH_MAX: usize = 16;
        let mut at = module.to_owned();
        for (index, segment) in segments.iter().enumerate() {
            match segment.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => at = parent(&at).to_owned(),
                name => {
                    let child = join(&at, name);
                    let scope = self.scopes.get(&at);
                    let import = scope.and_then(|scope| scope.imports.get(name));
                    let rest = &segments[index + 1..];
                    // A module and a function may have the same name. A path that ends here means
                    // the function.
                    let is_module =
                        self.scopes.contains_key(&child) && (import.is_none() || !rest.is_empty());
                    if is_module {
                        at = child;
                    } else if let Some(import) = import.filter(|_| depth < DEPTH_MAX) {
                        let whole: Vec<String> = import.iter().chain(rest).cloned().collect();
                        return self.resolve(&at, &whole, depth + 1);
                    } else if index == 0 {
                        return None;
                    } else {
                        return Some(Target::Item(at));
                    }
                }
            }
        }
        Some(Target::Module(at))
    }
}

/// Reads one file into the scopes of its modules.
struct Reader<'a> {
    tokens: Vec<Token<'a>>,
    scopes: &'a mut BTreeMap<String, Scope>,
    /// The module that the reader is in.
    module: String,
}

impl<'a> Reader<'a> {
    fn new(file: &'a File, module: &str, scopes: &'a mut BTreeMap<String, Scope>) -> Reader<'a> {
        Reader { tokens: file.tokens(), scopes, module: module.to_owned() }
    }

    fn run(&mut self) {
        self.read(0, self.tokens.len());
    }

    fn scope(&mut self) -> &mut Scope {
        self.scopes.entry(self.module.clone()).or_default()
    }

    fn text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    /// Reads the tokens from `at` to `end`, all of which are in one module.
    fn read(&mut self, mut at: usize, end: usize) {
        self.scope();
        while at < end {
            at = match self.text(at) {
                "use" if !matches!(self.text(at + 1), "<" | "") => self.read_use(at),
                "mod" if self.text(at + 2) == "{" => {
                    let after = after_group(&self.tokens, at + 2);
                    let inner = join(&self.module, self.text(at + 1));
                    let outer = std::mem::replace(&mut self.module, inner);
                    self.read(at + 3, after);
                    self.module = outer;
                    after
                }
                "mod" => at + 2,
                text if is_name(text) => self.read_path(at),
                _ => at + 1,
            };
        }
    }

    /// Reads a path outside `use`, or a single word; returns where it ends.
    fn read_path(&mut self, at: usize) -> usize {
        let goes_on = at >= 2 && starts_with(&self.tokens, at - 2, &[":", ":"]);
        let is_visibility = at >= 2 && starts_with(&self.tokens, at - 2, &["(", "in"]);
        let mut segments = vec![self.text(at).to_owned()];
        let mut end = at + 1;
        while starts_with(&self.tokens, end, &[":", ":"]) && is_name(self.text(end + 2)) {
            segments.push(self.text(end + 2).to_owned());
            end += 3;
        }
        // Declarations, fields and methods are not imported names.
        let is_new = matches!(at.checked_sub(1).map_or("", |before| self.text(before)), "fn" | ".")
            || self.text(end) == ":" && self.text(end + 1) != ":";
        let kind = if self.text(end) == "!" { Kind::Macro } else { Kind::Inline };
        let line = self.tokens[at].line;
        let defined = (self.text(at) == "macro_rules").then(|| self.text(at + 2));
        let scope = self.scope();
        scope.macros.extend(defined.map(str::to_owned));
        if !is_new && !goes_on {
            scope.words.insert(segments[0].clone());
        }
        let is_path = segments.len() > 1 || kind == Kind::Macro;
        if is_path && !goes_on && !is_visibility {
            scope.mentions.push(Mention { segments, line, kind });
        }
        end
    }

    /// Reads the `use` item at `at`; returns where it ends.
    fn read_use(&mut self, at: usize) -> usize {
        let is_export = at > 0 && matches!(self.text(at - 1), "pub" | ")");
        let kind = if is_export { Kind::Export } else { Kind::Import };
        // A path that begins with `::` leads to another crate.
        if self.text(at + 1) == ":" {
            return at + 1;
        }
        self.read_tree(at + 1, &[], kind)
    }

    /// Reads one tree of a `use` item below `prefix`; returns the index of the mark after it.
    fn read_tree(&mut self, mut at: usize, prefix: &[String], kind: Kind) -> usize {
        let mut segments = prefix.to_vec();
        loop {
            match self.text(at) {
                "{" => {
                    let end = after_group(&self.tokens, at);
                    at += 1;
                    while at < end - 1 {
                        at = self.read_tree(at, &segments, kind);
                        at += usize::from(self.text(at) == ",");
                    }
                    return end;
                }
                "*" => {
                    let line = self.tokens[at].line;
                    self.scope().mentions.push(Mention { segments, line, kind: Kind::Glob });
                    return at + 1;
                }
                ":" => at += 1,
                name if is_name(name) => {
                    if name != "self" || segments.is_empty() {
                        segments.push(name.to_owned());
                    }
                    at += 1;
                    if self.text(at) != ":" {
                        let line = self.tokens[at - 1].line;
                        let mut known_as = segments.last().cloned().unwrap_or_default();
                        if self.text(at) == "as" {
                            self.text(at + 1).clone_into(&mut known_as);
                            at += 2;
                        }
                        let scope = self.scope();
                        // `use a;` only gives a path to a macro that this module defines.
                        if segments.len() > 1 {
                            scope.imports.insert(known_as, segments.clone());
                            scope.mentions.push(Mention { segments, line, kind });
                        }
                        return at;
                    }
                }
                _ => return at + 1,
            }
        }
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::{Graph, inside, is_within};
    use crate::tree::Tree;

    fn graph(files: &[(&str, &str)]) -> Graph {
        let files = files.iter().map(|(path, text)| (format!("c/src/{path}"), (*text).into()));
        Graph::of(&Tree::of(files.collect()), "c/src")
    }

    /// The edges of a graph, each as `from -> to`, without those of the root.
    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let graph = graph(files);
        let mut found: Vec<String> = graph
            .edges
            .iter()
            .filter(|edge| !edge.from.is_empty() && !edge.test)
            .map(|edge| format!("{} -> {}", edge.from, edge.to))
            .collect();
        found.dedup();
        found
    }

    const A: (&str, &str) = ("a.rs", "pub fn f() {}");
    const B: (&str, &str) = ("b/mod.rs", "mod c;\npub struct B;");
    const C: (&str, &str) = ("b/c.rs", "pub struct C;");

    #[test]
    fn modules_within_modules() {
        assert!(is_within("a::b", "a") && is_within("a", "a") && is_within("a", ""));
        assert!(!is_within("ab", "a") && !is_within("a", "a::b"));
        assert_eq!(inside("a::b::c", "a"), Some("a::b"));
        assert_eq!(inside("a", "a"), Some("a"));
        assert_eq!(inside("b", "a"), None);
        assert_eq!(inside("a::b", ""), Some("a"));
    }

    #[test]
    fn paths_lead_to_the_module_that_defines_the_item() {
        let d = "use crate::a::f;\nuse crate::b::{B, c::{self, C as D}};\nfn g() { c::h(); }";
        assert_eq!(edges(&[A, B, C, ("d.rs", d)]), ["d -> a", "d -> b", "d -> b::c"]);
        let inline = "fn g(x: crate::b::B) { crate::a::f::<u8>(); Vec::<super::b::c::C>::new(); }";
        assert_eq!(edges(&[A, B, C, ("d.rs", inline)]), ["d -> a", "d -> b", "d -> b::c"]);
        let relative = "mod c;\nfn g() { c::h(); self::c::h(); super::a::f(); }";
        assert_eq!(edges(&[A, ("b/mod.rs", relative), C]), ["b -> a", "b -> b::c"]);
    }

    #[test]
    fn other_crates_and_visibilities_are_no_paths_of_ours() {
        let d = "use std::a::f;\nuse ::a::f;\npub(in crate::b) fn g() { std::a::x(); x.a::<u8>(); }\n\
                 // crate::a\nconst S: &str = \"crate::a\"; let y: ::a::B; impl X + use<'a>;";
        assert_eq!(edges(&[A, B, C, ("d.rs", d)]), Vec::<String>::new());
    }

    #[test]
    fn an_import_of_a_module_counts_where_it_is_used() {
        let unused = "use crate::b;";
        assert_eq!(edges(&[B, C, ("d.rs", unused)]), Vec::<String>::new());
        let used = "use crate::b;\nfn g() { b::c::h(); }";
        assert_eq!(edges(&[B, C, ("d.rs", used)]), ["d -> b::c"]);
    }

    #[test]
    fn re_exports_are_followed() {
        let b = ("b/mod.rs", "mod c;\npub(crate) use c::C;\npub use crate::a::f as g;");
        let d = ("d.rs", "use crate::b::{C, g};\nfn h() { crate::b::C::new(); crate::E; }");
        let root = ("lib.rs", "mod a;\nmod b;\nmod d;\nmod e;\npub use e::E;");
        let found = edges(&[A, b, C, d, root, ("e.rs", "pub struct E;")]);
        assert_eq!(found, ["b -> a", "d -> a", "d -> b::c", "d -> e"]);
    }

    #[test]
    fn a_module_that_re_exports_its_submodules_may_also_use_them() {
        let b = ("b/mod.rs", "mod c;\npub use c::C;\nfn f(c: C) {}");
        assert_eq!(edges(&[b, C]), ["b -> b::c"]);
        let other_names = ("b/mod.rs", "mod c;\npub use c::f;\nfn f(f: u8) { x.f(); X::f(); }");
        assert_eq!(edges(&[other_names, C]), Vec::<String>::new());
        let same_name = ("b/mod.rs", "mod c;\npub use c::c;");
        assert_eq!(edges(&[same_name, C]), Vec::<String>::new());
        assert_eq!(edges(&[same_name, C, ("d.rs", "use crate::b::c;")]), ["d -> b::c"]);
    }

    #[test]
    fn modules_inside_of_files_belong_to_the_file() {
        let d =
            "mod inner {\n use super::X;\n use super::super::a::f;\n pub fn g() {}\n}\nstruct X;";
        let e = "fn h() { crate::d::inner::g(); }";
        assert_eq!(edges(&[A, ("d.rs", d), ("e.rs", e)]), ["d -> a", "e -> d"]);
        let tests = "#[cfg(test)]\nmod tests {\n use crate::a::f;\n}";
        assert_eq!(edges(&[A, ("d.rs", tests)]), Vec::<String>::new());
    }

    #[test]
    fn macros_are_paths_too() {
        let d =
            "macro_rules! m { () => { $crate::a::f(); $crate::exported!(); } }\npub(crate) use m;";
        let e = "use crate::d::m;\nm!();";
        assert_eq!(edges(&[A, ("d.rs", d), ("e.rs", e)]), ["d -> a", "e -> d"]);
    }

    #[test]
    fn a_macro_counts_for_the_module_that_defines_it() {
        let d = ("d.rs", "#[macro_export]\nmacro_rules! m { () => { n!() } }\nfn f() { m!(); }");
        let by_path = ("e.rs", "fn f() { crate::m!(); vec![]; matches!(1, 1); }");
        assert_eq!(edges(&[d, by_path]), ["e -> d"]);
        let by_scope = ("e.rs", "fn f() { m!(); }\nmod inner { fn g() { m!(); } }");
        assert_eq!(edges(&[d, by_scope]), ["e -> d"]);
        let own = ("e.rs", "macro_rules! m { () => {} }\nfn f() { m!(); }");
        assert_eq!(edges(&[d, own]), Vec::<String>::new());
        let imported = ("e.rs", "macro_rules! m { () => {} }\npub(crate) use m;");
        assert_eq!(edges(&[d, imported, ("g.rs", "use crate::e::m;\nm!();")]), ["g -> e"]);
    }

    #[test]
    fn cycles_are_found_in_each_folder() {
        let circle = |files: &[(&str, &str)]| -> Vec<String> {
            let graph = graph(files);
            let cycles = graph.cycles(|edge| !edge.test);
            let steps = cycles.iter().map(|cycle| {
                let steps: Vec<_> = cycle.iter().map(|e| format!("{}>{}", e.from, e.to)).collect();
                steps.join(" ")
            });
            steps.collect()
        };
        let (a, b) = (("a.rs", "use crate::b::c::C;"), ("b/mod.rs", "mod c;\nuse crate::a::f;"));
        assert_eq!(circle(&[a, b, C]), ["a>b::c b>a"]);
        let b = ("b/mod.rs", "mod c;\nuse c::C;\nstruct B;");
        assert_eq!(circle(&[b, ("b/c.rs", "use super::B;\nstruct C;")]), ["b>b::c b::c>b"]);
        assert_eq!(circle(&[b, C]), Vec::<String>::new());
    }
}

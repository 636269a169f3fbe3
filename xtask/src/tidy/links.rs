//! Checks links between documents of this repository, including links to headings.

use super::Report;
use crate::tree::{File, Tree, root};

pub fn check(tree: &Tree, report: &mut Report) {
    for file in tree.markdown() {
        for (line, target) in targets(&file.text) {
            if let Some(complaint) = complaint(tree, file, &target) {
                report.at(&file.path, line, complaint);
            }
        }
    }
}

fn complaint(tree: &Tree, file: &File, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { file.path.clone() } else { resolve(&file.path, path)? };
    let listed = tree.files.iter().any(|other| {
        other.path == path || other.path.starts_with(&format!("{}/", path.trim_end_matches('/')))
    });
    // Files of other kinds are not in the tree.
    if !listed && !root().join(&path).exists() {
        return Some(format!("`{target}` leads nowhere"));
    }
    let page = tree.file(&path).filter(|page| page.path.ends_with(".md"))?;
    let known = anchor.is_empty() || headings(&page.text).any(|heading| heading == anchor);
    (!known).then(|| format!("`{target}`: {path} has no such heading"))
}

/// Resolves the link `target` in the document at `from`.
fn resolve(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/")).filter(|path| !path.is_empty())
}

/// The targets of all links, with the lines they are in; code is left out.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        let line = without_code(line);
        if let Some((_, definition)) =
            line.trim().strip_prefix('[').and_then(|l| l.split_once("]:"))
        {
            found.push((number, definition.trim().to_owned()));
            continue;
        }
        let mut rest = line.as_str();
        while let Some((_, after)) = rest.split_once("](") {
            let Some((target, after)) = after.split_once(')') else { break };
            let target = target.split_whitespace().next().unwrap_or("");
            found.push((number, target.to_owned()));
            rest = after;
        }
    }
    found
}

/// The lines outside fenced blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// The line with the text between backticks blanked out.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

/// The anchors that a page's headings get.
fn headings(text: &str) -> impl Iterator<Item = String> {
    prose(text).filter_map(|(_, line)| {
        let title =
            line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))?;
        let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        Some(kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect())
    })
}

#[cfg(test)]
mod tests {
    use crate::tidy::tests::run;

    #[test]
    fn links_are_followed() {
        let page = "# One two\n[a](docs/b.md) [b](docs/) `[c](nowhere.md)` [d](https://x.y/z)\n\
                    ```\n[e](nowhere.md)\n```\n[f](#one-two) [g](docs/b.md#b-c)\n[h]: docs/b.md\n";
        let files = [("a.md", page), ("docs/b.md", "## B, `C`\n[up](../a.md)\n")];
        assert!(run("links", &files).is_empty(), "{:?}", run("links", &files));
    }

    #[test]
    fn dead_links_are_found() {
        let page = "[a](docs/no.md)\n[b](#no)\n[c](b.md#no)\n[d]: gone.md\n";
        let found = run("links", &[("a.md", page), ("b.md", "# Yes\n")]);
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found[0], "a.md:1: [links] `docs/no.md` leads nowhere");
        assert_eq!(found[1], "a.md:2: [links] `#no`: a.md has no such heading");
    }
}

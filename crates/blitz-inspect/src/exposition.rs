//! The metrics of several pools as one text.
//!
//! A family is a metric with its samples. Scrapers expect each family once, with all its samples
//! together. So, in each family, the samples of later pools follow those of the first pool.

/// Merges texts in the format of Prometheus or, if `is_open`, OpenMetrics. The end that OpenMetrics
/// demands is there even if there are no texts.
pub(crate) fn merge(texts: &[String], is_open: bool) -> String {
    let mut families: Vec<(&str, Vec<&str>, Vec<&str>)> = Vec::new();
    for text in texts {
        let mut current = None;
        for line in text.lines() {
            if line == "# EOF" {
                continue;
            }
            match line.strip_prefix("# ").and_then(|comment| comment.split(' ').nth(1)) {
                Some(name) => {
                    let known = families.iter().position(|(own, ..)| *own == name);
                    let at = known.unwrap_or_else(|| {
                        families.push((name, Vec::new(), Vec::new()));
                        families.len() - 1
                    });
                    if !families[at].1.contains(&line) {
                        families[at].1.push(line);
                    }
                    current = Some(at);
                }
                None => {
                    let at = current.unwrap_or_else(|| {
                        families.push(("", Vec::new(), Vec::new()));
                        families.len() - 1
                    });
                    current = Some(at);
                    families[at].2.push(line);
                }
            }
        }
    }
    let mut merged = String::new();
    for (_, comments, samples) in &families {
        for line in comments.iter().chain(samples) {
            merged.push_str(line);
            merged.push('\n');
        }
    }
    if is_open {
        merged.push_str("# EOF\n");
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::merge;

    #[test]
    fn each_family_appears_once() {
        let text = |pool: &str| {
            format!(
                "# HELP a What a is.\n# TYPE a counter\na{{pool=\"{pool}\"}} 1\n\
                 # HELP b What b is.\n# TYPE b gauge\nb{{pool=\"{pool}\"}} 2\n# EOF\n"
            )
        };
        assert_eq!(
            merge(&[text("x"), text("y")], true),
            "# HELP a What a is.\n# TYPE a counter\na{pool=\"x\"} 1\na{pool=\"y\"} 1\n\
             # HELP b What b is.\n# TYPE b gauge\nb{pool=\"x\"} 2\nb{pool=\"y\"} 2\n# EOF\n"
        );
        assert_eq!((merge(&[], false).as_str(), merge(&[], true).as_str()), ("", "# EOF\n"));
    }
}

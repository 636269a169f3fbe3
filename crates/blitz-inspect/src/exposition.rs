//! The metrics of several pools as one text.
//!
//! A family is a metric with its samples. Scrapers expect each family once, with all its samples
//! together. So, in each family, the samples of later pools follow those of the first pool.

use crate::pools::MetricsFormat;

/// Merges texts in `format`. The end that OpenMetrics demands is there even if there are no texts.
pub(crate) fn merge(texts: &[String], format: MetricsFormat) -> String {
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
    if matches!(format, MetricsFormat::OpenMetrics) {
        merged.push_str("# EOF\n");
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::merge;
    use crate::pools::MetricsFormat::{OpenMetrics, Prometheus};

    #[test]
    fn each_family_appears_once() {
        let text = |pool: &str| {
            format!(
                "# HELP a What a is.\n# TYPE a counter\na{{pool=\"{pool}\"}} 1\n\
                 # HELP b What b is.\n# TYPE b gauge\nb{{pool=\"{pool}\"}} 2\n# EOF\n"
            )
        };
        assert_eq!(
            merge(&[text("x"), text("y")], OpenMetrics),
            "# HELP a What a is.\n# TYPE a counter\na{pool=\"x\"} 1\na{pool=\"y\"} 1\n\
             # HELP b What b is.\n# TYPE b gauge\nb{pool=\"x\"} 2\nb{pool=\"y\"} 2\n# EOF\n"
        );
        assert_eq!(
            (merge(&[], Prometheus).as_str(), merge(&[], OpenMetrics).as_str()),
            ("", "# EOF\n")
        );
    }
}

//! Orderings that no model needs and that stay, each with its reason.
//!
//! A line is a debt: it says why the ordering is right although no model fails without it. Tidy checks
//! that each names a site that exists.

/// Folder, site, reason. The site is written as `docs/orderings.md` writes it: function, operation and
/// ordering.
pub const ACCEPTED: &[(&str, &str, &str)] = &[];

/// Why the site `key` of `folder` stays, if the list says so.
pub fn reason(folder: &str, key: &str) -> Option<&'static str> {
    let entry = ACCEPTED.iter().find(|(of, site, _)| *of == folder && *site == key);
    entry.map(|(.., reason)| *reason)
}

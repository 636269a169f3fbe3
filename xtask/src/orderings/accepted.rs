//! Orderings that stay although no model needs them, each with its reason.
//!
//! An entry is a debt: it says why the ordering is right although no model fails without it. Tidy
//! checks that each entry names a site that exists.

/// Folder, site, reason. The site is written as `docs/orderings.md` writes it: function, operation
/// and ordering.
pub const ACCEPTED: &[(&str, &str, &str)] = &[
    (
        "deque",
        "Deque::steal_if top.compare_exchange SeqCst",
        "the thief's read of the slot has to come before the exchange that frees the slot, and the checker \
         never delays a load; SeqCst as in the proof of Lê et al.",
    ),
    (
        "deque",
        "Deque::make_room top.load Acquire",
        "the other side of the exchange in `steal_if`: a slot is not written before its thief has read it",
    ),
    (
        "deque",
        "Owner::pop_public top.compare_exchange SeqCst",
        "as in the proof of Lê et al., whose order of all exchanges of `top` it is part of",
    ),
    ("bitmap", "SummaryTree::root first.load Acquire", SUMMARY),
    ("bitmap", "SummaryTree::root word.load Acquire", SUMMARY),
    ("bitmap", "Branch::leaf leaf.load Acquire", SUMMARY),
    (
        "slots",
        "Slots::len len.load Acquire",
        "a thread finds each entry that `len` counts; the table is made of std's cells, which the checker \
         does not see",
    ),
    (
        "slots",
        "Slots::add len.store Release",
        "a thread finds each entry that `len` counts; the table is made of std's cells, which the checker \
         does not see",
    ),
];

/// The reason for the summaries that a scan follows downwards.
const SUMMARY: &str = "a scanner that sees a bit sees what is below it. Without that it clears the bit, \
                       looks again behind a fence and sets it: nothing is lost (BITMAP-3), but bits \
                       are cleared in vain, and the checker has several times as many executions";

/// Why the site `key` of `folder` stays, if the list says so.
pub fn reason(folder: &str, key: &str) -> Option<&'static str> {
    let entry = ACCEPTED.iter().find(|(of, site, _)| *of == folder && *site == key);
    entry.map(|(.., reason)| *reason)
}

//! Passes bundles of blocks from stocks with too many to stocks with none, behind one lock.

use super::block::{Block, CLASSES, free_all, size_of_class};
use crate::tuning::{DEPOT_BYTES, STOCK_BUNDLE};
use core::ptr::{NonNull, null_mut};
use std::sync::Mutex;

/// The depot of this process. Model checkers never see it: for them no stock is ever open.
pub(super) static DEPOT: Mutex<Depot> = Mutex::new(Depot::new());

/// Bundles of [`STOCK_BUNDLE`] blocks, linked by their `below`.
pub(super) struct Depot {
    /// How many stocks are open.
    stocks: usize,
    /// Bytes that may still be put in.
    room: usize,
    /// The first block of the newest bundle of each class, or null.
    tops: [*mut Block; CLASSES],
    /// The class that was evicted last.
    evicted: usize,
}

// SAFETY: the depot is the only owner of its blocks.
unsafe impl Send for Depot {}

impl Depot {
    pub(super) const fn new() -> Depot {
        Depot { stocks: 0, room: DEPOT_BYTES, tops: [null_mut(); CLASSES], evicted: 0 }
    }

    /// Counts a stock that is opened.
    pub(super) fn open_stock(&mut self) {
        self.stocks += 1;
    }

    /// Counts a stock that is closed. When the last open stock is closed, frees the depot's blocks.
    pub(super) fn close_stock(&mut self) {
        self.stocks -= 1;
        if self.stocks > 0 {
            return;
        }
        for class in 0..CLASSES {
            while let Some(bundle) = self.take(class) {
                // SAFETY: the blocks are of this class, and were just taken out.
                unsafe { free_all(bundle.as_ptr(), class) };
            }
        }
    }

    /// Whether there is room for a bundle.
    pub(super) fn has_room(&self, class: usize) -> bool {
        self.room >= bundle_bytes(class)
    }

    /// Makes room for a bundle of a class at the expense of other classes, which take turns.
    /// Returns whether there is room.
    pub(super) fn make_room(&mut self, class: usize) -> bool {
        while !self.has_room(class) {
            let mut others = in_turn(self.evicted).filter(|other| *other != class);
            let Some(other) = others.find(|other| !self.tops[*other].is_null()) else {
                return false;
            };
            self.evicted = other;
            let bundle = self.take(other).map_or(null_mut(), NonNull::as_ptr);
            // SAFETY: the blocks are of this class, and were just taken out.
            unsafe { free_all(bundle, other) };
        }
        true
    }

    /// Puts a bundle in. There must be room.
    ///
    /// # Safety
    /// 1. The caller owns the blocks and gives them up. They are of this class, and there are
    ///    [`STOCK_BUNDLE`] of them.
    pub(super) unsafe fn put(&mut self, bundle: NonNull<Block>, class: usize) {
        self.room -= bundle_bytes(class);
        // SAFETY: obligation 1.
        unsafe { (*bundle.as_ptr()).next_bundle = self.tops[class] };
        self.tops[class] = bundle.as_ptr();
    }

    /// Takes a bundle of a class, if there is one.
    pub(super) fn take(&mut self, class: usize) -> Option<NonNull<Block>> {
        let bundle = NonNull::new(self.tops[class])?;
        // SAFETY: the depot owns its blocks, and `put` wrote this field.
        self.tops[class] = unsafe { (*bundle.as_ptr()).next_bundle };
        self.room += bundle_bytes(class);
        Some(bundle)
    }
}

/// All classes, starting after `last`.
pub(super) fn in_turn(last: usize) -> impl Iterator<Item = usize> {
    (last + 1..CLASSES).chain(0..=last)
}

/// Bytes of a bundle.
pub(super) fn bundle_bytes(class: usize) -> usize {
    STOCK_BUNDLE * size_of_class(class)
}

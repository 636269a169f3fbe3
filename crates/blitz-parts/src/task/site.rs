//! The place where a task was spawned, in four bytes.

use core::panic::Location;
use core::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The place in the source where a task was spawned, in half a word; never zero.
///
/// Locations are statics, and those of one program lie close to each other. So a site is the
/// distance from a static of this crate. A location in a library that was loaded far away has a
/// number in a table instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Site(i32);

/// Distances are counted from here. It is aligned as locations are, so that distances are even.
static ANCHOR: Anchor = Anchor(0);

#[repr(align(8))]
struct Anchor(#[expect(dead_code, reason = "only its address counts")] u8);

/// Set in the number of a location that is too far away; distances are even.
const FAR: i32 = 1;

const _: () = assert!(align_of::<Location<'_>>() > 1 && align_of::<Anchor>() > 1);

/// Locations that are too far away for a distance, each once.
static TABLE: Mutex<Vec<&'static Location<'static>>> = Mutex::new(Vec::new());

impl Site {
    pub(super) fn of(location: &'static Location<'static>) -> Site {
        Site::of_near(location).unwrap_or_else(|| Site::of_far(location))
    }

    /// The site of a location, unless that is too far away for a distance.
    #[inline]
    pub(super) fn of_near(location: &'static Location<'static>) -> Option<Site> {
        distance(ptr::from_ref(location).expose_provenance()).map(Site)
    }

    /// The half of a word.
    #[inline]
    pub(super) fn to_bits(self) -> u32 {
        u32::from_ne_bytes(self.0.to_ne_bytes())
    }

    /// The inverse of [`to_bits`](Site::to_bits).
    pub(super) fn from_bits(bits: u32) -> Site {
        Site(i32::from_ne_bytes(bits.to_ne_bytes()))
    }

    #[cold]
    #[inline(never)]
    fn of_far(location: &'static Location<'static>) -> Site {
        let mut table = table();
        let known = table.iter().position(|&far| ptr::eq(far, location));
        let number = known.unwrap_or_else(|| {
            table.push(location);
            table.len() - 1
        });
        // A program does not have a billion places that spawn.
        Site(i32::try_from(number).map_or(FAR, |number| number << 1 | FAR))
    }

    /// The place.
    pub(super) fn location(self) -> &'static Location<'static> {
        if self.0 & FAR != 0 {
            let number = usize::try_from(self.0 >> 1).unwrap_or(0);
            return table()[number];
        }
        let address = anchor().wrapping_add_signed(self.0 as isize);
        // SAFETY: `of` has computed the distance from the address of a location, whose provenance
        // it has exposed. A location is a static. Zero is never a distance: `Shown` uses zero as a
        // mark.
        unsafe { &*ptr::with_exposed_provenance(address) }
    }
}

/// How far the location at `address` is from the anchor, if that fits. The distance is even, since
/// both addresses are aligned.
#[inline]
fn distance(address: usize) -> Option<i32> {
    i32::try_from(address.wrapping_sub(anchor()) as isize).ok()
}

#[inline]
fn anchor() -> usize {
    (&raw const ANCHOR).addr()
}

fn table() -> MutexGuard<'static, Vec<&'static Location<'static>>> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, not(blitz_loom)))]
mod tests {
    use super::{FAR, Site, anchor, distance};
    use core::panic::Location;
    use core::ptr;

    #[test]
    fn a_site_near_or_far_is_found_again() {
        let (here, there) = (Location::caller(), Location::caller());
        for location in [here, there] {
            assert!(ptr::eq(Site::of(location).location(), location));
            let far = Site::of_far(location);
            assert_eq!(far.0 & FAR, FAR);
            assert!(ptr::eq(far.location(), location));
            assert_eq!(Site::of_far(location), far);
        }
        assert_ne!(Site::of(here), Site::of(there));
        // No location has the address of the anchor.
        assert!([here, there].iter().all(|location| Site::of(location).to_bits() != 0));
    }

    #[test]
    fn far_locations_have_no_distance() {
        assert_eq!(distance(anchor() + 8), Some(8));
        assert_eq!(distance(anchor() - 8), Some(-8));
        assert_eq!(distance(anchor().wrapping_add(1 << 32)), None);
        assert_eq!(distance(anchor().wrapping_sub(1 << 32)), None);
    }
}

//! The identity of a new task: its number and where it was spawned.

#![forbid(unsafe_code)]

use super::Serial;
use super::site::Site;
use core::panic::Location;

/// A new task's serial number, and the place that spawned it.
#[derive(Clone, Copy)]
pub(super) struct Birth {
    pub(super) serial: Serial,
    pub(super) site: Site,
}

impl Birth {
    /// The birth of a task that is spawned at `site`. `None` if the site or the serial number needs
    /// a slow call, which is rare.
    #[inline]
    pub(super) fn quick(site: &'static Location<'static>) -> Option<Birth> {
        // Find the site first: a serial number is lost if it was taken and the site is not found.
        let site = Site::of_near(site)?;
        Some(Birth { serial: Serial::next_of_block()?, site })
    }

    /// The birth of a task that is spawned at `site`.
    pub(super) fn of(site: &'static Location<'static>) -> Birth {
        Birth { serial: Serial::next(), site: Site::of(site) }
    }
}

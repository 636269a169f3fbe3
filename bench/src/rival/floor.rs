//! The lowest possible cost of a fork whose second closure another thread could take.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Build, Rival, Work};

/// Forks that only publish their closure, on one thread: the minimum for a pool whose forks can be
/// stolen.
///
/// The second closure lies in the frame of its fork. Its function and its address are stored where
/// another thread could read them; the second store publishes them. When the first closure has run,
/// a load checks that the second is still there, and a store withdraws it. A correct deque does
/// more. Here there is no fence between the load and the store, and no thread takes anything. The
/// address of a frame determines its place, so no fork waits for a counter that another fork
/// changes. The floor does not look up its worker, check for idle workers, or catch panics, either.
#[derive(Debug)]
pub struct Floor {
    places: Box<[Place; PLACES]>,
}

/// The place where one fork is published.
#[derive(Debug, Default)]
pub struct Place {
    run: AtomicUsize,
    /// The address of the closure; zero while this place has none.
    closure: AtomicUsize,
}

impl Build for Floor {
    fn build(workers: usize) -> Result<Self, String> {
        match workers {
            1 => Ok(Self { places: Box::new(std::array::from_fn(|_| Place::default())) }),
            _ => Err("the floor forks on one thread".to_owned()),
        }
    }
}

impl Rival for Floor {
    type Ctx<'c> = &'c [Place; PLACES];

    #[inline]
    fn enter<T: Send, F: Work<Self, T>>(&self, f: F) -> T {
        f(&mut &*self.places)
    }

    /// Do not inline this into its caller. The caller is small and is inlined here instead, so the
    /// leaves of a recursion need no call.
    #[inline(never)]
    fn join<A, B, RA, RB>(places: &mut &[Place; PLACES], a: A, b: B) -> (RA, RB)
    where
        RA: Send,
        RB: Send,
        A: Work<Self, RA>,
        B: Work<Self, RB>,
    {
        let closure = (&raw const b).expose_provenance();
        let place = &places[closure / SMALLEST_FRAME % PLACES];
        place.run.store(run as fn(usize) as usize, Ordering::Relaxed);
        place.closure.store(closure, Ordering::Release);
        let ra = a(places);
        if place.closure.load(Ordering::Relaxed) != closure {
            stolen();
        }
        place.closure.store(0, Ordering::Relaxed);
        (ra, b(places))
    }
}

/// The function that a thief would call.
fn run(_closure: usize) {
    stolen()
}

#[cold]
fn stolen() -> ! {
    unreachable!("there is no thief")
}

/// A frame has at least a return address and a closure.
const SMALLEST_FRAME: usize = 16;

/// The number of places. Two frames share a place only if they are a multiple of this many smallest
/// frames apart.
const PLACES: usize = 1 << 12;

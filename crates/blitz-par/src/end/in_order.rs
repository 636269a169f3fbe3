//! Results one after the other, on one thread: `for_each_in_order`.

use crate::collect::rope::{Parts, Rope};
use crate::place::Place;
use crate::plan::Turn;
use crate::reducer::Reducer;
use blitz_parts::prim::Mutex;

/// Collects a window of items while the previous window is delivered.
pub(crate) struct InOrder<T, F> {
    parts: Parts<Vec<T>>,
    /// Taken out while it is called, so that no lock is held then.
    sink: Mutex<Option<F>>,
    window: usize,
}

impl<T, F: FnMut(T) + Send> InOrder<T, F> {
    pub(crate) fn new(sink: F, window: usize) -> InOrder<T, F> {
        InOrder { parts: Parts::new(), sink: Mutex::new(Some(sink)), window: window.max(1) }
    }
}

impl<T: Send, F: FnMut(T) + Send> Reducer<T> for InOrder<T, F> {
    type Acc = Vec<T>;
    type Out = Rope<Vec<T>>;
    const IN_WINDOWS: bool = true;

    fn start(&self, place: &Place) -> Vec<T> {
        Reducer::<T>::start(&self.parts, place)
    }

    fn fold<B: Iterator<Item = T>>(&self, acc: Vec<T>, turn: &Turn<'_>, block: B) -> Vec<T> {
        self.parts.fold(acc, turn, block)
    }

    fn finish(&self, acc: Vec<T>, turn: &Turn<'_>) -> Self::Out {
        Reducer::<T>::finish(&self.parts, acc, turn)
    }

    fn merge(&self, left: Self::Out, right: Self::Out) -> Self::Out {
        Reducer::<T>::merge(&self.parts, left, right)
    }

    fn window(&self) -> usize {
        self.window
    }

    fn deliver(&self, out: Self::Out) -> Self::Out {
        let place = || self.sink.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let sink = place().take();
        if let Some(mut sink) = sink {
            out.into_iter().flatten().for_each(&mut sink);
            *place() = Some(sink);
        }
        Rope::new()
    }
}

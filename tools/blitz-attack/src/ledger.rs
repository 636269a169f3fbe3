//! The ledger of a round: the closures and futures given to a runtime, and their fate.
//!
//! Each closure and each future carries a [`Ticket`]. The ledger notes when its code begins, when
//! it ends and when it is dropped, and complains at once about events that must never happen: a
//! second beginning, a second drop, a beginning after the drop of the runtime has returned. At the
//! end of a round [`Ledger::complaints`] also names lost tickets.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

/// The largest number of runtimes in a round.
pub const RUNTIMES_MAX: usize = 4;
/// How many tickets of a round are followed. Further ones are only counted.
const CAPACITY: usize = 1 << 16;

const BEGUN: u32 = 1;
const ENDED: u32 = 2;
const DROPPED: u32 = 4;
const EXCUSED: u32 = 8;
const OUTSIDE: u32 = 16;

/// The kind of a ticket's carrier, with the runtime's promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A closure that its caller waits for: it runs to its end, once.
    Fork,
    /// A spawned closure: it runs to its end, unless it is aborted or its runtime ends first.
    Job,
    /// A spawned future: like a job. Also, it is dropped by the time its runtime is gone.
    Task,
    /// A value, a waker, a local task: it is dropped once.
    Thing,
}

/// The ledger of one round.
#[derive(Clone)]
pub struct Ledger {
    book: Arc<Book>,
}

struct Book {
    entries: Vec<AtomicU32>,
    kinds: Vec<(AtomicU32, AtomicU32)>,
    next: AtomicUsize,
    dropped: AtomicUsize,
    /// The runtime of this index is about to be dropped, or is being dropped.
    ending: [AtomicBool; RUNTIMES_MAX],
    /// The drop of the runtime of this index has returned, and had to wait for everything.
    gone: [AtomicBool; RUNTIMES_MAX],
    complaints: Mutex<Vec<String>>,
}

impl Default for Ledger {
    fn default() -> Ledger {
        Ledger::new()
    }
}

impl Ledger {
    /// Creates an empty ledger.
    #[must_use]
    pub fn new() -> Ledger {
        let book = Book {
            entries: (0..CAPACITY).map(|_| AtomicU32::new(0)).collect(),
            kinds: (0..CAPACITY).map(|_| (AtomicU32::new(0), AtomicU32::new(0))).collect(),
            next: AtomicUsize::new(0),
            dropped: AtomicUsize::new(0),
            ending: Default::default(),
            gone: Default::default(),
            complaints: Mutex::default(),
        };
        Ledger { book: Arc::new(book) }
    }

    /// Writes a ticket for something of runtime `home`.
    #[must_use]
    pub fn ticket(&self, kind: Kind, home: usize) -> Ticket {
        let id = self.book.next.fetch_add(1, SeqCst);
        if let Some((kinds, homes)) = self.book.kinds.get(id) {
            kinds.store(kind as u32, SeqCst);
            homes.store(home as u32, SeqCst);
        }
        Ticket { book: self.book.clone(), id, kind, home }
    }

    /// How many tickets were written and not dropped.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        // Load `dropped` first. In the other order, a ticket that is written and dropped between
        // the two loads would hide another one that is alive.
        let dropped = self.book.dropped.load(SeqCst);
        self.book.next.load(SeqCst).saturating_sub(dropped)
    }

    /// How many tickets were written.
    #[must_use]
    pub fn written(&self) -> usize {
        self.book.next.load(SeqCst)
    }

    /// Notes that work of runtime `home` may be cancelled from now on.
    pub fn begin_end(&self, home: usize) {
        self.book.ending[home].store(true, SeqCst);
    }

    /// Whether work of runtime `home` may be cancelled.
    #[must_use]
    pub fn is_ending(&self, home: usize) -> bool {
        self.book.ending[home].load(SeqCst)
    }

    /// Notes that the drop of runtime `home` has returned, and that it waited: none of its code may
    /// run any more.
    pub fn note_gone(&self, home: usize) {
        self.book.gone[home].store(true, SeqCst);
    }

    /// Notes an event that must not happen.
    pub fn complain(&self, text: String) {
        self.book.complain(text);
    }

    /// Whether there are no complaints yet. Live tickets do not count here.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.book.complaints.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Everything that went wrong. Tickets that are alive count as lost.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        let mut all = self.book.complaints.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let used = self.book.next.load(SeqCst).min(CAPACITY);
        for (id, entry) in self.book.entries[..used].iter().enumerate() {
            let state = entry.load(SeqCst);
            if state & DROPPED == 0 {
                all.push(format!("{} was never dropped: {}", self.book.name(id), State(state)));
            }
        }
        all
    }
}

impl Book {
    fn complain(&self, text: String) {
        self.complaints.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// Adds `bit` to the state of ticket `id`; returns the state before.
    fn mark(&self, id: usize, bit: u32) -> Option<u32> {
        self.entries.get(id).map(|entry| entry.fetch_or(bit, SeqCst))
    }

    fn name(&self, id: usize) -> String {
        let Some((kind, home)) = self.kinds.get(id) else {
            return format!("ticket {id}, which is not followed,");
        };
        let kinds = ["fork", "job", "task", "thing"];
        let kind = kinds[kind.load(SeqCst) as usize];
        format!("{kind} {id} of runtime {}", home.load(SeqCst))
    }
}

/// Travels inside a closure or a future, and reports its fate to the ledger.
pub struct Ticket {
    book: Arc<Book>,
    id: usize,
    kind: Kind,
    home: usize,
}

impl Ticket {
    /// Notes that the carrier comes from a thread outside its runtime. If the runtime ends at the
    /// same time, that thread may drop the carrier a little later.
    #[must_use]
    pub fn from_outside(self) -> Ticket {
        self.book.mark(self.id, OUTSIDE);
        self
    }

    /// Notes that the carrier's code runs. It must not run after the drop of its runtime has
    /// returned.
    pub fn touch(&self) {
        if self.kind != Kind::Thing && self.book.gone[self.home].load(SeqCst) {
            let name = self.book.name(self.id);
            self.book.complain(format!("{name} ran after the drop of its runtime had returned"));
        }
    }

    /// Notes that the carrier's code begins.
    pub fn begin(&self) {
        self.touch();
        if self.book.mark(self.id, BEGUN).is_some_and(|before| before & BEGUN != 0) {
            self.book.complain(format!("{} began twice", self.book.name(self.id)));
        }
    }

    /// Notes that the carrier's code has ended.
    pub fn end(&self) {
        self.book.mark(self.id, ENDED);
    }

    /// Returns a reader of the ticket's state, for the code that has handed the ticket on.
    #[must_use]
    pub fn stub(&self) -> Stub {
        Stub { book: self.book.clone(), id: self.id }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.book.dropped.fetch_add(1, SeqCst);
        let Some(before) = self.book.mark(self.id, DROPPED) else { return };
        if before & DROPPED != 0 {
            self.book.complain(format!("{} was dropped twice", self.book.name(self.id)));
        }
        let late = self.kind == Kind::Task && self.book.gone[self.home].load(SeqCst);
        if late && before & (OUTSIDE | EXCUSED) == 0 {
            let name = self.book.name(self.id);
            self.book.complain(format!("{name} outlived the drop of its runtime"));
        }
        let may_be_cancelled = match self.kind {
            Kind::Fork => false,
            Kind::Job | Kind::Task => {
                before & EXCUSED != 0 || self.book.ending[self.home].load(SeqCst)
            }
            Kind::Thing => true,
        };
        if before & ENDED == 0 && !may_be_cancelled && !std::thread::panicking() {
            let name = self.book.name(self.id);
            self.book.complain(format!("{name} was dropped before its end: {}", State(before)));
        }
    }
}

/// Reads the state of a ticket that was handed on.
#[derive(Clone)]
pub struct Stub {
    book: Arc<Book>,
    id: usize,
}

impl Stub {
    /// Allows the carrier to be dropped before its end, because the program is about to abort it.
    pub fn excuse(&self) {
        self.book.mark(self.id, EXCUSED);
    }

    /// Checks the result of a handle against the ledger: a job that is "cancelled" never began, a
    /// task that is "cancelled" never ended, and work with a result has ended.
    pub fn check_handle(&self, kind: Kind, cancelled: bool) {
        let Some(state) = self.book.entries.get(self.id).map(|entry| entry.load(SeqCst)) else {
            return;
        };
        let complaint = match (cancelled, kind) {
            (true, Kind::Job) if state & BEGUN != 0 => "began, but its handle says cancelled",
            (true, Kind::Task) if state & ENDED != 0 => "ended, but its handle says cancelled",
            (false, _) if state & ENDED == 0 => "did not end, but its handle has a result",
            _ => return,
        };
        self.book.complain(format!("{} {complaint}", self.book.name(self.id)));
    }
}

/// The bits of a ticket's state, in words.
struct State(u32);

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named =
            [(BEGUN, "begun"), (ENDED, "ended"), (DROPPED, "dropped"), (EXCUSED, "aborted")];
        let words: Vec<&str> =
            named.iter().filter(|(bit, _)| self.0 & bit != 0).map(|(_, word)| *word).collect();
        f.write_str(if words.is_empty() { "untouched" } else { "" })?;
        f.write_str(&words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::{CAPACITY, Kind, Ledger};
    use std::sync::atomic::Ordering::SeqCst;

    fn run(ledger: &Ledger, kind: Kind) {
        let ticket = ledger.ticket(kind, 0);
        ticket.begin();
        ticket.end();
    }

    #[test]
    fn books_that_balance_have_no_complaints() {
        let ledger = Ledger::new();
        run(&ledger, Kind::Fork);
        run(&ledger, Kind::Task);
        drop(ledger.ticket(Kind::Thing, 0));
        assert_eq!((ledger.outstanding(), ledger.complaints()), (0, vec![]));
        assert_eq!(ledger.written(), 3);
    }

    #[test]
    fn a_missing_drop_is_reported() {
        let ledger = Ledger::new();
        std::mem::forget(ledger.ticket(Kind::Task, 2));
        assert_eq!(ledger.outstanding(), 1);
        assert_eq!(ledger.complaints(), ["task 0 of runtime 2 was never dropped: untouched"]);
    }

    #[test]
    fn a_second_beginning_and_a_late_one_are_reported() {
        let ledger = Ledger::new();
        let ticket = ledger.ticket(Kind::Job, 1);
        ticket.begin();
        ticket.begin();
        ledger.note_gone(1);
        let late = ledger.ticket(Kind::Job, 1);
        late.begin();
        ticket.end();
        late.end();
        drop((ticket, late));
        let found = ledger.complaints();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("began twice") && found[1].contains("had returned"), "{found:?}");
    }

    #[test]
    fn a_drop_before_the_end_needs_an_abort_or_an_ending_runtime() {
        let ledger = Ledger::new();
        drop(ledger.ticket(Kind::Job, 0));
        let aborted = ledger.ticket(Kind::Task, 0);
        aborted.stub().excuse();
        drop(aborted);
        ledger.begin_end(0);
        drop(ledger.ticket(Kind::Task, 0));
        drop(ledger.ticket(Kind::Fork, 0));
        let found = ledger.complaints();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("job 0") && found[1].starts_with("fork 3"), "{found:?}");
    }

    #[test]
    fn a_late_beginning_is_reported_although_the_ledger_is_full() {
        let ledger = Ledger::new();
        ledger.book.next.store(CAPACITY, SeqCst);
        let ticket = ledger.ticket(Kind::Job, 0);
        ledger.note_gone(0);
        ticket.begin();
        let found = ledger.complaints();
        let text = format!("ticket {CAPACITY}, which is not followed, ran after the drop");
        assert!(found[0].starts_with(&text), "{}", found[0]);
    }

    #[test]
    fn a_handle_that_contradicts_the_books_is_reported() {
        let ledger = Ledger::new();
        let ticket = ledger.ticket(Kind::Job, 0);
        ticket.stub().check_handle(Kind::Job, false);
        ticket.begin();
        ticket.stub().check_handle(Kind::Job, true);
        ticket.end();
        ticket.stub().check_handle(Kind::Task, true);
        drop(ticket);
        assert_eq!(ledger.complaints().len(), 3);
    }
}

//! `blitz top`: shows the workers and tasks of a live process in a terminal.

mod reading;
mod screen;
mod view;
pub mod words;

use std::{
    io,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

use ratatui::{
    DefaultTerminal,
    crossterm::event::{self, Event, KeyEventKind},
};

use crate::{
    Failure,
    args::{TopArgs, TraceFormat},
    ask::{self, Peer},
    print, trace,
};
use reading::Reading;
use screen::{Screen, Wish};
use view::View;

/// The time between two readings.
const BEAT: Duration = Duration::from_secs(1);
/// The time between two readings with `--once`.
const BEAT_ONCE: Duration = Duration::from_millis(500);
/// How often keys are polled between two readings.
const KEYS: Duration = Duration::from_millis(50);
/// How many seconds a saved trace covers.
const TRACE_SECONDS: f64 = 10.0;

/// Shows the process until the user quits, or once.
pub fn run(args: &TopArgs) -> Result<(), Failure> {
    let peer = ask::find(args.target.as_deref())?;
    let pool = args.pool.as_deref();
    if args.json {
        let reading = Reading::take(&peer, pool)?;
        let explain = reading::explain(&peer, pool)?;
        return print(&format!("{:#}\n", reading.to_json(&explain)));
    }
    if args.once {
        let before = Reading::take(&peer, pool)?;
        thread::sleep(BEAT_ONCE);
        return print(&words::page(&View::of(&Reading::take(&peer, pool)?, Some(&before))));
    }
    // Take the first reading before the terminal changes, so that an error stays readable.
    let first = Reading::take(&peer, pool)?;
    let (wishes, wished) = channel();
    let (reports, news) = channel();
    let pool = args.pool.clone();
    let asks = move || follow(&peer, pool, first, &wished, &reports);
    thread::spawn(asks);
    let mut terminal = ratatui::try_init()
        .map_err(|error| Failure::new("this is no terminal (try --once)", error))?;
    let shown = show(&mut terminal, &wishes, &news);
    ratatui::restore();
    shown.map_err(|error| Failure::new("the terminal fails", error))
}

/// Messages of the thread that asks the process.
enum News {
    View(Box<View>),
    Explain(Vec<String>),
    Note(String),
}

/// Draws the news and forwards the user's wishes, until the user quits.
fn show(
    terminal: &mut DefaultTerminal,
    wishes: &Sender<Wish>,
    news: &Receiver<News>,
) -> io::Result<()> {
    let mut screen = Screen::new();
    let mut has_changed = true;
    loop {
        for report in news.try_iter() {
            has_changed = true;
            match report {
                News::View(view) => screen.view = Some(*view),
                News::Explain(lines) => screen.explain = Some(lines),
                News::Note(text) => screen.note = text,
            }
        }
        if has_changed {
            terminal.draw(|frame| screen.draw(frame))?;
        }
        has_changed = event::poll(KEYS)?;
        if !has_changed {
            continue;
        }
        let Event::Key(key) = event::read()? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        match screen.press(key) {
            Some(Wish::Quit) => return Ok(()),
            // The send cannot fail: the other thread lives as long as this one.
            Some(wish) => drop(wishes.send(wish)),
            None => {}
        }
    }
}

/// Takes readings and fulfils wishes, until the screen is gone.
fn follow(
    peer: &Peer,
    mut pool: Option<String>,
    first: Reading,
    wishes: &Receiver<Wish>,
    reports: &Sender<News>,
) {
    let pid = reading::number(&first.summary["pid"]) as u64;
    let mut before = Some(first);
    let mut note = String::new();
    loop {
        let report = match wishes.recv_timeout(BEAT) {
            Ok(Wish::Quit) | Err(RecvTimeoutError::Disconnected) => return,
            Ok(Wish::Pool(name)) => {
                (pool, before) = (Some(name), None);
                continue;
            }
            Ok(Wish::Explain) => reading::explain(peer, pool.as_deref())
                .map(|explain| News::Explain(words::explain(&explain))),
            Ok(Wish::Trace) => save(peer, pool.as_deref(), pid).map(|saved| {
                note.clone_from(&saved);
                News::Note(saved)
            }),
            Err(RecvTimeoutError::Timeout) => Reading::take(peer, pool.as_deref()).map(|now| {
                let view = View::of(&now, before.as_ref());
                before = Some(now);
                News::View(Box::new(view))
            }),
        };
        // An error stays until a later reading succeeds. Then the note about the last saved trace
        // is shown again.
        let news = match report {
            Ok(news @ News::View(_)) => [Some(News::Note(note.clone())), Some(news)],
            Ok(news) => [Some(news), None],
            Err(Failure(why)) => [Some(News::Note(why)), None],
        };
        for news in news.into_iter().flatten() {
            if reports.send(news).is_err() {
                return;
            }
        }
    }
}

/// Saves a trace in the current folder, and says where.
fn save(peer: &Peer, pool: Option<&str>, pid: u64) -> Result<String, Failure> {
    let file = format!("blitz-{pid}.pftrace");
    trace::save(peer, pool, TRACE_SECONDS, TraceFormat::Perfetto, file.as_ref())?;
    Ok(format!("saved {file}: open it with ui.perfetto.dev"))
}

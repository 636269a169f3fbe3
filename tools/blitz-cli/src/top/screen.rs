//! What the terminal shows, and what its keys do.

use ratatui::{
    Frame,
    crossterm::event::{KeyCode, KeyEvent, KeyModifiers},
    layout::{Constraint, Layout, Rect},
    style::{Color, Style, Stylize},
    text::{Line, Span},
    widgets::{Block, Paragraph, Row, Table, Wrap},
};

use super::{
    view::{STATES, Sort, View, WorkerRow},
    words::{latencies, widths},
};
use crate::units::{count, percent, plain, time};

/// The width of a worker's row, bar included.
const WORKER: u16 = 52;
/// The maximum number of lines for workers. They also have at most a third of the screen.
const WORKER_LINES: u16 = 16;
/// How many stalls are shown.
const STALLS: usize = 5;
/// The colours of [`STATES`].
const COLORS: [Color; 5] =
    [Color::Blue, Color::Magenta, Color::Yellow, Color::Cyan, Color::DarkGray];

/// A request of the user to the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    Quit,
    Explain,
    Trace,
    /// Look at the pool of this name.
    Pool(String),
}

/// What is on the screen.
#[derive(Debug)]
pub struct Screen {
    pub view: Option<View>,
    /// The explanation, while it is shown.
    pub explain: Option<Vec<String>>,
    /// The last line.
    pub note: String,
    sort: Sort,
    filter: String,
    is_typing: bool,
    scroll: usize,
}

impl Screen {
    pub fn new() -> Self {
        Self {
            view: None,
            explain: None,
            note: "connecting".to_owned(),
            sort: Sort::Cpu,
            filter: String::new(),
            is_typing: false,
            scroll: 0,
        }
    }

    /// Handles a key. Returns a wish if the key needs the process or ends the program.
    pub fn press(&mut self, key: KeyEvent) -> Option<Wish> {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return (key.code == KeyCode::Char('c')).then_some(Wish::Quit);
        }
        if self.is_typing {
            self.type_filter(key.code);
            return None;
        }
        match key.code {
            KeyCode::Char('q') => return Some(Wish::Quit),
            KeyCode::Char('e') if self.explain.is_none() => return Some(Wish::Explain),
            KeyCode::Char('t') => return Some(Wish::Trace),
            KeyCode::Tab => return self.next_pool().map(Wish::Pool),
            KeyCode::Esc | KeyCode::Char('e') if self.explain.is_some() => self.explain = None,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Char('c') => self.sort = Sort::Cpu,
            KeyCode::Char('p') => self.sort = Sort::Polls,
            KeyCode::Char('a') => self.sort = Sort::Alive,
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Up | KeyCode::Char('k') => {
                self.scroll = self.scroll.saturating_sub(1);
                return None;
            }
            KeyCode::Down | KeyCode::Char('j') => {
                self.scroll += 1;
                return None;
            }
            _ => return None,
        }
        self.scroll = 0;
        None
    }

    fn type_filter(&mut self, key: KeyCode) {
        match key {
            KeyCode::Char(letter) => self.filter.push(letter),
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.filter.clear();
            }
            _ => {}
        }
        self.scroll = 0;
    }

    /// The pool after the one that is shown; `None` if there is no other pool.
    fn next_pool(&self) -> Option<String> {
        let View { pool, pools, .. } = self.view.as_ref()?;
        let at = pools.iter().position(|name| plain(name) == *pool)?;
        pools.get((at + 1) % pools.len()).filter(|_| pools.len() > 1).cloned()
    }

    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let Some(view) = self.view.take() else {
            frame.render_widget(Paragraph::new(self.note.as_str()), frame.area());
            return;
        };
        let per_line = usize::from((frame.area().width / WORKER).max(1));
        let lines = u16::try_from(view.workers.len().div_ceil(per_line)).unwrap_or(u16::MAX);
        let lines = lines.min(WORKER_LINES).min(frame.area().height / 3);
        let stalls = view.stalls.len().min(STALLS) as u16;
        let [title, times, workers, stuck, body, foot] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(lines + 1),
            Constraint::Length(stalls),
            Constraint::Min(3),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        let style = Style::new().bold().reversed();
        frame.render_widget(Paragraph::new(format!(" {}", view.title())).style(style), title);
        frame.render_widget(Paragraph::new(format!(" {}", latencies(&view))), times);
        draw_workers(frame, workers, &view.workers, per_line);
        let red =
            view.stalls.iter().take(STALLS).map(|text| Line::from(format!(" ! {text}")).red());
        frame.render_widget(Paragraph::new(red.collect::<Vec<_>>()).bold(), stuck);
        match &self.explain {
            Some(lines) => {
                self.scroll = self.scroll.min(lines.len().saturating_sub(1));
                draw_explanation(frame, body, lines, self.scroll);
            }
            None => self.draw_types(frame, body, &view),
        }
        frame.render_widget(Paragraph::new(self.foot()).style(Style::new().dim()), foot);
        self.view = Some(view);
    }

    fn draw_types(&mut self, frame: &mut Frame<'_>, area: Rect, view: &View) {
        let rows = view.types_by(self.sort, &self.filter);
        let shown = usize::from(area.height.saturating_sub(3)).max(1);
        self.scroll = self.scroll.min(rows.len().saturating_sub(shown));
        let mark = |name: &str, sort: Sort| {
            if self.sort == sort { format!("{name} v") } else { name.to_owned() }
        };
        let head = [
            mark("alive", Sort::Alive),
            mark("polls/s", Sort::Polls),
            mark("busy", Sort::Cpu),
            "p99".to_owned(),
            "longest".to_owned(),
            "type".to_owned(),
        ];
        let title = match self.filter.as_str() {
            "" => format!(" {} types of tasks ", rows.len()),
            filter => format!(" {} types with {filter:?} ", rows.len()),
        };
        let row = |row: &super::view::TypeRow| {
            Row::new([
                count(row.alive),
                count(row.polls),
                percent(row.busy),
                row.p99.map_or_else(|| "-".to_owned(), time),
                row.oldest.map_or_else(|| "-".to_owned(), time),
                row.name.clone(),
            ])
        };
        let widths = [
            Constraint::Length(8),
            Constraint::Length(10),
            Constraint::Length(8),
            Constraint::Length(9),
            Constraint::Length(9),
            Constraint::Min(10),
        ];
        let table = Table::new(rows.into_iter().skip(self.scroll).map(row), widths)
            .header(Row::new(head).bold())
            .block(Block::bordered().title(title));
        frame.render_widget(table, area);
    }

    fn foot(&self) -> String {
        if self.is_typing {
            return format!(" filter: {}_  (Enter: keep, Esc: drop)", self.filter);
        }
        let keys = match self.explain {
            Some(_) => "e back  arrows scroll",
            None => "c/p/a sort  / filter  e explain",
        };
        format!(" {keys}  t save trace  Tab next pool  q quit   {}", self.note)
    }
}

fn draw_workers(frame: &mut Frame<'_>, area: Rect, workers: &[WorkerRow], per_line: usize) {
    let [body, legend] = Layout::vertical([Constraint::Min(0), Constraint::Length(1)]).areas(area);
    let lines = workers
        .chunks(per_line)
        .map(|few| few.iter().flat_map(|worker| worker_spans(worker)).collect::<Line<'_>>());
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), body);
    let hidden = workers.len().saturating_sub(usize::from(body.height) * per_line);
    let names = STATES.iter().zip(COLORS).flat_map(|(state, color)| {
        [Span::from("■ ").fg(color), Span::from(format!("{state}  ")).dim()]
    });
    let more = if hidden > 0 { format!("  and {hidden} more") } else { String::new() };
    let legend_line = [Span::from("       ")].into_iter().chain(names).chain([Span::from(more)]);
    frame.render_widget(Paragraph::new(legend_line.collect::<Line<'_>>()), legend);
}

fn worker_spans(worker: &WorkerRow) -> Vec<Span<'static>> {
    let name = Span::from(format!("{:>6} ", worker.name));
    let mut spans = vec![if worker.stall.is_some() { name.red().bold() } else { name }];
    let parts = widths(&worker.shares, 30);
    let bars = parts.iter().zip(COLORS);
    spans.extend(bars.map(|(width, color)| Span::from("█".repeat(*width)).fg(color)));
    let missing = 30 - parts.iter().sum::<usize>();
    spans.push(Span::from(" ".repeat(missing)));
    let busy = percent(worker.shares[0] + worker.shares[1]);
    let state = if worker.stall.is_some() { "stalled" } else { worker.state.as_str() };
    spans.push(Span::from(format!(" {busy:>4} {state:8} ")));
    spans
}

fn draw_explanation(frame: &mut Frame<'_>, area: Rect, lines: &[String], scroll: usize) {
    let colored = lines.iter().map(|line| {
        let line = Line::from(line.as_str());
        let is_bad =
            ["deadlock:", "never wakes:"].iter().any(|word| line.to_string().starts_with(word));
        if is_bad { line.red() } else { line }
    });
    let scroll = u16::try_from(scroll).unwrap_or(u16::MAX);
    let text = Paragraph::new(colored.collect::<Vec<_>>()).wrap(Wrap { trim: false });
    let block = Block::bordered().title(" which tasks wait for what ");
    frame.render_widget(text.scroll((scroll, 0)).block(block), area);
}

#[cfg(test)]
mod tests {
    use ratatui::{Terminal, backend::TestBackend};

    use super::*;
    use crate::top::view::tests::reading;

    fn screen() -> Screen {
        let view = View::of(&reading(3), Some(&reading(1)));
        Screen { view: Some(view), note: String::new(), ..Screen::new() }
    }

    fn drawn(screen: &mut Screen, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| screen.draw(frame)).unwrap();
        terminal.backend().to_string()
    }

    fn press(screen: &mut Screen, letters: &str) -> Option<Wish> {
        letters.chars().fold(None, |_, letter| {
            let code = match letter {
                '\n' => KeyCode::Enter,
                '\t' => KeyCode::Tab,
                '\u{1b}' => KeyCode::Esc,
                letter => KeyCode::Char(letter),
            };
            screen.press(KeyEvent::new(code, KeyModifiers::NONE))
        })
    }

    #[test]
    fn all_of_it_is_on_the_screen() {
        let text = drawn(&mut screen(), 100, 24);
        for part in [
            "busy 50%",
            "delay 4.00 ms < largest",
            "w1",
            "stalled",
            "! worker 1: 840 ms",
            "api.rs:88",
        ] {
            assert!(text.contains(part), "{part} is missing:\n{text}");
        }
        assert!(text.contains("handler::{closure}") && text.contains("q quit"), "{text}");
    }

    #[test]
    fn any_size_will_do() {
        for (width, height) in [(1, 1), (10, 3), (20, 8), (300, 100)] {
            drawn(&mut screen(), width, height);
        }
        let waiting = drawn(&mut Screen::new(), 40, 3);
        assert!(waiting.contains("connecting"), "{waiting}");
    }

    #[test]
    fn keys_sort_and_filter() {
        let mut screen = screen();
        assert_eq!(press(&mut screen, "a"), None);
        let text = drawn(&mut screen, 100, 24);
        assert!(text.find("app::Quiet") < text.find("│2"), "{text}");
        assert!(text.contains("alive v"), "{text}");
        assert_eq!(press(&mut screen, "/qui"), None, "letters of a filter do not act as keys");
        assert!(drawn(&mut screen, 100, 24).contains("filter: qui_"));
        press(&mut screen, "\n");
        let text = drawn(&mut screen, 100, 24);
        assert!(text.contains("1 types with \"qui\"") && !text.contains("│2 "), "{text}");
        press(&mut screen, "\u{1b}");
        assert!(drawn(&mut screen, 100, 24).contains("2 types"));
    }

    #[test]
    fn keys_return_wishes() {
        let mut screen = screen();
        assert_eq!(press(&mut screen, "e"), Some(Wish::Explain));
        assert_eq!(press(&mut screen, "t"), Some(Wish::Trace));
        assert_eq!(press(&mut screen, "\t"), Some(Wish::Pool("batch".to_owned())));
        screen.explain = Some(vec!["deadlock: a -> b -> a".to_owned()]);
        assert!(drawn(&mut screen, 100, 24).contains("deadlock: a -> b -> a"));
        assert_eq!(press(&mut screen, "jjje"), None);
        assert!(screen.explain.is_none());
        assert_eq!(press(&mut screen, "q"), Some(Wish::Quit));
        let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(screen.press(interrupt), Some(Wish::Quit));
    }
}

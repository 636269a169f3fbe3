//! Draws a fork, a steal, a sleep and the wake-ups between them, from the trace of a real pool.
//!
//! `cargo run --release -p blitz-rt --example draw_trace` prints when each of these events
//! happened. With a path after `--` it also writes the picture, as SVG.

use blitz::{MarkKind, Pool, SliceKind, Trace, TraceTrack, region};
use std::error::Error;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// How often to try until a trace shows the whole story.
///
/// An attempt fails if the owner takes the right half back before the other worker is awake, or if
/// the owner does not sleep before the right half is done. On a busy machine all may fail.
const ATTEMPTS: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1);
    let pool = Pool::builder().workers(2).build()?;
    let Some((trace, story)) = (0..ATTEMPTS).find_map(|_| attempt(&pool)) else {
        let message = format!("no trace of {ATTEMPTS} shows a fork, a steal, a sleep and a wake");
        println!("{message}");
        return if path.is_some() { Err(message.into()) } else { Ok(()) };
    };
    for (moment, number) in story.moments().iter().zip(1..) {
        println!("{number}. {:>5} us  {}", story.micros(moment.at), moment.text);
    }
    if let Some(path) = path {
        std::fs::write(&path, draw(&trace, &story))?;
        println!("written to {path}");
    }
    Ok(())
}

/// Forks once; returns the trace and its story, if the trace shows the whole story.
///
/// The right half takes longer, so the worker with the left one has to wait.
fn attempt(pool: &Pool) -> Option<(Trace, Story)> {
    while !pool.dump().all_sleep {
        std::thread::yield_now();
    }
    pool.install(|| {
        let left = || region("left", || compute(Duration::from_micros(100)));
        let right = || region("right", || compute(Duration::from_micros(300)));
        region("join", || blitz::join(left, right));
    });
    while !pool.dump().all_sleep {
        std::thread::yield_now();
    }
    let trace = pool.trace(Duration::from_millis(50));
    let story = Story::find(&trace)?;
    Some((trace, story))
}

fn compute(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// The moments of the story, and the tracks of the two workers.
struct Story {
    owner: usize,
    thief: usize,
    forked: Duration,
    thief_woke: Duration,
    stolen: Duration,
    owner_slept: Duration,
    owner_woke: Duration,
    joined: Duration,
}

struct Moment {
    at: Duration,
    lane: usize,
    text: String,
}

impl Story {
    /// Finds the newest fork of `trace`.
    ///
    /// Returns `None` unless the events happened in the order of the fields of `Story`.
    fn find(trace: &Trace) -> Option<Story> {
        let tracks = || trace.tracks.iter().enumerate();
        let newest = |name: &str| {
            let found = tracks().filter_map(|(at, track)| Some((at, named(track, name)?)));
            found.max_by_key(|(_, (begin, _))| *begin)
        };
        let (owner, (forked, joined)) = newest("join")?;
        let (thief, (right_begin, right_end)) = newest("right")?;
        let (stealing, waiting) = (&trace.tracks[thief], &trace.tracks[owner]);
        let within = |time: &Duration| (forked..=joined).contains(time);
        let steals = stealing.marks.iter().filter(|mark| mark.kind == MarkKind::Steal);
        let stolen = steals.map(|mark| mark.at).find(within)?;
        let slept = |track: &TraceTrack, from: Duration| {
            let mut parks = track.slices.iter().filter(|slice| slice.kind == SliceKind::Park);
            parks.find(|park| park.end > from).map(|park| (park.begin, park.end))
        };
        let (_, thief_woke) = slept(stealing, forked)?;
        let (owner_slept, owner_woke) = slept(waiting, forked)?;
        let order =
            [forked, thief_woke, stolen, right_begin, owner_slept, right_end, owner_woke, joined];
        let told = owner != thief && order.is_sorted();
        told.then_some(Story {
            owner,
            thief,
            forked,
            thief_woke,
            stolen,
            owner_slept,
            owner_woke,
            joined,
        })
    }

    fn moments(&self) -> Vec<Moment> {
        let moment = |at, lane, text: &str| Moment { at, lane, text: text.to_owned() };
        vec![
            moment(self.forked, 0, "fork: the owner offers the right half, and runs the left one"),
            moment(self.thief_woke, 1, "wake: a sleeping worker wakes"),
            moment(self.stolen, 1, "steal: it takes the right half from the owner's deque"),
            moment(self.owner_slept, 0, "sleep: the left half is done, and no other work is left"),
            moment(
                self.owner_woke,
                0,
                "wake: the right half is done, and its latch wakes the owner",
            ),
        ]
    }

    /// Microseconds since the fork.
    fn micros(&self, time: Duration) -> u128 {
        time.saturating_sub(self.forked).as_micros()
    }
}

/// Returns the start and the end of the newest region `name` of `track`.
fn named(track: &TraceTrack, name: &str) -> Option<(Duration, Duration)> {
    let regions = track.slices.iter().filter(|slice| slice.kind == SliceKind::Region);
    let newest = regions.filter(|slice| slice.name == name).max_by_key(|slice| slice.begin)?;
    Some((newest.begin, newest.end))
}

const WIDTH: f64 = 680.0;
/// Where the lanes begin and end.
const LEFT: f64 = 96.0;
const RIGHT: f64 = 664.0;
const LANES: [f64; 2] = [64.0, 142.0];
const LANE: f64 = 40.0;
const CAPTIONS: f64 = 232.0;
const CAPTION: f64 = 26.0;
/// How many seconds one round of the animation takes.
const ROUND: u32 = 12;

fn draw(trace: &Trace, story: &Story) -> String {
    let margin = (story.joined - story.forked) / 20;
    let (begin, end) = (story.forked.saturating_sub(margin), story.joined + margin);
    let part = |time: Duration| {
        let time = time.clamp(begin, end) - begin;
        time.as_secs_f64() / (end - begin).as_secs_f64()
    };
    let x = |time: Duration| LEFT + part(time) * (RIGHT - LEFT);
    let moments = story.moments();
    let height = CAPTIONS + CAPTION * moments.len() as f64;
    // Writing to a String cannot fail, here and below.
    let mut svg = head(height, &moments, part);
    for (lane, (role, track)) in [("owner", story.owner), ("thief", story.thief)].iter().enumerate()
    {
        let track = &trace.tracks[*track];
        let top = LANES[lane];
        let _ = writeln!(svg, "<text class=\"role\" x=\"16\" y=\"{}\">{role}</text>", top + 17.0);
        let name = &track.name;
        let _ = writeln!(svg, "<text class=\"small\" x=\"16\" y=\"{}\">{name}</text>", top + 35.0);
        let _ = writeln!(
            svg,
            "<rect class=\"lane\" x=\"{LEFT}\" y=\"{top}\" width=\"{}\" height=\"{LANE}\"/>",
            RIGHT - LEFT
        );
        for slice in &track.slices {
            let (class, label) = match (slice.kind, slice.name.as_ref()) {
                (SliceKind::Park, _) => ("park", "sleeps"),
                (SliceKind::Region, name @ ("left" | "right")) => ("work", name),
                _ => continue,
            };
            let (from, to) = (x(slice.begin), x(slice.end));
            if slice.end > begin && slice.begin < end {
                block(&mut svg, class, label, (from, to), top);
            }
        }
    }
    let (from, to) = (x(story.forked), x(story.stolen));
    let _ = writeln!(
        svg,
        "<path class=\"steal\" d=\"M{from:.1} {:.1}L{to:.1} {:.1}\"/>",
        LANES[0] + LANE,
        LANES[1]
    );
    for (number, moment) in moments.iter().enumerate() {
        let middle = x(moment.at);
        // The owner's badges are above its lane, the thief's below. The thief's two badges are
        // close to each other, so they are moved apart.
        let y = if moment.lane == 0 { LANES[0] - 14.0 } else { LANES[1] + LANE + 14.0 };
        let shift = if number == 1 {
            -10.0
        } else if number == 2 {
            14.0
        } else {
            0.0
        };
        badge(&mut svg, number + 1, middle + shift, y);
        let line = CAPTIONS + CAPTION * number as f64;
        let _ = writeln!(svg, "<g class=\"told told-{}\">", number + 1);
        badge(&mut svg, number + 1, 28.0, line - 5.0);
        let time = format!("{} us", story.micros(moment.at));
        let _ = writeln!(svg, "<text class=\"time\" x=\"{LEFT}\" y=\"{line}\">{time}</text>");
        let text = &moment.text;
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{line}\">{text}</text></g>", LEFT + 14.0);
    }
    let _ = writeln!(
        svg,
        "<line class=\"now\" x1=\"{LEFT}\" x2=\"{LEFT}\" y1=\"{}\" y2=\"{}\"/>\n</svg>",
        LANES[0] - 4.0,
        LANES[1] + LANE + 4.0
    );
    svg
}

fn block(svg: &mut String, class: &str, label: &str, (from, to): (f64, f64), top: f64) {
    let width = (to - from).max(1.0);
    let _ = writeln!(
        svg,
        "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{LANE}\"/>"
    );
    if width > 50.0 {
        let (middle, line) = ((from + to) / 2.0, top + LANE / 2.0 + 5.0);
        let _ =
            writeln!(svg, "<text class=\"middle\" x=\"{middle:.1}\" y=\"{line}\">{label}</text>");
    }
}

fn badge(svg: &mut String, number: usize, x: f64, y: f64) {
    let line = y + 5.0;
    let _ = writeln!(
        svg,
        "<circle class=\"badge\" cx=\"{x:.1}\" cy=\"{y}\" r=\"10\"/>\
         <text class=\"number\" x=\"{x:.1}\" y=\"{line}\">{number}</text>"
    );
}

/// Returns the beginning of the picture: its colours and its animation.
fn head(height: f64, moments: &[Moment], part: impl Fn(Duration) -> f64) -> String {
    let mut moves = String::new();
    for (number, moment) in (1..).zip(moments) {
        let from = part(moment.at) * 100.0;
        let before = (from - 0.1).max(0.0);
        let _ = writeln!(
            moves,
            "    @keyframes told-{number} {{ 0%, {before:.1}% {{ opacity: 0.45 }} {from:.1}%, 100% {{ opacity: 1 }} }}\n    \
             .told-{number} {{ animation: told-{number} {ROUND}s linear infinite }}"
        );
    }
    let (distance, card, bottom) = (RIGHT - LEFT, WIDTH - 2.0, height - 2.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-labelledby=\"title\">
<title id=\"title\">A fork, a steal, a sleep and two wake-ups in the trace of a pool</title>
<!-- Made by the example draw_trace of the package blitz-rt. -->
<style>
  text {{ font: 15px system-ui, -apple-system, \"Segoe UI\", sans-serif; fill: #1f2328 }}
  .head, .role {{ font-weight: 600 }}
  .small {{ font-size: 13px; fill: #59636e }}
  .middle, .number {{ text-anchor: middle }}
  .time {{ text-anchor: end; font-variant-numeric: tabular-nums }}
  .card {{ fill: #ffffff; stroke: #d1d9e0 }}
  .lane {{ fill: #f6f8fa; stroke: #d1d9e0 }}
  .work {{ fill: #ffe8c7; stroke: #c77700 }}
  .park {{ fill: #e4e9ee; stroke: #afb8c1 }}
  .steal {{ fill: none; stroke: #c77700; stroke-width: 2; stroke-dasharray: 4 3 }}
  .badge {{ fill: #0969da }}
  .number {{ fill: #ffffff; font-weight: 600; font-size: 13px }}
  .now {{ stroke: #cf222e; stroke-width: 2 }}
  @media (prefers-color-scheme: dark) {{
    text {{ fill: #f0f6fc }}
    .small {{ fill: #c0c8d0 }}
    .card {{ fill: #0d1117; stroke: #3d444d }}
    .lane {{ fill: #151b23; stroke: #3d444d }}
    .work {{ fill: #4a2f05; stroke: #e3a008 }}
    .park {{ fill: #262c36; stroke: #656c76 }}
    .steal {{ stroke: #e3a008 }}
    .badge {{ fill: #1f6feb }}
    .number {{ fill: #ffffff }}
    .now {{ stroke: #f85149 }}
  }}
  @media (prefers-reduced-motion: reduce) {{ .now {{ display: none }} }}
  @media (prefers-reduced-motion: no-preference) {{
    @keyframes now {{ to {{ transform: translateX({distance}px) }} }}
    .now {{ animation: now {ROUND}s linear infinite }}
{moves}  }}
</style>
<rect class=\"card\" x=\"1\" y=\"1\" width=\"{card}\" height=\"{bottom}\" rx=\"10\"/>
<text class=\"head\" x=\"16\" y=\"28\">join(left, right) on a pool of two workers</text>
"
    )
}

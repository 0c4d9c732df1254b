//! Which parts of a cleaned output are shown, so that they fit a cap.

use crate::lines::{self, Lines, marker};
use crate::text::Text;
use crate::{STRATEGY, Truncation};

/// How long a line may at least be before it is clipped, in bytes.
const MIN_LINE: usize = 2 * 1024;

/// What is known of an output.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Known<'a> {
    /// All of it.
    All(&'a Text),
    /// Its beginning and its end.
    Ends(&'a Text, &'a Text),
}

/// A text that fits, and what it leaves out.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) text: String,
    pub(crate) omitted_bytes: u64,
    /// The offset of the first byte that is left out.
    pub(crate) omitted_from: Option<u64>,
    /// Between the beginning and the end.
    pub(crate) omitted_stretch: Option<(u64, u64)>,
    pub(crate) clipped_lines: u64,
}

impl Layout {
    /// Lays out an output of so many raw bytes.
    ///
    /// All is shown if it fits. Else long lines are clipped, no more than it takes; and if the shortest lines do not fit, the
    /// middle is left out, also of the line that is there. A line that goes on where nothing is known is not clipped: it loses
    /// its middle anyway.
    pub(crate) fn new(known: Known<'_>, total: u64, cap: usize) -> Self {
        let layout = Self {
            text: String::with_capacity(cap),
            omitted_bytes: 0,
            omitted_from: None,
            omitted_stretch: None,
            clipped_lines: 0,
        };
        match known {
            Known::All(all) => layout.all(all, total, cap),
            Known::Ends(head, tail) => layout.ends(head, tail, total, cap),
        }
    }

    fn all(mut self, all: &Text, total: u64, cap: usize) -> Self {
        let text = all.as_str();
        if let Some(limit) = limit_that_fits(&[text], cap) {
            self.push(all, 0, text.len(), limit);
            return self;
        }
        // Each end has half of the room, and more than both have does not fit, so that they do not meet.
        let room = cap.saturating_sub(marker(total).len());
        let end = lines::head_end(text, None, room - room / 2, MIN_LINE);
        let start = lines::tail_start(text, None, room / 2, MIN_LINE);
        self.push(all, 0, end, MIN_LINE);
        self.omit(all.raw_after(end), all.raw_before(start));
        self.push(all, start, text.len(), MIN_LINE);
        self
    }

    fn ends(mut self, head: &Text, tail: &Text, total: u64, cap: usize) -> Self {
        const OPEN: Option<usize> = Some(usize::MAX);
        let room = cap.saturating_sub(marker(total).len());
        let (first, last) = (head.as_str(), tail.as_str());
        let (closed, opened) = (lines::last_line(first), lines::second_line(last));
        let (before, begun) = first.split_at(closed);
        let (ended, after) = last.split_at(opened);
        let fits = room
            .checked_sub(begun.len() + ended.len())
            .and_then(|room| limit_that_fits(&[before, after], room));
        let (limit, end, start) = match fits {
            Some(limit) => (limit, first.len(), 0),
            None => {
                let length = |lines, open: &str| lines::shown_length(lines, MIN_LINE) + open.len();
                // Each end gets half of the room, and what the other one does not need.
                let for_tail = room - length(before, begun).min(room / 2);
                let for_head = room - length(after, ended).min(for_tail);
                let end = lines::head_end(first, OPEN, for_head, MIN_LINE);
                let start = lines::tail_start(last, OPEN, for_tail, MIN_LINE);
                (MIN_LINE, end, start)
            }
        };
        self.push(head, 0, end.min(closed), limit);
        self.push_open(head, closed, end);
        self.omit(head.raw_after(end), tail.raw_before(start));
        self.push_open(tail, start, opened);
        self.push(tail, start.max(opened), last.len(), limit);
        self
    }

    /// Adds lines, with the long ones clipped.
    fn push(&mut self, text: &Text, from: usize, to: usize, limit: usize) {
        let lines = text.as_str().get(from..to).unwrap_or_default();
        for hidden in lines::push_clipped(&mut self.text, lines, limit) {
            let (start, end) = (from + hidden.start, from + hidden.end);
            self.clipped_lines += 1;
            self.omitted_bytes += text.raw_between(start, end);
            self.omitted_from.get_or_insert(text.raw_after(start));
        }
    }

    /// Adds a part of a line of which the rest is not known.
    fn push_open(&mut self, text: &Text, from: usize, to: usize) {
        let part = text.as_str().get(from..to);
        self.text.push_str(part.unwrap_or_default());
    }

    fn omit(&mut self, from: u64, to: u64) {
        let bytes = to.saturating_sub(from);
        self.text.push_str(&marker(bytes));
        self.omitted_bytes += bytes;
        self.omitted_from.get_or_insert(from);
        self.omitted_stretch = Some((from, to));
    }

    /// Returns what is left out; `None`: nothing.
    pub(crate) fn truncation(&self, total: u64, omitted_lines: Option<u64>) -> Option<Truncation> {
        self.omitted_from.map(|omitted_from| Truncation {
            original_bytes: total,
            retained_bytes: total.saturating_sub(self.omitted_bytes),
            omitted_bytes: self.omitted_bytes,
            omitted_from,
            omitted_lines,
            clipped_lines: self.clipped_lines,
            strategy: STRATEGY,
        })
    }
}

/// Returns how long lines may be, so that they have at most `room` bytes when the longer ones are clipped; `None`: they do not
/// fit however short they are.
fn limit_that_fits(texts: &[&str], room: usize) -> Option<usize> {
    let all: usize = texts.iter().map(|text| text.len()).sum();
    if all <= room {
        return Some(usize::MAX);
    }
    let lines = texts.iter().flat_map(|text| Lines(text));
    // A clipped line is at most as long as the limit, and its line feed.
    let long: Vec<usize> = lines
        .map(str::len)
        .filter(|&length| length > MIN_LINE + 1)
        .collect();
    let short = all - long.iter().sum::<usize>();
    let fits = |limit: usize| {
        let long: usize = long.iter().map(|&length| length.min(limit + 1)).sum();
        short + long <= room
    };
    let (mut good, mut bad) = (MIN_LINE, room);
    if !fits(good) {
        // Lines are clipped between characters, so that the shortest are a few bytes shorter than the limit.
        let exact: usize = texts
            .iter()
            .map(|text| lines::shown_length(text, MIN_LINE))
            .sum();
        return (exact <= room).then_some(MIN_LINE);
    }
    while bad > good + 1 {
        let middle = good.midpoint(bad);
        if fits(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Some(good)
}

//! Tables for people: rows as lines with aligned columns, which fit a terminal, and the cells that several tables have.

use std::io::IsTerminal as _;
use std::ops::Range;
use std::time::Duration;

use bytesize::ByteSize;
use chrono::{DateTime, Local};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The narrowest column that a name is cut to.
pub(super) const NARROW: usize = 8;

/// How many characters of the id of a process a table shows.
const SHORT_ID: usize = 12;

/// Returns the columns of the terminal that a table is printed to; `None` if it is no terminal.
pub(super) fn width() -> Option<usize> {
    let stdout = std::io::stdout();
    let size = stdout
        .is_terminal()
        .then(|| terminal_size::terminal_size_of(stdout));
    size.flatten().map(|(width, _)| width.0.into())
}

/// Returns rows as lines with aligned columns. Where they do not fit into the width, the columns in `names` are cut, and then the
/// ends of the lines. The cells have no control characters.
pub(super) fn columns<R: AsRef<[String]>>(
    rows: &[R],
    width: Option<usize>,
    names: Range<usize>,
) -> String {
    let lines = lines(rows, width, names);
    let ends = lines.iter().map(|line| line.trim_end());
    ends.collect::<Vec<_>>().join("\n")
}

/// As [`columns`], a text for each line, with the spaces at its end.
pub(super) fn lines<R: AsRef<[String]>>(
    rows: &[R],
    width: Option<usize>,
    names: Range<usize>,
) -> Vec<String> {
    let count = rows.iter().map(|row| row.as_ref().len()).max();
    let mut widths = vec![0; count.unwrap_or_default()];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row.as_ref()) {
            *width = (*width).max(cell.width());
        }
    }
    while let Some(most) = width
        && widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1) > most
    {
        let widest = widths
            .get_mut(names.clone())
            .and_then(|names| names.iter_mut().max());
        match widest.filter(|widest| **widest > NARROW) {
            Some(widest) => *widest -= 1,
            None => break,
        }
    }
    let lines = rows.iter().map(|row| {
        let cells = row.as_ref().iter().zip(&widths);
        let cells = cells.map(|(cell, width)| padded(&cut(cell, *width), *width));
        let line = cells.collect::<Vec<_>>().join("  ");
        width.map_or_else(|| line.clone(), |width| cut(&line, width))
    });
    lines.collect()
}

/// Cuts a text at its end, so that it takes at most so many columns.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let (mut kept, mut taken) = (String::new(), 0);
    for c in text.chars() {
        taken += c.width().unwrap_or_default();
        if taken >= width {
            break;
        }
        kept.push(c);
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// Fills a text up with spaces.
pub(super) fn padded(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.width());
    format!("{text}{:missing$}", "")
}

/// Returns a time as the clock of this machine shows it.
pub(super) fn time(unix_ms: u64) -> String {
    let time = i64::try_from(unix_ms)
        .ok()
        .and_then(DateTime::from_timestamp_millis);
    let local = time.map(|time| time.with_timezone(&Local));
    local.map_or_else(
        || "-".to_owned(),
        |local| local.format("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

/// Returns how long ago a time was, as `now` has it.
pub(super) fn ago(unix_ms: u64, now_ms: u64) -> String {
    let passed = Duration::from_millis(now_ms.saturating_sub(unix_ms)).as_secs();
    match passed {
        0..60 => format!("{passed}s ago"),
        60..3600 => format!("{}m ago", passed / 60),
        3600..86_400 => format!("{}h ago", passed / 3600),
        _ => format!("{}d ago", passed / 86_400),
    }
}

/// Returns a time span with one unit or two.
pub(super) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{}ms", time.as_millis()),
        1..60 => format!("{:.1}s", time.as_millis() as f64 / 1000.0),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// Returns a number of bytes with a unit.
pub(super) fn size(bytes: u64) -> String {
    ByteSize::b(bytes).to_string()
}

/// Returns the first characters of the id of a process, which commands take for the whole id.
pub(super) fn short_id(id: &str) -> &str {
    let end = id.char_indices().nth(SHORT_ID).map(|(end, _)| end);
    end.and_then(|end| id.get(..end)).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_one_unit_or_two() {
        for (milliseconds, text) in [
            (0, "0ms"),
            (999, "999ms"),
            (1_000, "1.0s"),
            (59_949, "59.9s"),
            (60_000, "1m00s"),
            (3_725_000, "1h02m"),
            (360_000_000, "100h00m"),
        ] {
            assert_eq!(duration(Duration::from_millis(milliseconds)), text);
        }
    }

    #[test]
    fn times_that_passed_have_one_unit() {
        let minute = 60_000;
        for (passed, text) in [
            (0, "0s ago"),
            (59_999, "59s ago"),
            (minute, "1m ago"),
            (60 * minute, "1h ago"),
            (49 * 60 * minute, "2d ago"),
        ] {
            assert_eq!(ago(1_000, 1_000 + passed), text);
        }
        // Clocks differ.
        assert_eq!(ago(1_000, 0), "0s ago");
    }

    #[test]
    fn a_line_is_never_wider_than_the_terminal() {
        let rows = [["漢字漢字漢字".to_owned(), "x".repeat(50), "end".into()]];
        for width in 0..80 {
            let lines = lines(&rows, Some(width), 0..2);
            assert!(lines.iter().all(|line| line.width() <= width), "{lines:?}");
        }
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(cut("漢字漢字", 4), "漢…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abc", 0), "");
    }

    #[test]
    fn an_id_is_shortened() {
        assert_eq!(short_id("0b0c8f5e-7a5f-4d0e"), "0b0c8f5e-7a5");
        assert_eq!(short_id("äöü"), "äöü");
    }
}

//! The reference's table of tests for its head and tail buffer (process-api, 2.3), as far as text comes out of it.
//!
//! Each test has the name of its row. Where it expects something else, it says which item of "Where ours is better" asks
//! for that.

use super::*;

/// What a host keeps of an output, in windows of these sizes.
#[derive(Debug, Default)]
struct Buffer {
    written: Vec<u8>,
    head: usize,
    tail: usize,
}

impl Buffer {
    fn new(head: usize, tail: usize) -> Self {
        Self {
            head,
            tail,
            ..Self::default()
        }
    }

    fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.written.extend_from_slice(bytes.as_ref());
    }

    fn windows(&self) -> Windows<'_> {
        let (head, rest) = self.written.split_at(self.written.len().min(self.head));
        let (_, tail) = rest.split_at(rest.len().saturating_sub(self.tail));
        Windows {
            head,
            tail,
            total: self.written.len() as u64,
        }
    }

    /// Renders with these sizes, and with the default limits of a line and of all.
    fn render(&self) -> Rendering {
        let sizes = Sizes {
            head: self.head,
            tail: self.tail,
            ..Sizes::default()
        };
        render(self.windows(), sizes)
    }
}

/// Renders as a host does by default: its windows are larger than what is shown.
fn render_default(output: impl AsRef<[u8]>) -> Rendering {
    let mut buffer = Buffer::new(32 * 1024, 32 * 1024);
    buffer.write(output);
    render(buffer.windows(), Sizes::default())
}

fn complete(text: &str) -> Rendering {
    Rendering {
        output: text.to_owned(),
        truncated: None,
    }
}

#[test]
fn empty_buffer() {
    assert_eq!(render_default(""), complete(""));
}

#[test]
fn small_output() {
    assert_eq!(render_default("hello world\n"), complete("hello world\n"));
}

#[test]
fn exactly_head_size() {
    let text = format!("{}\n", "x".repeat(79)).repeat(205)[..16_384].to_owned();
    assert_eq!(render_default(&text), complete(&text));
}

/// Adapted, item 1: nothing was left out, so that nothing is inserted and no truncation is reported.
#[test]
fn head_plus_tail_no_omission() {
    let mut buffer = Buffer::new(10, 10);
    buffer.write("0123456789abcdefghij");
    assert_eq!(buffer.render(), complete("0123456789abcdefghij"));
}

#[test]
fn large_output_truncation() {
    let mut buffer = Buffer::new(10, 10);
    buffer.write("A".repeat(50));
    buffer.write("Z".repeat(50));
    let Rendering { output, truncated } = buffer.render();
    let truncated = truncated.unwrap();
    assert_eq!(
        (truncated.original_bytes, truncated.omitted_bytes),
        (100, 80)
    );
    assert!(output.starts_with("AAAAAAAAAA") && output.ends_with("ZZZZZZZZZZ"));
    assert!(output.contains("... [omitted 80 bytes] ..."));
    assert_eq!(truncated.retained_bytes, output.len() as u64);
}

/// Adapted, item 1: the text is bounded too, not only what the buffer keeps.
#[test]
fn multi_mb_stays_bounded() {
    let mut buffer = Buffer::new(32 * 1024, 32 * 1024);
    let chunk = format!("{}\n", "x".repeat(4096));
    while buffer.written.len() < 5 * 1024 * 1024 {
        buffer.write(&chunk);
    }
    let Rendering { output, truncated } = render(buffer.windows(), Sizes::default());
    let truncated = truncated.unwrap();
    assert!(output.len() <= 32_768);
    assert_eq!(truncated.original_bytes, buffer.written.len() as u64);
    assert!(truncated.omitted_bytes > 0 && truncated.clipped_lines > 0);
}

/// Adapted, item 2: the line keeps its end too, so that the text of the clip is inside of it. The clip is counted.
#[test]
fn long_line_truncation() {
    let Rendering { output, truncated } = render_default(format!("{}\n", "m".repeat(2548)));
    assert_eq!(output.lines().count(), 1);
    assert!(output.len() <= 2048 + 1 && output.contains("... [truncated]"));
    assert!(output.starts_with("mm") && output.ends_with("mm\n"));
    let truncated = truncated.unwrap();
    assert_eq!((truncated.clipped_lines, truncated.omitted_bytes), (1, 0));
}

#[test]
fn long_line_in_tail() {
    let mut buffer = Buffer::new(20, 5000);
    buffer.write("0123456789012345678\n");
    buffer.write("T".repeat(2148));
    let Rendering { output, truncated } = buffer.render();
    assert!(output.contains("... [truncated]"));
    assert_eq!(truncated.unwrap().clipped_lines, 1);
}

#[test]
fn truncation_info_fields() {
    let mut buffer = Buffer::new(10, 10);
    buffer.write("D".repeat(50));
    let truncated = buffer.render().truncated.unwrap();
    assert_eq!(
        (truncated.original_bytes, truncated.omitted_bytes),
        (50, 30)
    );
    assert_eq!(truncated.strategy, "head_tail");
    assert!(truncated.retained_bytes > 0);
}

#[test]
fn multiple_small_writes() {
    let mut buffer = Buffer::new(32 * 1024, 32 * 1024);
    for byte in b"hello world" {
        buffer.write([*byte]);
    }
    assert_eq!(buffer.render(), complete("hello world"));
}

#[test]
fn ring_buffer_wraparound() {
    let mut buffer = Buffer::new(5, 10);
    for piece in ["HEADD", "0123456789", "abcdefghij", "ABCDE"] {
        buffer.write(piece);
    }
    assert!(buffer.render().output.ends_with("fghijABCDE"));
}

#[test]
fn multiple_lines_truncated() {
    let text = format!("short\n{}\nshort\n", "L".repeat(2148));
    let Rendering { output, truncated } = render_default(text);
    let lines: Vec<_> = output.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[2]), (3, "short", "short"));
    assert!(lines[1].len() <= 2048 && lines[1].contains("... [truncated]"));
    assert_eq!(truncated.unwrap().clipped_lines, 1);
}

/// From the reference's tests of the API (1.9).
#[test]
fn output_exceeds_buffer() {
    let text: String = (0..1155)
        .map(|index| format!("line {index:05} {}\n", "x".repeat(48)))
        .collect();
    let Rendering { output, truncated } = render_default(&text);
    let truncated = truncated.unwrap();
    assert_eq!(truncated.strategy, "head_tail");
    assert!(truncated.omitted_bytes > 0);
    assert!(truncated.original_bytes > truncated.retained_bytes);
    assert!(output.contains("... [omitted"));
    assert!(output.ends_with(&text[text.len() - 60..]));
}

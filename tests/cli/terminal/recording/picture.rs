//! Frames of a terminal as a picture that moves: SVG with styles alone, for light and dark pages.

use std::fmt::Write as _;

pub(super) const COLUMNS: u16 = 92;
pub(super) const LINES: u16 = 12;

/// The size of a character, and the space around the lines, in pixels.
const CHARACTER: (f64, f64) = (8.4, 20.0);
const MARGIN: f64 = 14.0;

/// A line of the screen.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) is_inverse: bool,
}

/// What is shown for some time.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) lines: Vec<Line>,
    pub(super) seconds: f64,
}

impl Line {
    pub(super) fn plain(text: String) -> Self {
        let is_inverse = false;
        Self { text, is_inverse }
    }
}

/// The last frame is shown where nothing moves.
const STYLE: &str = "\
.back{fill:#f6f8fa;stroke:#d1d9e0}text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328;white-space:pre}
.bar{fill:#1f2328}.on-bar{fill:#f6f8fa}g{visibility:hidden}g:last-of-type{visibility:visible}
@media(prefers-color-scheme:dark){.back{fill:#0d1117;stroke:#3d444d}text,.bar{fill:#e6edf3}.on-bar{fill:#0d1117}}
@media(prefers-reduced-motion:reduce){g{animation:none!important}}
";

/// Draws all frames, which follow each other for ever.
pub(super) fn draw(frames: &[Frame]) -> String {
    let (width, height) = CHARACTER;
    let wide = f64::from(COLUMNS) * width + 2.0 * MARGIN;
    let high = f64::from(LINES) * height + 2.0 * MARGIN;
    let all: f64 = frames.iter().map(|frame| frame.seconds).sum();
    let (mut styles, mut groups, mut begin) = (STYLE.to_owned(), String::new(), 0.0);
    for (number, Frame { lines, seconds }) in frames.iter().enumerate() {
        let (from, to) = (100.0 * begin / all, 100.0 * (begin + seconds) / all);
        begin += seconds;
        _ = writeln!(
            styles,
            "#f{number}{{animation:k{number} {all:.1}s step-end infinite}}\
             @keyframes k{number}{{0%{{visibility:hidden}}{from:.2}%{{visibility:visible}}{to:.2}%{{visibility:hidden}}}}"
        );
        _ = writeln!(groups, "<g id=\"f{number}\">");
        for (line, row) in lines.iter().zip(0_u8..) {
            draw_line(line, MARGIN + f64::from(row) * height, &mut groups);
        }
        groups.push_str("</g>\n");
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide:.0} {high:.0}\" width=\"{wide:.0}\" height=\"{high:.0}\">\n\
         <title>toolhost call, ps and top in a terminal</title>\n<style>\n{styles}</style>\n\
         <rect class=\"back\" x=\"0.5\" y=\"0.5\" width=\"{:.0}\" height=\"{:.0}\" rx=\"8\"/>\n{groups}</svg>\n",
        wide - 1.0,
        high - 1.0
    )
}

fn draw_line(line: &Line, top: f64, to: &mut String) {
    let text = line.text.trim_end();
    let (width, height) = CHARACTER;
    let mut class = "";
    if line.is_inverse {
        let wide = f64::from(COLUMNS) * width;
        _ = writeln!(
            to,
            "<rect class=\"bar\" x=\"{MARGIN}\" y=\"{top}\" width=\"{wide}\" height=\"{height}\"/>"
        );
        class = " class=\"on-bar\"";
    }
    if text.is_empty() {
        return;
    }
    // Wherever the page is shown, its font is as wide as this, so that columns are columns.
    let long = width * text.chars().map(|_| 1.0).sum::<f64>();
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
    let base = top + 15.0;
    _ = writeln!(
        to,
        "<text{class} x=\"{MARGIN}\" y=\"{base}\" textLength=\"{long:.1}\" xml:space=\"preserve\">{escaped}</text>"
    );
}

/// Returns the lines of all frames of a picture.
pub(super) fn texts(picture: &str) -> String {
    let text = regex::Regex::new("<text[^>]*>([^<]*)</text>").unwrap();
    let texts = text.captures_iter(picture);
    let texts: Vec<_> = texts
        .map(|found| found[1].replace("&lt;", "<").replace("&amp;", "&"))
        .collect();
    texts.join("\n")
}

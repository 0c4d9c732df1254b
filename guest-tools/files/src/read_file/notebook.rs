//! Notebooks of Jupyter, as their cells.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use image::ImageFormat;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The largest file, in bytes.
pub(super) const MAX_FILE: u64 = 16 << 20;

/// How much text of one output is shown, in bytes.
const MAX_OUTPUT: usize = 8 << 10;

/// The most images that are kept.
const MAX_IMAGES: usize = 100;

/// A notebook of version 4 of its format, as far as it is shown.
#[derive(Debug, Deserialize)]
struct Notebook {
    cells: Vec<Cell>,
    #[serde(rename = "nbformat")]
    _nbformat: u64,
}

#[derive(Debug, Deserialize)]
struct Cell {
    cell_type: String,
    #[serde(default)]
    source: Lines,
    #[serde(default)]
    execution_count: Option<u64>,
    #[serde(default)]
    outputs: Vec<Output>,
}

#[derive(Debug, Deserialize)]
struct Output {
    output_type: String,
    #[serde(default)]
    text: Lines,
    #[serde(default)]
    data: Map<String, Value>,
    #[serde(default)]
    traceback: Vec<String>,
    #[serde(default)]
    ename: String,
    #[serde(default)]
    evalue: String,
}

/// A text, which notebooks write as a whole or as a list.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Lines {
    Whole(String),
    Parts(Vec<String>),
}

impl Default for Lines {
    fn default() -> Self {
        Self::Parts(Vec::new())
    }
}

/// The cells of a notebook.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Cells {
    /// Their lines, with a heading for each cell and each output.
    pub(super) text: String,
    pub(super) total: u64,
    /// The images among the outputs, with the number of the line that stands for each.
    pub(super) images: Vec<Drawn>,
    /// How many lines the text has.
    lines: u64,
}

/// An image in a notebook.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Drawn {
    pub(super) line: u64,
    pub(super) format: ImageFormat,
    pub(super) data: Vec<u8>,
}

/// Returns the cells of a notebook; `None` if it is none.
pub(super) fn cells(file: &[u8]) -> Option<Cells> {
    let notebook: Notebook = serde_json::from_slice(file).ok()?;
    let mut cells = Cells::default();
    for cell in &notebook.cells {
        cells.total += 1;
        let count = cell.execution_count;
        let count = count.map_or(String::new(), |count| format!(" [{count}]"));
        let kind = one_line(&cell.cell_type);
        cells.line(&format!("--- cell {}: {kind}{count} ---", cells.total));
        cells.lines(&cell.source.join());
        for output in &cell.outputs {
            cells.output(output);
        }
    }
    Some(cells)
}

impl Cells {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
        self.lines += 1;
    }

    fn lines(&mut self, text: &str) {
        for line in text.lines() {
            self.line(line);
        }
    }

    fn output(&mut self, output: &Output) {
        let kind = one_line(&output.output_type);
        self.line(&format!("--- output: {kind} ---"));
        match output.output_type.as_str() {
            "stream" => self.bounded(&output.text.join()),
            "error" if output.traceback.is_empty() => {
                self.bounded(&format!("{}: {}", output.ename, output.evalue));
            }
            "error" => self.bounded(&output.traceback.join("\n")),
            _ => self.data(&output.data),
        }
    }

    /// Adds an output that has several forms: its images, or else its text.
    fn data(&mut self, data: &Map<String, Value>) {
        let images = [
            ("image/png", ImageFormat::Png),
            ("image/jpeg", ImageFormat::Jpeg),
            ("image/gif", ImageFormat::Gif),
            ("image/webp", ImageFormat::WebP),
        ];
        for (media_type, format) in images {
            let Some(encoded) = data.get(media_type).and_then(text_of) else {
                continue;
            };
            if self.images.len() == MAX_IMAGES {
                self.line(&format!("[{media_type}]"));
                continue;
            }
            let encoded: String = encoded.split_whitespace().collect();
            let decoded = BASE64.decode(encoded).ok();
            let size = decoded.as_ref().map_or(0, Vec::len);
            self.line(&format!("[{media_type}, {size} bytes]"));
            let line = self.lines;
            if let Some(data) = decoded {
                self.images.push(Drawn { line, format, data });
            }
        }
        let texts = [
            "text/plain",
            "text/markdown",
            "text/latex",
            "text/html",
            "application/json",
        ];
        let text = texts
            .iter()
            .find_map(|kind| data.get(*kind).and_then(text_of));
        match text {
            Some(text) => self.bounded(&text),
            None => {
                let others = data.keys().filter(|kind| !kind.starts_with("image/"));
                let others: Vec<_> = others.map(|kind| one_line(kind)).collect();
                if !others.is_empty() {
                    self.line(&format!("[{}]", others.join(", ")));
                }
            }
        }
    }

    /// Adds the text of an output as a terminal shows it, as far as there is room.
    fn bounded(&mut self, text: &str) {
        let text = toolhost_view::page(text.as_bytes(), false, usize::MAX).text;
        let end = text.floor_char_boundary(MAX_OUTPUT);
        let (shown, rest) = text.split_at_checked(end).unwrap_or_default();
        self.lines(shown);
        if !rest.is_empty() {
            self.line(&format!("... [{} more bytes of this output]", rest.len()));
        }
    }
}

impl Lines {
    fn join(&self) -> String {
        match self {
            Self::Whole(text) => text.clone(),
            Self::Parts(parts) => parts.concat(),
        }
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let parts: Option<Vec<&str>> = parts.iter().map(Value::as_str).collect();
            Some(parts?.concat())
        }
        Value::Object(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Returns a name of the file as a part of a line.
fn one_line(name: &str) -> String {
    let name = name.chars().filter(|char| !char.is_control());
    name.take(80).collect()
}

#[cfg(test)]
pub(super) mod tests;

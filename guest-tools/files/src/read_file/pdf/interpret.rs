//! The text of a page: the operators of its content, as far as they place text.

mod matrix;

use std::borrow::Cow;
use std::sync::Arc;

use hayro_font::hayro_cmap::{BfString, load_embedded};
use hayro_font::{
    CMapResolverFn, Font, FontCache, FontGlyph, FontResolverFn, StandardFont, UNITS_PER_EM,
};
use hayro_syntax::content::TypedIter;
use hayro_syntax::content::ops::TypedInstruction as Operator;
use hayro_syntax::object::dict::keys::{CONTENTS, MATRIX, RESOURCES, SUBTYPE};
use hayro_syntax::object::{Array, Dict, Name, Object, Stream};
use hayro_syntax::page::{Page, Resources};

use super::layout::{Layout, Place};
use matrix::Matrix;

/// How deep forms may be in forms.
const MAX_DEPTH: u32 = 12;

/// How many graphics states may be kept at once.
const MAX_STATES: usize = 256;

/// How many operators and characters are read in all.
const MAX_STEPS: u64 = 5_000_000;

/// How many steps the beginning of a form counts for.
const FORM: u64 = 500;

/// How many bytes of pages and forms are unpacked in all.
const MAX_UNPACKED: usize = 64 << 20;

/// The most bytes of text of a page.
const MAX_PAGE: usize = 1 << 20;

/// The content of a page.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) text: String,
    pub(super) has_images: bool,
    /// Whether most characters are not known.
    pub(super) is_unknown: bool,
}

/// Reads pages, with a budget for all of them.
pub(super) struct Interpreter<'a> {
    fonts: FontCache<'a>,
    font_resolver: FontResolverFn,
    cmap_resolver: CMapResolverFn,
    steps: u64,
    unpacked: usize,
}

/// The state that `q` keeps and `Q` brings back.
#[derive(Clone)]
struct State<'a> {
    to_page: Matrix,
    font: Option<Font<'a>>,
    size: f64,
    char_space: f64,
    word_space: f64,
    stretch: f64,
    leading: f64,
    rise: f64,
}

/// A page that is being read.
struct Reading<'a> {
    layout: Layout,
    state: State<'a>,
    kept: Vec<State<'a>>,
    /// How many more states were to be kept than can be.
    not_kept: u64,
    text: Matrix,
    line: Matrix,
    has_images: bool,
    known: u64,
    unknown: u64,
}

impl<'a> Interpreter<'a> {
    pub(super) fn new() -> Self {
        Self {
            fonts: FontCache::new(),
            // No outline is ever drawn, so one font stands in for all that are not in the file.
            font_resolver: Arc::new(|_| Some(StandardFont::Helvetica.get_font_data())),
            cmap_resolver: Arc::new(load_embedded),
            steps: MAX_STEPS,
            unpacked: MAX_UNPACKED,
        }
    }

    /// Returns whether the budget is used up, so that the last page may be incomplete.
    pub(super) fn is_exhausted(&self) -> bool {
        self.steps == 0 || self.unpacked == 0
    }

    pub(super) fn page(&mut self, page: &Page<'a>) -> Written {
        let mut reading = Reading::new();
        let content = self.page_content(page.raw());
        self.content(&content, page.resources(), &mut reading, 0);
        drop(content);
        Written {
            has_images: reading.has_images,
            is_unknown: reading.unknown > reading.known,
            text: reading.layout.finish(),
        }
    }

    /// Returns the content of a page, as far as there is room for it. The library would keep that of every page.
    fn page_content(&mut self, page: &Dict<'a>) -> Vec<u8> {
        let mut content = Vec::new();
        let mut add = |stream: Stream<'a>| {
            let room = self.unpacked;
            if let Some(data) = self.unpack(&stream) {
                match content.is_empty() {
                    true => content = data.into_owned(),
                    false => content.extend_from_slice(&data),
                }
                content.truncate(room);
                // The parts of a content are apart from each other.
                content.push(b' ');
            }
            self.unpacked > 0
        };
        if let Some(stream) = page.get::<Stream<'a>>(CONTENTS) {
            add(stream);
        } else if let Some(streams) = page.get::<Array<'a>>(CONTENTS) {
            _ = streams.iter::<Stream<'a>>().all(add);
        }
        content
    }

    /// Unpacks a stream at the expense of the budget, also if it is damaged.
    fn unpack(&mut self, stream: &Stream<'a>) -> Option<Cow<'a, [u8]>> {
        let data = stream.decoded_data().ok();
        let packed = stream.raw_data().len();
        let unpacked = data.as_ref().map_or(0, |data| data.len());
        self.unpacked = self.unpacked.saturating_sub(packed.max(unpacked) + 1);
        data
    }

    fn content(
        &mut self,
        content: &[u8],
        resources: &Resources<'a>,
        reading: &mut Reading<'a>,
        depth: u32,
    ) {
        let mut operators = TypedIter::new(content);
        while let Some(operator) = operators.next() {
            self.steps = self.steps.saturating_sub(1);
            if self.steps == 0 {
                return;
            }
            match operator {
                Operator::TextFont(font) => {
                    let dict = resources.get_font(font.0);
                    reading.state.font = dict.and_then(|dict| self.font(&dict));
                    reading.state.size = font.1.as_f64();
                }
                Operator::ShowText(text) => self.show(text.0, reading),
                Operator::NextLineAndShowText(text) => {
                    reading.next_line(0.0, -reading.state.leading);
                    self.show(text.0, reading);
                }
                Operator::ShowTextWithParameters(text) => {
                    reading.state.word_space = text.0.as_f64();
                    reading.state.char_space = text.1.as_f64();
                    reading.next_line(0.0, -reading.state.leading);
                    self.show(text.2, reading);
                }
                Operator::ShowTexts(texts) => {
                    for part in texts.0.iter::<Object<'_>>() {
                        self.steps = self.steps.saturating_sub(1);
                        if self.steps == 0 {
                            return;
                        }
                        match part {
                            Object::Number(number) => reading.adjust(number.as_f64()),
                            Object::String(text) => self.show(&text, reading),
                            _ => {}
                        }
                    }
                }
                Operator::XObject(name) => {
                    if let Some(form) = resources.get_x_object(name.0) {
                        self.form(&form, resources, reading, depth);
                    }
                }
                operator => reading.place(&operator),
            }
        }
    }

    fn font(&self, dict: &Dict<'a>) -> Option<Font<'a>> {
        self.fonts
            .font(dict, &self.font_resolver, &self.cmap_resolver)
    }

    fn form(
        &mut self,
        stream: &Stream<'a>,
        resources: &Resources<'a>,
        reading: &mut Reading<'a>,
        depth: u32,
    ) {
        self.steps = self.steps.saturating_sub(FORM);
        let dict = stream.dict();
        if dict.get::<Name<'_>>(SUBTYPE).as_deref() != Some(b"Form") {
            reading.has_images = true;
            return;
        }
        if depth >= MAX_DEPTH || self.is_exhausted() {
            return;
        }
        let Some(content) = self.unpack(stream) else {
            return;
        };
        let own = dict.get::<Dict<'a>>(RESOURCES).map(Resources::new);
        let kept = (reading.state.clone(), reading.text, reading.line);
        let states = std::mem::take(&mut reading.kept);
        let not_kept = std::mem::take(&mut reading.not_kept);
        if let Some(matrix) = dict.get::<[f64; 6]>(MATRIX) {
            reading.state.to_page = reading.state.to_page.after(Matrix(matrix));
        }
        let resources = own.as_ref().unwrap_or(resources);
        self.content(&content, resources, reading, depth + 1);
        (reading.state, reading.text, reading.line) = kept;
        (reading.kept, reading.not_kept) = (states, not_kept);
    }

    fn show(&mut self, bytes: &[u8], reading: &mut Reading<'a>) {
        let Some(font) = reading.state.font.clone() else {
            reading.unknown += bytes.len() as u64;
            return;
        };
        let mut at = 0;
        while at < bytes.len() && self.steps > 0 {
            self.steps -= 1;
            if reading.layout.len() > MAX_PAGE {
                self.steps = 0;
                return;
            }
            let (code, length) = font.read_code(bytes, at);
            at += length.max(1);
            let character = match font.glyph(font.map_code(code), code) {
                FontGlyph::Outline(glyph) => glyph.as_unicode(),
                FontGlyph::Type3(glyph) => glyph.as_unicode(),
            };
            let advance = font.code_advance(code);
            let is_space = code == 32 && length == 1;
            let is_horizontal = font.is_horizontal();
            let advance = if is_horizontal { advance.x } else { advance.y };
            reading.character(
                character.as_ref(),
                advance / f64::from(UNITS_PER_EM),
                is_space,
                is_horizontal,
            );
        }
    }
}

impl Reading<'_> {
    fn new() -> Self {
        Self {
            layout: Layout::default(),
            state: State {
                to_page: Matrix::IDENTITY,
                font: None,
                size: 0.0,
                char_space: 0.0,
                word_space: 0.0,
                stretch: 1.0,
                leading: 0.0,
                rise: 0.0,
            },
            kept: Vec::new(),
            not_kept: 0,
            text: Matrix::IDENTITY,
            line: Matrix::IDENTITY,
            has_images: false,
            known: 0,
            unknown: 0,
        }
    }

    /// Does what an operator says about the places of text.
    fn place(&mut self, operator: &Operator<'_, '_>) {
        match operator {
            Operator::SaveState(_) if self.kept.len() < MAX_STATES => {
                self.kept.push(self.state.clone());
            }
            Operator::SaveState(_) => self.not_kept += 1,
            Operator::RestoreState(_) if self.not_kept > 0 => self.not_kept -= 1,
            Operator::RestoreState(_) => {
                if let Some(state) = self.kept.pop() {
                    self.state = state;
                }
            }
            Operator::Transform(m) => {
                let matrix = [&m.0, &m.1, &m.2, &m.3, &m.4, &m.5].map(|number| number.as_f64());
                self.state.to_page = self.state.to_page.after(Matrix(matrix));
            }
            Operator::BeginText(_) => (self.text, self.line) = (Matrix::IDENTITY, Matrix::IDENTITY),
            Operator::SetTextMatrix(m) => {
                let matrix = [&m.0, &m.1, &m.2, &m.3, &m.4, &m.5].map(|number| number.as_f64());
                (self.text, self.line) = (Matrix(matrix), Matrix(matrix));
            }
            Operator::NextLine(by) => self.next_line(by.0.as_f64(), by.1.as_f64()),
            Operator::NextLineAndSetLeading(by) => {
                self.state.leading = -by.1.as_f64();
                self.next_line(by.0.as_f64(), by.1.as_f64());
            }
            Operator::NextLineUsingLeading(_) => self.next_line(0.0, -self.state.leading),
            Operator::CharacterSpacing(space) => self.state.char_space = space.0.as_f64(),
            Operator::WordSpacing(space) => self.state.word_space = space.0.as_f64(),
            Operator::HorizontalScaling(scale) => self.state.stretch = scale.0.as_f64() / 100.0,
            Operator::TextLeading(leading) => self.state.leading = leading.0.as_f64(),
            Operator::TextRise(rise) => self.state.rise = rise.0.as_f64(),
            Operator::InlineImage(_) => self.has_images = true,
            _ => {}
        }
    }

    fn next_line(&mut self, x: f64, y: f64) {
        self.line = self.line.after(Matrix::translation(x, y));
        self.text = self.line;
    }

    /// Moves what follows back by thousandths of the size of the font.
    fn adjust(&mut self, thousandths: f64) {
        let State {
            size,
            stretch,
            font,
            ..
        } = &self.state;
        let by = -thousandths / 1000.0 * size;
        let is_horizontal = font.as_ref().is_none_or(Font::is_horizontal);
        let by = match is_horizontal {
            true => Matrix::translation(by * stretch, 0.0),
            false => Matrix::translation(0.0, by),
        };
        self.text = self.text.after(by);
    }

    fn character(
        &mut self,
        character: Option<&BfString>,
        advance: f64,
        is_space: bool,
        is_horizontal: bool,
    ) {
        let state = &self.state;
        let to_page = state.to_page.after(self.text);
        let width = advance * state.size;
        let spaces = state.char_space + if is_space { state.word_space } else { 0.0 };
        let end = match is_horizontal {
            true => (width * state.stretch, 0.0),
            false => (0.0, width),
        };
        let (x, y) = to_page.of(0.0, state.rise);
        let (end_x, end_y) = to_page.of(end.0, end.1 + state.rise);
        let place = Place {
            x,
            y,
            end_x,
            end_y,
            size: to_page.scale() * state.size.abs(),
        };
        let moved = match is_horizontal {
            true => ((width + spaces) * state.stretch, 0.0),
            false => (0.0, width + spaces),
        };
        self.text = self.text.after(Matrix::translation(moved.0, moved.1));
        let mut buffer = [0; 4];
        let text = match character {
            Some(BfString::Char(char)) => {
                ligature(*char).unwrap_or_else(|| char.encode_utf8(&mut buffer))
            }
            Some(BfString::String(text)) => text.as_str(),
            None => "\u{FFFD}",
        };
        match character {
            Some(_) => self.known += 1,
            None => self.unknown += 1,
        }
        // Ends of lines are where characters are, and no characters.
        let is_control = |char: char| char.is_control();
        if text.contains(is_control) {
            self.layout.add(&text.replace(is_control, " "), place);
        } else {
            self.layout.add(text, place);
        }
    }
}

/// Returns the letters of which a ligature is made: a search for them must find it.
fn ligature(char: char) -> Option<&'static str> {
    Some(match char {
        '\u{FB00}' => "ff",
        '\u{FB01}' => "fi",
        '\u{FB02}' => "fl",
        '\u{FB03}' => "ffi",
        '\u{FB04}' => "ffl",
        '\u{FB05}' | '\u{FB06}' => "st",
        _ => return None,
    })
}

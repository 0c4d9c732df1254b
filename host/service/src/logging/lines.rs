//! Log lines: each has the fields of an event and of all spans around it, without nesting.
//!
//! If a field occurs more than once, the event's value wins, and then that of the innermost span. So `request`, `chat`, `call`
//! and `plugin` are top-level fields of each line, whichever code wrote it. Values are escaped: an event is always one line,
//! and no value can control a terminal.

use std::fmt::{self, Write as _};
use std::time::SystemTime;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::{errors, stderr};
use toolhost_call::audit::rfc3339;

/// The most bytes of a value. Plugins write lines of at most half of that; longer values come from clients.
const MAX_VALUE: usize = 16 << 10;

/// The field with the text of an event.
const MESSAGE: &str = "message";

/// The format of lines.
#[derive(Clone, Copy, Debug)]
pub(super) enum Look {
    /// For people.
    Text {
        /// Whether a terminal shows the lines.
        colours: bool,
    },
    /// One JSON object a line.
    Json,
}

impl Look {
    /// Returns the line of a notice of the program itself, such as the address that it listens on. For people, the line is the
    /// bare text.
    pub(super) fn notice(
        self,
        level: Level,
        text: &str,
        fields: &[(&'static str, &str)],
    ) -> String {
        match self {
            Self::Text { .. } => format!("{text}\n"),
            Self::Json => {
                let fields = fields.iter().map(|(name, value)| (*name, (*value).into()));
                let time = rfc3339(SystemTime::now());
                json(
                    time,
                    level,
                    "toolhost",
                    Some(text.into()),
                    Fields(fields.collect()),
                )
            }
        }
    }
}

/// Writes a line for each event.
#[derive(Debug)]
pub(super) struct Lines(Look);

impl Lines {
    pub(super) fn new(look: Look) -> Self {
        Self(look)
    }
}

/// Fields in the order in which they were set. There are few: looking through them is faster than hashing.
#[derive(Clone, Debug, Default)]
struct Fields(Vec<(&'static str, Value)>);

impl Fields {
    fn set(&mut self, name: &'static str, mut value: Value) {
        // Only exported spans need these; see `tracing_opentelemetry`.
        if name.starts_with("otel.") {
            return;
        }
        if let ("error", Value::String(text)) = (name, &mut value) {
            *text = errors::without_numbers(std::mem::take(text));
        }
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name, value)),
        }
    }

    fn add_missing(&mut self, outer: &Self) {
        for (name, value) in &outer.0 {
            if !self.0.iter().any(|(known, _)| known == name) {
                self.0.push((name, value.clone()));
            }
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        let index = self.0.iter().position(|(known, _)| *known == name)?;
        Some(self.0.remove(index).1)
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = Bounded::default();
        // The write fails once the text is long enough.
        _ = write!(text, "{value:?}");
        self.set(field.name(), text.end());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let mut text = Bounded::default();
        _ = text.write_str(value);
        self.set(field.name(), text.end());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field.name(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field.name(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field.name(), value.into());
    }

    // Larger numbers are not exact in every reader of JSON.
    fn record_u128(&mut self, field: &Field, value: u128) {
        self.record_u64(field, u64::try_from(value).unwrap_or(u64::MAX));
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        let most = if value < 0 { i64::MIN } else { i64::MAX };
        self.record_i64(field, i64::try_from(value).unwrap_or(most));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field.name(), value.into());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        // Add the causes: often the advice is in a cause.
        let mut text = Bounded::default();
        _ = write!(text, "{value}");
        let mut cause = value.source();
        while let Some(error) = cause {
            _ = write!(text, ": {error}");
            cause = error.source();
        }
        self.set(field.name(), text.end());
    }
}

/// Text that is cut where it gets too long.
#[derive(Debug, Default)]
struct Bounded {
    text: String,
    cut: bool,
}

impl Bounded {
    fn end(mut self) -> Value {
        if self.cut {
            self.text.push('…');
        }
        self.text.into()
    }
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.cut {
            return Err(fmt::Error);
        }
        let room = MAX_VALUE - self.text.len();
        let fits = text.get(..text.floor_char_boundary(room));
        let fits = fits.unwrap_or_default();
        self.text.push_str(fits);
        self.cut = fits.len() < text.len();
        match self.cut {
            true => Err(fmt::Error),
            false => Ok(()),
        }
    }
}

impl<S> Layer<S> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<Fields>() {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let message = fields.take(MESSAGE);
        // From the innermost outwards.
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(outer) = span.extensions().get::<Fields>() {
                fields.add_missing(outer);
            }
        }
        let (time, metadata) = (rfc3339(SystemTime::now()), event.metadata());
        let line = match self.0 {
            Look::Json => json(time, *metadata.level(), metadata.target(), message, fields),
            Look::Text { colours } => text(&time, *metadata.level(), message, &fields, colours),
        };
        stderr::push(line);
    }
}

fn json(
    time: String,
    level: Level,
    target: &str,
    message: Option<Value>,
    fields: Fields,
) -> String {
    let mut line = Map::new();
    line.insert("timestamp".into(), time.into());
    line.insert("level".into(), level.as_str().into());
    line.insert("target".into(), target.into());
    line.insert(MESSAGE.into(), message.unwrap_or_default());
    for (name, value) in fields.0 {
        // No field of Toolhost has this name, but a field of a library could, and it must not replace the time of the event.
        line.entry(name).or_insert(value);
    }
    let mut line = Value::Object(line).to_string();
    escape_hidden(&mut line);
    line.push('\n');
    line
}

/// Escapes characters that JSON leaves as they are, but a terminal or an editor acts on. All of them are within strings.
fn escape_hidden(line: &mut String) {
    if !line.chars().any(is_hidden) {
        return;
    }
    let mut escaped = String::with_capacity(line.len() + 16);
    for char in line.chars() {
        if is_hidden(char) {
            _ = write!(escaped, "\\u{:04x}", u32::from(char));
        } else {
            escaped.push(char);
        }
    }
    *line = escaped;
}

/// Returns whether a character is a control character, or reverses or hides the text after it.
fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn text(
    time: &str,
    level: Level,
    message: Option<Value>,
    fields: &Fields,
    colours: bool,
) -> String {
    let colour = match level {
        _ if !colours => None,
        Level::ERROR => Some(31),
        Level::WARN => Some(33),
        Level::INFO => Some(32),
        Level::DEBUG => Some(34),
        Level::TRACE => Some(35),
    };
    let (on, off) = match colour {
        Some(colour) => (format!("\u{1b}[{colour}m"), "\u{1b}[0m"),
        None => (String::new(), ""),
    };
    let mut line = format!("{time} {on}{level:>5}{off}");
    if let Some(message) = message {
        line.push(' ');
        match message {
            Value::String(message) => plain(&mut line, &message),
            other => _ = write!(line, "{other}"),
        }
    }
    for (name, value) in &fields.0 {
        _ = write!(line, " {name}=");
        match value {
            Value::String(value) if is_word(value) => line.push_str(value),
            Value::String(value) => {
                line.push('"');
                for char in value.chars() {
                    match char {
                        '"' | '\\' => line.extend(['\\', char]),
                        _ => plain_char(&mut line, char),
                    }
                }
                line.push('"');
            }
            other => _ = write!(line, "{other}"),
        }
    }
    line.push('\n');
    line
}

/// Returns whether a value needs no quotes, because it cannot be mistaken for two fields.
fn is_word(value: &str) -> bool {
    let fine = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'=');
    !value.is_empty() && value.bytes().all(fine)
}

fn plain(line: &mut String, text: &str) {
    for char in text.chars() {
        plain_char(line, char);
    }
}

fn plain_char(line: &mut String, char: char) {
    if is_hidden(char) && char != '\t' {
        line.extend(char.escape_unicode());
    } else {
        line.push(char);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(list: &[(&'static str, &str)]) -> Fields {
        let mut fields = Fields::default();
        for (name, value) in list {
            fields.set(name, (*value).into());
        }
        fields
    }

    #[test]
    fn inner_fields_go_before_outer_ones_and_each_is_there_once() {
        let mut event = fields(&[("plugin", "a"), ("x", "1")]);
        event.add_missing(&fields(&[
            ("plugin", "b"),
            ("call", "c"),
            ("otel.kind", "server"),
        ]));
        event.add_missing(&fields(&[("call", "d"), ("request", "r")]));
        let line = text("T", Level::INFO, Some("hello".into()), &event, false);
        assert_eq!(line, "T  INFO hello plugin=a x=1 call=c request=r\n");
        let line = json("T".into(), Level::WARN, "toolhost", Some("m".into()), event);
        assert_eq!(
            line,
            "{\"timestamp\":\"T\",\"level\":\"WARN\",\"target\":\"toolhost\",\"message\":\"m\",\"plugin\":\"a\",\"x\":\"1\",\
             \"call\":\"c\",\"request\":\"r\"}\n"
        );
    }

    #[test]
    fn errors_have_no_numbers_of_the_system() {
        let event = fields(&[("error", "cannot write x: Is a directory (os error 21)")]);
        let line = text("T", Level::WARN, Some("m".into()), &event, false);
        assert_eq!(line, "T  WARN m error=\"cannot write x: Is a directory\"\n");
    }

    #[test]
    fn a_value_is_cut_where_it_gets_too_long() {
        let mut text = Bounded::default();
        _ = write!(text, "{}{}", "x".repeat(MAX_VALUE - 1), "ä".repeat(1 << 20));
        let Value::String(text) = text.end() else {
            panic!("it is text")
        };
        assert_eq!(text, format!("{}…", "x".repeat(MAX_VALUE - 1)));
    }

    #[test]
    fn hostile_text_stays_in_its_field() {
        let hostile = "a\" level=\"ERROR\"\n\u{1b}[2J\u{202e}\\\u{9b}x";
        let event = fields(&[("tool", hostile), ("empty", ""), ("a", "b=c")]);
        let line = text("T", Level::INFO, Some(hostile.into()), &event, false);
        assert_eq!(line.lines().count(), 1);
        assert!(!line.trim_end().chars().any(is_hidden));
        assert!(
            line.contains(r#" tool="a\" level=\"ERROR\"\u{a}\u{1b}[2J\u{202e}\\\u{9b}x""#),
            "{line}"
        );
        assert!(line.ends_with(" empty=\"\" a=\"b=c\"\n"));
        let line = json("T".into(), Level::INFO, "t", Some(hostile.into()), event);
        assert_eq!(line.lines().count(), 1);
        assert!(!line.trim_end().chars().any(is_hidden), "{line}");
        let value: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&value["tool"], &value["message"]),
            (&hostile.into(), &hostile.into())
        );
    }

    #[test]
    fn what_the_program_says_is_bare_text_or_an_object() {
        let notice = |look: Look| look.notice(Level::INFO, "listening on x", &[("url", "x")]);
        assert_eq!(notice(Look::Text { colours: true }), "listening on x\n");
        let line: Value = serde_json::from_str(&notice(Look::Json)).unwrap();
        assert_eq!(
            (&line["message"], &line["url"]),
            (&"listening on x".into(), &"x".into())
        );
        assert_eq!(line["level"], "INFO");
    }

    #[test]
    fn no_field_takes_the_place_of_what_a_line_always_has() {
        let event = fields(&[("level", "ERROR"), ("timestamp", "never")]);
        let line = json("T".into(), Level::INFO, "t", None, event);
        let value: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&value["level"], &value["timestamp"]),
            (&"INFO".into(), &"T".into())
        );
    }
}

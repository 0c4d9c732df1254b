//! A reader of the spans that an exporter sends: the protocol buffers of OTLP, as far as the tests look.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A span, with its ids in hexadecimal.
#[derive(Debug, Default)]
pub(super) struct Span {
    pub(super) trace: String,
    pub(super) id: String,
    pub(super) parent: String,
    pub(super) name: String,
    /// The attributes that are texts.
    pub(super) attributes: BTreeMap<String, String>,
}

/// Returns the spans of a request to `/v1/traces`.
pub(super) fn read(body: &[u8]) -> Vec<Span> {
    let resources = within(body, 1);
    let scopes = resources.flat_map(|resource| within(resource, 2));
    let spans = scopes.flat_map(|scope| within(scope, 2));
    spans.map(span).collect()
}

fn span(bytes: &[u8]) -> Span {
    let mut span = Span::default();
    for (number, value) in fields(bytes) {
        match number {
            1 => span.trace = hex(value),
            2 => span.id = hex(value),
            4 => span.parent = hex(value),
            5 => span.name = text(value),
            9 => {
                let key = within(value, 1).next().map(text);
                let value = within(value, 2)
                    .next()
                    .and_then(|any| within(any, 1).next());
                span.attributes.extend(key.zip(value.map(text)));
            }
            _ => {}
        }
    }
    span
}

/// Returns the fields of this number that have a length.
fn within(message: &[u8], wanted: u64) -> impl Iterator<Item = &[u8]> {
    let all = fields(message).into_iter();
    all.filter_map(move |(number, value)| (number == wanted).then_some(value))
}

/// Returns the fields of a message that have a length, with their numbers.
fn fields(mut message: &[u8]) -> Vec<(u64, &[u8])> {
    let mut found = Vec::new();
    while !message.is_empty() {
        let tag = varint(&mut message);
        let length = match tag & 7 {
            0 => {
                varint(&mut message);
                continue;
            }
            1 => 8,
            2 => usize::try_from(varint(&mut message)).unwrap(),
            5 => 4,
            other => panic!("{other} is no type of a field"),
        };
        let (value, rest) = message.split_at(length);
        if tag & 7 == 2 {
            found.push((tag >> 3, value));
        }
        message = rest;
    }
    found
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            break;
        }
    }
    value
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}

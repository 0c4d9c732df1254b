//! Where properties are inserted into objects and removed from them.

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp};
use jsonc_parser::tokens::Token;

use super::super::entry::{Splice, indentation};
use super::{File, is_comment};

impl File<'_> {
    /// Returns the comma behind an offset, if nothing but comments comes before it.
    fn comma(&self, offset: usize) -> Option<Range<usize>> {
        let mut tokens = self.tokens.iter();
        let next = tokens.find(|token| token.range.start >= offset && !is_comment(token))?;
        matches!(next.token, Token::Comma).then_some(next.range.start..next.range.end)
    }

    /// Returns the end of the last token or comment before an offset.
    fn end_before(&self, offset: usize) -> usize {
        let mut tokens = self.tokens.iter().rev();
        let last = tokens.find(|token| token.range.end <= offset);
        last.map_or(0, |token| self.without_return(token.range.end))
    }

    /// Returns the end of the comments behind an offset that begin in its line.
    fn end_of_comments(&self, offset: usize) -> usize {
        let mut end = offset;
        for token in &self.tokens {
            let blanks = match token.range.start >= end {
                true => self.text.get(end..token.range.start).unwrap_or_default(),
                false => continue,
            };
            if !is_comment(token) || blanks.contains('\n') {
                break;
            }
            end = token.range.end;
        }
        self.without_return(end)
    }

    /// Returns an offset before the carriage return that ends a line, if the offset is behind it.
    fn without_return(&self, offset: usize) -> usize {
        let before = self.text.get(..offset).unwrap_or_default();
        offset - usize::from(before.ends_with('\r'))
    }
}

/// Returns the changes that insert a property at the end of an object. `render` makes its text for the blanks of its line.
pub(super) fn inserted(
    file: &File,
    object: &Object,
    render: impl Fn(&str) -> String,
) -> Vec<Splice> {
    let around = indentation(file.text, object.range.start);
    let Some(last) = object.properties.last() else {
        let begin = object.range.start + 1;
        return vec![(begin..begin, render(around))];
    };
    let end = last.range.end;
    let comma = file.comma(end);
    let behind = comma.as_ref().map_or(end, |comma| comma.end);
    // A comment behind the last property is about that one.
    let at = file.end_of_comments(behind);
    let before = object.range.start..last.range.start;
    let is_line = !file.text.get(before).unwrap_or_default().contains('\n');
    let blanks = match is_line {
        true => format!("{around}{}", file.unit),
        false => indentation(file.text, last.range.start).to_owned(),
    };
    let text = format!("{}{blanks}{}", file.line, render(&blanks));
    match comma {
        Some(_) => vec![(at..at, format!("{text},"))],
        None => vec![(end..end, ",".to_owned()), (at..at, text)],
    }
}

/// Returns the changes that remove a property from an object.
pub(super) fn removal(file: &File, object: &Object, property: &ObjectProp) -> Vec<Splice> {
    let Range { start, end } = property.range.start..property.range.end;
    let from = file.end_before(start);
    if let Some(comma) = file.comma(end) {
        return vec![(from..comma.end, String::new())];
    }
    let mut earlier = object.properties.iter().rev();
    let previous = earlier.find(|other| other.range.end <= start);
    // The comma before the last property was needed for it alone.
    let comma = previous.and_then(|previous| file.comma(previous.range.end));
    let comma = comma.map(|comma| (comma, String::new()));
    comma
        .into_iter()
        .chain([(from..end, String::new())])
        .collect()
}

//! Entries in configurations that are JSON, with comments where the client takes them.
//!
//! Three forms say what to remove later. An entry directly behind `{` stands in an object that was empty before. Servers with a blank behind
//! `{` were made with their only entry. A configuration in `{ … }` was made in a file without any value.

mod place;

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

use super::client::Dialect;
use super::entry::{EditError, Entry, Removed, Started, broken, line_end, ours, spliced};
use crate::cli::literal::{list, quoted};
use place::{inserted, removal};

/// Blanks of one level, where the file has no example.
const UNIT: &str = "  ";

/// A file and its parts.
struct File<'a> {
    text: &'a str,
    /// The value; `None` if the file has none, but perhaps comments.
    value: Option<Value<'a>>,
    /// The tokens, with comments.
    tokens: Vec<TokenAndRange<'a>>,
    line: &'static str,
    /// Blanks of one level.
    unit: &'a str,
}

impl<'a> File<'a> {
    fn parse(text: &'a str, dialect: &Dialect) -> Result<Self, EditError> {
        let collect = CollectOptions {
            comments: CommentCollectionStrategy::AsTokens,
            tokens: true,
        };
        let options = ParseOptions {
            allow_comments: true,
            allow_loose_object_property_names: false,
            allow_trailing_commas: dialect.trailing_commas,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let parsed = parse_to_ast(text, &collect, &options);
        let parsed =
            parsed.map_err(|error| broken(text, error.range().start, error.kind().to_string()))?;
        let tokens = parsed.tokens.unwrap_or_default();
        // The parser allows comments wherever it returns them.
        if let Some(comment) = tokens.iter().find(|token| is_comment(token))
            && !dialect.comments
        {
            let problem = "the client takes no comments".to_owned();
            return Err(broken(text, comment.range.start, problem));
        }
        let mut indented = text.lines().map(|line| {
            let rest = line.trim_start_matches([' ', '\t']);
            line.get(..line.len() - rest.len()).unwrap_or_default()
        });
        let unit = indented.find(|blanks| !blanks.is_empty());
        Ok(Self {
            text,
            value: parsed.value,
            tokens,
            line: line_end(text),
            unit: unit.unwrap_or(UNIT),
        })
    }

    /// Returns the property of a key; fails if there are several.
    fn property<'o>(
        &self,
        object: &'o Object<'a>,
        key: &str,
    ) -> Result<Option<&'o ObjectProp<'a>>, EditError> {
        let properties = object.properties.iter();
        let mut found = properties.filter(|property| property.name.as_str() == key);
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(EditError::Twice(key.to_owned())),
            (found, None) => Ok(found),
        }
    }

    /// Returns the servers, with the property that has them; fails if something else stands in their place.
    fn servers<'o>(
        &self,
        root: &'o Object<'a>,
        key: &str,
    ) -> Result<Option<(&'o ObjectProp<'a>, &'o Object<'a>)>, EditError> {
        let Some(property) = self.property(root, key)? else {
            return Ok(None);
        };
        let servers = object(&property.value, &format!("`{key}`"))?;
        Ok(Some((property, servers)))
    }

    /// Returns the text between the braces of an object, before and behind a property.
    fn around(&self, object: &Object, property: &ObjectProp) -> (&'a str, &'a str) {
        let before = object.range.start + 1..property.range.start;
        let behind = property.range.end..object.range.end.saturating_sub(1);
        let text = |range: Range<usize>| self.text.get(range).unwrap_or_default();
        (text(before), text(behind))
    }

    /// Returns the text of an entry whose line begins with these blanks.
    fn entry(&self, dialect: &Dialect, entry: &Entry, blanks: &str) -> String {
        let (line, unit) = (self.line, self.unit);
        let inner = format!("{blanks}{unit}");
        let typed = match dialect.typed {
            true => format!("{line}{inner}\"type\": \"stdio\","),
            false => String::new(),
        };
        format!(
            "{}: {{{typed}{line}{inner}\"command\": {},{line}{inner}\"args\": {}{line}{blanks}}}",
            quoted(&entry.name),
            quoted(&entry.command),
            list(entry.args.iter().map(String::as_str))
        )
    }

    /// Returns the text of servers with one entry.
    fn servers_with(&self, dialect: &Dialect, entry: &Entry, blanks: &str) -> String {
        let (line, unit) = (self.line, self.unit);
        let key = quoted(dialect.servers);
        let inner = format!("{blanks}{unit}");
        let entry = self.entry(dialect, entry, &inner);
        format!("{key}: {{{line}{inner}{entry}{line}{blanks}}}")
    }
}

/// Returns whether a token is a comment.
fn is_comment(token: &TokenAndRange) -> bool {
    matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_))
}

/// Returns the object that a value is.
fn object<'o, 'a>(value: &'o Value<'a>, what: &str) -> Result<&'o Object<'a>, EditError> {
    value.as_object().ok_or_else(|| EditError::Shape {
        what: what.to_owned(),
        expected: "an object",
    })
}

/// The texts around the servers of a file that was made for its entry.
mod made {
    pub(super) const BEFORE: &str = "\n  ";
    pub(super) const BEHIND: &str = "\n";
    pub(super) const END: &str = "\n";
}

/// Returns a file that has one entry and nothing else.
pub(super) fn made(dialect: &Dialect, entry: &Entry) -> String {
    let file = File {
        text: "",
        value: None,
        tokens: Vec::new(),
        line: "\n",
        unit: UNIT,
    };
    let servers = file.servers_with(dialect, entry, UNIT);
    format!("{{{}{servers}{}}}{}", made::BEFORE, made::BEHIND, made::END)
}

/// Returns a file with an entry. See [`super::edit::add`].
pub(super) fn add(text: &str, dialect: &Dialect, entry: &Entry) -> Result<String, EditError> {
    let file = File::parse(text, dialect)?;
    let Some(value) = &file.value else {
        let servers = file.servers_with(dialect, entry, "");
        let line = if text.is_empty() { "" } else { file.line };
        return Ok(format!("{text}{line}{{ {servers} }}"));
    };
    let root = object(value, "the file")?;
    let splices = match file.servers(root, dialect.servers)? {
        None => inserted(&file, root, |blanks| {
            file.servers_with(dialect, entry, blanks)
        }),
        Some((_, servers)) => match file.property(servers, &entry.name)? {
            None => inserted(&file, servers, |blanks| file.entry(dialect, entry, blanks)),
            Some(property) => entry.changes(started(property))?,
        },
    };
    Ok(spliced(text, &splices))
}

/// Returns a file without the entry of a name. See [`super::edit::remove`].
pub(super) fn remove(text: &str, dialect: &Dialect, name: &str) -> Result<Removed, EditError> {
    let file = File::parse(text, dialect)?;
    let Some(value) = &file.value else {
        return Ok(Removed::Absent);
    };
    let root = object(value, "the file")?;
    let Some((property, servers)) = file.servers(root, dialect.servers)? else {
        return Ok(Removed::Absent);
    };
    let Some(entry) = file.property(servers, name)? else {
        return Ok(Removed::Absent);
    };
    ours(name, started(entry))?;
    let without =
        |object, property| Removed::Rest(spliced(text, &removal(&file, object, property)));
    let (before, behind) = file.around(servers, entry);
    // Comments and servers that were there before stay, and so do servers that were empty.
    if before.is_empty() || !before.trim().is_empty() || !behind.trim().is_empty() {
        return Ok(without(servers, entry));
    }
    let (start, end) = (root.range.start, root.range.end);
    Ok(
        match (start, file.around(root, property), text.get(end..)) {
            (0, (made::BEFORE, made::BEHIND), Some(made::END)) => Removed::Nothing,
            (start, (" ", " "), Some("")) => {
                let before = text.get(..start).unwrap_or_default();
                let rest = before.strip_suffix(file.line).unwrap_or(before);
                Removed::Rest(rest.to_owned())
            }
            _ => without(root, property),
        },
    )
}

/// Returns what an entry starts; `None` if it has no command or no arguments.
fn started<'o>(property: &'o ObjectProp<'_>) -> Option<Started<'o>> {
    let entry = property.value.as_object()?;
    let (command, args) = (entry.get_string("command")?, entry.get_array("args")?);
    let texts = args.elements.iter().map(Value::as_string_lit);
    Some(Started {
        command: (&command.value, command.range.start..command.range.end),
        args: (
            texts.map(|text| Some(&*text?.value)).collect(),
            args.range.start..args.range.end,
        ),
    })
}

#[cfg(test)]
mod tests;

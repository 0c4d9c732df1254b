//! The JSON Schema of parameters whose types need no serde. The plugin has it as one text.

use std::fmt::Write as _;

use syn::{GenericArgument, PathArguments, PathSegment, Type};

use crate::function::Argument;

/// A type that is read without serde.
pub(crate) struct Plain {
    /// Whether the parameter is an `Option` of the type.
    pub(crate) is_optional: bool,
    /// The keywords of its schema.
    keywords: String,
}

impl Plain {
    /// Knows a type by its name.
    pub(crate) fn of(kind: &Type) -> Option<Self> {
        let inner = generic(kind, "Option");
        Some(Self {
            is_optional: inner.is_some(),
            keywords: keywords(inner.unwrap_or(kind))?,
        })
    }
}

fn segment(kind: &Type) -> Option<&PathSegment> {
    match kind {
        Type::Path(path) if path.qself.is_none() && path.path.segments.len() == 1 => {
            path.path.segments.first()
        }
        _ => None,
    }
}

/// Returns `T` of a type `NAME<T>`.
pub(crate) fn generic<'a>(kind: &'a Type, name: &str) -> Option<&'a Type> {
    let segment = segment(kind).filter(|segment| segment.ident == name)?;
    match &segment.arguments {
        PathArguments::AngleBracketed(arguments) => match arguments.args.first() {
            Some(GenericArgument::Type(kind)) if arguments.args.len() == 1 => Some(kind),
            _ => None,
        },
        _ => None,
    }
}

fn keywords(kind: &Type) -> Option<String> {
    if let Some(item) = generic(kind, "Vec") {
        return Some(format!(r#""type":"array","items":{{{}}}"#, keywords(item)?));
    }
    let segment = segment(kind).filter(|segment| segment.arguments.is_none())?;
    let integer =
        |least: &str, most: &str| format!(r#""type":"integer","maximum":{most},"minimum":{least}"#);
    Some(match segment.ident.to_string().as_str() {
        "String" => r#""type":"string""#.to_owned(),
        "bool" => r#""type":"boolean""#.to_owned(),
        "f32" | "f64" => r#""type":"number""#.to_owned(),
        "i8" => integer("-128", "127"),
        "i16" => integer("-32768", "32767"),
        "i32" => integer("-2147483648", "2147483647"),
        "i64" | "isize" => r#""type":"integer""#.to_owned(),
        "u8" => integer("0", "255"),
        "u16" => integer("0", "65535"),
        "u32" => integer("0", "4294967295"),
        "u64" | "usize" => r#""type":"integer","minimum":0"#.to_owned(),
        _ => return None,
    })
}

/// Returns the schema of all parameters of a tool, if none of them needs serde.
pub(crate) fn of(arguments: &[&Argument]) -> Option<String> {
    let mut properties = Vec::new();
    let mut required = Vec::new();
    for argument in arguments {
        let plain = argument.plain.as_ref()?;
        let name = quoted(&argument.name());
        let mut property = format!("{name}:{{{}", plain.keywords);
        if !argument.description.is_empty() {
            let _ = write!(
                property,
                r#","description":{}"#,
                quoted(&argument.description)
            );
        }
        properties.push(property + "}");
        if !plain.is_optional {
            required.push(name);
        }
    }
    let properties = properties.join(",");
    let required = match required.as_slice() {
        [] => String::new(),
        names => format!(r#","required":[{}]"#, names.join(",")),
    };
    Some(format!(
        r#"{{"type":"object","properties":{{{properties}}}{required},"additionalProperties":false}}"#
    ))
}

/// Writes a text as JSON.
fn quoted(text: &str) -> String {
    let mut json = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => json.extend(['\\', letter]),
            '\n' => json.push_str("\\n"),
            letter if letter < ' ' => {
                let _ = write!(json, "\\u{:04x}", u32::from(letter));
            }
            letter => json.push(letter),
        }
    }
    json + "\""
}

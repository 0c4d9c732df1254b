//! The options in the parentheses of `#[tool(…)]`.

use std::time::Duration;

use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Ident, LitStr, Token, parenthesized};

const KEYS: &str = "`read_only`, `non_destructive`, `idempotent`, `closed_world`, `title = \"…\"`, `max_duration = \"5s\"`, \
     `example(\"name\", r#\"{…}\"#)` and `resources = &[…]`";

/// The promises and texts of a tool.
#[derive(Default)]
pub(crate) struct Attribute {
    pub(crate) read_only: bool,
    pub(crate) non_destructive: bool,
    pub(crate) idempotent: bool,
    pub(crate) closed_world: bool,
    pub(crate) title: Option<LitStr>,
    pub(crate) max_duration: Option<Duration>,
    pub(crate) examples: Vec<Example>,
    pub(crate) resources: Option<Expr>,
}

/// A call that shows the tool at work.
pub(crate) struct Example {
    pub(crate) name: LitStr,
    pub(crate) arguments: LitStr,
    pub(crate) is_error: bool,
}

impl Parse for Attribute {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut attribute = Self::default();
        let mut seen: Vec<Ident> = Vec::new();
        while !input.is_empty() {
            let key: Ident = input
                .parse()
                .map_err(|error| Error::new(error.span(), format!("#[tool] knows {KEYS}")))?;
            if key != "example" && seen.contains(&key) {
                return Err(Error::new(key.span(), format!("`{key}` stands here twice")));
            }
            attribute.take(&key, input)?;
            seen.push(key);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(attribute)
    }
}

impl Attribute {
    fn take(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        match key.to_string().as_str() {
            "read_only" => self.read_only = true,
            "non_destructive" => self.non_destructive = true,
            "idempotent" => self.idempotent = true,
            "closed_world" => self.closed_world = true,
            "title" => self.title = Some(text(input)?),
            "max_duration" => self.max_duration = Some(duration(&text(input)?)?),
            "example" => self.examples.push(input.parse()?),
            "resources" => {
                input.parse::<Token![=]>()?;
                self.resources = Some(input.parse()?);
            }
            _ => {
                let message = format!("there is no `{key}`; #[tool] knows {KEYS}");
                return Err(Error::new(key.span(), message));
            }
        }
        Ok(())
    }
}

impl Parse for Example {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let content;
        parenthesized!(content in input);
        let name = content.parse()?;
        content.parse::<Token![,]>()?;
        let arguments: LitStr = content.parse()?;
        let text = arguments.value();
        if !(text.trim().starts_with('{') && text.trim().ends_with('}')) {
            let message =
                "the arguments of an example are a JSON object, as r#\"{\"text\": \"a b\"}\"#";
            return Err(Error::new(arguments.span(), message));
        }
        let mut is_error = false;
        if content.parse::<Option<Token![,]>>()?.is_some() && !content.is_empty() {
            let key: Ident = content.parse()?;
            is_error = key == "is_error";
            if !is_error {
                return Err(Error::new(key.span(), "only `is_error` can stand here"));
            }
            content.parse::<Option<Token![,]>>()?;
        }
        Ok(Self {
            name,
            arguments,
            is_error,
        })
    }
}

fn text(input: ParseStream<'_>) -> syn::Result<LitStr> {
    input.parse::<Token![=]>()?;
    input.parse()
}

/// Reads a time such as `500ms`, `5s` or `10m`.
fn duration(text: &LitStr) -> syn::Result<Duration> {
    let value = text.value();
    let digits = value.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
    let milliseconds: Option<u64> = match value.get(digits.len()..) {
        Some("ms") => Some(1),
        Some("s") => Some(1_000),
        Some("m") => Some(60_000),
        Some("h") => Some(3_600_000),
        _ => None,
    };
    let number: Option<u64> = digits.parse().ok();
    number
        .zip(milliseconds)
        .and_then(|(number, unit)| number.checked_mul(unit))
        .filter(|milliseconds| *milliseconds > 0)
        .map(Duration::from_millis)
        .ok_or_else(|| {
            let message =
                "a time is a whole number above 0 and a unit: \"500ms\", \"5s\", \"10m\" or \"1h\"";
            Error::new(text.span(), message)
        })
}

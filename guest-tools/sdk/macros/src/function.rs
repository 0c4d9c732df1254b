//! The function below `#[tool]`: what it takes, and what its doc comments say.

use proc_macro2::{Ident, Span};
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, FnArg, ItemFn, Lit, Meta, Pat, ReturnType, Safety, Type};

use crate::schema::Plain;

/// A function that is to be a tool.
pub(crate) struct Function {
    /// The function itself, without the attributes that only this macro reads.
    pub(crate) item: ItemFn,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) reply: Type,
}

/// What one parameter of the function is given.
pub(crate) enum Parameter {
    /// The call itself: `call: &Call`.
    Call,
    /// An argument of this name.
    Argument(Box<Argument>),
}

/// One parameter that a model gives.
pub(crate) struct Argument {
    pub(crate) name: Ident,
    /// Where there is another pattern than a name, which only a struct of all arguments can have.
    unnamed: Option<Span>,
    pub(crate) kind: Type,
    /// Doc comments, and attributes of serde and schemars.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) description: String,
    /// What the type is, if serde is not needed to read it.
    pub(crate) plain: Option<Plain>,
}

impl Function {
    pub(crate) fn new(mut item: ItemFn) -> syn::Result<Self> {
        let signature = &item.sig;
        let unsafety = match &signature.safety {
            Safety::Unsafe(token) => Some(token.span()),
            _ => None,
        };
        let refused = [
            (
                signature.asyncness.span_of(),
                "a tool is no async function: its calls to the host return when they are done",
            ),
            (unsafety, "a tool is no unsafe function"),
            (
                signature.abi.span_of(),
                "a tool is an ordinary Rust function, without `extern`",
            ),
            (
                signature.variadic.span_of(),
                "a tool has a fixed number of parameters",
            ),
        ];
        if let Some((Some(span), message)) = refused.into_iter().find(|(span, _)| span.is_some()) {
            return Err(Error::new(span, message));
        }
        if !signature.generics.params.is_empty() {
            return Err(Error::new(
                signature.generics.span(),
                "a tool has no type parameters and no lifetimes: a model sends values of fixed types",
            ));
        }
        let reply = match &signature.output {
            ReturnType::Type(_, reply) => (**reply).clone(),
            ReturnType::Default => {
                return Err(Error::new(
                    signature.ident.span(),
                    "a tool replies: return `String`, `Reply`, `Json<T>`, or a `Result` of one of them",
                ));
            }
        };
        let name = name(&signature.ident)?;
        let description = documentation(&item.attrs);
        if description.is_empty() {
            return Err(Error::new(
                signature.ident.span(),
                "a tool needs a description: write a doc comment (`/// …`) above the function. The model reads it to choose the tool",
            ));
        }
        let parameters = item.sig.inputs.iter_mut().map(parameter);
        let parameters = parameters.collect::<syn::Result<_>>()?;
        let function = Self {
            item,
            name,
            description,
            parameters,
            reply,
        };
        let unnamed = function
            .arguments()
            .into_iter()
            .find_map(|argument| argument.unnamed);
        match unnamed.filter(|_| function.whole().is_none()) {
            Some(span) => Err(Error::new(
                span,
                "a parameter of a tool needs a name: the model knows the argument by it",
            )),
            None => Ok(function),
        }
    }

    pub(crate) fn arguments(&self) -> Vec<&Argument> {
        let argument = |parameter| match parameter {
            &Parameter::Call => None,
            Parameter::Argument(argument) => Some(&**argument),
        };
        self.parameters.iter().filter_map(argument).collect()
    }

    /// Returns the parameter that is a struct of all arguments: the only one, of a type of the plugin's own, without a doc comment.
    pub(crate) fn whole(&self) -> Option<&Argument> {
        match self.arguments().as_slice() {
            [only]
                if only.plain.is_none()
                    && only.attributes.is_empty()
                    && !is_wrapper(&only.kind) =>
            {
                Some(only)
            }
            _ => None,
        }
    }
}

/// The place of a keyword, if it is there.
trait SpanOf {
    fn span_of(&self) -> Option<Span>;
}

impl<T: Spanned> SpanOf for Option<T> {
    fn span_of(&self) -> Option<Span> {
        self.as_ref().map(Spanned::span)
    }
}

/// Returns the name of the tool.
pub(crate) fn name(ident: &Ident) -> syn::Result<String> {
    let name = ident.to_string();
    let name = name.strip_prefix("r#").unwrap_or(&name);
    let is_part = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let starts = name.starts_with(|letter: char| letter.is_ascii_lowercase());
    if starts && name.split('_').all(is_part) && name.len() <= 31 {
        return Ok(name.to_owned());
    }
    let message = format!(
        "`{name}` cannot be the name of a tool: it must match [a-z][a-z0-9]*(_[a-z0-9]+)* and have at most 31 bytes"
    );
    Err(Error::new(ident.span(), message))
}

fn parameter(input: &mut FnArg) -> syn::Result<Parameter> {
    let input = match input {
        FnArg::Typed(input) => input,
        FnArg::Receiver(receiver) => {
            return Err(Error::new(
                receiver.span(),
                "a tool is a free function: it has no `self`",
            ));
        }
    };
    let is_read = |attribute: &Attribute| {
        ["doc", "serde", "schemars"]
            .iter()
            .any(|name| attribute.path().is_ident(name))
    };
    let (attributes, others) = std::mem::take(&mut input.attrs)
        .into_iter()
        .partition(is_read);
    input.attrs = others;
    if let Type::Reference(reference) = &*input.ty {
        if ends_with(&reference.elem, "Call") {
            return Ok(Parameter::Call);
        }
        let owned = match &*reference.elem {
            Type::Path(path) if path.path.is_ident("str") => "take a `String`",
            Type::Slice(_) => "take a `Vec`",
            _ => "take it by value",
        };
        let message = format!("a tool owns its arguments: {owned}. Only `&Call` is borrowed");
        return Err(Error::new(input.ty.span(), message));
    }
    let (name, unnamed) = match &*input.pat {
        Pat::Ident(pattern) if pattern.subpat.is_none() && pattern.by_ref.is_none() => {
            (pattern.ident.clone(), None)
        }
        other => (Ident::new("arguments", other.span()), Some(other.span())),
    };
    let has_options = attributes
        .iter()
        .any(|attribute: &Attribute| !attribute.path().is_ident("doc"));
    let plain = Plain::of(&input.ty).filter(|_| !has_options);
    Ok(Parameter::Argument(Box::new(Argument {
        name,
        unnamed,
        kind: (*input.ty).clone(),
        description: documentation(&attributes),
        attributes,
        plain,
    })))
}

fn ends_with(kind: &Type, name: &str) -> bool {
    match kind {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .is_some_and(|last| last.ident == name),
        _ => false,
    }
}

/// Returns whether a type cannot be a struct of arguments, but only the type of one.
fn is_wrapper(kind: &Type) -> bool {
    let wrappers = ["Option", "Vec", "Box", "HashSet", "BTreeSet"];
    !matches!(kind, Type::Path(_)) || wrappers.iter().any(|name| ends_with(kind, name))
}

/// Returns the text of doc comments: the lines of a paragraph are one, since they are wrapped for the source.
pub(crate) fn documentation(attributes: &[Attribute]) -> String {
    let line = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    let text: Vec<String> = attributes.iter().filter_map(line).collect();
    let text = text.join("\n");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let text = lines.join("\n");
    let paragraphs = text
        .trim()
        .split("\n\n")
        .map(|lines| lines.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

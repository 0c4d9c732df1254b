//! The code that `#[tool]` writes: the function as it is, and beside it a type of the same name, which `export_tools!` takes.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, ItemFn};

use crate::attribute::Attribute;
use crate::function::{self, Argument, Function, Parameter};
use crate::schema;

impl Argument {
    /// Returns the name by which a model knows the argument.
    pub(crate) fn name(&self) -> String {
        let name = self.name.to_string();
        name.strip_prefix("r#").unwrap_or(&name).to_owned()
    }
}

/// Expands the attribute. After a mistake the function and the type are still there, so that the compiler names only the mistake.
pub(crate) fn tool(attribute: TokenStream, item: &TokenStream) -> TokenStream {
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            let message = "#[tool] stands above a function with a body; a type becomes a tool with the trait `Tool`";
            let error = Error::new(error.span(), message).into_compile_error();
            return quote!(#error #item);
        }
    };
    let bare = bare(&function);
    let expanded = syn::parse2(attribute)
        .and_then(|attribute| Ok((attribute, Function::new(function)?)))
        .map(|(attribute, function)| expand(&attribute, &function));
    expanded.unwrap_or_else(|error| {
        let error = error.into_compile_error();
        quote!(#error #bare)
    })
}

/// Returns the function and its type without what makes it a tool.
fn bare(function: &ItemFn) -> TokenStream {
    let mut function = function.clone();
    for input in &mut function.sig.inputs {
        if let syn::FnArg::Typed(input) = input {
            input.attrs.clear();
        }
    }
    let (visibility, name) = (&function.vis, &function.sig.ident);
    let tool = function::name(name).unwrap_or_else(|_| "unnamed".to_owned());
    quote! {
        #[allow(dead_code, reason = "the attribute of this tool has a mistake")]
        #function
        #[allow(dead_code, missing_docs, missing_debug_implementations, non_camel_case_types, reason = "as above")]
        #visibility struct #name {}
        impl ::toolhost_sdk::__private::Exported for #name {
            const NAME: &'static str = #tool;
            const DESCRIPTION: &'static str = "";

            fn input_schema() -> ::toolhost_sdk::__private::String {
                ::toolhost_sdk::__private::String::new()
            }

            fn call(
                _: &::toolhost_sdk::Call,
                _: &str,
            ) -> ::core::result::Result<::toolhost_sdk::Reply, ::toolhost_sdk::ToolError> {
                ::core::result::Result::Ok(::toolhost_sdk::Reply::new())
            }
        }
    }
}

fn expand(attribute: &Attribute, function: &Function) -> TokenStream {
    let item = &function.item;
    let (visibility, ident) = (&item.vis, &item.sig.ident);
    let about = about(attribute, function);
    let implementation = match (function.whole(), schema::of(&function.arguments())) {
        (Some(whole), _) => with_struct(&about, function, whole),
        (None, Some(schema)) => without_serde(&about, function, &schema),
        (None, None) => with_made_struct(&about, function),
    };
    let documentation = format!("The tool `{}`: what `export_tools!` takes.", function.name);
    quote! {
        #[allow(clippy::needless_pass_by_value, clippy::too_many_arguments, reason = "the arguments are those of the model")]
        #item

        #[doc = #documentation]
        #[allow(non_camel_case_types, reason = "the tool has the name of its function")]
        #[derive(Debug)]
        #visibility struct #ident {}

        const _: () = { #implementation };
    }
}

/// Returns the constants that `Tool` and `Exported` have in common.
fn about(attribute: &Attribute, function: &Function) -> TokenStream {
    let (name, description) = (&function.name, &function.description);
    let title = attribute.title.as_ref().map(|title| {
        quote!(const TITLE: ::core::option::Option<&'static str> = ::core::option::Option::Some(#title);)
    });
    let max_duration = attribute.max_duration.map(|limit| {
        let milliseconds = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        quote! {
            const MAX_DURATION: ::core::option::Option<::core::time::Duration> =
                ::core::option::Option::Some(::core::time::Duration::from_millis(#milliseconds));
        }
    });
    let Attribute {
        read_only,
        non_destructive,
        idempotent,
        closed_world,
        ..
    } = attribute;
    let examples = attribute.examples.iter().map(|example| {
        let (name, arguments, is_error) = (&example.name, &example.arguments, example.is_error);
        quote!(::toolhost_sdk::Example { name: #name, arguments: #arguments, is_error: #is_error })
    });
    let resources = attribute.resources.as_ref().map(
        |resources| quote!(const RESOURCES: &'static [::toolhost_sdk::Resource] = #resources;),
    );
    quote! {
        const NAME: &'static str = #name;
        const DESCRIPTION: &'static str = #description;
        #title
        const HINTS: ::toolhost_sdk::Hints = ::toolhost_sdk::Hints {
            read_only: #read_only,
            non_destructive: #non_destructive,
            idempotent: #idempotent,
            closed_world: #closed_world,
        };
        #max_duration
        const EXAMPLES: &'static [::toolhost_sdk::Example] = &[#(#examples),*];
        #resources
    }
}

/// Calls the function, each of whose arguments is what `value` makes of it.
fn run(function: &Function, value: impl Fn(&Argument) -> TokenStream) -> TokenStream {
    let ident = &function.item.sig.ident;
    let values = function.parameters.iter().map(|parameter| match parameter {
        Parameter::Call => quote!(__call),
        Parameter::Argument(argument) => value(argument),
    });
    let reply = &function.reply;
    let into = quote_spanned!(reply.span()=> <#reply as ::toolhost_sdk::IntoReply>::into_reply);
    quote!(#into(#ident(#(#values),*)))
}

fn output_schema(function: &Function) -> TokenStream {
    let reply = &function.reply;
    quote! {{
        #[allow(unused_imports, reason = "it is used where the reply has no schema")]
        use ::toolhost_sdk::__private::NoSchema as _;
        ::toolhost_sdk::__private::Output::<#reply>::schema()
    }}
}

/// The parameter is a struct of the plugin.
fn with_struct(about: &TokenStream, function: &Function, whole: &Argument) -> TokenStream {
    let (ident, kind) = (&function.item.sig.ident, &whole.kind);
    let run = run(function, |_| quote!(__arguments));
    let output_schema = output_schema(function);
    quote! {
        impl ::toolhost_sdk::Tool for #ident {
            #about
            type Arguments = #kind;

            fn output_schema() -> ::core::option::Option<::toolhost_sdk::Schema> {
                #output_schema
            }

            fn call(
                __call: &::toolhost_sdk::Call,
                __arguments: #kind,
            ) -> ::core::result::Result<::toolhost_sdk::Reply, ::toolhost_sdk::ToolError> {
                #run
            }
        }
    }
}

/// A parameter needs serde: the struct of the arguments is made here.
fn with_made_struct(about: &TokenStream, function: &Function) -> TokenStream {
    let (ident, visibility) = (&function.item.sig.ident, &function.item.vis);
    let fields = function.arguments().into_iter().map(|argument| {
        let Argument {
            name,
            kind,
            attributes,
            ..
        } = argument;
        quote!(#(#attributes)* #name: #kind)
    });
    let run = run(function, |argument| {
        let name = &argument.name;
        quote!(__arguments.#name)
    });
    let output_schema = output_schema(function);
    quote! {
        #[allow(missing_docs, missing_debug_implementations, unreachable_pub, reason = "nothing names it")]
        #[derive(::toolhost_sdk::__private::serde::Deserialize, ::toolhost_sdk::__private::schemars::JsonSchema)]
        #[serde(crate = "::toolhost_sdk::__private::serde", deny_unknown_fields)]
        #[schemars(crate = "::toolhost_sdk::__private::schemars")]
        #visibility struct __Arguments { #(#fields),* }

        impl ::toolhost_sdk::Tool for #ident {
            #about
            type Arguments = __Arguments;

            fn output_schema() -> ::core::option::Option<::toolhost_sdk::Schema> {
                #output_schema
            }

            fn call(
                __call: &::toolhost_sdk::Call,
                __arguments: __Arguments,
            ) -> ::core::result::Result<::toolhost_sdk::Reply, ::toolhost_sdk::ToolError> {
                #run
            }
        }
    }
}

/// No parameter needs serde: the schema is a text, and the SDK reads the arguments itself.
fn without_serde(about: &TokenStream, function: &Function, schema: &str) -> TokenStream {
    let ident = &function.item.sig.ident;
    let slot = |argument: &Argument| format_ident!("__of_{}", argument.name());
    let arguments = function.arguments();
    let slots = arguments.iter().map(|argument| {
        let is_optional = argument.plain.as_ref().is_some_and(|plain| plain.is_optional);
        let (slot, kind) = (slot(argument), &argument.kind);
        let (wrapper, kind) = match schema::generic(kind, "Option") {
            Some(inner) if is_optional => (quote!(Optional), inner),
            _ => (quote!(Required), kind),
        };
        quote! {
            let mut #slot = ::toolhost_sdk::__private::parameters::#wrapper::<#kind>(::core::option::Option::None);
        }
    });
    let list = arguments.iter().map(|argument| {
        let (name, slot) = (argument.name(), slot(argument));
        quote!((#name, &mut #slot))
    });
    let run = run(function, |argument| {
        let slot = slot(argument);
        match argument
            .plain
            .as_ref()
            .is_some_and(|plain| plain.is_optional)
        {
            true => quote!(#slot.0),
            false => quote!(#slot.value()?),
        }
    });
    let output_schema = output_schema(function);
    quote! {
        impl ::toolhost_sdk::__private::Exported for #ident {
            #about

            fn input_schema() -> ::toolhost_sdk::__private::String {
                ::toolhost_sdk::__private::String::from(#schema)
            }

            fn output_schema() -> ::core::option::Option<::toolhost_sdk::Schema> {
                #output_schema
            }

            fn call(
                __call: &::toolhost_sdk::Call,
                __text: &str,
            ) -> ::core::result::Result<::toolhost_sdk::Reply, ::toolhost_sdk::ToolError> {
                #(#slots)*
                ::toolhost_sdk::__private::parameters::read(__text, &mut [#(#list),*])?;
                #run
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that the attribute, or the function below it, is refused with these words, and that the tool is there all the same.
    #[track_caller]
    fn refused(attribute: &str, function: &str, words: &str) {
        let expanded = tool(attribute.parse().unwrap(), &function.parse().unwrap()).to_string();
        let expected = format!("compile_error ! {{ \"{}", words.escape_debug());
        assert!(expanded.contains(&expected), "{expanded}");
        if function.contains("fn ") && function.contains('{') {
            assert!(expanded.contains("Exported for"), "{expanded}");
        }
    }

    fn described(function: &str) -> String {
        format!("/// Does it.\n{function}")
    }

    #[test]
    fn a_function_that_cannot_be_a_tool_is_refused() {
        for (function, words) in [
            ("async fn a() -> String {}", "a tool is no async function"),
            ("unsafe fn a() -> String {}", "a tool is no unsafe function"),
            (
                "extern \"C\" fn a() -> String {}",
                "a tool is an ordinary Rust function",
            ),
            (
                "fn a<T>(a: T) -> String {}",
                "a tool has no type parameters",
            ),
            (
                "fn a<'a>(a: &'a Call) -> String {}",
                "a tool has no type parameters",
            ),
            ("fn a() {}", "a tool replies: return `String`"),
            ("fn a(&self) -> String {}", "a tool is a free function"),
            (
                "fn wordCount() -> String {}",
                "`wordCount` cannot be the name of a tool",
            ),
            (
                "fn a__b() -> String {}",
                "`a__b` cannot be the name of a tool",
            ),
            ("fn _a() -> String {}", "`_a` cannot be the name of a tool"),
            (
                "fn a(text: &str) -> String {}",
                "a tool owns its arguments: take a `String`",
            ),
            (
                "fn a(list: &[u8]) -> String {}",
                "a tool owns its arguments: take a `Vec`",
            ),
            (
                "fn a(it: &It) -> String {}",
                "a tool owns its arguments: take it by value",
            ),
            (
                "fn a((b, c): (u8, u8)) -> String {}",
                "a parameter of a tool needs a name",
            ),
            (
                "fn a(_: Option<u8>) -> String {}",
                "a parameter of a tool needs a name",
            ),
        ] {
            refused("", &described(function), words);
        }
        let long = format!("fn {}() -> String {{}}", "a".repeat(32));
        refused(
            "",
            &described(&long),
            "`aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` cannot be",
        );
    }

    #[test]
    fn a_tool_without_a_description_is_refused() {
        for function in [
            "fn a() -> String {}",
            "#[doc = \" \"] fn a() -> String {}",
            "#[doc(hidden)] fn a() -> String {}",
        ] {
            refused(
                "",
                function,
                "a tool needs a description: write a doc comment (`/// …`)",
            );
        }
    }

    #[test]
    fn only_a_function_can_have_it() {
        for item in [
            "struct A;",
            "/// Does it.\nfn a() -> String;",
            "impl A { fn b() {} }",
        ] {
            let expanded = tool(TokenStream::new(), &item.parse().unwrap()).to_string();
            assert!(
                expanded.contains("#[tool] stands above a function with a body"),
                "{expanded}"
            );
        }
    }

    #[test]
    fn an_attribute_with_a_mistake_is_refused() {
        for (attribute, words) in [
            (
                "readonly",
                "there is no `readonly`; #[tool] knows `read_only`, ",
            ),
            ("\"read_only\"", "#[tool] knows `read_only`, "),
            (
                "read_only, title = \"a\", read_only",
                "`read_only` stands here twice",
            ),
            ("read_only idempotent", "expected `,`"),
            ("title", "expected `=`"),
            ("title = 5", "expected string literal"),
            (
                "max_duration = \"5\"",
                "a time is a whole number above 0 and a unit",
            ),
            (
                "max_duration = \"1.5s\"",
                "a time is a whole number above 0 and a unit",
            ),
            (
                "max_duration = \"0s\"",
                "a time is a whole number above 0 and a unit",
            ),
            (
                "max_duration = \"99999999999999999999h\"",
                "a time is a whole number",
            ),
            (
                "max_duration = \"9999999999999999h\"",
                "a time is a whole number",
            ),
            (
                "example(\"a\", \"[]\")",
                "the arguments of an example are a JSON object",
            ),
            (
                "example(\"a\", \"{}\", fails)",
                "only `is_error` can stand here",
            ),
            ("example(\"a\")", "expected `,`"),
        ] {
            refused(attribute, &described("fn a() -> String {}"), words);
        }
    }

    #[test]
    fn times_have_units() {
        for (text, milliseconds) in [
            ("500ms", 500),
            ("5s", 5_000),
            ("10m", 600_000),
            ("1h", 3_600_000),
        ] {
            let attribute: Attribute =
                syn::parse_str(&format!("max_duration = \"{text}\"")).unwrap();
            assert_eq!(attribute.max_duration.unwrap().as_millis(), milliseconds);
        }
    }
}

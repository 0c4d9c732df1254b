//! The attribute `#[tool]` of `toolhost-sdk`, which documents it.

mod attribute;
mod expand;
mod function;
mod schema;

use proc_macro::TokenStream;

/// Makes a function a tool: `toolhost_sdk::tool` documents it.
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::tool(attribute.into(), &item.into()).into()
}

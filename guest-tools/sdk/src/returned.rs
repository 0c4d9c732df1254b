//! The return types of functions with `#[tool]`.

use std::any::Any;
use std::borrow::Cow;
use std::fmt::Display;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Reply, Schema, ToolError, files, processes};

/// A reply of one JSON value. If the type also derives `JsonSchema`, the tool promises its schema for every reply.
///
/// The schema brings about 70 KB of code into the component. A tool that returns a [`Reply`] promises none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Json<T>(pub T);

/// A return type of tools: a [`Reply`], a text, a [`Json`] value, or a `Result` of one of these.
///
/// An error of the type [`ToolError`], or of a module of this crate such as [`processes::Error`], keeps its meaning. Any other error that has a text
/// becomes [`ToolError::Failed`] with that text.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "not a reply",
    note = "return `String`, `&'static str`, `Reply`, `Json<T>` with `T: Serialize`, or a `Result` of one of them, whose error implements `Display`"
)]
pub trait IntoReply {
    /// Turns the value into a reply.
    ///
    /// # Errors
    ///
    /// The value is an error, or it cannot be written as JSON.
    fn into_reply(self) -> Result<Reply, ToolError>;
}

impl IntoReply for Reply {
    fn into_reply(self) -> Result<Reply, ToolError> {
        Ok(self)
    }
}

impl IntoReply for String {
    fn into_reply(self) -> Result<Reply, ToolError> {
        Ok(Reply::text(self))
    }
}

impl IntoReply for &str {
    fn into_reply(self) -> Result<Reply, ToolError> {
        Ok(Reply::text(self))
    }
}

impl IntoReply for Cow<'_, str> {
    fn into_reply(self) -> Result<Reply, ToolError> {
        Ok(Reply::text(self))
    }
}

impl<T: Serialize> IntoReply for Json<T> {
    fn into_reply(self) -> Result<Reply, ToolError> {
        Reply::json(&self.0)
    }
}

impl<R: IntoReply, E: Display + 'static> IntoReply for Result<R, E> {
    fn into_reply(self) -> Result<Reply, ToolError> {
        self.map_err(error)?.into_reply()
    }
}

/// Returns the error of HTTP that this is, if that module is there.
#[cfg(feature = "http")]
fn of_http(error: &dyn Any) -> Option<ToolError> {
    let error: Option<&crate::http::Error> = error.downcast_ref();
    error.cloned().map(Into::into)
}

#[cfg(not(feature = "http"))]
fn of_http(_: &dyn Any) -> Option<ToolError> {
    None
}

/// Keeps the meaning of the errors of this crate, and takes the text of others.
fn error<E: Display + 'static>(error: E) -> ToolError {
    let any: &dyn Any = &error;
    if let Some(error) = any.downcast_ref::<ToolError>() {
        error.clone()
    } else if let Some(error) = any.downcast_ref::<processes::Error>() {
        error.clone().into()
    } else if let Some(error) = any.downcast_ref::<files::Error>() {
        error.clone().into()
    } else if let Some(error) = of_http(any) {
        error
    } else {
        // Some errors write down their causes as well in this form.
        ToolError::Failed(format!("{error:#}"))
    }
}

/// Knows the schema of a return type, where it has one. The inherent functions go before those of [`NoSchema`].
#[derive(Debug)]
pub struct Output<R>(PhantomData<R>);

impl<T: JsonSchema> Output<Json<T>> {
    /// Returns the schema of the JSON value.
    #[must_use]
    pub fn schema() -> Option<Schema> {
        Some(Schema::of_reply::<T>())
    }
}

impl<T: JsonSchema, E> Output<Result<Json<T>, E>> {
    /// Returns the schema of the JSON value.
    #[must_use]
    pub fn schema() -> Option<Schema> {
        Some(Schema::of_reply::<T>())
    }
}

/// The facts that [`Output`] has about all other return types.
pub trait NoSchema {
    /// Returns `None`.
    #[must_use]
    fn schema() -> Option<Schema> {
        None
    }
}

impl<R> NoSchema for Output<R> {}

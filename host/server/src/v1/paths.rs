//! The parts of addresses, as `/openapi.json` describes them. [`toolhost_state::id`] checks their values.

#![allow(dead_code, reason = "these types are there for their description only")]

use utoipa::IntoParams;

/// The address of a chat.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct ChatPath {
    /// The chat: any name of the client's choice. It need not have had a call yet. Its calls and processes are invisible to all
    /// other chats.
    #[param(
        min_length = 1,
        max_length = 128,
        pattern = r"^(?!\.{1,2}$)[A-Za-z0-9._:@-]+$",
        example = "support-42"
    )]
    chat: String,
}

/// The address of a workspace.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct WorkspacePath {
    /// The workspace: parts of any name of the client's choice, with `/` in between.
    #[param(
        min_length = 1,
        max_length = 128,
        pattern = r"^(?!\.{1,2}(/|$))[A-Za-z0-9._:@-]+(/(?!\.{1,2}(/|$))[A-Za-z0-9._:@-]+)*$",
        example = "team-a/web"
    )]
    name: String,
}

/// The address of a template.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct TemplatePath {
    /// The template: a name that the operator gave.
    #[param(
        min_length = 1,
        max_length = 128,
        pattern = r"^(?!\.{1,2}$)[A-Za-z0-9._-]+$",
        example = "debian"
    )]
    name: String,
}

/// The part after the chat in the address of a call.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct CallPath {
    /// The call: the id that the model's provider gave it, or any other id that is used once in its chat.
    #[param(
        min_length = 1,
        max_length = 256,
        pattern = r"^(?!\.{1,2}$)[!-.0-~]+$",
        example = "call_7Qx"
    )]
    call: String,
}

/// The part after the chat in the address of a file.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct FilePath {
    /// The file or directory: relative to the workspace of the chat; or absolute, whose first slash is then written as `%2F`. No part of
    /// it is `..`.
    #[param(
        min_length = 1,
        max_length = 4096,
        pattern = r"^(?!([\s\S]*/)?\.\.(/|$))[^\x00]+$",
        example = "report/summary.pdf"
    )]
    path: String,
}

/// The part after the chat in the address of a process.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct ProcessPath {
    /// The process, as replies and events name it.
    #[param(min_length = 1, example = "0b0c5e3a-2f0e-4f43-8a55-5d2f5e1f9f10")]
    process: String,
}

//! The output of a chat's processes as resources: all that was saved, or any part of it.

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use super::caller::Caller;
use super::{errors, reply};
use toolhost_core::Host;
use toolhost_state::id::ChatId;
use toolhost_workspace::process::{Chunk, Error, Info, State};

/// How many bytes of an output one read returns at most.
const PAGE: u64 = 1 << 20;

/// How long the text of a page, as JSON, or the base64 of its bytes may be. The client of the package `mcp` for Python takes events of at most
/// 1 MiB, and a page is one event.
const WRITTEN: usize = 1_000_000;

/// The maximum number of listed processes. A chat has a few hundred of them at most.
const MAX_LISTED: usize = 1024;

/// The maximum length of a command in a description.
const MAX_COMMAND: usize = 200;

const BEFORE: &str = "toolhost://processes/";
const BEHIND: &str = "/output";

/// Lists the outputs of a chat's processes that were started by tools which the caller may use.
///
/// No scope is checked: every caller here may call tools, and so may read.
pub(super) async fn list(host: &Host, caller: &Caller) -> Result<Vec<Resource>, ErrorData> {
    let workspace = host.seen_by(caller.principal.actor(), host.workspace());
    let listed = workspace.list(Some(&caller.chat), false, MAX_LISTED).await;
    let (infos, _) = listed.map_err(|error| errors::of_workspace(&error))?;
    Ok(infos.iter().map(resource).collect())
}

/// Returns the URI templates of outputs and their parts.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: &str, name: &str, description: &str| {
        ResourceTemplate::new(uri, name)
            .with_description(description)
            .with_mime_type("text/plain")
    };
    vec![
        template(
            "toolhost://processes/{id}/output",
            "output",
            "The output of a process, from its beginning, at most 1 MiB of it",
        ),
        template(
            "toolhost://processes/{id}/output{?since,max}",
            "output-part",
            "At most `max` bytes of the output of a process, from the byte `since` on; where to go on is in _meta",
        ),
    ]
}

/// Reads an output, or a part of it.
pub(super) async fn read(
    host: &Host,
    caller: &Caller,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let part = Part::of(uri).ok_or_else(|| errors::unknown_resource(uri))??;
    let (chat, _) = process(host, caller, uri).await?;
    let workspace = host.workspace();
    let read = async {
        let chunk = workspace.read(Some(&chat), part.id, part.since, part.max);
        let chunk = chunk.await?;
        // This check comes last, so that a process freed meanwhile does not look like a process that wrote nothing.
        workspace.open(&chat, None, part.id).await?;
        Ok(chunk)
    };
    let chunk = read.await.map_err(|error| match error {
        Error::NotFound(_) => errors::refused("gone", "this output is no longer kept"),
        error => errors::of_workspace(&error),
    })?;
    Ok(ReadResourceResult::new(vec![contents(uri, &part, chunk)]))
}

/// Returns the process whose output is at an address, and its chat, if the caller may read it.
pub(super) async fn process(
    host: &Host,
    caller: &Caller,
    uri: &str,
) -> Result<(ChatId, Info), ErrorData> {
    let part = Part::of(uri).ok_or_else(|| errors::unknown_resource(uri))??;
    let workspace = host.seen_by(caller.principal.actor(), host.workspace());
    let found = async {
        let reach = caller.reach.as_deref();
        let chat = workspace.open(&caller.chat, reach, part.id).await?;
        let info = workspace.info(Some(&chat), part.id).await?;
        Ok((chat, info))
    };
    found.await.map_err(|error| match error {
        Error::NotFound(_) => errors::unknown_resource(uri),
        error => errors::of_workspace(&error),
    })
}

/// The requested part of an output.
#[derive(Debug)]
struct Part<'a> {
    id: &'a str,
    since: u64,
    max: usize,
}

impl<'a> Part<'a> {
    /// Parses a URI; `None` if it is not the address of an output.
    fn of(uri: &'a str) -> Option<Result<Self, ErrorData>> {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let id = path.strip_prefix(BEFORE)?.strip_suffix(BEHIND)?;
        Some(Self::with(id, query))
    }

    fn with(id: &'a str, query: &str) -> Result<Self, ErrorData> {
        let (mut since, mut max) = (0, PAGE);
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let number = value.parse::<u64>();
            match (name, number) {
                ("since", Ok(number)) => since = number,
                ("max", Ok(number)) => max = number.clamp(4, PAGE),
                ("since" | "max", Err(_)) => {
                    return Err(errors::broken(format!("{name} must be a number of bytes")));
                }
                _ => {
                    let message = "an output takes since and max, each once or not at all";
                    return Err(errors::broken(message));
                }
            }
        }
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        Ok(Self { id, since, max })
    }
}

/// Returns how many of the bytes fit into a page.
fn fitting(data: &[u8]) -> usize {
    let Ok(text) = std::str::from_utf8(data) else {
        return data.len().min(WRITTEN / 4 * 3);
    };
    let mut written = 0;
    let too_much = text.char_indices().find(|(_, char)| {
        written += match char {
            '"' | '\\' | '\n' | '\r' | '\t' | '\x08' | '\x0c' => 2,
            '\0'..' ' => 6,
            char => char.len_utf8(),
        };
        written > WRITTEN
    });
    too_much.map_or(data.len(), |(at, _)| at)
}

/// Returns a part of an output: as text, cut between characters, if it is text. Its `_meta` says where the next part begins.
fn contents(uri: &str, part: &Part<'_>, mut chunk: Chunk) -> ResourceContents {
    if let Err(error) = std::str::from_utf8(&chunk.data)
        && error.error_len().is_none()
        && error.valid_up_to() > 0
    {
        // The rest of the last character is in the next part.
        chunk.data.truncate(error.valid_up_to());
    }
    chunk.data.truncate(fitting(&chunk.data));
    let next = chunk.offset + chunk.data.len() as u64;
    let mut meta = reply::object(json!({
        "io.toolhost/offset": chunk.offset,
        "io.toolhost/next": next,
        "io.toolhost/total": chunk.total,
        "io.toolhost/end": chunk.end && next == chunk.total,
    }));
    if chunk.offset > part.since {
        let gap = json!({ "from": part.since, "to": chunk.offset });
        meta.insert("io.toolhost/gap".into(), gap);
    }
    let is_text = std::str::from_utf8(&chunk.data).is_ok();
    reply::contents(uri, (!is_text).then_some(BYTES), &chunk.data).with_meta(meta)
}

const BYTES: &str = "application/octet-stream";

fn resource(info: &Info) -> Resource {
    let command: String = info.command.escape_debug().take(MAX_COMMAND).collect();
    let state = match info.state {
        State::Running => "is running",
        State::Lingering(_) => "has exited, and left something running",
        State::Exited(_) => "has exited",
        State::Lost(_) => "was lost",
    };
    Resource::new(format!("{BEFORE}{}{BEHIND}", info.id), info.id.clone())
        .with_title(command)
        .with_description(format!("Output of a command that {state}"))
        .with_mime_type("text/plain")
        .with_size(info.total)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_uri_names_a_process_and_a_part() {
        let part = |uri| Part::of(uri).map(|part| part.map(|part| (part.since, part.max)));
        let whole = part("toolhost://processes/p1/output");
        assert_eq!(whole.unwrap().unwrap(), (0, 1 << 20));
        let some = part("toolhost://processes/p1/output?since=10&max=99999999");
        assert_eq!(some.unwrap().unwrap(), (10, 1 << 20));
        assert!(
            part("toolhost://processes/p1/output?since=x")
                .unwrap()
                .is_err()
        );
        assert!(
            part("toolhost://processes/p1/output?until=1")
                .unwrap()
                .is_err()
        );
        assert!(part("toolhost://processes/p1").is_none() && part("file:///etc/passwd").is_none());
    }

    #[test]
    fn a_page_fits_into_an_event() {
        for (unit, most) in [
            (&b"x"[..], WRITTEN),
            (b"\n", WRITTEN / 2),
            (b"\x1b", WRITTEN / 6),
            ("\u{20ac}".as_bytes(), WRITTEN / 3 * 3),
            (b"\xff", WRITTEN / 4 * 3),
        ] {
            let data = unit.repeat(1 << 20);
            assert_eq!(fitting(&data), most, "{unit:?}");
            assert_eq!(fitting(unit), unit.len());
        }
        let text = "a \"\\\n\u{1}\u{7f}ä";
        let written = serde_json::to_string(text).unwrap();
        assert_eq!(written, "\"a \\\"\\\\\\n\\u0001\u{7f}ä\"");
    }

    #[test]
    fn characters_stay_whole_and_bytes_stay_bytes() {
        let part = Part::of("toolhost://processes/p/output?since=3")
            .unwrap()
            .unwrap();
        let rendered = |data: &[u8]| -> Value {
            let chunk = Chunk {
                offset: 5,
                data: data.to_vec(),
                total: 100,
                end: false,
            };
            serde_json::to_value(contents("u", &part, chunk)).unwrap()
        };
        let cut = rendered("aä".as_bytes().split_last().unwrap().1);
        assert_eq!(
            (&cut["text"], &cut["mimeType"]),
            (&json!("a"), &json!("text/plain"))
        );
        assert_eq!(cut["_meta"]["io.toolhost/next"], 6);
        assert_eq!(
            cut["_meta"]["io.toolhost/gap"],
            json!({ "from": 3, "to": 5 })
        );
        let bytes = rendered(b"a\xffb");
        assert_eq!(
            (&bytes["blob"], &bytes["mimeType"]),
            (&json!("Yf9i"), &json!(BYTES))
        );
        assert_eq!(bytes["_meta"]["io.toolhost/next"], 8);
    }
}

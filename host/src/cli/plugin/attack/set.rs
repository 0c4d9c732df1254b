//! The set of hostile guests that is part of the program, and how each of them must end.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The guests of `tests/guests`: a line of JSON, which is the list of cases, and then their components in a row. A test makes it anew,
/// and compares.
static SET: &[u8] = include_bytes!("../../../../../tests/guests/set.gz");

/// How a guest ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    /// It replies, and has reached nothing.
    Reply,
    /// It reports an error of the contract.
    Error,
    /// A limit stops its call.
    Limit,
    /// It traps, or its reply makes no sense.
    Broken,
    /// It does not load, or fails while it is asked for its tools.
    Refused,
}

impl std::fmt::Display for End {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(match self {
            Self::Reply => "reply",
            Self::Error => "error",
            Self::Limit => "limit",
            Self::Broken => "broken",
            Self::Refused => "refused",
        })
    }
}

/// A hostile guest, and how it must end.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Case {
    pub(super) name: String,
    /// What it tries.
    pub(super) tries: String,
    pub(super) ends: End,
    /// The name of the limit that ends it, as in the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) limit: Option<String>,
    /// A part of the message of this host, or of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// The bytes of its component.
    #[serde(skip_serializing, default)]
    size: usize,
    #[serde(skip)]
    pub(super) component: Vec<u8>,
}

/// Reads the set.
pub(super) fn read() -> anyhow::Result<Vec<Case>> {
    let mut bytes = Vec::new();
    let read = GzDecoder::new(SET).read_to_end(&mut bytes);
    read.context("the set of hostile guests is damaged")?;
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let (index, mut rest) = bytes.split_at(end.unwrap_or_default());
    rest = rest.get(1..).unwrap_or_default();
    let mut cases: Vec<Case> =
        serde_json::from_slice(index).context("the set of hostile guests is damaged")?;
    for case in &mut cases {
        let (component, others) = rest
            .split_at_checked(case.size)
            .context("the set of hostile guests is damaged")?;
        case.component = component.to_vec();
        rest = others;
    }
    Ok(cases)
}

/// Reads the cases of these names, or all of them if there is no name.
pub(super) fn named(names: &[String]) -> anyhow::Result<Vec<Case>> {
    let mut cases = read()?;
    if let Some(unknown) = names
        .iter()
        .find(|name| !cases.iter().any(|case| case.name == **name))
    {
        bail!(
            "the set has no guest named {unknown:?}; --write DIR writes all of them, with their names"
        );
    }
    cases.retain(|case| names.is_empty() || names.contains(&case.name));
    Ok(cases)
}

/// Writes the components and `expected.json` into a directory, so that another host can be measured with them. Returns how many
/// there are.
pub(super) fn write(directory: &Path) -> anyhow::Result<usize> {
    let cases = read()?;
    let at = || format!("cannot write into {}", directory.display());
    std::fs::create_dir_all(directory).with_context(at)?;
    for case in &cases {
        let file = directory.join(format!("{}.wasm", case.name));
        std::fs::write(file, &case.component).with_context(at)?;
    }
    let expected = json!({ "contract": "toolhost:plugin@0.1.0", "tool": "t", "guests": cases });
    let text = format!("{}\n", serde_json::to_string_pretty(&expected)?);
    std::fs::write(directory.join("expected.json"), text).with_context(at)?;
    Ok(cases.len())
}

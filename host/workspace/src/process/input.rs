//! The standard input of a command, and its terminal.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Error;

/// What a command reads from its standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stdin {
    /// Nothing: the null device.
    #[default]
    None,
    /// These bytes, and then the end.
    Bytes(
        #[serde(with = "crate::base64")]
        #[schemars(with = "String")]
        Vec<u8>,
    ),
    /// What [`SendInput`](crate::operation::SendInput) writes, through a pipe.
    Pipe,
    /// What `SendInput` types, in a terminal of this size, which is standard output and standard error as well.
    Terminal(Size),
}

impl Stdin {
    /// Returns the bytes that are given at the start.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::None | Self::Pipe | Self::Terminal(_) => &[],
        }
    }
}

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// From 2 to 100.
    pub rows: u16,
    /// From 2 to 300.
    pub columns: u16,
}

impl Default for Size {
    /// 24 rows of 80 columns, for which all programs are made.
    fn default() -> Self {
        Self {
            rows: 24,
            columns: 80,
        }
    }
}

impl Size {
    /// The most rows.
    pub const MAX_ROWS: u16 = 100;

    /// The most columns.
    pub const MAX_COLUMNS: u16 = 300;

    /// Checks that a terminal can have this size.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if not.
    pub fn check(self) -> Result<(), Error> {
        let Self { rows, columns } = self;
        if (2..=Self::MAX_ROWS).contains(&rows) && (2..=Self::MAX_COLUMNS).contains(&columns) {
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "a terminal cannot have {rows} rows of {columns} columns: it has 2 to {} rows of 2 to {} columns",
            Self::MAX_ROWS,
            Self::MAX_COLUMNS
        )))
    }
}

/// How long a write waits for a program that does not read.
pub const INPUT_PATIENCE: Duration = Duration::from_secs(10);

/// The most bytes that are written to a process at once.
pub const MAX_INPUT: usize = 1 << 20;

/// How many inputs of a process are known by their keys.
pub const KNOWN_INPUTS: usize = 64;

/// Something that is done to the standard input of a process that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// Writes these bytes, at most [`MAX_INPUT`].
    Bytes(
        #[serde(with = "crate::base64")]
        #[schemars(with = "String")]
        Vec<u8>,
    ),
    /// Ends the input. In a terminal, types Ctrl-D, which programs take for the end at the beginning of a line.
    Close,
    /// Gives the terminal another size, of which its programs are told with SIGWINCH.
    Resize(Size),
}

/// What a terminal shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Screen {
    /// Its size.
    pub size: Size,
    /// Its rows, each but the last with a line feed. Spaces at the ends of rows and empty rows at the end are left out.
    pub text: String,
    /// The row and the column of the cursor, both from 1; `None` if it is hidden.
    pub cursor: Option<(u16, u16)>,
    /// The title that a program gave the terminal, cut at [`MAX_TITLE`] characters; empty if it has none.
    pub title: String,
    /// Whether this is the screen of a program that uses all of it, such as an editor, and not that of lines.
    pub alternate: bool,
    /// Whether the program has asked for the other sequences of the arrow keys, such as `ESC O A` for `ESC [ A` (DECCKM).
    pub application_keys: bool,
}

/// The most characters of the title of a terminal.
pub const MAX_TITLE: usize = 200;

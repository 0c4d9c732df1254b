//! Positions of readers among the events of a chat, as text with which a reader can come back.

use std::fmt;
use std::str::FromStr;

/// The position of a reader: the last event that it has heard. As text, `<start>-<number>` or `<start>-<number>-<part>`, of
/// which the first is another for each chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Which start of the host numbered the event, and in which chat.
    pub(super) epoch: u64,
    /// The number of the event.
    pub number: u64,
    /// `None` if the event was heard in full; else the cursor past the last byte that was heard of an output event.
    pub part: Option<u64>,
}

/// A text that is no position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no id of an event")]
pub struct InvalidPosition;

impl Position {
    /// A position that no event has.
    pub(super) const NOWHERE: Self = Self {
        epoch: 0,
        number: u64::MAX,
        part: None,
    };
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}-{}", self.epoch, self.number)?;
        match self.part {
            Some(part) => write!(formatter, "-{part}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Position {
    type Err = InvalidPosition;

    fn from_str(text: &str) -> Result<Self, InvalidPosition> {
        let number = |text: &str| text.parse::<u64>().map_err(|_| InvalidPosition);
        let mut fields = text.splitn(3, '-');
        let (Some(epoch), Some(count)) = (fields.next(), fields.next()) else {
            return Err(InvalidPosition);
        };
        let position = Self {
            epoch: u64::from_str_radix(epoch, 16).map_err(|_| InvalidPosition)?,
            number: number(count)?,
            part: fields.next().map(number).transpose()?,
        };
        // Else one position would have several texts: `+1`, `01`, capitals.
        if position.to_string() == text {
            Ok(position)
        } else {
            Err(InvalidPosition)
        }
    }
}

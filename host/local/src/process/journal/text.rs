//! How values of the domain are written in the journal. Kept here, so that the domain has no format and a line of an older
//! host stays readable when the domain changes.

use serde::{Deserialize, Serialize};

use crate::process::{Cause, ExitStatus};

/// The shape of an [`ExitStatus`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "ExitStatus")]
pub(super) struct Status {
    code: Option<i32>,
    signal: Option<String>,
    #[serde(with = "cause")]
    cause: Cause,
}

mod cause {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Cause;

    pub(super) fn serialize<S: Serializer>(
        cause: &Cause,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(cause.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Cause, D::Error> {
        let text = String::deserialize(deserializer)?;
        // A cause that only a newer host knows must not hide that the process ended.
        Ok(text.parse().unwrap_or(Cause::Itself))
    }
}

pub(super) mod chat {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use toolhost_state::id::ChatId;

    pub(in super::super) fn serialize<S: Serializer>(
        chat: &ChatId,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(chat.as_str())
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<ChatId, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

pub(super) mod optional_chat {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use toolhost_state::id::ChatId;

    pub(in super::super) fn serialize<S: Serializer>(
        chat: &Option<ChatId>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        chat.as_ref().map(ChatId::as_str).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<ChatId>, D::Error> {
        // Required: a process whose chat is not known must not become one that everybody may ask for.
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| text.parse().map_err(D::Error::custom))
            .transpose()
    }
}

pub(super) mod path {
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        path: &Path,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&path.to_string_lossy())
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<PathBuf, D::Error> {
        PathBuf::deserialize(deserializer)
    }
}

/// The time that stands for one that nobody wrote down.
pub(super) fn epoch() -> std::time::SystemTime {
    std::time::UNIX_EPOCH
}

/// Milliseconds since the Unix epoch. What is earlier becomes the epoch.
pub(super) mod time {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        time: &SystemTime,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        serializer.serialize_u64(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<SystemTime, D::Error> {
        let since = Duration::from_millis(u64::deserialize(deserializer)?);
        UNIX_EPOCH
            .checked_add(since)
            .ok_or_else(|| D::Error::custom("a time that no clock shows"))
    }
}

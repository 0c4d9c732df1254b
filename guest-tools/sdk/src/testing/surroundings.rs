//! The host as a call sees it besides capabilities, and the reports of the call to it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use super::FakeFiles;
#[cfg(feature = "http")]
use super::FakeHttp;
use crate::bindings::toolhost::plugin::log::Level;

/// The host as a call sees it, and the reports of the call to it. Every test thread has its own.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The result of [`context::chat`](crate::context::chat).
    pub chat: String,
    /// The result of [`context::workspace_root`](crate::context::workspace_root).
    pub workspace_root: String,
    /// The result of [`context::remaining`](crate::context::remaining).
    pub remaining: Duration,
    /// The result of [`context::cancelled`](crate::context::cancelled).
    pub cancelled: bool,
    /// The values for [`context::attribute`](crate::context::attribute).
    pub attributes: BTreeMap<String, String>,
    /// The values for [`settings::get`](crate::settings::get).
    pub settings: BTreeMap<String, String>,
    /// The values for [`settings::secret`](crate::settings::secret).
    pub secrets: BTreeMap<String, String>,
    /// The files that [`files::Host`](crate::files::Host) stands for in a test; `None`: it denies everything.
    pub files: Option<Rc<FakeFiles>>,
    /// The network that [`http::Host`](crate::http::Host) stands for in a test; `None`: it denies everything.
    #[cfg(feature = "http")]
    pub http: Option<FakeHttp>,
    /// The lines that were logged, each with its level: `warn: …`.
    pub logged: Vec<String>,
    /// The progress that was reported: done, total, message.
    pub progress: Vec<(f64, Option<f64>, Option<String>)>,
}

impl Default for Surroundings {
    fn default() -> Self {
        Self {
            chat: "test-chat".to_owned(),
            workspace_root: "/workspace".to_owned(),
            remaining: Duration::from_mins(10),
            cancelled: false,
            attributes: BTreeMap::new(),
            settings: BTreeMap::new(),
            secrets: BTreeMap::new(),
            files: None,
            #[cfg(feature = "http")]
            http: None,
            logged: Vec::new(),
            progress: Vec::new(),
        }
    }
}

thread_local! {
    static CURRENT: RefCell<Surroundings> = RefCell::default();
}

/// Looks at the surroundings of this thread, or changes them.
pub fn surroundings<T>(with: impl FnOnce(&mut Surroundings) -> T) -> T {
    CURRENT.with_borrow_mut(with)
}

pub(crate) mod context {
    use super::surroundings;

    pub(crate) fn chat() -> String {
        surroundings(|now| now.chat.clone())
    }

    pub(crate) fn workspace_root() -> String {
        surroundings(|now| now.workspace_root.clone())
    }

    pub(crate) fn remaining_ms() -> u64 {
        surroundings(|now| u64::try_from(now.remaining.as_millis()).unwrap_or(u64::MAX))
    }

    pub(crate) fn cancelled() -> bool {
        surroundings(|now| now.cancelled)
    }

    pub(crate) fn attribute(name: &str) -> Option<String> {
        surroundings(|now| now.attributes.get(name).cloned())
    }
}

pub(crate) mod log {
    use super::{Level, surroundings};

    pub(crate) fn log(level: Level, message: &str) {
        let level = match level {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        surroundings(|now| now.logged.push(format!("{level}: {message}")));
    }
}

pub(crate) mod progress {
    use super::surroundings;

    pub(crate) fn report(done: f64, total: Option<f64>, message: Option<&str>) {
        surroundings(|now| now.progress.push((done, total, message.map(str::to_owned))));
    }
}

pub(crate) mod settings {
    use super::surroundings;

    pub(crate) fn get(key: &str) -> Option<String> {
        surroundings(|now| now.settings.get(key).cloned())
    }

    pub(crate) fn secret(name: &str) -> Result<String, String> {
        surroundings(|now| now.secrets.get(name).cloned())
            .ok_or_else(|| format!("there is no secret \"{name}\""))
    }
}

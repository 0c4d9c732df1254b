//! Checks of a server, and those of its machine, which the program that serves adds.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use tokio::sync::Mutex;
use utoipa::ToSchema;

/// A check with its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Check {
    /// The name of what was checked.
    pub name: String,
    #[schema(inline)]
    status: CheckStatus,
    /// What was found.
    pub text: String,
    /// What an operator can do about it, or should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub advice: Option<String>,
}

/// `ok`; `warning`: it works, with something that an operator should know; `error`: it does not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum CheckStatus {
    /// All is well.
    Ok,
    /// It works, with something that an operator should know.
    Warning,
    /// It does not work.
    Error,
}

impl Check {
    /// Makes a check that found nothing wrong.
    pub fn ok(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            status: CheckStatus::Ok,
            text: text.into(),
            advice: None,
        }
    }

    /// Makes a check that found something that an operator should know.
    pub fn warning(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            status: CheckStatus::Warning,
            ..Self::ok(name, text)
        }
    }

    /// Makes a check of something that does not work.
    pub fn error(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            status: CheckStatus::Error,
            ..Self::ok(name, text)
        }
    }

    /// Adds advice.
    #[must_use]
    pub fn advice(self, advice: impl Into<String>) -> Self {
        let advice = Some(advice.into());
        Self { advice, ..self }
    }
}

/// The checks of the machine. By default there are none.
#[derive(Clone, Default)]
pub(crate) struct MachineChecks {
    make: Option<Arc<dyn Fn() -> Vec<Check> + Send + Sync>>,
    /// Held while they are made: they start processes.
    making: Arc<Mutex<()>>,
}

impl MachineChecks {
    /// Makes them with a function that may block.
    pub(crate) fn new(make: impl Fn() -> Vec<Check> + Send + Sync + 'static) -> Self {
        Self {
            make: Some(Arc::new(make)),
            making: Arc::default(),
        }
    }

    /// Makes the checks, one request at a time.
    pub(crate) async fn run(&self) -> Vec<Check> {
        let Some(make) = self.make.clone() else {
            return Vec::new();
        };
        let _making = self.making.lock().await;
        let made = tokio::task::spawn_blocking(move || make()).await;
        made.unwrap_or_else(|error| vec![Check::error("checks", error.to_string())])
    }
}

impl fmt::Debug for MachineChecks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("MachineChecks")
    }
}

//! The approval hook: a command or a URL of the operator that approves or refuses calls of tools that may destroy something.
//!
//! There is no hook by default. The host asks the hook before every call of a tool that promises neither `read-only` nor
//! `non-destructive`, before the agent API starts a process or changes a file, and before a workspace is made from a template or a
//! repository. With a hook, a call about which it was not
//! asked cannot start or signal processes, or write files of the workspace.
//!
//! The hook gets one JSON object: `principal`, `chat`, `call`, `plugin`, `tool`, `hints` and `arguments`. For the agent API, `plugin` is
//! `agent-api`, and `chat` and `call` are null if the client names none; for the files with which a workspace begins, it is
//! `workspace-provider`. The hook fails closed: if it is broken, slow or missing, the call is refused.
//!
//! - A *command* reads the object from standard input. Exit code 0 approves, 1 refuses with the reason on standard output,
//!   anything else is a failure. It runs in `/`, in a process group of its own, without the host's environment.
//! - A *URL* gets the object as the body of a POST, and answers with status 200 and `{"approved": bool, "reason": string}`. An
//!   `https` URL needs a certificate that the system trusts. Redirects are not followed, and proxies of the environment are not
//!   used.

mod command;
mod url;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::audit::Trail;
use crate::tool::Hints;
use command::Program;
use toolhost_state::trusted::UntrustedError;
pub use url::{Header, Url};

/// The default deadline of a hook; 60 s.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// The longest reason of a refusal, in bytes; a longer one is cut.
const MAX_REASON: usize = 2 << 10;

/// The approval hook, if there is one. Clones share everything; the default has no hook and approves every call.
#[derive(Clone, Debug, Default)]
pub struct Approval {
    hook: Option<Arc<Hook>>,
}

#[derive(Debug)]
struct Hook {
    target: Target,
    timeout: Duration,
}

#[derive(Debug)]
enum Target {
    Program(Program),
    Url(Url),
}

/// Why a hook cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    /// The program is neither a name nor an absolute path.
    #[error(
        "the program {0:?} of the approval hook is neither an absolute path nor a name to be looked up"
    )]
    Program(String),
    /// Other users can change a file that the decision depends on.
    #[error("the approval hook cannot be used: {0}")]
    Untrusted(#[from] UntrustedError),
    /// The URL cannot be asked.
    #[error("the URL {url:?} of the approval hook cannot be asked: {problem}")]
    Url {
        /// The URL in the configuration.
        url: String,
        /// The problem with the URL.
        problem: String,
    },
    /// A header cannot be sent.
    #[error("the header {0:?} of the approval hook cannot be sent")]
    Header(String),
}

/// The question to the hook about a call.
#[derive(Clone, Debug, Serialize)]
pub struct Question<'a> {
    /// The name of the principal of the call.
    pub principal: &'a str,
    /// The chat of the call; `None` for a client of the agent API that names none.
    pub chat: Option<&'a str>,
    /// The id of the call, if it has one.
    pub call: Option<&'a str>,
    /// The plugin of the tool. The agent API has no plugin, and puts its own name here.
    pub plugin: &'a str,
    /// The tool that is called.
    pub tool: &'a str,
    /// The promises of the tool about its effects.
    pub hints: Hints,
    /// The arguments as the caller wrote them.
    pub arguments: &'a RawValue,
}

/// The answer of a hook. Its name in snake case is a label of a metric.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Answer {
    /// The call may run.
    Granted,
    /// The call may not run. The reason is the hook's, and may be empty.
    Refused(String),
    /// The hook gave no answer. The text is for the operator.
    Failed(String),
}

impl Approval {
    /// Makes a hook of a command, by its absolute path or by a name that is looked up in the usual directories.
    ///
    /// # Errors
    ///
    /// [`ApprovalError::Program`] for any other path.
    pub fn command(
        program: impl Into<String>,
        arguments: Vec<String>,
        timeout: Duration,
    ) -> Result<Self, ApprovalError> {
        let program = Program::new(program.into(), arguments)?;
        Ok(Self::of(Target::Program(program), timeout))
    }

    /// Makes a hook of a URL.
    pub fn url(url: Url, timeout: Duration) -> Self {
        Self::of(Target::Url(url), timeout)
    }

    fn of(target: Target, timeout: Duration) -> Self {
        Self {
            hook: Some(Arc::new(Hook { target, timeout })),
        }
    }

    /// Returns whether there is a hook.
    pub fn is_configured(&self) -> bool {
        self.hook.is_some()
    }

    /// Returns whether a command of a tool could trace the hook and change its answer, because the hook runs as the same user.
    pub fn can_be_traced(&self) -> bool {
        self.program().is_some_and(Program::can_be_traced)
    }

    /// Returns whether the hook is a program that does not exist. As long as it does not, every call that needs approval is
    /// refused.
    pub fn is_missing(&self) -> bool {
        self.program().is_some_and(Program::is_missing)
    }

    fn program(&self) -> Option<&Program> {
        match &self.hook.as_ref()?.target {
            Target::Program(program) => Some(program),
            Target::Url(_) => None,
        }
    }

    /// Returns whether the hook is asked before a tool with these promises runs.
    pub fn is_needed(&self, hints: Hints) -> bool {
        self.is_configured() && !hints.read_only && !hints.non_destructive
    }

    /// Asks the hook, and records the question and the answer. Dropping the future kills the hook's process.
    pub async fn ask(&self, trail: &Trail, question: &Question<'_>) -> Answer {
        let tool = question.tool;
        trail.event("approval_asked", json!({ "tool": tool }));
        let answer = self.answer(question).await;
        trail.metrics.approval(&trail.plugin, (&answer).into());
        match &answer {
            Answer::Granted => trail.event("approval_granted", json!({ "tool": tool })),
            Answer::Refused(reason) => record_refusal(trail, tool, reason),
            Answer::Failed(problem) => {
                let plugin = &*trail.plugin;
                tracing::warn!(
                    plugin,
                    tool,
                    problem,
                    "the approval hook failed, so a call was refused"
                );
                record_refusal(trail, tool, problem);
            }
        }
        answer
    }

    async fn answer(&self, question: &Question<'_>) -> Answer {
        let Some(hook) = &self.hook else {
            return Answer::Granted;
        };
        let body = match serde_json::to_vec(question) {
            Ok(body) => body,
            Err(error) => return Answer::Failed(error.to_string()),
        };
        let asking = async {
            match &hook.target {
                Target::Program(program) => program.ask(body).await,
                Target::Url(url) => url.ask(body).await,
            }
        };
        let late = |_| {
            Err(format!(
                "it did not answer within {} ms",
                hook.timeout.as_millis()
            ))
        };
        let answer = tokio::time::timeout(hook.timeout, asking).await;
        answer.unwrap_or_else(late).unwrap_or_else(Answer::Failed)
    }
}

/// Records that a call was refused.
pub fn record_refusal(trail: &Trail, tool: &str, reason: &str) {
    trail.event(
        "approval_refused",
        json!({ "tool": tool, "reason": reason }),
    );
}

impl Answer {
    /// Returns a refusal with this reason, cut after 2 KiB.
    fn refused(reason: &[u8]) -> Self {
        let reason = reason.get(..MAX_REASON).unwrap_or(reason);
        let reason = String::from_utf8_lossy(reason);
        // The cut may fall in the middle of a character.
        Self::Refused(reason.trim_end_matches('\u{fffd}').trim().to_owned())
    }

    /// Returns the message for the caller of a refused call; `None` if the call may run.
    pub fn refusal(&self) -> Option<String> {
        match self {
            Self::Granted => None,
            Self::Refused(reason) if reason.is_empty() => {
                Some("the call was not approved; no reason was given".into())
            }
            Self::Refused(reason) => Some(format!("the call was not approved: {reason}")),
            Self::Failed(_) => Some(
                "the call was not approved: the approval hook could not be asked; the operator's log says why".into(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_destroy_something_is_asked_about() {
        let approval = Approval::command("true", Vec::new(), TIMEOUT).unwrap();
        let hints = |read_only, non_destructive| Hints {
            read_only,
            non_destructive,
            ..Hints::default()
        };
        assert!(approval.is_needed(hints(false, false)));
        assert!(!approval.is_needed(hints(true, false)));
        assert!(!approval.is_needed(hints(false, true)));
        assert!(!Approval::default().is_needed(hints(false, false)));
    }

    #[test]
    fn a_reason_is_cut_at_a_character() {
        let Answer::Refused(reason) = Answer::refused("ä".repeat(5000).as_bytes()) else {
            panic!("it is a refusal")
        };
        assert_eq!(reason, "ä".repeat(1024));
        let Answer::Refused(reason) = Answer::refused(format!("x{}", "ä".repeat(5000)).as_bytes())
        else {
            panic!("it is a refusal")
        };
        assert_eq!(reason, format!("x{}", "ä".repeat(1023)));
        assert_eq!(Answer::refused(b" no\n"), Answer::Refused("no".into()));
    }
}

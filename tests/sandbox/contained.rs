//! Properties of every hostile guest: the end of its attack, the most that it may take meanwhile, and a host that goes on afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use toolhost_call::tool::ErrorKind;
use toolhost_core::{Options, Outcome};
use toolhost_plugin::{Engine, Limits, LoadError, Plugin};
use toolhost_workspace::files::FilesGrant;

use super::expected;
use crate::guest::{guest, limited, options};
use crate::harness::{Setup, call, logged, request};

/// How an attack ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End<'a> {
    /// A limit is reached; the text says which.
    Limit(&'a str),
    /// The guest broke; the text is part of what the caller is told.
    Broken(&'a str),
    /// The tool itself fails, in this way.
    Failed(ErrorKind, &'a str),
    /// The guest replies with this text, and has reached nothing.
    Reply(&'a str),
}

/// How late a guest may end, in guest time.
const LATE: Duration = Duration::from_secs(2);

/// Limits with so little guest time that a guest that computes for ever ends soon.
pub(crate) fn short() -> Limits {
    Limits {
        guest_time: Duration::from_millis(100),
        ..Limits::default()
    }
}

/// Limits with so much guest time that no slow machine lets a guest reach it before its other limits.
fn long() -> Limits {
    Limits {
        guest_time: Duration::from_hours(1),
        ..Limits::default()
    }
}

/// A host with a hostile guest, and a well-behaved one beside it.
pub(crate) struct Attack {
    pub(crate) setup: Setup,
    /// The name of the guest.
    guest: String,
    /// What it may use.
    limits: Limits,
    /// The name of the hostile plugin, which no other test has.
    plugin: String,
}

impl Attack {
    /// Loads a guest, with what it may use, and with every capability granted.
    pub(crate) async fn new(name: &str, limits: Limits) -> Self {
        Self::with(name, limited(name, limits)).await
    }

    /// Loads a guest with these options, but another name.
    pub(crate) async fn with(name: &str, options: Options) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let plugin = format!("hostile{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let limits = options.limits.clone();
        let options = Options {
            name: plugin.clone(),
            ..options
        };
        let setup = Setup::with(|builder| {
            let builder = builder.without_shell().files(FilesGrant::None);
            let builder = builder.plugin(guest(name), options);
            builder.plugin(guest("well_behaved"), self::options("well_behaved"))
        })
        .await;
        Self {
            setup,
            guest: name.to_owned(),
            limits,
            plugin,
        }
    }

    /// Calls the guest in this chat.
    pub(crate) async fn call(&self, chat: &str, arguments: &Value) -> Arc<Outcome> {
        let tool = format!("{}__t", self.plugin);
        call(&self.setup.host, request(chat, &tool, arguments))
            .await
            .unwrap()
    }

    /// Has it attack, and asserts that this ends as it must, what it took, and that both plugins work afterwards.
    pub(crate) async fn run(&self) -> (Arc<Outcome>, String) {
        let mut outcome = None;
        let log = logged(async {
            outcome = Some(self.call("hostile", &json!({})).await);
            self.goes_on().await;
        })
        .await;
        let outcome = outcome.unwrap();
        expected::of(&self.guest).assert(&outcome, &self.limits);
        self.within_bounds(&outcome);
        (outcome, self.lines(&log))
    }

    /// Asserts that the plugin and another one work.
    pub(crate) async fn goes_on(&self) {
        let calm = self.call("hostile", &json!({ "calm": true })).await;
        End::Reply("hello").assert(&calm);
        let tool = "well_behaved__t";
        let other = call(&self.setup.host, request("other", tool, &json!({}))).await;
        End::Reply("hello").assert(&other.unwrap());
    }

    /// Asserts that the guest of a call took no more memory and guest time than it may. The time is CPU time, and not that
    /// of a clock on the wall; as it is looked at now and then, the end can be late, by a little.
    fn within_bounds(&self, outcome: &Outcome) {
        let used = outcome.used;
        assert!(used.memory <= self.limits.memory as u64, "{used:?}");
        assert!(used.guest_time <= self.limits.guest_time + LATE, "{used:?}");
        // A guest that ran has used some of both.
        assert!(
            used.memory > 0 && used.guest_time > Duration::ZERO,
            "{used:?}"
        );
    }

    /// The lines of the log that are about this guest.
    fn lines(&self, log: &str) -> String {
        let mine = format!("plugin=\"{}\"", self.plugin);
        let lines = log.lines().filter(|line| line.contains(&mine));
        lines.flat_map(|line| [line, "\n"]).collect()
    }
}

impl End<'_> {
    /// Asserts that a call ended like this.
    pub(crate) fn assert(self, outcome: &Outcome) {
        let (kind, text) = match self {
            Self::Reply(text) => {
                let shown = serde_json::to_value(outcome).unwrap();
                assert!(outcome.result.is_ok(), "{outcome:?}");
                assert_eq!(shown["content"], json!([{ "type": "text", "text": text }]));
                return;
            }
            Self::Limit(text) => (ErrorKind::Limit, format!("the tool was stopped: {text}")),
            Self::Broken(text) => (ErrorKind::Broken, text.to_owned()),
            Self::Failed(kind, text) => (kind, text.to_owned()),
        };
        let error = outcome
            .result
            .as_ref()
            .expect_err("the guest must not get through");
        assert_eq!(error.kind, kind, "{error}");
        match self {
            // The reason, and what is left of it, are named as well.
            Self::Limit(_) => {
                let rest = error.message.strip_prefix(&text);
                let rest = rest.unwrap_or_else(|| panic!("{error}"));
                assert!(
                    rest.is_empty()
                        || rest.starts_with(": it has ")
                        || rest.starts_with("; process "),
                    "{error}"
                );
            }
            _ => assert!(error.message.contains(&text), "{error}"),
        }
    }
}

/// Has a guest attack with default limits but for guest time, and asserts that it ends as it must and that the host goes on.
pub(crate) async fn contained(name: &str) {
    let limits = match expected::of(name).ends_by("guest_time") {
        true => short(),
        false => long(),
    };
    Attack::new(name, limits).await.run().await;
}

/// Has a guest attack that would go on for as long as its deadline, which is set early, for nobody to wait for it.
pub(crate) async fn ends_at_its_deadline(name: &str) -> Attack {
    let limits = Limits {
        deadline: Duration::from_millis(300),
        ..Limits::default()
    };
    let attack = Attack::new(name, limits.clone()).await;
    let ended = attack.call("hostile", &json!({})).await;
    let expected = expected::of(name);
    assert!(expected.ends_by("deadline"));
    expected.assert(&ended, &limits);
    let other = attack.setup.outcome("well_behaved__t", json!({})).await;
    End::Reply("hello").assert(&other);
    attack
}

/// Loads a guest that must not load, asserts that this is for the expected reason, and returns it.
pub(crate) async fn load_error(name: &str) -> LoadError {
    let engine = Engine::new(None).unwrap();
    let error = Plugin::load(&engine, &guest(name), limited(name, short()))
        .await
        .expect_err("the guest must not load");
    expected::of(name).assert_refused(&error, &short());
    // The engine is none the worse for it.
    let other = Plugin::load(&engine, &guest("well_behaved"), options("other")).await;
    assert_eq!(other.unwrap().tools().len(), 1);
    error
}

//! One run of one script.

use std::rc::Rc;

use rquickjs::context::EvalOptions;
use rquickjs::promise::PromiseState;
use rquickjs::{
    Ctx, Error as JsError, Exception, FromJs, Function, Object, Promise, Result as JsResult,
    Value as JsValue,
};
use serde_json::Value;
use toolhost_sdk::calls::Calls;

use crate::engine::{self, Unhandled};
use crate::explain::Explained;
use crate::natives;
use crate::report::{End, Failure, Report};
use crate::strip::{self, Stripped};
use crate::work::{Event, Shared, Work};

/// The parts of the prelude: one that every script needs, and others that are loaded when a script uses them.
const PRELUDE: &str = include_str!("prelude.js");
const PARTS: [(&str, &str); 3] = [
    ("locale", include_str!("prelude/locale.js")),
    ("print", include_str!("prelude/print.js")),
    ("web", include_str!("prelude/web.js")),
];

/// The name of the script in the places of its errors.
const SCRIPT: &str = "script";

/// The line before a script.
const HEAD: &str = "(async function () { \"use strict\";\n";
/// The line behind it.
const FOOT: &str = "\n})";

/// Bytes that are free when the memory of the guest is used up, so that the report about it has room.
const RESERVE: usize = 1 << 20;

/// The reason why a script has no report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cancelled;

/// Runs a script. The seed decides its random numbers.
pub(crate) fn run<C: Calls + 'static>(
    calls: C,
    code: &str,
    input: &Value,
    seed: u64,
) -> Result<Report, Cancelled> {
    let work = Work::new(calls, seed);
    let (end, notes) = match strip::strip(code) {
        Ok(stripped) => evaluate(&work, code, &stripped, input)?,
        Err(error) => {
            let failure = Failure::of_syntax(error, code);
            (Err(Box::new(failure)), Vec::new())
        }
    };
    let work = work.borrow();
    Ok(Report::of(end, notes, &work.printed, work.started))
}

/// Runs a script without types in an engine of its own. Returns its end, and advice for its author.
fn evaluate<C: Calls + 'static>(
    work: &Shared<C>,
    code: &str,
    stripped: &Stripped,
    input: &Value,
) -> Result<(End, Vec<String>), Cancelled> {
    let unhandled = Unhandled::default();
    let unable = |error: JsError| {
        let failure = Failure::new("Error", format!("the engine cannot start: {error}"));
        (Err(Box::new(failure)), Vec::new())
    };
    let (runtime, context) = match engine::new(&unhandled) {
        Ok(engine) => engine,
        Err(error) => return Ok(unable(error)),
    };
    let reserve = Vec::with_capacity(RESERVE);
    let ended = context.with(|ctx| {
        let prelude = match surround(&ctx, work, input) {
            Ok(prelude) => prelude,
            Err(error) => return Ok(unable(error)),
        };
        let mut script = Script {
            work: Rc::clone(work),
            code,
            stripped,
            unhandled: Rc::clone(&unhandled),
            ctx,
            prelude,
            reserve,
        };
        let end = script.finish()?;
        Ok((end, script.notes()))
    });
    // What still refers to values of the engine goes before it.
    unhandled.borrow_mut().clear();
    runtime.set_host_promise_rejection_tracker(None);
    ended
}

/// A script in its surroundings.
struct Script<'a, 'js, C: Calls> {
    work: Shared<C>,
    /// The text as the author wrote it.
    code: &'a str,
    /// The text without types.
    stripped: &'a Stripped,
    unhandled: Unhandled,
    ctx: Ctx<'js>,
    /// The functions of the prelude.
    prelude: Object<'js>,
    reserve: Vec<u8>,
}

impl<'js, C: Calls> Script<'_, 'js, C> {
    /// Runs the script to its end.
    fn finish(&mut self) -> Result<End, Cancelled> {
        let promise = match self.begin() {
            Ok(promise) => promise,
            Err(_) => return Ok(Err(self.caught())),
        };
        loop {
            while self.ctx.execute_pending_job() {}
            match promise.state() {
                PromiseState::Resolved => return Ok(self.end(&promise)),
                PromiseState::Rejected => {
                    // Throws what the promise was rejected with.
                    drop(promise.result::<JsValue<'_>>());
                    return Ok(Err(self.caught()));
                }
                PromiseState::Pending if self.work.borrow().is_idle() => {
                    let text = "the script waits for something that cannot happen: no call runs, and no timer";
                    return Ok(Err(Failure::new("Error", text).into()));
                }
                PromiseState::Pending => {}
            }
            let event = self.work.borrow_mut().wait();
            let settled = match event {
                Event::Ended(ended) => {
                    let end = natives::end(&self.work.borrow().calls, &ended);
                    let settle = self.prelude.get::<_, Function<'_>>("settle");
                    settle.and_then(|settle| natives::settle(&self.ctx, &settle, ended.number, end))
                }
                Event::Due(number) => {
                    let due = self.prelude.get::<_, Function<'_>>("due");
                    due.and_then(|due| due.call((number,)))
                }
                Event::Cancelled => return Err(Cancelled),
                Event::OutOfTime => {
                    let text =
                        "the time of the call is over: the calls that still run are cancelled";
                    return Ok(Err(Failure::new("Error", text).into()));
                }
            };
            if settled.is_err() {
                return Ok(Err(self.caught()));
            }
        }
    }

    /// Runs the script to its first `await`. Returns the promise of the JSON of what it returns.
    fn begin(&self) -> JsResult<Promise<'js>> {
        let source = [HEAD, &self.stripped.text, FOOT].concat();
        let body: Function<'_> = evaluate_as(&self.ctx, source, SCRIPT)?;
        self.prelude.get::<_, Function<'_>>("run")?.call((body,))
    }

    /// Returns the end of a script that returned a value.
    fn end(&mut self, promise: &Promise<'js>) -> End {
        let rejected = self.unhandled.borrow_mut().drain(..).next();
        if let Some(rejected) = rejected
            && let Ok(reason) = rejected.reason.restore(&self.ctx)
        {
            let mut failure = self.failure(reason);
            let text = " (the promise of this error was not awaited)";
            failure.message.push_str(text);
            return Err(failure);
        }
        match promise.result::<Option<String>>() {
            Some(Ok(text)) => Ok(text),
            _ => Err(self.caught()),
        }
    }

    /// Returns what the exception that was just thrown says to the author of the script.
    fn caught(&mut self) -> Box<Failure> {
        let thrown = self.ctx.catch();
        self.failure(thrown)
    }

    /// Returns what an error says to the author of the script.
    fn failure(&mut self, thrown: JsValue<'js>) -> Box<Failure> {
        self.reserve = Vec::new();
        // QuickJS throws null if it has no memory left for an error.
        let throws = ["throw", "reject"]
            .iter()
            .any(|word| self.code.contains(word));
        if thrown.is_null() && !throws {
            let explained = Explained::out_of_memory();
            return explained.failure(self.code, self.stripped, SCRIPT).into();
        }
        let explain = self.prelude.get::<_, Function<'_>>("explain");
        let explained = explain.and_then(|explain| explain.call::<_, String>((thrown,)));
        let explained = explained
            .ok()
            .and_then(|text| serde_json::from_str::<Explained>(&text).ok());
        if explained.is_none() {
            self.ctx.catch();
        }
        let explained = explained.unwrap_or_default();
        explained.failure(self.code, self.stripped, SCRIPT).into()
    }

    /// Returns the advice that the prelude has for the author of the script.
    fn notes(&self) -> Vec<String> {
        let notes = self.prelude.get::<_, Function<'_>>("notes");
        let notes = notes.and_then(|notes| notes.call(()));
        notes.unwrap_or_else(|_| {
            self.ctx.catch();
            Vec::new()
        })
    }
}

/// Gives a script its surroundings. Returns the functions of the prelude.
fn surround<'js, C: Calls + 'static>(
    ctx: &Ctx<'js>,
    work: &Shared<C>,
    input: &Value,
) -> JsResult<Object<'js>> {
    let native = natives::object(ctx, work)?;
    let prelude: Function<'_> = evaluate_as(ctx, PRELUDE, "toolhost")?;
    let input = ctx.json_parse(input.to_string())?;
    prelude.call((native, input))
}

/// Evaluates a part of the prelude that few scripts need.
pub(crate) fn load<'js>(ctx: &Ctx<'js>, name: &str) -> JsResult<JsValue<'js>> {
    match PARTS.iter().find(|(part, _)| *part == name) {
        Some((_, text)) => evaluate_as(ctx, *text, "toolhost"),
        None => Err(Exception::throw_message(ctx, "no such part")),
    }
}

/// Evaluates a text, whose name its errors show.
fn evaluate_as<'js, V: FromJs<'js>>(
    ctx: &Ctx<'js>,
    text: impl Into<Vec<u8>>,
    name: &str,
) -> JsResult<V> {
    let mut options = EvalOptions::default();
    options.filename = Some(name.to_owned());
    ctx.eval_with_options(text, options)
}

#[cfg(test)]
mod tests;

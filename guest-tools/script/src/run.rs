//! One run of one script.

use std::path::Path;
use std::rc::Rc;

use boa_engine::builtins::promise::PromiseState;
use boa_engine::object::JsObject;
use boa_engine::object::builtins::JsPromise;
use boa_engine::property::Attribute;
use boa_engine::{Context, JsError, JsResult, JsString, JsValue, Source};
use serde_json::Value;
use toolhost_sdk::calls::Calls;

use crate::engine::{self, Hooks};
use crate::place::Place;
use crate::report::{End, Failure, Report};
use crate::work::{Event, Shared, Tools, Work};
use crate::{natives, strip};

const PRELUDE: &str = include_str!("prelude.js");

/// The name of the script in the places of its errors.
const SCRIPT: &str = "script";

/// The line before a script.
const HEAD: &str = "(async function () { \"use strict\";\n";
/// The line behind it.
const FOOT: &str = "\n}).call(undefined)";

/// The reason why a script has no report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cancelled;

/// Runs a script. The seed decides its random numbers.
pub(crate) fn run(
    calls: impl Tools,
    code: &str,
    input: &Value,
    seed: u64,
) -> Result<Report, Cancelled> {
    let work = Work::new(calls, seed);
    let end = match ready(&work, code, input) {
        Ok(mut script) => script.finish()?,
        Err(failure) => Err(failure),
    };
    let work = work.borrow();
    Ok(Report::of(end, &work.printed, work.started))
}

/// A script in its surroundings.
struct Script<'a, C: Calls> {
    work: Shared<C>,
    code: &'a str,
    /// The text that the engine evaluates: the script without types, in a function.
    source: String,
    hooks: Rc<Hooks>,
    context: Context,
    /// The helpers of the prelude.
    helpers: JsObject,
}

/// Makes a script ready to run.
fn ready<'a, C: Tools>(
    work: &Shared<C>,
    code: &'a str,
    input: &Value,
) -> Result<Script<'a, C>, Box<Failure>> {
    let syntax = |error| Failure::of_syntax(error, code);
    let source = [HEAD, &strip::strip(code).map_err(syntax)?, FOOT].concat();
    let hooks = Rc::new(Hooks::default());
    let unable = |error: JsError| Failure::new("Error", error.to_string());
    let mut context = engine::new(Rc::clone(&hooks)).map_err(unable)?;
    context.insert_data(Rc::clone(work));
    let helpers = surround::<C>(input, &mut context).map_err(unable)?;
    Ok(Script {
        work: Rc::clone(work),
        code,
        source,
        hooks,
        context,
        helpers,
    })
}

impl<C: Tools> Script<'_, C> {
    /// Runs the script to its end.
    fn finish(&mut self) -> Result<End, Cancelled> {
        let promise = match self.evaluate() {
            Ok(promise) => promise,
            Err(error) => return Ok(Err(self.failure(error))),
        };
        loop {
            if let Err(error) = self.context.run_jobs() {
                return Ok(Err(self.failure(error)));
            }
            match promise.state() {
                PromiseState::Rejected(thrown) => {
                    return Ok(Err(self.failure(JsError::from_opaque(thrown))));
                }
                PromiseState::Fulfilled(value) if self.work.borrow().running.is_empty() => {
                    return Ok(self.end(&value));
                }
                PromiseState::Pending if self.work.borrow().is_idle() => {
                    let text = "the script waits for something that cannot happen: no call runs, and no timer";
                    return Ok(Err(Failure::new("Error", text).into()));
                }
                PromiseState::Fulfilled(_) | PromiseState::Pending => {}
            }
            let event = self.work.borrow_mut().wait();
            let settled = match event {
                Event::Ended(ended) => {
                    let end = natives::end(&self.work.borrow().calls, &ended);
                    natives::settle(end, &ended, &mut self.context)
                }
                Event::Due(run) => {
                    let ran = run.call(&JsValue::undefined(), &[], &mut self.context);
                    ran.map(drop)
                }
                Event::Cancelled => return Err(Cancelled),
                Event::OutOfTime => {
                    let text =
                        "the time of the call is over: the calls that still run are cancelled";
                    return Ok(Err(Failure::new("Error", text).into()));
                }
            };
            if let Err(error) = settled {
                return Ok(Err(self.failure(error)));
            }
        }
    }

    /// Runs the script to its first `await`. Returns the promise of what it returns.
    fn evaluate(&mut self) -> JsResult<JsPromise> {
        let source = Source::from_bytes(&self.source).with_path(Path::new(SCRIPT));
        let promise = self.context.eval(source)?.to_object(&mut self.context)?;
        JsPromise::from_object(promise)
    }

    /// Returns the end of a script that returned a value.
    fn end(&mut self, value: &JsValue) -> End {
        if let Some(rejected) = self.hooks.unhandled()
            && let Ok(promise) = JsPromise::from_object(rejected)
            && let PromiseState::Rejected(thrown) = promise.state()
        {
            let mut failure = self.failure(JsError::from_opaque(thrown));
            let text = " (the promise of this error was not awaited)";
            failure.message.push_str(text);
            return Err(failure);
        }
        match help(&self.helpers, "encode", value, &mut self.context) {
            Ok(text) if text.is_undefined() => Ok(None),
            Ok(text) => Ok(Some(string(&text, &mut self.context))),
            Err(error) => {
                let mut failure = self.failure(error);
                failure.message = format!("the returned value has no JSON: {}", failure.message);
                Err(failure)
            }
        }
    }

    /// Returns what an error says to the author of the script.
    fn failure(&mut self, error: JsError) -> Box<Failure> {
        let text = error.to_string();
        let Ok(thrown) = error.into_opaque(&mut self.context) else {
            return Failure::new("RangeError", text).into();
        };
        let explained = help(&self.helpers, "explain", &thrown, &mut self.context);
        let explained = explained.map(|explained| string(&explained, &mut self.context));
        let explained = explained
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok());
        let Some(explained): Option<Value> = explained else {
            return Failure::new("Error", text).into();
        };
        let stack = explained.get("stack").and_then(Value::as_str);
        let place = stack.unwrap_or_default().lines().find_map(place);
        let failure: Failure = serde_json::from_value(explained).unwrap_or_default();
        failure.at(place, self.code).into()
    }
}

/// Gives a script its surroundings. Returns the helpers of the prelude.
fn surround<C: Tools>(input: &Value, context: &mut Context) -> JsResult<JsObject> {
    let native = natives::object::<C>(context);
    let prelude = Source::from_bytes(PRELUDE).with_path(Path::new("toolhost"));
    let prelude = context.eval(prelude)?.to_object(context)?;
    let helpers = prelude.call(&JsValue::undefined(), &[native.into()], context)?;
    let input = JsValue::from_json(input, context)?;
    let attribute = Attribute::WRITABLE | Attribute::CONFIGURABLE;
    context.register_global_property(JsString::from("input"), input, attribute)?;
    helpers.to_object(context)
}

/// Calls a helper of the prelude.
fn help(
    helpers: &JsObject,
    name: &str,
    value: &JsValue,
    context: &mut Context,
) -> JsResult<JsValue> {
    let helper = helpers
        .get(JsString::from(name), context)?
        .to_object(context)?;
    helper.call(&JsValue::undefined(), std::slice::from_ref(value), context)
}

fn string(value: &JsValue, context: &mut Context) -> String {
    let text = value.to_string(context);
    text.map(|text| text.to_std_string_lossy())
        .unwrap_or_default()
}

/// Returns the place that a line of a stack names, if it is in the script: `    at name (script:3:14)`.
fn place(frame: &str) -> Option<Place> {
    let (_, place) = frame.rsplit_once('(')?;
    let mut parts = place.trim_end_matches(')').split(':');
    if parts.next() != Some(SCRIPT) {
        return None;
    }
    let line: u32 = parts.next()?.parse().ok()?;
    Some(Place {
        line: line.checked_sub(1)?,
        column: parts.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests;

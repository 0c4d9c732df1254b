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
use crate::work::{Event, Shared, Work};
use crate::{natives, strip};

const PRELUDE: &str = include_str!("prelude.js");

/// The name of the script in the places of its errors.
const SCRIPT: &str = "script";

/// What stands before a script, in a line of its own.
const HEAD: &str = "(async function () { \"use strict\";\n";
const FOOT: &str = "\n}).call(undefined)";

/// Why a script has no report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cancelled;

/// Runs a script. The seed decides its random numbers.
pub(crate) fn run<C: Calls + 'static>(
    calls: C,
    code: &str,
    input: &Value,
    seed: u64,
) -> Result<Report, Cancelled>
where
    C::Call: 'static,
{
    let work = Work::new(calls, seed);
    let end = match strip::strip(code) {
        Ok(script) => Script {
            work: Rc::clone(&work),
            code,
        }
        .run(&script, input)?,
        Err(error) => Err(Box::new(Failure::of_syntax(error, code))),
    };
    let work = work.borrow();
    Ok(Report::of(end, &work.printed, work.started))
}

struct Script<'a, C: Calls> {
    work: Shared<C>,
    code: &'a str,
}

impl<C: Calls + 'static> Script<'_, C>
where
    C::Call: 'static,
{
    fn run(&self, script: &str, input: &Value) -> Result<End, Cancelled> {
        let hooks = Rc::new(Hooks::default());
        let mut context = match engine::new(Rc::clone(&hooks)) {
            Ok(context) => context,
            Err(error) => return Ok(Err(Box::new(Failure::new("Error", error.to_string())))),
        };
        let context = &mut context;
        context.insert_data(Rc::clone(&self.work));
        let begun = begin::<C>(script, input, context);
        let (helpers, promise) = match begun {
            Ok(begun) => begun,
            Err(error) => return Ok(Err(self.failure(None, error, context))),
        };
        loop {
            if let Err(error) = context.run_jobs() {
                return Ok(Err(self.failure(Some(&helpers), error, context)));
            }
            let state = promise.state();
            match &state {
                PromiseState::Rejected(thrown) => {
                    let error = JsError::from_opaque(thrown.clone());
                    return Ok(Err(self.failure(Some(&helpers), error, context)));
                }
                PromiseState::Fulfilled(value) if self.work.borrow().running.is_empty() => {
                    return Ok(self.end(value, &helpers, &hooks, context));
                }
                PromiseState::Pending if self.work.borrow().is_idle() => {
                    let text = "the script waits for something that cannot happen: no call runs, and no timer";
                    return Ok(Err(Box::new(Failure::new("Error", text))));
                }
                PromiseState::Fulfilled(_) | PromiseState::Pending => {}
            }
            let event = self.work.borrow_mut().wait();
            let settled = match event {
                Event::Ended(ended) => {
                    let shared = Rc::clone(&self.work);
                    let end = natives::end(&shared.borrow().calls, &ended);
                    natives::settle(end, &ended, context)
                }
                Event::Due(run) => run.call(&JsValue::undefined(), &[], context).map(drop),
                Event::Cancelled => return Err(Cancelled),
                Event::OutOfTime => {
                    let text =
                        "the time of the call is over: the calls that still run are cancelled";
                    return Ok(Err(Box::new(Failure::new("Error", text))));
                }
            };
            if let Err(error) = settled {
                return Ok(Err(self.failure(Some(&helpers), error, context)));
            }
        }
    }

    /// Returns the end of a script that returned a value.
    fn end(
        &self,
        value: &JsValue,
        helpers: &JsObject,
        hooks: &Hooks,
        context: &mut Context,
    ) -> End {
        if let Some(rejected) = hooks.unhandled()
            && let Ok(promise) = JsPromise::from_object(rejected)
            && let PromiseState::Rejected(thrown) = promise.state()
        {
            let mut failure = self.failure(Some(helpers), JsError::from_opaque(thrown), context);
            failure
                .message
                .push_str(" (the promise of this error was not awaited)");
            return Err(failure);
        }
        match help(helpers, "encode", value, context) {
            Ok(text) if text.is_undefined() => Ok(None),
            Ok(text) => Ok(Some(string(&text, context))),
            Err(error) => {
                let mut failure = self.failure(Some(helpers), error, context);
                failure.message = format!("the returned value has no JSON: {}", failure.message);
                Err(failure)
            }
        }
    }

    /// Returns what an error says to the author of the script.
    fn failure(
        &self,
        helpers: Option<&JsObject>,
        error: JsError,
        context: &mut Context,
    ) -> Box<Failure> {
        let text = error.to_string();
        let Ok(thrown) = error.into_opaque(context) else {
            return Box::new(Failure::new("RangeError", text));
        };
        let explained = helpers.and_then(|helpers| help(helpers, "explain", &thrown, context).ok());
        let explained = explained.map(|explained| string(&explained, context));
        let explained: Option<Value> = explained.and_then(|text| serde_json::from_str(&text).ok());
        let Some(explained) = explained else {
            return Box::new(Failure::new("Error", text));
        };
        let stack = explained
            .get("stack")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let place = stack.lines().find_map(place);
        let failure: Failure = serde_json::from_value(explained.clone()).unwrap_or_default();
        Box::new(failure.at(place, self.code))
    }
}

/// Begins a script. Returns the helpers of the prelude, and the promise of what the script returns.
fn begin<C: Calls + 'static>(
    script: &str,
    input: &Value,
    context: &mut Context,
) -> JsResult<(JsObject, JsPromise)>
where
    C::Call: 'static,
{
    let native = natives::object::<C>(context);
    let prelude = Source::from_bytes(PRELUDE).with_path(Path::new("toolhost"));
    let prelude = context.eval(prelude)?.to_object(context)?;
    let helpers = prelude.call(&JsValue::undefined(), &[native.into()], context)?;
    let helpers = helpers.to_object(context)?;
    let input = JsValue::from_json(input, context)?;
    let attribute = Attribute::WRITABLE | Attribute::CONFIGURABLE;
    context.register_global_property(JsString::from("input"), input, attribute)?;
    let script = [HEAD, script, FOOT].concat();
    let script = Source::from_bytes(&script).with_path(Path::new(SCRIPT));
    let promise = context.eval(script)?.to_object(context)?;
    Ok((helpers, JsPromise::from_object(promise)?))
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

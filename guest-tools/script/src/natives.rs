//! The native functions behind `tools`, `console` and the timers.

use std::time::Duration;

use boa_engine::object::builtins::{JsFunction, JsPromise};
use boa_engine::object::{JsObject, ObjectInitializer};
use boa_engine::{
    Context, JsArgs as _, JsNativeError, JsResult, JsString, JsValue, NativeFunction,
};
use serde_json::{Value, json};
use toolhost_sdk::calls::{Calls, Content, Error, Reply, Tool};

use crate::work::{Running, Tools, Work};

type Native = fn(&JsValue, &[JsValue], &mut Context) -> JsResult<JsValue>;

/// Returns the object of the native functions, which the prelude takes.
pub(crate) fn object<C: Tools>(context: &mut Context) -> JsObject {
    let functions: [(&str, Native); 8] = [
        ("start", start::<C>),
        ("search", search::<C>),
        ("list", list::<C>),
        ("print", print::<C>),
        ("display", display),
        ("startTimer", start_timer::<C>),
        ("endTimer", end_timer::<C>),
        ("random", random::<C>),
    ];
    let mut object = ObjectInitializer::new(context);
    for (name, function) in functions {
        object.function(
            NativeFunction::from_fn_ptr(function),
            JsString::from(name),
            0,
        );
    }
    object.build()
}

/// `start(tool, arguments, resolve, fail)` starts a call and returns what cancels it.
fn start<C: Tools>(_: &JsValue, args: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let tool = text(args.get_or_undefined(0), context)?;
    let arguments = text(args.get_or_undefined(1), context)?;
    let (resolve, fail) = (
        function(args.get_or_undefined(2))?,
        function(args.get_or_undefined(3))?,
    );
    let shared = Work::<C>::of(context)?;
    let number = {
        let mut work = shared.borrow_mut();
        match work.calls.start(&tool, &arguments) {
            Ok(call) => {
                work.started += 1;
                let number = work.started;
                work.running.push(Running {
                    number,
                    call,
                    resolve,
                    fail,
                });
                number
            }
            Err(error) => {
                drop(work);
                refuse(&fail, &error, None, context)?;
                0
            }
        }
    };
    let cancel = NativeFunction::from_copy_closure(move |_, _, context| {
        let work = Work::<C>::of(context)?;
        let work = work.borrow();
        if let Some(running) = work.running.iter().find(|running| running.number == number) {
            work.calls.cancel(&running.call);
        }
        Ok(JsValue::undefined())
    });
    Ok(cancel.to_js_function(context.realm()).into())
}

/// How a call ended, with its id.
pub(crate) struct End {
    id: String,
    reply: Result<Reply, Error>,
}

/// Returns how a call ended.
pub(crate) fn end<C: Calls>(calls: &C, ended: &Running<C::Call>) -> End {
    let reply = calls.reply(&ended.call);
    let none = || {
        Err(Error::Failed(
            "the call has ended without a reply".to_owned(),
        ))
    };
    End {
        id: calls.id(&ended.call),
        reply: reply.unwrap_or_else(none),
    }
}

/// Gives the end of a call to the promise that waits for it. The script may run meanwhile.
pub(crate) fn settle<T>(end: End, ended: &Running<T>, context: &mut Context) -> JsResult<()> {
    let reply = match end.reply {
        Ok(reply) => reply,
        Err(error) => return refuse(&ended.fail, &error, Some(end.id), context),
    };
    let value = value(&reply);
    let given = JsValue::from_json(&value, context)?;
    let called = match reply.is_error {
        false => ended.resolve.call(&JsValue::undefined(), &[given], context),
        true => {
            let message = match (&value, value.get("error").and_then(Value::as_str)) {
                (Value::String(text), _) => text.clone(),
                (_, Some(error)) => error.to_owned(),
                (value, None) => value.to_string(),
            };
            let [kind, message, id] =
                ["failed".to_owned(), message, end.id].map(|text| JsString::from(text).into());
            ended
                .fail
                .call(&JsValue::undefined(), &[kind, message, id, given], context)
        }
    };
    called.map(drop)
}

fn refuse(
    fail: &JsFunction,
    error: &Error,
    id: Option<String>,
    context: &mut Context,
) -> JsResult<()> {
    let id = id.map_or_else(JsValue::undefined, |id| JsString::from(id).into());
    let args = [
        JsString::from(error.kind()).into(),
        JsString::from(error.text()).into(),
        id,
    ];
    fail.call(&JsValue::undefined(), &args, context)?;
    Ok(())
}

/// Returns the value of a reply in a script: its JSON part; else its text; else its parts, without their bytes.
fn value(reply: &Reply) -> Value {
    let parts = reply.content.iter();
    let json = parts.clone().find_map(|part| match part {
        Content::Json(text) => serde_json::from_str(text).ok(),
        _ => None,
    });
    if let Some(json) = json {
        return json;
    }
    let texts = parts.clone().map(|part| match part {
        Content::Text(text) | Content::Json(text) => Some(text.as_str()),
        _ => None,
    });
    match texts.collect::<Option<Vec<_>>>() {
        Some(texts) => texts.join("\n").into(),
        None => parts.map(part).collect(),
    }
}

fn part(part: &Content) -> Value {
    match part {
        Content::Text(text) | Content::Json(text) => json!({ "type": "text", "text": text }),
        Content::Image(blob) => {
            json!({ "type": "image", "media_type": blob.media_type, "bytes": blob.data.len() })
        }
        Content::Audio(blob) => {
            json!({ "type": "audio", "media_type": blob.media_type, "bytes": blob.data.len() })
        }
        Content::Document(document) => match document.data.as_deref().map(str::from_utf8) {
            Some(Ok(text)) => json!({ "type": "document", "uri": document.uri, "text": text }),
            _ => json!({ "type": "document", "uri": document.uri }),
        },
    }
}

/// `search(query, max)` returns the tools that have words of the query.
fn search<C: Tools>(_: &JsValue, args: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let query = text(args.get_or_undefined(0), context)?;
    let max = args.get_or_undefined(1).to_u32(context)?;
    let work = Work::<C>::of(context)?;
    let found = work.borrow().calls.search(&query, max);
    described(found, context)
}

/// `list()` returns all tools.
fn list<C: Tools>(_: &JsValue, _: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let work = Work::<C>::of(context)?;
    let tools = work.borrow().calls.tools();
    described(tools, context)
}

/// Returns a promise of tools, as scripts read them.
fn described(tools: Result<Vec<Tool>, Error>, context: &mut Context) -> JsResult<JsValue> {
    let tools = match tools {
        Ok(tools) => tools,
        Err(error) => {
            let error = JsNativeError::error().with_message(error.text().to_owned());
            return Ok(JsPromise::reject(error, context)?.into());
        }
    };
    let schema = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let tools = tools.iter().map(|tool| {
        let mut described = json!({
            "name": tool.name,
            "description": tool.description,
            "input_schema": schema(&tool.input_schema),
        });
        if let (Some(output), Some(described)) = (&tool.output_schema, described.as_object_mut()) {
            described.insert("output_schema".to_owned(), schema(output));
        }
        described
    });
    let tools = JsValue::from_json(&tools.collect(), context)?;
    Ok(JsPromise::resolve(tools, context)?.into())
}

/// `print(line)` prints a line.
fn print<C: Tools>(_: &JsValue, args: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let line = text(args.get_or_undefined(0), context)?;
    Work::<C>::of(context)?.borrow_mut().printed.add(&line);
    Ok(JsValue::undefined())
}

/// `display(value)` returns the text of a value that JSON has no text for.
fn display(_: &JsValue, args: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    let shown = args.get_or_undefined(0).display().to_string();
    Ok(JsString::from(shown).into())
}

/// `startTimer(run, ms)` calls a function after a time, and returns the number of the timer.
fn start_timer<C: Tools>(
    _: &JsValue,
    args: &[JsValue],
    context: &mut Context,
) -> JsResult<JsValue> {
    let run = function(args.get_or_undefined(0))?;
    let ms = args.get_or_undefined(1).to_number(context)?;
    // A time that is no number, or is negative, is 0, as elsewhere in JavaScript.
    let after = Duration::try_from_secs_f64(ms.max(0.0) / 1000.0).unwrap_or(Duration::MAX);
    let number = Work::<C>::of(context)?.borrow_mut().start_timer(run, after);
    Ok(number.into())
}

/// `endTimer(number)` ends a timer.
fn end_timer<C: Tools>(_: &JsValue, args: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let number = args.get_or_undefined(0).to_u32(context)?;
    Work::<C>::of(context)?.borrow_mut().end_timer(number);
    Ok(JsValue::undefined())
}

/// `random()` returns the next random number, by SplitMix64. A repeat of the call has the same numbers, so that it makes the same
/// calls.
fn random<C: Tools>(_: &JsValue, _: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let work = Work::<C>::of(context)?;
    let mut work = work.borrow_mut();
    work.random = work.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (work.random ^ (work.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let mixed = mixed ^ (mixed >> 31);
    // The 53 bits of a number between 0 and 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let number = (mixed >> 11) as f64 / (1_u64 << 53) as f64;
    Ok(number.into())
}

fn text(value: &JsValue, context: &mut Context) -> JsResult<String> {
    Ok(value.to_string(context)?.to_std_string_lossy())
}

fn function(value: &JsValue) -> JsResult<JsFunction> {
    let object = value.as_object().and_then(JsFunction::from_object);
    object.ok_or_else(|| {
        JsNativeError::typ()
            .with_message("a function is expected")
            .into()
    })
}

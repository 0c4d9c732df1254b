//! The native functions behind the prelude.

use std::rc::Rc;
use std::time::Duration;

use rquickjs::{Ctx, Exception, Function, IntoJs as _, Object, Result, Value as JsValue};
use serde_json::{Value, json};
use toolhost_sdk::calls::{Calls, Content, Error, Reply, Tool};

use crate::work::{Running, Shared};
use crate::{run, web};

/// Returns the object of the native functions, which the prelude takes. The texts that the prelude gives them are well-formed.
pub(crate) fn object<'js, C: Calls + 'static>(
    ctx: &Ctx<'js>,
    work: &Shared<C>,
) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    tools(ctx, work, &object)?;
    let shared = Rc::clone(work);
    let print = move |line: String| shared.borrow_mut().printed.add(&line);
    object.set("print", Function::new(ctx.clone(), print)?)?;
    let shared = Rc::clone(work);
    let start_timer = move |ms: f64| {
        // A time that is no number, or is negative, is 0, as elsewhere in JavaScript.
        let after = Duration::try_from_secs_f64(ms.max(0.0) / 1000.0).unwrap_or(Duration::MAX);
        shared.borrow_mut().start_timer(after)
    };
    object.set("startTimer", Function::new(ctx.clone(), start_timer)?)?;
    let shared = Rc::clone(work);
    let end_timer = move |number: u32| shared.borrow_mut().end_timer(number);
    object.set("endTimer", Function::new(ctx.clone(), end_timer)?)?;
    let shared = Rc::clone(work);
    let random = move || shared.borrow_mut().random();
    object.set("random", Function::new(ctx.clone(), random)?)?;
    let load = |ctx: Ctx<'js>, name: String| run::load(&ctx, &name);
    object.set("load", Function::new(ctx.clone(), load)?)?;
    web::add(ctx, &object)?;
    Ok(object)
}

/// Adds the functions behind `tools`.
fn tools<'js, C: Calls + 'static>(
    ctx: &Ctx<'js>,
    work: &Shared<C>,
    object: &Object<'js>,
) -> Result<()> {
    let shared = Rc::clone(work);
    // Starts a call. Returns its number, or the kind and the text of the error.
    let start = move |ctx: Ctx<'js>, tool: String, arguments: String| -> Result<JsValue<'js>> {
        match shared.borrow_mut().start(&tool, &arguments) {
            Ok(number) => number.into_js(&ctx),
            Err(error) => vec![error.kind(), error.text()].into_js(&ctx),
        }
    };
    object.set("start", Function::new(ctx.clone(), start)?)?;
    let shared = Rc::clone(work);
    let cancel = move |number: u32| shared.borrow().cancel(number);
    object.set("cancel", Function::new(ctx.clone(), cancel)?)?;
    let shared = Rc::clone(work);
    // Returns the path, or the kind and the text of the error.
    let scratch = move |ctx: Ctx<'js>| match shared.borrow().calls.scratch() {
        Ok(path) => path.into_js(&ctx),
        Err(error) => vec![error.kind(), error.text()].into_js(&ctx),
    };
    object.set("scratch", Function::new(ctx.clone(), scratch)?)?;
    let shared = Rc::clone(work);
    let search = move |ctx: Ctx<'js>, query: String, max: u32| {
        described(&ctx, shared.borrow().calls.search(&query, max))
    };
    object.set("search", Function::new(ctx.clone(), search)?)?;
    let shared = Rc::clone(work);
    let list = move |ctx: Ctx<'js>| described(&ctx, shared.borrow().calls.tools());
    object.set("list", Function::new(ctx.clone(), list)?)
}

/// The end of a call, with its id.
pub(crate) struct End {
    id: String,
    reply: std::result::Result<Reply, Error>,
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

/// Gives the end of a call to the promise that waits for it, by a function of the prelude.
pub(crate) fn settle<'js>(
    ctx: &Ctx<'js>,
    settle: &Function<'js>,
    number: u32,
    end: End,
) -> Result<()> {
    match end.reply {
        Ok(reply) => {
            let is_error = reply.is_error;
            settle.call((number, end.id, value(ctx, reply.content)?, is_error))
        }
        Err(error) => {
            let none = JsValue::new_undefined(ctx.clone());
            settle.call((number, end.id, none, true, error.kind(), error.text()))
        }
    }
}

/// Returns the value of a reply in a script: its JSON part; else its text; else its parts, without their bytes.
fn value<'js>(ctx: &Ctx<'js>, content: Vec<Content>) -> Result<JsValue<'js>> {
    let is_json = |part: &Content| matches!(part, Content::Json(_));
    if let Some(at) = content.iter().position(is_json) {
        return match content.into_iter().nth(at) {
            // The text may have megabytes, and is not copied.
            Some(Content::Json(text)) => ctx.json_parse(text),
            _ => Ok(JsValue::new_undefined(ctx.clone())),
        };
    }
    let texts = content.iter().map(|part| match part {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    });
    match texts.collect::<Option<Vec<_>>>() {
        Some(texts) => texts.join("\n").into_js(ctx),
        None => ctx.json_parse(content.iter().map(part).collect::<Value>().to_string()),
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

/// Returns tools as scripts read them.
fn described<'js>(
    ctx: &Ctx<'js>,
    tools: std::result::Result<Vec<Tool>, Error>,
) -> Result<JsValue<'js>> {
    let tools = tools.map_err(|error| Exception::throw_message(ctx, error.text()))?;
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
    ctx.json_parse(tools.collect::<Value>().to_string())
}

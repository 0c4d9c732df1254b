//! Arguments of a tool, as the command line has them.

use std::io::Read as _;

use anyhow::{Context as _, bail};
use serde_json::{Map, Value};
use toolhost_call::call::MAX_ARGUMENTS;

/// Returns the arguments as one JSON object: `KEY=TEXT` and `KEY:=JSON`, or the object itself; `-` reads that from standard input.
pub(super) fn read(arguments: &[String]) -> anyhow::Result<String> {
    match arguments {
        [single] if single == "-" => read_stdin(),
        arguments => object(arguments),
    }
}

fn read_stdin() -> anyhow::Result<String> {
    let mut text = String::new();
    let most = MAX_ARGUMENTS as u64 + 1;
    std::io::stdin()
        .lock()
        .take(most)
        .read_to_string(&mut text)
        .context("cannot read the arguments")?;
    Ok(text)
}

/// Returns the JSON object that these arguments of the command line stand for.
fn object(arguments: &[String]) -> anyhow::Result<String> {
    if let [single] = arguments
        && single.trim_start().starts_with(['{', '['])
    {
        // The error about JSON that is no object, or no JSON, says what is wrong with it.
        return Ok(single.clone());
    }
    let mut object = Map::new();
    for argument in arguments {
        let Some((key, text)) = argument.split_once('=') else {
            bail!(
                "{argument:?} is no argument of a tool: write KEY=TEXT, KEY:=JSON, or one JSON object"
            );
        };
        let (key, value) = match key.strip_suffix(':') {
            Some(key) => {
                let value = serde_json::from_str(text);
                let value = value.with_context(|| {
                    format!("the argument {key} is no JSON; for a text write {key}={text}")
                })?;
                (key, value)
            }
            None => (key, Value::from(text)),
        };
        if object.insert(key.to_owned(), value).is_some() {
            bail!("the argument {key} is given twice; for a list write {key}:='[…]'");
        }
    }
    Ok(Value::Object(object).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<String, String> {
        let arguments: Vec<_> = arguments.iter().map(|text| (*text).to_owned()).collect();
        object(&arguments).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn arguments_are_texts_or_json() {
        assert_eq!(read(&[]).as_deref(), Ok("{}"));
        assert_eq!(read(&[r#" {"a": 1}"#]).as_deref(), Ok(r#" {"a": 1}"#));
        assert_eq!(
            read(&[
                "text=a=b",
                "url=http://x/?a:=1",
                "n:=1",
                "list:=[1,2]",
                "none="
            ])
            .as_deref(),
            Ok(r#"{"text":"a=b","url":"http://x/?a:=1","n":1,"list":[1,2],"none":""}"#)
        );
    }

    #[test]
    fn arguments_that_cannot_be_are_explained() {
        insta::assert_snapshot!(read(&["text"]).unwrap_err(), @r#""text" is no argument of a tool: write KEY=TEXT, KEY:=JSON, or one JSON object"#);
        insta::assert_snapshot!(read(&["a:=b"]).unwrap_err(), @"the argument a is no JSON; for a text write a=b: expected value at line 1 column 1");
        insta::assert_snapshot!(read(&["a=1", "a=2"]).unwrap_err(), @"the argument a is given twice; for a list write a:='[…]'");
    }
}

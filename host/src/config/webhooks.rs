//! `[webhooks.NAME]`: where notices of chats are sent.

use std::collections::BTreeSet;
use std::path::Path;

use super::section::Section;
use toolhost_http::webhooks::Webhook;

/// How webhooks are written.
pub(super) const WRITTEN: &str =
    "webhooks are written as sections [webhooks.NAME] with `url` and `secret_file`";

/// Reads all webhooks, each with its name. Relative paths begin at `base`.
pub(super) fn read(mut section: Section<'_, '_>, base: &Path) -> Vec<(String, Webhook)> {
    let mut webhooks: Vec<(String, Webhook)> = Vec::new();
    for (name, value) in section.rest() {
        let table = section.table(&name, value, WRITTEN);
        let Some(webhook) = table.and_then(|table| one(table, base)) else {
            continue;
        };
        for (other, earlier) in &webhooks {
            if let Some(problem) = both(&webhook, earlier) {
                section.wrong(&name, format!("{problem}, and so does [webhooks.{other}]"));
            }
        }
        webhooks.push((name, webhook));
    }
    webhooks
}

fn one(mut section: Section<'_, '_>, base: &Path) -> Option<Webhook> {
    let url: Option<String> = section.required(
        "url",
        "the address of the receiver, such as \"https://chat.example.com/toolhost\"",
    );
    let secret_file: Option<String> = section.required(
        "secret_file",
        "the path of a file that has the secret of the signatures",
    );
    let is_url = |url: &String| url.starts_with("https://") || url.starts_with("http://");
    if url.as_ref().is_some_and(|url| !is_url(url)) {
        section.wrong("url", "it begins with https:// or http://");
    }
    let tokens = section.texts("tokens").map(BTreeSet::from_iter);
    if tokens.as_ref().is_some_and(BTreeSet::is_empty) {
        section.wrong(
            "tokens",
            "name at least one, or leave it out for all others",
        );
    }
    section.finish();
    Some(Webhook {
        url: url?,
        secret_file: base.join(secret_file?),
        tokens,
    })
}

/// Returns which notices two webhooks would both get.
fn both(one: &Webhook, other: &Webhook) -> Option<String> {
    match (&one.tokens, &other.tokens) {
        (None, None) => Some("it is for the tokens that no webhook names".to_owned()),
        (Some(one), Some(other)) => {
            let token = one.intersection(other).next()?;
            Some(format!("it is for the token {token:?}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;

    fn read(text: &str) -> Result<Config, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("toolhost.toml");
        std::fs::write(&path, text).unwrap();
        Config::read(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn everything_that_can_be_said_of_a_webhook() {
        let config = read(
            "[webhooks.chat]\nurl = 'https://chat.example.com/hook'\nsecret_file = 'hook.secret'\ntokens = ['a', 'b']\n\
             [webhooks.rest]\nurl = 'http://127.0.0.1:9/'\nsecret_file = '/run/secret'\n",
        )
        .unwrap();
        let [(chat, first), (rest, second)] = config.webhooks() else {
            panic!()
        };
        assert_eq!((chat.as_str(), rest.as_str()), ("chat", "rest"));
        assert!(first.secret_file.is_absolute());
        assert_eq!(first.tokens.as_ref().map(|tokens| tokens.len()), Some(2));
        assert_eq!(second.tokens, None);
        let private = config.private_files();
        assert!(private.contains(&first.secret_file) && private.contains(&second.secret_file));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let good = "url = 'https://a'\nsecret_file = 's'\n";
        for (text, problem) in [
            (
                "webhooks = 1".to_owned(),
                "webhooks are written as sections",
            ),
            ("[webhooks.a]\nurl = 'https://a'".to_owned(), "secret_file"),
            (
                "[webhooks.a]\nurl = 'ftp://a'\nsecret_file = 's'".to_owned(),
                "it begins with https://",
            ),
            (
                format!("[webhooks.a]\n{good}tokens = []"),
                "name at least one",
            ),
            (format!("[webhooks.a]\n{good}secret = 'x'"), "secret"),
            (
                format!("[webhooks.a]\n{good}[webhooks.b]\n{good}"),
                "and so does [webhooks.a]",
            ),
            (
                format!(
                    "[webhooks.a]\n{good}tokens = ['x']\n[webhooks.b]\n{good}tokens = ['x', 'y']"
                ),
                "it is for the token \"x\", and so does",
            ),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }
}

//! The environment of a command. Nothing of the host's own environment is passed on unless it is named here, so that the
//! secrets of a chat server never reach a command.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::id::ChatId;

/// Variables of the host that a command gets as they are.
const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "NO_PROXY",
    "no_proxy",
    // Tool chains that a command would otherwise not find.
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "LD_LIBRARY_PATH",
];

/// Prefixes of variables that a command gets as they are.
const INHERITED_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// Variables that a command gets without the user and password that their URL may hold.
const PROXIES: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "FTP_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "ftp_proxy",
];

/// Variables that keep programs from waiting for a person, who is not there. The first eleven are the reference's.
const NON_INTERACTIVE: &[(&str, &str)] = &[
    ("CODER_CHAT_AGENT", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("NO_COLOR", "1"),
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("GH_PROMPT_DISABLED", "1"),
    ("PIP_NO_INPUT", "1"),
    ("PYTHONUNBUFFERED", "1"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("AWS_PAGER", ""),
];

/// What a path is where the host has none, as in an empty container.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The part of a command's environment that is the same for all: what the host passes on, and the non-interactive set.
#[derive(Clone, Debug)]
pub struct Environment {
    base: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// Builds it from the environment of this process.
    pub fn inherit() -> Self {
        Self::from_host(std::env::vars_os())
    }

    /// Builds it from these variables of the host.
    pub fn from_host(host: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut base: BTreeMap<OsString, OsString> = host
            .into_iter()
            .filter_map(|(name, value)| {
                let text = name.to_str()?;
                if INHERITED.contains(&text)
                    || INHERITED_PREFIXES
                        .iter()
                        .any(|prefix| text.starts_with(prefix))
                {
                    Some((name, value))
                } else if PROXIES.contains(&text) {
                    let value = without_credentials(value.to_str()?);
                    Some((name, value.into()))
                } else if text == "GIT_ASKPASS" {
                    Some((name, value))
                } else {
                    None
                }
            })
            .collect();
        let path = base.entry("PATH".into()).or_default();
        if path.is_empty() {
            *path = DEFAULT_PATH.into();
        }
        // A host that answers git's questions by itself keeps doing so; elsewhere the answer is empty, at once.
        base.entry("GIT_ASKPASS".into())
            .or_insert_with(|| "true".into());
        base.extend(
            NON_INTERACTIVE
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into())),
        );
        Self { base }
    }

    /// Returns the whole environment of one command: the base, then the command's own variables, then the chat's.
    pub fn of_command(
        &self,
        own: &[(String, String)],
        chat: &ChatId,
    ) -> BTreeMap<OsString, OsString> {
        let mut all = self.base.clone();
        all.extend(own.iter().map(|(name, value)| (name.into(), value.into())));
        all.insert("CODER_CHAT_ID".into(), chat.as_str().into());
        all
    }

    /// Returns the value that every command gets for this variable, unless it sets its own.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.base.get(OsStr::new(name)).map(OsString::as_os_str)
    }
}

/// `http://user:secret@proxy:3128` becomes `http://proxy:3128`.
fn without_credentials(url: &str) -> String {
    let (scheme, rest) = url
        .split_once("://")
        .map_or(("", url), |(scheme, rest)| (scheme, rest));
    let (authority, path) = rest
        .find(['/', '?', '#'])
        .map_or((rest, ""), |at| rest.split_at(at));
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let separator = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{separator}{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(host: &[(&str, &str)], own: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
        let own: Vec<_> = own
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let host = host
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        Environment::from_host(host).of_command(&own, &"chat-1".parse().unwrap())
    }

    #[test]
    fn passes_on_only_what_is_named() {
        let env = build(
            &[
                ("PATH", "/p"),
                ("LC_ALL", "C"),
                ("OPENAI_API_KEY", "s3cret"),
                ("TOOLHOST_TOKEN", "s3cret"),
            ],
            &[],
        );
        assert_eq!(env.get(OsStr::new("PATH")).unwrap(), "/p");
        assert_eq!(env.get(OsStr::new("LC_ALL")).unwrap(), "C");
        assert!(!env.values().any(|value| value == "s3cret"));
    }

    #[test]
    fn later_layers_win() {
        let host = [
            ("EDITOR", "vim"),
            ("GIT_ASKPASS", "/helper"),
            ("CODER_CHAT_ID", "other"),
        ];
        let env = build(&host, &[("PAGER", "less"), ("CODER_CHAT_ID", "forged")]);
        let get = |name: &str| env.get(OsStr::new(name)).unwrap().to_str().unwrap();
        assert_eq!(get("EDITOR"), "true");
        assert_eq!(get("PAGER"), "less");
        assert_eq!(get("GIT_ASKPASS"), "/helper");
        assert_eq!(get("CODER_CHAT_ID"), "chat-1");
        assert_eq!(get("CODER_CHAT_AGENT"), "true");
        assert_eq!(get("PATH"), DEFAULT_PATH);
    }

    #[test]
    fn proxies_lose_their_credentials() {
        for (url, clean) in [
            ("http://user:pass@proxy:3128", "http://proxy:3128"),
            ("http://proxy:3128/a@b", "http://proxy:3128/a@b"),
            ("user:p@ss@proxy:3128", "proxy:3128"),
            ("socks5h://u@[::1]:1080/", "socks5h://[::1]:1080/"),
            ("", ""),
        ] {
            assert_eq!(without_credentials(url), clean);
        }
    }
}

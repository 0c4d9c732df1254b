//! Conditions of requests (RFC 9110, section 13). The version of a file is its strong ETag.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::http::header::{
    AsHeaderName, ETAG, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE,
};
use axum::http::{HeaderMap, HeaderName};

use super::answer::{problem, refused};
use toolhost_core::ChatFiles;
use toolhost_http::problem::{Kind, Problem};
use toolhost_workspace::files::{Error, Metadata, Precondition};

/// What the conditions of a download say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Met,
    /// The client has this version.
    NotModified,
    /// The client wants another version.
    Failed,
}

/// Returns the header with the version of a file.
pub(super) fn etag(version: &str) -> [(HeaderName, String); 1] {
    [(ETAG, quoted(version))]
}

pub(super) fn quoted(version: &str) -> String {
    format!("\"{version}\"")
}

/// Returns whether a list of ETags has this version. A weak ETag has none: versions are compared byte by byte.
fn lists(list: &str, version: &str) -> bool {
    let mut tags = list.split(',').map(str::trim);
    tags.any(|tag| tag == "*" || tag == quoted(version))
}

/// Returns the values of a header as one list; `None` without the header.
fn list(headers: &HeaderMap, name: impl AsHeaderName) -> Option<String> {
    let values: Vec<_> = headers.get_all(name).iter().collect();
    let texts = values
        .iter()
        .map(|value| value.to_str().unwrap_or_default());
    (!values.is_empty()).then(|| texts.collect::<Vec<_>>().join(","))
}

fn date(headers: &HeaderMap, name: impl AsHeaderName) -> Option<SystemTime> {
    let value = headers.get(name)?.to_str().ok()?;
    httpdate::parse_http_date(value).ok()
}

/// Returns a time without its part of a second, as headers have it.
fn in_seconds(time: SystemTime) -> SystemTime {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    SystemTime::UNIX_EPOCH + Duration::from_secs(since.unwrap_or_default().as_secs())
}

/// Returns what the conditions of a download say.
pub(super) fn for_download(headers: &HeaderMap, found: &Metadata) -> Condition {
    let modified = in_seconds(found.modified);
    let fails = match list(headers, IF_MATCH) {
        Some(wanted) => !lists(&wanted, &found.version),
        None => date(headers, IF_UNMODIFIED_SINCE).is_some_and(|since| modified > since),
    };
    if fails {
        return Condition::Failed;
    }
    let is_known = match list(headers, IF_NONE_MATCH) {
        // A weak ETag is enough here.
        Some(known) => lists(&known.replace("W/\"", "\""), &found.version),
        None => date(headers, IF_MODIFIED_SINCE).is_some_and(|since| modified <= since),
    };
    match is_known {
        true => Condition::NotModified,
        false => Condition::Met,
    }
}

/// Returns whether a range is of this version. A date is not exact enough for that.
pub(super) fn takes_range(headers: &HeaderMap, version: &str) -> bool {
    let wanted = headers.get(IF_RANGE).map(|value| value.as_bytes());
    wanted.is_none_or(|wanted| wanted == quoted(version).as_bytes())
}

/// Returns the file that a change is about; `None` if there is none yet.
pub(super) async fn existing(files: &ChatFiles, path: &str) -> Result<Option<Metadata>, Problem> {
    let found = files.workspace().metadata(path.to_owned(), Arc::default());
    match found.await {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotFound) => Ok(None),
        Err(error) => Err(problem(path, error)),
    }
}

/// Returns whether a change has a condition.
pub(super) fn has_any(headers: &HeaderMap) -> bool {
    let mut names = [IF_MATCH, IF_NONE_MATCH, IF_UNMODIFIED_SINCE].into_iter();
    names.any(|name| headers.contains_key(name))
}

/// Returns the precondition of a change of a file, if it holds now.
pub(super) fn for_change(
    headers: &HeaderMap,
    old: Option<&Metadata>,
    path: &str,
) -> Result<Precondition, Problem> {
    let fails = |text| Err(refused(Kind::FILE_CHANGED, path, text));
    let mut when = Precondition::Any;
    if let Some(wanted) = list(headers, IF_MATCH) {
        match old {
            Some(old) if lists(&wanted, &old.version) => {
                when = Precondition::Version(old.version.clone());
            }
            Some(_) => return fails("file changed since it was read"),
            None => return fails("there is no such file"),
        }
    } else if let (Some(since), Some(old)) = (date(headers, IF_UNMODIFIED_SINCE), old) {
        if in_seconds(old.modified) > since {
            return fails("file changed since it was read");
        }
        when = Precondition::Version(old.version.clone());
    }
    if let Some(unwanted) = list(headers, IF_NONE_MATCH) {
        match old {
            Some(old) if lists(&unwanted.replace("W/\"", "\""), &old.version) => {
                return fails("file exists");
            }
            None if unwanted.trim() == "*" => when = Precondition::Absent,
            _ => {}
        }
    }
    Ok(when)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use toolhost_workspace::files::Kind as FileKind;

    use super::*;

    fn found() -> Metadata {
        Metadata {
            kind: FileKind::File,
            size: 1,
            modified: SystemTime::UNIX_EPOCH + Duration::from_millis(1_000_500),
            version: "c1".into(),
            identity: "1-1".into(),
            path: "/w/a".into(),
        }
    }

    fn headers(all: &[(HeaderName, &'static str)]) -> HeaderMap {
        let all = all.iter().cloned();
        all.map(|(name, value)| (name, HeaderValue::from_static(value)))
            .collect()
    }

    const AT: &str = "Thu, 01 Jan 1970 00:16:40 GMT";
    const BEFORE: &str = "Thu, 01 Jan 1970 00:16:39 GMT";

    #[test]
    fn downloads_have_conditions() {
        for (sent, expected) in [
            (&[][..], Condition::Met),
            (&[(IF_NONE_MATCH, "\"c1\"")], Condition::NotModified),
            (
                &[(IF_NONE_MATCH, "\"x\", W/\"c1\"")],
                Condition::NotModified,
            ),
            (&[(IF_NONE_MATCH, "*")], Condition::NotModified),
            (&[(IF_NONE_MATCH, "c1")], Condition::Met),
            (&[(IF_MODIFIED_SINCE, AT)], Condition::NotModified),
            (&[(IF_MODIFIED_SINCE, BEFORE)], Condition::Met),
            (&[(IF_MODIFIED_SINCE, "never")], Condition::Met),
            (
                &[(IF_NONE_MATCH, "\"x\""), (IF_MODIFIED_SINCE, AT)],
                Condition::Met,
            ),
            (&[(IF_MATCH, "\"c1\"")], Condition::Met),
            (&[(IF_MATCH, "W/\"c1\"")], Condition::Failed),
            (&[(IF_UNMODIFIED_SINCE, BEFORE)], Condition::Failed),
            (&[(IF_UNMODIFIED_SINCE, AT)], Condition::Met),
        ] {
            let is = for_download(&headers(sent), &found());
            assert_eq!(is, expected, "{sent:?}");
        }
    }

    #[test]
    fn changes_have_conditions() {
        let version = || Some(Precondition::Version("c1".into()));
        for (sent, exists, expected) in [
            (&[][..], true, Some(Precondition::Any)),
            (&[(IF_MATCH, "\"c1\"")], true, version()),
            (&[(IF_MATCH, "*")], true, version()),
            (&[(IF_MATCH, "\"c2\"")], true, None),
            (&[(IF_MATCH, "*")], false, None),
            (&[(IF_NONE_MATCH, "*")], true, None),
            (&[(IF_NONE_MATCH, "*")], false, Some(Precondition::Absent)),
            (&[(IF_UNMODIFIED_SINCE, AT)], true, version()),
            (&[(IF_UNMODIFIED_SINCE, BEFORE)], true, None),
            (&[(IF_NONE_MATCH, "\"c1\"")], true, None),
            (&[(IF_NONE_MATCH, "\"c2\"")], true, Some(Precondition::Any)),
        ] {
            let found = found();
            let old = exists.then_some(&found);
            let is = for_change(&headers(sent), old, "a");
            assert_eq!(is.ok(), expected, "{sent:?} {exists}");
        }
    }
}

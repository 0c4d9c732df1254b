//! Tests of shared files.

use std::rc::Rc;

use toolhost_sdk::files::Error;
use toolhost_sdk::testing::{self, FakeFiles};

use super::*;

fn share(files: &FakeFiles, arguments: &str) -> Result<Shared, String> {
    let arguments = testing::arguments(arguments).map_err(|error| error.to_string())?;
    run(files, &arguments).map_err(|refusal| match refusal {
        Refusal::Report(text) => text,
        Refusal::Error(error) => error.to_string(),
    })
}

#[test]
fn a_link_lasts_as_long_as_it_was_asked_to() {
    let files = FakeFiles::new().with("out/a.txt", "abc");
    for (expires_in, expected) in [
        ("null", "1970-01-02T00:00:00Z"),
        (r#""""#, "1970-01-02T00:00:00Z"),
        (r#""1m""#, "1970-01-01T00:01:00Z"),
        (r#""90s""#, "1970-01-01T00:01:30Z"),
        (r#""7d""#, "1970-01-08T00:00:00Z"),
        (r#""1w""#, "1970-01-08T00:00:00Z"),
    ] {
        let arguments = format!(r#"{{"path": "out/a.txt", "expires_in": {expires_in}}}"#);
        let shared = share(&files, &arguments).unwrap();
        assert_eq!(shared.expires, expected, "{expires_in}");
        assert_eq!((shared.name.as_str(), shared.size), ("a.txt", 3));
    }
    for wrong in ["59s", "8d", "604801s", "0s"] {
        let arguments = format!(r#"{{"path": "out/a.txt", "expires_in": "{wrong}"}}"#);
        let text = share(&files, &arguments).unwrap_err();
        assert!(text.contains("from 1m to 7d"), "{text}");
    }
}

#[test]
fn what_the_host_says_reaches_the_model() {
    let text =
        "this server has no address at which a person could open a link: tell the person the path";
    let files = FakeFiles::new()
        .with("a", "x")
        .with("report.pdf", "x")
        .fails("a", Error::Failed(text.to_owned()));
    let refused = share(&files, r#"{"path": "a"}"#).unwrap_err();
    assert_eq!(refused, format!("{text}: a"));
    let meant = share(&files, r#"{"path": "reprot.pdf"}"#).unwrap_err();
    assert_eq!(
        meant,
        "file does not exist: reprot.pdf; did you mean report.pdf?"
    );
}

#[test]
fn a_client_gets_the_link_as_a_part_of_its_own() {
    let files = Rc::new(FakeFiles::new().with("a.txt", "abc"));
    testing::surroundings(|now| now.files = Some(files));
    let reply = testing::call::<ShareFile>(r#"{"path": "a.txt"}"#).unwrap();
    let [
        Content::Json(json),
        Content::Document {
            uri,
            media_type,
            data,
        },
    ] = reply.content()
    else {
        panic!("{reply:?}");
    };
    assert!(json.contains(uri), "{json}");
    assert_eq!(media_type.as_deref(), Some("text/plain"));
    assert_eq!(*data, None);
}

//! Tests of patterns: the destinations that they allow, and texts that are no patterns.

use proptest::prelude::*;

use super::*;

fn pattern(text: &str) -> Pattern {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn allows(text: &str, scheme: Scheme, authority: &str) -> Option<Allowance> {
    pattern(text).allows(&Destination::parse(scheme, authority).unwrap())
}

#[test]
fn schemes_hosts_and_ports_are_matched() {
    use Allowance::{Itself, Private, Public};
    use Scheme::{Http, Https};
    for (text, scheme, authority, expected) in [
        ("example.com", Https, "example.com", Some(Public)),
        ("example.com", Https, "EXAMPLE.com.:443", Some(Public)),
        ("Example.Com.", Https, "example.com", Some(Public)),
        ("example.com", Http, "example.com", None),
        ("example.com", Http, "example.com:443", None),
        ("example.com", Https, "example.com:8443", None),
        ("example.com", Https, "www.example.com", None),
        ("example.com", Https, "example.com.evil", None),
        ("example.com", Https, "notexample.com", None),
        ("example.com:8443", Https, "example.com:8443", Some(Public)),
        ("HTTP://example.com", Http, "example.com", Some(Public)),
        ("http://example.com", Https, "example.com", None),
        ("http://example.com", Https, "example.com:80", None),
        ("*.example.com", Https, "a.example.com", Some(Public)),
        ("*.example.com", Https, "a.b.example.com", Some(Public)),
        ("*.example.com", Https, "example.com", None),
        ("*.example.com", Https, "notexample.com", None),
        ("*.example.com", Https, "a.example.com.evil", None),
        ("*", Https, "example.com", Some(Public)),
        ("*", Https, "10.0.0.1", Some(Public)),
        ("*", Http, "example.com", None),
        ("http://*:81", Http, "a:81", Some(Public)),
        ("10.0.0.1", Https, "10.0.0.1", Some(Itself)),
        ("10.0.0.1", Https, "10.0.0.2", None),
        ("10.0.0.1", Https, "[::ffff:10.0.0.1]", Some(Itself)),
        ("http://[::1]:81", Http, "[0::1]:81", Some(Itself)),
        (
            "private:http://localhost:81",
            Http,
            "localhost:81",
            Some(Private),
        ),
        ("private:http://localhost:81", Http, "127.0.0.1:81", None),
        ("private:*.corp", Https, "a.corp", Some(Private)),
    ] {
        assert_eq!(
            allows(text, scheme, authority),
            expected,
            "{text} {scheme} {authority}"
        );
    }
}

#[test]
fn what_is_no_pattern_is_explained() {
    let problem = |text: &str| text.parse::<Pattern>().unwrap_err().problem.to_string();
    for (text, expected) in [
        ("", "it names no host"),
        ("https://", "it names no host"),
        ("ftp://example.com", "the scheme must be http or https"),
        (
            "https://example.com/",
            "a path or query cannot be part of it",
        ),
        ("example.com/v1", "a path or query cannot be part of it"),
        (
            "https://user@example.com",
            "a user or password cannot be part of it",
        ),
        (
            "a.*.com",
            "a * must stand alone, or before the first dot of a name",
        ),
        (
            "*example.com",
            "a * must stand alone, or before the first dot of a name",
        ),
        (
            "*.*.com",
            "a * must stand alone, or before the first dot of a name",
        ),
        (
            "*.1.2.3.4",
            "a * must stand alone, or before the first dot of a name",
        ),
        ("*.", "it names no host"),
        ("https://https://a", "a path or query cannot be part of it"),
        ("example.com:x", "\"x\" is no port"),
        ("example.com:", "\"\" is no port"),
        (
            "bücher.example",
            "'ü' cannot be part of a host; names in other alphabets are written as xn--…",
        ),
        (
            " example.com",
            "' ' cannot be part of a host; names in other alphabets are written as xn--…",
        ),
        (
            "127.1",
            "\"127.1\" is no address in its usual form: write four decimal numbers, or IPv6 in brackets",
        ),
        (
            "private:*",
            "`private:` needs hosts with names, as an address stands for itself and * means public ones",
        ),
        (
            "private:10.0.0.1",
            "`private:` needs hosts with names, as an address stands for itself and * means public ones",
        ),
        (
            "private:8080",
            "\"8080\" is no address in its usual form: write four decimal numbers, or IPv6 in brackets",
        ),
        ("0.0.0.0", "no connection can be made to that address"),
        ("[ff02::1]", "no connection can be made to that address"),
    ] {
        assert_eq!(problem(text), expected, "{text}");
    }
    insta::assert_snapshot!("a/b".parse::<Pattern>().unwrap_err(), @r#""a/b" does not say where requests may go: a path or query cannot be part of it. Write [scheme://]host[:port], such as "api.example.com", "*.example.com" or "http://10.0.0.7:8080""#);
}

proptest! {
    #[test]
    fn a_pattern_reads_as_it_is_shown(
        private in "(private:)?",
        scheme in "((http|https|HTTP)://)?",
        host in r"(\*\.)?[a-z][a-zA-Z0-9]{0,8}(\.[a-z][a-z0-9-]{0,4}[a-z]){0,3}\.?|10\.0\.0\.[1-9]|\[fd00::[1-9a-f]\]|\*",
        port in "(:[1-9][0-9]{0,3})?",
    ) {
        let text = format!("{private}{scheme}{host}{port}");
        if let Ok(pattern) = text.parse::<Pattern>() {
            let shown = pattern.to_string();
            prop_assert_eq!(shown.parse::<Pattern>().unwrap(), pattern.clone());
            prop_assert_eq!(shown.parse::<Pattern>().unwrap().to_string(), shown);
        } else {
            prop_assert!(private == "private:", "{}", text);
        }
    }

    #[test]
    fn no_text_panics_and_what_is_accepted_is_ascii(text in ".{0,40}") {
        if let Ok(pattern) = text.parse::<Pattern>() {
            prop_assert!(pattern.to_string().is_ascii());
        }
    }
}

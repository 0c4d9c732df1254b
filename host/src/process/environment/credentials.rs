//! Takes users and passwords out of URLs.

/// Returns a value without the user and password of every URL in it: `http://user:secret@proxy:3128` becomes
/// `http://proxy:3128`. The value may be one URL, one without a scheme, or a list of some, with spaces, commas or bars.
///
/// In doubt, a value that is no valid URL is spoiled rather than passed on with what could be a password. Only a password
/// that looks like the rest of a URL, with `://` or as a port and a path, is not known as one.
pub(super) fn without_credentials(value: &str) -> String {
    match value.split_once("://") {
        None => clean(value),
        // Of a part between two "://", the end is the separator of a list and the scheme of the next URL.
        Some((scheme, urls)) => urls
            .split("://")
            .fold(scheme.to_owned(), |all, part| all + "://" + &clean(part)),
    }
}

/// Cleans what begins with an authority.
fn clean(part: &str) -> String {
    let end = part.find(['/', '?', '#', '\\']).unwrap_or(part.len());
    let (authority, rest) = part.split_at(end);
    if let Some((_, host)) = authority.rsplit_once('@') {
        return format!("{host}{rest}");
    }
    // `user:pass/word@host`: what could not be a host and a port was a password with a slash in it.
    match rest.rsplit_once('@') {
        Some((_, host)) if !is_host_and_port(authority) => host.to_owned(),
        _ => part.to_owned(),
    }
}

fn is_host_and_port(authority: &str) -> bool {
    let after_address = authority.strip_prefix('[').and_then(|a| a.split_once(']'));
    let port = match after_address {
        Some((_, after)) => after.strip_prefix(':').unwrap_or(after),
        None => authority.split_once(':').map_or("", |(_, port)| port),
    };
    port.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_passwords_go() {
        for (value, clean) in [
            ("http://user:pass@proxy:3128", "http://proxy:3128"),
            ("http://proxy:3128/a@b", "http://proxy:3128/a@b"),
            ("http://proxy/a@b", "http://proxy/a@b"),
            ("user:p@ss@proxy:3128", "proxy:3128"),
            ("socks5h://u@[::1]:1080/", "socks5h://[::1]:1080/"),
            ("http://u:p@[::1]", "http://[::1]"),
            ("http://u:p/w@proxy:1", "http://proxy:1"),
            ("http://u:p?w#x@proxy:1/y", "http://proxy:1/y"),
            ("u:p/w@proxy:1", "proxy:1"),
            ("http://u:p w@proxy:1", "http://proxy:1"),
            ("http://u:p:1/w@proxy:1", "http://proxy:1"),
            ("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
            ("http://us,er:p,ass@proxy:1", "http://proxy:1"),
            (
                "https://u:p@a/x,https://b|https://t@c,direct",
                "https://a/x,https://b|https://c,direct",
            ),
            (
                "https://u:p@a,https://u:p@b,direct",
                "https://a,https://b,direct",
            ),
            (
                "one=https://u:p@a/simple two=https://b/simple\thttps://u@c",
                "one=https://a/simple two=https://b/simple\thttps://c",
            ),
            ("sparse+https://t:@a/index/", "sparse+https://a/index/"),
            (
                "sum.golang.org+033de0ae+Ac4zctda0e5e",
                "sum.golang.org+033de0ae+Ac4zctda0e5e",
            ),
            ("off", "off"),
            ("", ""),
        ] {
            assert_eq!(without_credentials(value), clean, "{value}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_secret_in_the_place_of_a_password_survives(
            before in "[a-z]{1,4}://", user in "[a-z0-9]{0,5}", junk in "[a-z,|@:?#/ ]{0,5}",
            path in "(/[a-z]{0,4})?", list in "[, |]",
        ) {
            proptest::prop_assume!(!junk.contains("://"));
            let value = format!("{before}{user}:SECRET{junk}@host:80{path}");
            let values = format!("{value}{list}{value}");
            proptest::prop_assert!(!without_credentials(&value).contains("SECRET"));
            proptest::prop_assert!(!without_credentials(&values).contains("SECRET"));
        }
    }
}

//! Takes users and passwords out of URLs.

/// The separators between the entries of a list.
const SEPARATORS: [char; 6] = [',', '|', ';', ' ', '\t', '\n'];

/// Returns a value without the user and password of every URL in it: `http://user:secret@proxy:3128` becomes
/// `http://proxy:3128`. The value may be one URL or a list of some, with spaces, commas, bars or semicolons, and each may
/// lack its scheme.
///
/// A value that is no valid URL may lose more than a password, so that no password is passed on. Only a password that looks
/// like the rest of a URL, with `://` or as a port and a path, is not recognized.
pub(super) fn without_credentials(value: &str) -> String {
    // Of a part before a "://", the end is the scheme of the next URL, and before that may be entries without one.
    let parts: Vec<_> = value.split("://").map(clean).collect();
    parts.join("://")
}

/// Cleans a text that begins with an authority.
fn clean(part: &str) -> String {
    let end = part.find(['/', '?', '#', '\\']).unwrap_or(part.len());
    let (authority, rest) = part.split_at(end);
    if let Some((_, host)) = authority.rsplit_once('@') {
        return format!("{host}{}", clean_list(rest));
    }
    // `user:pass/word@host`: a text that cannot be a host and a port was a password with a slash in it.
    match rest.rsplit_once('@') {
        Some((_, host)) if !is_host_and_port(authority) => host.to_owned(),
        _ => format!("{authority}{}", clean_list(rest)),
    }
}

/// Cleans the text after an authority: a path, and behind a separator the next entry of a list, which begins with an authority
/// if it lacks its scheme.
fn clean_list(rest: &str) -> String {
    match rest.split_once(SEPARATORS) {
        Some((path, next)) if next.contains('@') => {
            let (_, separated) = rest.split_at(path.len());
            let separator = separated.chars().next().unwrap_or(' ');
            format!("{path}{separator}{}", clean(next))
        }
        _ => rest.to_owned(),
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
            (
                "https://goproxy.io/,ci:s3cret@athens.corp.example",
                "https://goproxy.io/,athens.corp.example",
            ),
            (
                "https://u:p@a/simple ci:s3cret@b/x\tu:p@c/simple",
                "https://a/simple b/x\tc/simple",
            ),
            (
                "ci:s3cret@athens.corp.example,https://goproxy.io",
                "athens.corp.example,https://goproxy.io",
            ),
            ("a/x;u:p@b/y@z,direct", "a/x;b/y@z,direct"),
            (
                "nixpkgs=https://x:tok@host/nixpkgs.tar.gz:other=/home/u@v",
                "nixpkgs=https://host/nixpkgs.tar.gz:other=/home/u@v",
            ),
            (
                "/nix/channels/u@v:nixpkgs=/x",
                "/nix/channels/u@v:nixpkgs=/x",
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
            let bare = format!("{user}:SECRET{junk}@host:80{path}");
            let value = format!("{before}{bare}");
            let (values, harmless) = (format!("{value}{list}{value}"), format!("{before}host{path}"));
            for value in [
                format!("{values}{list}{bare}{list}{bare}"),
                format!("{bare}{list}{values}"),
                format!("{harmless}{list}{bare}{list}{harmless}"),
                values,
                value,
                bare,
            ] {
                let clean = without_credentials(&value);
                proptest::prop_assert!(!clean.contains("SECRET"), "{value}: {clean}");
            }
        }
    }
}

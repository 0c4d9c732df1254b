//! The cookie of a login: `end.name.nonce.hash`.
//!
//! `end` is in milliseconds since 1970, `name` that of the token in base64, `nonce` random, and `hash` a keyed hash over the other
//! parts, the token and its rights.

use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use uuid::Uuid;

use super::{KEY_BYTES, Login};
use crate::access::{Principal, Tokens};
use toolhost_state::unix_time;

/// The most bytes of a cookie that are looked at.
const MAX_BYTES: usize = 1024;

/// The namespace of [`Cookie::write`] and [`Cookie::read`].
pub(super) struct Cookie;

impl Cookie {
    /// Returns the cookie of a login that ends at this time.
    pub(super) fn write(principal: &Principal, ends: SystemTime, key: &[u8; KEY_BYTES]) -> String {
        let signed = format!(
            "{}.{}.{}",
            unix_time::to_ms(ends),
            BASE64.encode(principal.name()),
            Uuid::new_v4().simple()
        );
        let hash = hash(principal, &signed, key).to_hex();
        format!("{signed}.{hash}")
    }

    /// Reads a cookie; `None` if it is not valid, is over, or if its token or the rights of that have changed.
    pub(super) fn read(
        text: &str,
        key: &[u8; KEY_BYTES],
        tokens: &Tokens,
        now: SystemTime,
    ) -> Option<Login> {
        if text.len() > MAX_BYTES {
            return None;
        }
        let (signed, given) = text.rsplit_once('.')?;
        let given = blake3::Hash::from_hex(given).ok()?;
        let mut parts = signed.split('.');
        let (end, name) = (parts.next()?, parts.next()?);
        let ends = unix_time::from_ms(end.parse().ok()?);
        if ends <= now {
            return None;
        }
        let name = String::from_utf8(BASE64.decode(name).ok()?).ok()?;
        // Hashes are compared in constant time.
        let is_it = |principal: &Principal| hash(principal, signed, key) == given;
        let principal = tokens.named(&name).find(is_it)?;
        Some(Login { principal, ends })
    }
}

fn hash(principal: &Principal, signed: &str, key: &[u8; KEY_BYTES]) -> blake3::Hash {
    blake3::keyed_hash(key, &principal.fingerprint(signed))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::access::{Scope, Token};

    #[test]
    fn a_cookie_ends_with_its_time_its_token_and_its_rights() {
        let token = |text: &str| Token::new(text).unwrap();
        let reader = || Principal::new("a b", [Scope::Read], Some("x-".into()), None);
        let tokens = Tokens::new([(token("one"), reader())]);
        let (key, now) = ([7; KEY_BYTES], SystemTime::now());
        let ends = now + Duration::from_secs(1);
        let cookie = Cookie::write(&tokens.authenticate(b"one").unwrap(), ends, &key);
        let reads = |entries: Vec<(Token, Principal)>, key: u8, now: SystemTime| {
            tokens.replace(entries);
            Cookie::read(&cookie, &[key; KEY_BYTES], &tokens, now).is_some()
        };
        let same = || vec![(token("one"), reader())];
        assert!(reads(same(), 7, now));
        assert!(!reads(same(), 8, now), "another key");
        assert!(!reads(same(), 7, ends), "over");
        assert!(!reads(vec![(token("two"), reader())], 7, now));
        let more = Principal::new("a b", [Scope::Call], Some("x-".into()), None);
        assert!(!reads(vec![(token("one"), more)], 7, now));
        assert!(!reads(vec![], 7, now));
        assert!(reads(same(), 7, now), "after a restart");
    }

    #[test]
    fn no_change_of_a_cookie_is_valid() {
        let token = Token::new("one").unwrap();
        let tokens = Tokens::from(token);
        let (key, now) = ([7; KEY_BYTES], SystemTime::now());
        let ends = now + Duration::from_secs(60);
        let cookie = Cookie::write(&tokens.authenticate(b"one").unwrap(), ends, &key);
        let valid = |text: &str| Cookie::read(text, &key, &tokens, now).is_some();
        assert!(valid(&cookie));
        for index in 0..cookie.len() {
            let mut changed = cookie.clone().into_bytes();
            changed[index] ^= 1;
            assert!(!valid(&String::from_utf8(changed).unwrap()), "{index}");
            assert!(!valid(&cookie[..index]));
        }
        // A principal without a token, such as that of a socket, has no cookie.
        let local = Cookie::write(&Principal::unbounded("local"), ends, &key);
        let none = Cookie::write(&Principal::unbounded("token"), ends, &key);
        let later = format!("1{cookie}");
        for text in ["", ".", "...", &later, &"x".repeat(5000), &local, &none] {
            assert!(!valid(text), "{text}");
        }
    }
}

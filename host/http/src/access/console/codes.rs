//! Codes that log in once.

use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::access::{Principal, Token};

/// How long a code is valid.
pub(super) const LIFETIME: Duration = Duration::from_secs(10 * 60);

/// The most codes at once. The oldest makes room.
const MOST: usize = 16;

/// The codes that were made and not used yet, oldest first. Only their hashes are kept.
#[derive(Debug, Default)]
pub(super) struct Codes(Vec<Code>);

#[derive(Debug)]
struct Code {
    hash: Token,
    principal: Principal,
    made: Instant,
}

impl Codes {
    /// Makes a code for a principal.
    pub(super) fn add(&mut self, principal: &Principal, now: Instant) -> String {
        let [one, other] = [(); 2].map(|()| Uuid::new_v4().simple());
        let text = format!("{one}{other}");
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push(Code {
            hash: Token::of(text.as_bytes()),
            principal: principal.clone(),
            made: now,
        });
        text
    }

    /// Returns the principal of a code that is valid, and forgets the code. Takes the same time for every code that is not valid.
    pub(super) fn redeem(&mut self, text: &str, now: Instant) -> Option<Principal> {
        self.0
            .retain(|code| now.saturating_duration_since(code.made) < LIFETIME);
        let hash = Token::of(text.as_bytes());
        let mut found = None;
        for (index, code) in self.0.iter().enumerate() {
            if code.hash.is_same(&hash) {
                found = Some(index);
            }
        }
        Some(self.0.remove(found?).principal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_valid_once_and_for_a_while() {
        let (mut codes, now) = (Codes::default(), Instant::now());
        let principal = Principal::unbounded("a");
        let one = codes.add(&principal, now);
        let other = codes.add(&principal, now);
        assert_ne!(one, other);
        assert!(codes.redeem("", now).is_none());
        assert_eq!(codes.redeem(&one, now).unwrap().name(), "a");
        assert!(codes.redeem(&one, now).is_none());
        assert!(codes.redeem(&other, now + LIFETIME).is_none());
        let first = codes.add(&principal, now);
        let last: Vec<_> = (0..MOST).map(|_| codes.add(&principal, now)).collect();
        assert!(codes.redeem(&first, now).is_none());
        assert!(last.iter().all(|code| codes.redeem(code, now).is_some()));
    }
}

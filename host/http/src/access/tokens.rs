//! The valid tokens of a server, each with its principal.

use std::sync::Arc;

use tokio::sync::watch;

use super::{Principal, Token};

/// Each token with its principal. The list is replaced as a whole.
type Entries = Arc<[(Token, Principal)]>;

/// The valid tokens and their principals. They can be replaced while a server runs: clones share them.
#[derive(Clone, Debug)]
pub struct Tokens(Arc<watch::Sender<Entries>>);

impl Tokens {
    /// Makes a set of tokens.
    pub fn new(tokens: impl IntoIterator<Item = (Token, Principal)>) -> Self {
        let entries: Entries = tokens.into_iter().collect();
        Self(Arc::new(watch::Sender::new(entries)))
    }

    /// Replaces the tokens, for all requests from now on. Calls that are under way still get their replies. Streams of events
    /// end, unless their token is still valid for a principal with the same name and rights.
    pub fn replace(&self, tokens: impl IntoIterator<Item = (Token, Principal)>) {
        self.0.send_replace(tokens.into_iter().collect());
    }

    /// Returns the principal of this token.
    ///
    /// Compares in constant time, and with every token. It compares hashes, so that not even the length of a token leaks.
    pub fn authenticate(&self, text: &[u8]) -> Option<Principal> {
        let entries = Arc::clone(&self.0.borrow());
        let token = Token::of(text);
        let principal = lookup(&entries, &token)?.clone();
        Some(principal.by(token))
    }

    /// Returns whether the token of this principal is still valid, with the same name and rights. A principal without a token
    /// is always known.
    pub fn know(&self, principal: &Principal) -> bool {
        is_known(&self.0.borrow(), principal)
    }

    /// Returns the principal that had this name and this fingerprint, if it is still known.
    pub fn recognize(&self, name: &str, salt: &str, fingerprint: &[u8]) -> Option<Principal> {
        // The socket authenticated a principal without a token.
        let mut all = self.named(name).chain([Principal::unbounded(name)]);
        all.find(|known| known.fingerprint(salt) == fingerprint)
    }

    /// Returns the principals of the tokens that have this name, as those tokens authenticate them.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = Principal> + use<> {
        let entries = Arc::clone(&self.0.borrow());
        let named = entries.iter().filter(|(_, known)| known.name() == name);
        let with_token = named.map(|(token, known)| known.clone().by(token.clone()));
        with_token.collect::<Vec<_>>().into_iter()
    }

    /// Returns the principal of the first token that is an operator's, as that token authenticates it: one without bounds, with the
    /// scopes `call` and `admin`.
    pub fn of_an_operator(&self) -> Option<Principal> {
        let entries = Arc::clone(&self.0.borrow());
        let mut all = entries.iter();
        let (token, principal) = all.find(|(_, principal)| principal.is_of_an_operator())?;
        Some(principal.clone().by(token.clone()))
    }

    /// Waits until the principal is no longer known.
    pub async fn until_gone(self, principal: Principal) {
        let mut changes = self.0.subscribe();
        let gone = changes.wait_for(|entries| !is_known(entries, &principal));
        // Never an error: `self` holds the sender.
        _ = gone.await;
    }
}

fn lookup<'a>(entries: &'a Entries, given: &Token) -> Option<&'a Principal> {
    let mut found = None;
    for (token, principal) in entries.iter() {
        if token.is_same(given) {
            found = Some(principal);
        }
    }
    found
}

fn is_known(entries: &Entries, principal: &Principal) -> bool {
    // The socket authenticated a principal without a token.
    let token = principal.token();
    token.is_none_or(|token| lookup(entries, token).is_some_and(|now| now.is_same(principal)))
}

impl Default for Tokens {
    fn default() -> Self {
        Self::new([])
    }
}

impl From<Token> for Tokens {
    /// A single token with all rights.
    fn from(token: Token) -> Self {
        Self::new([(token, Principal::unbounded("token"))])
    }
}

#[cfg(test)]
mod tests {
    use super::super::Scope;
    use super::*;

    #[test]
    fn tokens_are_known_by_their_hashes() {
        let token = Token::new(" t0ken\n").unwrap();
        assert!(Token::new(" \n").is_err() && Token::new("a b").is_err());
        assert_eq!(format!("{token:?}"), "Token");
        let same = Token::from_sha256(*token.sha256());
        let tokens = Tokens::new([(same, Principal::unbounded("a"))]);
        let name = |text: &str| {
            let found = tokens.authenticate(text.as_bytes());
            found.map(|principal| principal.name().to_owned())
        };
        assert_eq!(name("t0ken").as_deref(), Some("a"));
        assert_eq!((name("t0ke"), name("")), (None, None));
        tokens
            .clone()
            .replace([(Token::new("other").unwrap(), Principal::unbounded("b"))]);
        assert_eq!((name("t0ken"), name("other").as_deref()), (None, Some("b")));
        tokens.replace([]);
        assert_eq!(name("other"), None);
    }

    #[test]
    fn a_principal_is_recognized_by_its_token_and_its_rights() {
        let token = |text: &str| Token::new(text).unwrap();
        let reader = || Principal::new("a", [Scope::Read], None, None);
        let tokens = Tokens::new([(token("one"), reader())]);
        let fingerprint = tokens.authenticate(b"one").unwrap().fingerprint("s");
        let recognizes = |entries: Vec<(Token, Principal)>, salt: &str| {
            tokens.replace(entries);
            let found = tokens.recognize("a", salt, &fingerprint);
            found.is_some_and(|found| tokens.know(&found))
        };
        assert!(recognizes(vec![(token("one"), reader())], "s"));
        assert!(!recognizes(vec![(token("one"), reader())], "t"));
        assert!(!recognizes(vec![(token("two"), reader())], "s"));
        let more = Principal::new("a", [Scope::Call], None, None);
        assert!(!recognizes(vec![(token("one"), more)], "s"));
        assert!(!recognizes(vec![], "s"));
        let local = Principal::unbounded("local");
        let fingerprint = local.fingerprint("s");
        assert!(tokens.recognize("local", "s", &fingerprint).is_some());
    }

    #[test]
    fn who_was_found_is_known_for_as_long_as_the_token_is_good_for_the_same() {
        let token = |text: &str| Token::new(text).unwrap();
        let reader = || Principal::new("a", [Scope::Read], Some("x-".into()), None);
        let tokens = Tokens::new([(token("one"), reader())]);
        let found = tokens.authenticate(b"one").unwrap();
        let knows = |entries: Vec<(Token, Principal)>| {
            tokens.replace(entries);
            tokens.know(&found)
        };
        assert!(knows(vec![(token("one"), reader())]));
        let more = Principal::new("a", [Scope::Call], Some("x-".into()), None);
        assert!(!knows(vec![(token("one"), more)]));
        assert!(!knows(vec![(token("two"), reader())]));
        assert!(!knows(vec![]));
        assert!(tokens.know(&Principal::unbounded("local")));
    }
}

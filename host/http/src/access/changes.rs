//! The differences between two sets of tokens, for the log and the audit trail, without tokens and their hashes.

use serde_json::{Value, json};

use super::{Principal, Token};

type Known = [(Token, Principal)];

/// Returns which tokens were added, removed and changed, by their names; `None` if nothing was.
pub fn token_changes(before: &Known, after: &Known) -> Option<Value> {
    let of = |known: &Known, name: &str| {
        let mut known = known.iter();
        known.find(|(_, of)| of.name() == name).cloned()
    };
    let (mut added, mut changed) = (Vec::new(), Vec::new());
    for (token, principal) in after {
        let Some((was_token, was)) = of(before, principal.name()) else {
            added.push(principal.described());
            continue;
        };
        let secret = was_token.sha256() != token.sha256();
        if secret || !was.is_same(principal) {
            changed.push(json!({
                "name": principal.name(), "secret": secret,
                "before": was.described(), "after": principal.described(),
            }));
        }
    }
    let removed = before
        .iter()
        .filter(|(_, was)| of(after, was.name()).is_none())
        .map(|(_, was)| was.described());
    let removed: Vec<_> = removed.collect();
    let same = added.is_empty() && removed.is_empty() && changed.is_empty();
    (!same).then(|| json!({ "added": added, "removed": removed, "changed": changed }))
}

#[cfg(test)]
mod tests {
    use super::super::Scope;
    use super::*;

    #[test]
    fn changes_are_told_without_the_tokens() {
        let entry = |token: &str, name: &str, scope| {
            let principal = Principal::new(name, [scope], Some("x-".into()), None);
            (Token::new(token).unwrap(), principal)
        };
        let before = [
            entry("1", "gone", Scope::Read),
            entry("2", "same", Scope::Read),
            entry("3", "more", Scope::Read),
            entry("4", "renewed", Scope::Call),
        ];
        let after = [
            entry("2", "same", Scope::Read),
            entry("3", "more", Scope::Call),
            entry("5", "renewed", Scope::Call),
            entry("6", "new", Scope::Call),
        ];
        let told = |name: &str, scope: &str| json!({ "name": name, "scopes": [scope], "chats": "x-", "tools": null, "workspaces": null });
        assert_eq!(
            token_changes(&before, &after).unwrap(),
            json!({
                "added": [told("new", "call")],
                "removed": [told("gone", "read")],
                "changed": [
                    { "name": "more", "secret": false, "before": told("more", "read"), "after": told("more", "call") },
                    { "name": "renewed", "secret": true, "before": told("renewed", "call"), "after": told("renewed", "call") },
                ],
            })
        );
        assert_eq!(token_changes(&before, &before), None);
    }
}

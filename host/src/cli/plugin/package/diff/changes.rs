//! The differences between two values of JSON.

use serde_json::{Value, json};

/// A value that was added, removed or changed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    /// The keys that lead to it, joined by spaces.
    pub(super) path: String,
    /// What it was; `None`: it was not there.
    pub(super) old: Option<Value>,
    /// What it is; `None`: it is gone.
    pub(super) new: Option<Value>,
}

impl Change {
    pub(super) fn to_json(&self) -> Value {
        json!({ "path": self.path, "old": self.old, "new": self.new })
    }
}

/// Returns the innermost values that differ. Lists are compared as a whole.
pub(super) fn changes(old: &Value, new: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    compare("", Some(old), Some(new), &mut found);
    found
}

fn compare(path: &str, old: Option<&Value>, new: Option<&Value>, found: &mut Vec<Change>) {
    if old == new {
        return;
    }
    if let (Some(Value::Object(old)), Some(Value::Object(new))) = (old, new) {
        let added = new.keys().filter(|key| !old.contains_key(*key));
        for key in old.keys().chain(added) {
            let space = if path.is_empty() { "" } else { " " };
            compare(
                &format!("{path}{space}{key}"),
                old.get(key),
                new.get(key),
                found,
            );
        }
        return;
    }
    found.push(Change {
        path: path.to_owned(),
        old: old.cloned(),
        new: new.cloned(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_difference_is_found() {
        let old = json!({ "a": { "b": 1, "c": [1], "gone": {} }, "same": null });
        let new = json!({ "a": { "b": 2, "c": [1, 2], "new": "x" }, "same": null });
        let shown = |value: &Option<Value>| value.as_ref().map(Value::to_string);
        let found: Vec<_> = changes(&old, &new)
            .iter()
            .map(|change| (change.path.clone(), shown(&change.old), shown(&change.new)))
            .collect();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            found,
            [
                ("a b".to_owned(), some("1"), some("2")),
                ("a c".to_owned(), some("[1]"), some("[1,2]")),
                ("a gone".to_owned(), some("{}"), None),
                ("a new".to_owned(), None, some("\"x\"")),
            ]
        );
        assert!(changes(&old, &old).is_empty());
    }
}

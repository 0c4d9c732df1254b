//! Globs as plugins write them.

use toolhost_workspace::files::Scope;

use super::search::scope;
use super::*;

#[test]
fn globs_have_blanks_and_escapes() {
    let tree = Tree::new();
    tree.make_all(&[
        ("a b.txt", ""),
        ("a", ""),
        ("My Docs/x.md", ""),
        ("#x", ""),
        ("d/a*b/c", ""),
    ]);
    for (glob, expected) in [
        ("a b.txt", "a b.txt"),
        (r"a\ b.*", "a b.txt"),
        ("{a b.txt,zzz}", "a b.txt"),
        ("My Docs/**", "My Docs/x.md"),
        (r"\#x", "#x"),
        (r"/d/a\*b/c", "d/a*b/c"),
    ] {
        let scope = Scope {
            globs: vec![glob.to_owned()],
            ..scope(".")
        };
        assert_eq!(tree.paths(&scope), [expected], "{glob}");
    }
}

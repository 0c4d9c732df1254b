//! Names that the template of a language cannot give to a tool.

use std::collections::BTreeSet;

use crate::Language;

/// The tools of the examples, with the capability that each is an example of.
const EXAMPLES: [(&str, &str); 3] = [
    ("processes", "disk_usage"),
    ("files", "first_line"),
    ("http", "page_title"),
];

/// The keywords of Rust, with those that are reserved.
const RUST: &str = "abstract as async await become box break const continue crate do dyn else enum extern false final fn for \
    gen if impl in let loop macro match mod move mut override priv pub ref return self static struct super trait true try type \
    typeof unsafe unsized use virtual where while yield";

/// Types and crates of Rust that the template names, or that its crate must not hide.
const RUST_ITEMS: &str = "alloc bool char core f32 f64 i128 i16 i32 i64 i8 isize proc_macro serde std str test testing tests \
    toolhost_sdk u128 u16 u32 u64 u8 usize";

/// The keywords of Python.
const PYTHON: &str = "and as assert async await break class continue def del elif else except finally for from global if \
    import in is lambda nonlocal not or pass raise return try while with yield";

/// Functions of Python that the template calls.
const PYTHON_ITEMS: &str = "len";

/// Packages that a package of the template depends on, so that it cannot have their names itself.
const PACKAGES: &str = "esbuild toolhost typescript";

/// Returns why a plugin with these examples cannot have this name; `None` if it can.
pub(super) fn problem(
    name: &str,
    language: Language,
    with: &BTreeSet<String>,
) -> Option<&'static str> {
    let is_example =
        |(capability, tool): &(&str, &str)| with.contains(*capability) && *tool == name;
    if EXAMPLES.iter().any(is_example) {
        return Some("the name of one of its examples");
    }
    let (keywords, items, what) = match language {
        Language::Rust => (
            RUST,
            RUST_ITEMS,
            "the name of a type, module or crate that it uses",
        ),
        Language::Python => (PYTHON, PYTHON_ITEMS, "the name of a function that it calls"),
        Language::JavaScript | Language::TypeScript => {
            ("", PACKAGES, "the name of a package that it uses")
        }
        // The name is only in texts.
        Language::Go | Language::C => return None,
    };
    let has = |words: &str| words.split_whitespace().any(|word| word == name);
    match (has(keywords), has(items)) {
        (true, _) => Some("a keyword of the language"),
        (_, true) => Some(what),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem_of(name: &str, language: Language) -> Option<&'static str> {
        problem(name, language, &BTreeSet::new())
    }

    #[test]
    fn keywords_are_those_of_the_language() {
        let keyword = Some("a keyword of the language");
        assert_eq!(problem_of("class", Language::Python), keyword);
        assert_eq!(problem_of("class", Language::Rust), None);
        assert_eq!(problem_of("match", Language::Rust), keyword);
        for language in [
            Language::Go,
            Language::C,
            Language::JavaScript,
            Language::TypeScript,
        ] {
            assert_eq!(problem_of("class", language), None);
        }
        assert!(problem_of("esbuild", Language::JavaScript).is_some());
        assert!(problem_of("usize", Language::Rust).is_some());
    }

    #[test]
    fn a_tool_is_not_named_as_an_example() {
        let files = BTreeSet::from(["files".to_owned()]);
        for language in Language::ALL {
            assert!(problem("first_line", language, &files).is_some());
            assert_eq!(problem("first_line", language, &BTreeSet::new()), None);
            assert_eq!(problem("page_title", language, &files), None);
        }
    }
}

//! Blocks of code in Markdown. The first word behind the fence is the language, the second one a file.

/// One block of code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The language, as `rust` or `sh`.
    pub(super) language: String,
    /// The file that the reader writes it to, relative to the folder of the plugin.
    pub(super) file: Option<String>,
    /// The lines between the fences.
    pub(super) text: String,
}

/// Returns the blocks of a text, in its order.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            assert!(
                !line.trim_start().starts_with("```"),
                "an indented block: {line}"
            );
            continue;
        };
        let mut words = info.split(' ');
        let language = words.next().unwrap_or_default().to_owned();
        assert!(!language.is_empty(), "a block without a language");
        let file = words.next().map(str::to_owned);
        let mut text = String::new();
        loop {
            match lines.next() {
                Some("```") => break,
                Some(line) => text.extend([line, "\n"]),
                None => panic!("a block without an end: {text}"),
            }
        }
        blocks.push(Block {
            language,
            file,
            text,
        });
    }
    blocks
}

/// Returns the sections below the headings of the second level, each with its heading. The text above the first one has none.
pub(super) fn sections(text: &str) -> Vec<(&str, &str)> {
    let mut sections = text.split("\n## ");
    let first = sections.next().map(|first| ("", first));
    let rest = sections.map(|section| section.split_once('\n').unwrap_or((section, "")));
    first.into_iter().chain(rest).collect()
}

impl Block {
    /// Returns whether the block is this file in this language.
    pub(super) fn is(&self, language: &str, file: &str) -> bool {
        self.language == language && self.file.as_deref() == Some(file)
    }

    /// Asserts that what commands printed has the lines of this block, in their order. `…` stands for any text.
    pub(super) fn assert_printed(&self, printed: &str) {
        let mut lines = printed.lines();
        for expected in self.text.lines() {
            let found = lines.any(|line| fits(line, expected));
            assert!(
                found,
                "no line {expected:?}, or not in this order, in:\n{printed}"
            );
        }
    }

    /// Applies the block, which is a difference with the lines of one place, to the text of a file.
    pub(super) fn applied(&self, text: &str) -> String {
        let side = |other: char| -> String {
            let kept = self.text.lines().filter(|line| !line.starts_with(other));
            kept.map(|line| format!("{}\n", line.get(1..).unwrap_or_default()))
                .collect()
        };
        let (old, new) = (side('+'), side('-'));
        assert_eq!(
            text.matches(&old).count(),
            1,
            "the text is not there once:\n{old}\nin:\n{text}"
        );
        text.replace(&old, &new)
    }
}

/// Returns whether a line has the parts of a pattern between `…`, in their order.
fn fits(line: &str, pattern: &str) -> bool {
    let mut rest = line;
    pattern.split('…').all(|part| match rest.split_once(part) {
        Some((_, behind)) => {
            rest = behind;
            true
        }
        None => false,
    })
}

#[test]
fn blocks_have_a_language_a_file_and_their_lines() {
    let found = blocks("a\n```sh\nls\n\ncat\n```\n\n```rust src/lib.rs\nfn f() {}\n```\n");
    let block = |language: &str, file: Option<&str>, text: &str| Block {
        language: language.to_owned(),
        file: file.map(str::to_owned),
        text: text.to_owned(),
    };
    let expected = [
        block("sh", None, "ls\n\ncat\n"),
        block("rust", Some("src/lib.rs"), "fn f() {}\n"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn lines_are_compared_up_to_what_is_left_out() {
    assert!(fits("build/a.wasm: 71 kB", "build/a.wasm: … kB"));
    assert!(!fits("71 kB: build/a.wasm", "build/a.wasm: … kB"));
    let difference = blocks("```diff a\n a\n-b\n+c\n```\n").remove(0);
    assert_eq!(difference.applied("x\na\nb\n"), "x\na\nc\n");
}

//! Mistakes of authors in Python, JavaScript and TypeScript: each gives its line and what to do, and nothing else.

use toolhost_needs::needs;

use super::*;

/// Appends a text to a file.
fn append(path: &Path, text: &str) {
    let before = std::fs::read_to_string(path).unwrap();
    std::fs::write(path, before + text).unwrap();
}

impl Author {
    /// Builds the plugin with another source, which must fail, and returns all that was said.
    fn fails_with(&self, file: &str, source: &str) -> String {
        std::fs::write(self.path("word_count").join(file), source).unwrap();
        let (code, said) = self.run(&["plugin", "build", "word_count"]);
        assert_ne!(code, 0, "{said}");
        assert!(
            !said.contains("exit status") && !said.contains("Caused by"),
            "{said}"
        );
        said
    }
}

/// Builds one plugin with each of these mistakes.
fn are_told(language: &str, tools: &str, file: &str, mistakes: &[(&str, &str)]) {
    let author = Author::makes("word_count", &["--lang", language]);
    author.has_tools_of(tools);
    for (source, expected) in mistakes {
        let said = author.fails_with(file, source);
        assert!(said.starts_with(expected), "{source}\n{expected}\n{said}");
    }
}

#[needs(language = "python")]
#[test]
fn mistakes_in_python() {
    are_told(
        "python",
        "python",
        "plugin.py",
        &[
            (
                "x = 1\n",
                "toolhost: plugin.py defines no tool: put @tool above a function\n",
            ),
            (
                "from toolhost import tool\nfrom toolhost import files\n",
                "toolhost: plugin.py:2: the plugin imports toolhost.files, and is built without it: add `files = \"the reason\"` to [grants]",
            ),
            (
                "from toolhost import tool\n\n@tool\ndef a(x)\n    return x\n",
                "toolhost: plugin.py:4: SyntaxError: expected ':'\n    def a(x)\n            ^\n",
            ),
            (
                "from toolhost import tool\n\n@tool\ndef a(x: complex):\n    \"\"\"A.\"\"\"\n",
                "toolhost: plugin.py:3: the tool a: x: complex has no JSON Schema\n",
            ),
            (
                "from toolhost import tool\n\n@tool\nasync def a(x: int):\n    \"\"\"A.\"\"\"\n",
                "toolhost: plugin.py:3: the tool a is an async function",
            ),
            (
                "import no_such_module\n",
                "toolhost: plugin.py:1: ModuleNotFoundError: No module named 'no_such_module'; `pip install",
            ),
        ],
    );
}

#[needs(language = "quickjs")]
#[test]
fn mistakes_in_javascript() {
    let head = "import { tool } from \"toolhost\";\nexport { tools } from \"toolhost\";\n";
    let with = |rest: &str| format!("{head}{rest}");
    let tool = "tool({ name: \"a\", description: \"A.\", run: () => 1 });\n";
    are_told(
        "javascript",
        "quickjs",
        "plugin.js",
        &[
            (
                &format!("import {{ tool }} from \"toolhost\";\n{tool}"),
                "toolhost: plugin.js does not export its tools: add the line `export { tools } from \"toolhost\";`\n",
            ),
            (
                head,
                "toolhost: plugin.js defines no tool: call tool({…}) in it\n",
            ),
            (
                &with(&format!(
                    "import {{ readText }} from \"toolhost/files\";\n{tool}"
                )),
                "toolhost: the plugin uses files, and plugin.toml does not ask for it: add `files = \"the reason\"` below [grants]\n",
            ),
            (
                &with("import fs from \"node:fs\";\n"),
                "toolhost: plugin.js:3:15: Could not resolve \"node:fs\"; no component has Node.js: use toolhost/files\n",
            ),
            (
                &with("tool({ name: \"a\" description: \"A.\" });\n"),
                "toolhost: plugin.js:3:17: Expected \"}\"",
            ),
            (
                &with(&format!("{tool}{tool}")),
                "toolhost: plugin.js:4: two tools have the name \"a\"\n",
            ),
            (
                &with("\ntool({ name: \"a\", description: \"A.\", async run() {} });\n"),
                "toolhost: plugin.js:4: the tool a is asynchronous",
            ),
        ],
    );
}

#[needs(language = "typescript")]
#[test]
fn mistakes_in_typescript() {
    are_told(
        "typescript",
        "typescript",
        "plugin.ts",
        &[
            (
                "import { tool } from \"toolhost\";\n\ntool({ name: 3, description: \"A.\", run: () => 1 });\n",
                "toolhost: plugin.ts(3,8): error ",
            ),
            (
                "import { tool } from \"toolhost\";\ntool({ name: \"a\", description: \"A.\", run: () => 1 });\n",
                "toolhost: plugin.ts does not export its tools: add the line",
            ),
        ],
    );
}

/// The bundle has other lines than the files.
#[needs(language = "quickjs")]
#[test]
fn an_exception_in_javascript_has_the_line_of_its_file() {
    let author = Author::makes("word_count", &["--lang", "javascript"]);
    author.has_tools_of("quickjs");
    let broken = "\n\nexport function broken() {\n  throw new TypeError(\"kaputt\");\n}\n";
    std::fs::create_dir(author.path("word_count/lib")).unwrap();
    std::fs::write(author.path("word_count/lib/a.js"), broken).unwrap();
    let source = author.path("word_count/plugin.js");
    append(
        &source,
        "import { broken } from \"./lib/a.js\";\ntool({ name: \"b\", description: \"B.\", run: () => broken() });\n",
    );
    author.succeeds(&["plugin", "build", "word_count"]);
    let (_, said) = author.run(&["plugin", "run", "word_count", "b"]);
    assert!(said.contains("kaputt (lib/a.js:4)"), "{said}");
    let line = std::fs::read_to_string(&source).unwrap().lines().count();
    assert!(said.contains(&format!("(plugin.js:{line})")), "{said}");
}

#[test]
fn a_grant_that_does_not_exist_is_named_before_anything_is_built() {
    let author = Author::makes("word_count", &["--lang", "python"]);
    append(
        &author.path("word_count/plugin.toml"),
        "[grants]\nfiels = \"reads\"\n",
    );
    let (code, said) = author.run(&["plugin", "build", "word_count"]);
    assert!(
        code == 2 && said.contains("[grants] has \"fiels\", and the capabilities are"),
        "{said}"
    );
}

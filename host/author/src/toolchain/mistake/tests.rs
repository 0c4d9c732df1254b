//! What the tools print, and what remains of it.

use super::*;

/// Returns what componentize-py prints about this traceback.
fn componentize(trace: &str, exception: &str) -> String {
    format!(
        "Traceback (most recent call last):\n  File \"/a/venv/bin/componentize-py\", line 8, in <module>\n    sys.exit(script())\n             \
         ^^^^^^^^\nAssertionError: Traceback (most recent call last):\n{trace}{exception}\n\n\nCaused by:\n    {exception}\n"
    )
}

const IMPORT: &str = "  File \"/0/toolhost/component.py\", line 3, in <module>\n    import plugin  # noqa: F401\n    ^^^^^^^^^^^^^\n";

#[test]
fn a_mistake_in_python_has_its_line() {
    let own = "  File \"/0/plugin.py\", line 2, in <module>\n    @tool\n     ^^^^\n";
    let sdk = "  File \"/0/toolhost/tool.py\", line 85, in tool\n    raise ValueError(f\"the tool {name} has no docstring\")\n";
    let marked =
        "  File \"/0/lib/a.py\", line 3\n    def a(x)\n            ^\nSyntaxError: expected ':'";
    let (marked_trace, marked_exception) = marked.rsplit_once('\n').unwrap();
    for (trace, exception, expected) in [
        (
            format!("{IMPORT}{own}{sdk}"),
            "ValueError: the tool a has no docstring: say there",
            "plugin.py:2: the tool a has no docstring: say there",
        ),
        (
            format!("{IMPORT}{marked_trace}\n"),
            marked_exception,
            "lib/a.py:3: SyntaxError: expected ':'\n    def a(x)\n            ^",
        ),
        (
            format!("{IMPORT}{own}"),
            "NameError: name 'tool' is not defined",
            "plugin.py:2: NameError: name 'tool' is not defined\n    @tool\n     ^^^^",
        ),
        (
            "  File \"/0/toolhost/component.py\", line 11, in <module>\n    raise RuntimeError(\"no\")\n"
                .into(),
            "RuntimeError: plugin.py defines no tool: put @tool above a function",
            "plugin.py defines no tool: put @tool above a function",
        ),
    ] {
        let said = componentize(&trace, exception);
        assert_eq!(of_python(said.trim_end()).unwrap(), expected);
    }
}

#[test]
fn an_import_in_python_that_is_missing_has_advice() {
    let own = "  File \"/0/plugin.py\", line 1, in <module>\n";
    let told =
        |exception: &str| of_python(&componentize(&format!("{IMPORT}{own}"), exception)).unwrap();
    let of_grant = told(
        "ImportError: cannot import name 'calls' from 'wit_world.imports' (/world/wit_world/imports/__init__.py)",
    );
    assert!(
        of_grant.starts_with("plugin.py:1: the plugin uses calls")
            && of_grant.ends_with("add `calls = \"the reason\"` below [grants]"),
        "{of_grant}"
    );
    let of_package = told("ModuleNotFoundError: No module named 'yaml.a'");
    assert!(
        of_package.contains("`pip install --target packages yaml`"),
        "{of_package}"
    );
    assert_eq!(of_python("error: failed to parse package: build/wit"), None);
}

#[test]
fn a_mistake_that_esbuild_finds_is_all_that_is_said() {
    let said = "✘ [ERROR] Could not resolve \"node:fs\"\n\n    plugin.js:1:15:\n      1 │ import fs from \"node:fs\";\n        ╵                ~~~~~~~~~\n\n  \
        The package \"node:fs\" wasn't found on the file system but is built into node.\n\n✘ [ERROR] Could not resolve \"./x.js\"\n\n    \
        plugin.js:2:7:\n      2 │ import \"./x.js\";\n        ╵        ~~~~~~~~\n\nnode:child_process:930\n    throw err;\n    ^\n\nError: Command failed: \
        /a/esbuild build/main.js\n    at genericNodeError (node:internal/errors:984:15)\n\nNode.js v20.20.2";
    assert_eq!(
        of_esbuild(said, "plugin.js").unwrap(),
        "plugin.js:1:15: Could not resolve \"node:fs\"; no component has Node.js: use toolhost/files\n      \
         1 │ import fs from \"node:fs\";\n        ╵                ~~~~~~~~~\n\
         plugin.js:2:7: Could not resolve \"./x.js\"\n      2 │ import \"./x.js\";\n        ╵        ~~~~~~~~"
    );
    for message in [
        "No matching export in \"plugin.ts\" for import \"tools\"",
        "Import \"tools\" will always be undefined because the file \"plugin.ts\" has no exports",
    ] {
        let said = format!(
            "✘ [ERROR] {message}\n\n    build/main.js:1:9:\n      1 │ import {{ tools }}\n"
        );
        assert_eq!(
            of_esbuild(&said, "plugin.ts").unwrap(),
            "plugin.ts does not export its tools: add the line `export { tools } from \"toolhost\";`"
        );
    }
    assert_eq!(of_esbuild("node: not found", "plugin.js"), None);
}

#[test]
fn modules_of_node_and_packages_have_advice() {
    let advice = |name: &str| advice(&format!("Could not resolve \"{name}\""));
    assert!(advice("child_process").ends_with("use toolhost/processes"));
    assert!(advice("node:os").ends_with("no component has Node.js"));
    assert!(advice("path").ends_with("no component has Node.js"));
    assert!(advice("lodash").contains("`npm install lodash`"));
    assert!(advice("toolhost/file").ends_with("toolhost/http and toolhost/processes"));
    assert_eq!(advice("./a.js"), "");
}

#[test]
fn an_exception_of_the_engine_has_the_line_of_the_author() {
    let places = BTreeMap::from([(685, "plugin.ts:7".to_owned())]);
    let quickjs = "componentize-qjs\n  Output: build/module.wasm\nError: : Failed to evaluate user JavaScript module: Failed to finish \
        JavaScript module evaluation: Error: two tools have the name \"a\"\n    at tool (/build/bundle.js:612:102)\n    at <anonymous> \
        (/build/bundle.js:685:1)";
    let starling = "(jco componentize) Error: Failed to initialize component (wizer (/a/wizer)):\nException while evaluating top-level script\n\
        bundle.js:506:11 Error: two tools have the name \"a\"\nAdditionally, some promises were rejected, but the rejection never handled:\n\
        Promise rejected but never handled: two tools have the name \"a\"\nStack:\n  tool@bundle.js:506:11\n  @bundle.js:685:5\n    \
        at Module.componentize (file:///a/componentize.js:365:11)";
    for said in [quickjs, starling] {
        assert_eq!(
            of_engine(said, &places).unwrap(),
            "plugin.ts:7: two tools have the name \"a\""
        );
    }
    let none = of_engine(quickjs, &BTreeMap::new()).unwrap();
    assert_eq!(none, "two tools have the name \"a\"");
    assert_eq!(of_engine("Error: no such file", &places), None);
}

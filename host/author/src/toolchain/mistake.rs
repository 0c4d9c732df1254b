//! Mistakes of the author, as the tools of Python and JavaScript report them: the place, what is wrong, and what to do.

use std::collections::BTreeMap;

/// Where componentize-py has the author's modules, and the SDK below them.
const MODULES: &str = "/0/";
const SDK: &str = "/0/toolhost/";

/// What the engines of JavaScript say before the exception of a module that they evaluate.
const BEFORE_EXCEPTION: [&str; 3] = [
    "Failed to finish JavaScript module evaluation: ",
    "Failed to declare JavaScript module: ",
    "Exception while evaluating top-level script\n",
];

/// What replaces a module of Node.js.
const OF_NODE: [(&str, &str); 5] = [
    ("child_process", "toolhost/processes"),
    ("fs", "toolhost/files"),
    ("fs/promises", "toolhost/files"),
    ("http", "toolhost/http"),
    ("https", "toolhost/http"),
];

/// The modules of Node.js that a file without a prefix may mean.
const WITHOUT_PREFIX: [&str; 6] = ["crypto", "os", "path", "process", "stream", "util"];

/// Returns what an author does whose plugin uses a capability that its manifest does not ask for.
pub(super) fn without_grant(name: &str) -> String {
    format!(
        "the plugin uses {name}, and plugin.toml does not ask for it: add `{name} = \"the reason\"` below [grants]"
    )
}

/// Reads the traceback of the module that componentize-py imported last. `None` if there is none.
pub(super) fn of_python(said: &str) -> Option<String> {
    let causes = said.rsplit_once("\n\nCaused by:");
    let said = causes.map_or(said, |(before, _)| before);
    let (_, trace) = said.rsplit_once("Traceback (most recent call last):\n")?;
    let lines: Vec<_> = trace.lines().collect();
    let end = lines.iter().position(|line| !line.starts_with(' '))?;
    let (frames, exception) = lines.split_at(end);
    let exception = exception.join("\n");
    let exception = exception.trim_end();
    let frames: Vec<_> = frames
        .iter()
        .map(|line| (python_frame(line), *line))
        .collect();
    let is_own = |path: &str| path.starts_with(MODULES) && !path.starts_with(SDK);
    let (path, _) = frames.iter().rev().find_map(|(frame, _)| *frame)?;
    let mut below = frames.rsplitn(2, |(frame, _)| frame.is_some_and(|(path, _)| is_own(path)));
    let below = below.next().unwrap_or_default();
    let own = frames.iter().rev().nth(below.len());
    let message = match exception.split_once(": ") {
        // The SDK says all in whole sentences.
        Some((_, sentence)) if path.starts_with(SDK) => sentence.to_owned(),
        Some((_, text)) if exception.starts_with("ModuleNotFoundError") => {
            let name = text.split('\'').nth(1).unwrap_or_default();
            let name = name.split('.').next().unwrap_or_default();
            format!("{exception}; `pip install --target packages {name}` puts it into the folder")
        }
        Some((_, text)) if text.contains("from 'wit_world.imports'") => {
            without_grant(text.split('\'').nth(1).unwrap_or_default())
        }
        _ => exception.replace(MODULES, ""),
    };
    let Some((Some((place, line)), _)) = own else {
        return Some(message);
    };
    let place = place.trim_start_matches(MODULES);
    let mut told = format!("{place}:{line}: {message}");
    if is_own(path) {
        // The line itself, with marks below the part that is wrong.
        for (_, line) in below {
            told.push('\n');
            told.push_str(line);
        }
    }
    Some(told)
}

/// Reads path and line of a frame: `  File "/0/plugin.py", line 3, in f`.
fn python_frame(line: &str) -> Option<(&str, &str)> {
    let (path, rest) = line.strip_prefix("  File \"")?.split_once("\", line ")?;
    Some((path, rest.split(',').next()?))
}

/// Reads the errors of esbuild, without those of Node.js that follow. `None` if there are none. `source` is the file of the plugin.
pub(super) fn of_esbuild(said: &str, source: &str) -> Option<String> {
    let mut told = Vec::new();
    for error in said.split("[ERROR] ").skip(1) {
        let mut lines = error.lines().take_while(|line| !line.starts_with("node:"));
        let message = lines.next()?;
        let rest: Vec<_> = lines.take_while(|line| !line.starts_with('▲')).collect();
        let place = rest.iter().find_map(|line| line.trim().strip_suffix(':'));
        let is_of_main = place.is_some_and(|place| place.starts_with("build/main.js:"));
        if is_of_main && message.contains("\"tools\"") {
            told.push(format!(
                "{source} does not export its tools: add the line `export {{ tools }} from \"toolhost\";`"
            ));
            continue;
        }
        told.push(match place {
            Some(place) => format!("{place}: {message}{}", advice(message)),
            None => format!("{message}{}", advice(message)),
        });
        let is_shown = |line: &&&str| line.contains(['│', '╵']);
        told.extend(rest.iter().filter(is_shown).map(|line| (*line).to_owned()));
    }
    (!told.is_empty()).then(|| told.join("\n"))
}

/// Returns what to do about a module that esbuild does not find.
fn advice(message: &str) -> String {
    let name = message.strip_prefix("Could not resolve \"");
    let Some(name) = name.and_then(|name| name.strip_suffix('"')) else {
        return String::new();
    };
    let plain = name.strip_prefix("node:").unwrap_or(name);
    let instead = OF_NODE.iter().find(|(module, _)| *module == plain);
    match instead {
        Some((_, instead)) => format!("; no component has Node.js: use {instead}"),
        None if name != plain || WITHOUT_PREFIX.contains(&name) => {
            "; no component has Node.js".into()
        }
        None if name.starts_with(['.', '/']) => String::new(),
        None if name.starts_with("toolhost") => {
            "; the modules of the SDK are toolhost, toolhost/files, toolhost/http and toolhost/processes".into()
        }
        None => format!("; `npm install {name}` installs it, if it is a package"),
    }
}

/// Reads the exception with which an engine of JavaScript ended the evaluation of the bundle. `None` if there is none. `places` has
/// those of the author's files for lines of the bundle.
pub(super) fn of_engine(said: &str, places: &BTreeMap<u32, String>) -> Option<String> {
    let mut befores = BEFORE_EXCEPTION.iter();
    let (_, rest) = befores.find_map(|before| said.split_once(before))?;
    let is_end = |line: &&str| {
        line.is_empty()
            || line.trim_start().starts_with("at ")
            || line.starts_with("Additionally, some promises were rejected")
    };
    let message: Vec<_> = rest.lines().take_while(|line| !is_end(line)).collect();
    let message = message.join("\n");
    // StarlingMonkey begins with the place in the bundle.
    let message = match message.strip_prefix("bundle.js:") {
        Some(after) => after.split_once(' ').map_or(after, |(_, message)| message),
        None => &message,
    };
    let message = message.strip_prefix("Error: ").unwrap_or(message);
    let lines = rest.split("bundle.js:").skip(1);
    let mut lines = lines.filter_map(|after| after.split(':').next()?.parse().ok());
    let place = lines.find_map(|line: u32| places.get(&line));
    Some(match place {
        Some(place) => format!("{place}: {message}"),
        None => message.to_owned(),
    })
}

#[cfg(test)]
mod tests {
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
        let marked = "  File \"/0/lib/a.py\", line 3\n    def a(x)\n            ^\nSyntaxError: expected ':'";
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
        let told = |exception: &str| {
            of_python(&componentize(&format!("{IMPORT}{own}"), exception)).unwrap()
        };
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
}

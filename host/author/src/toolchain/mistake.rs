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
mod tests;

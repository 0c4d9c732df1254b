//! The result of an inspection as a table for people. All texts of the guest are escaped and cut.

use std::fmt::Write;

use super::{Inspection, Tool};
use toolhost_plugin::{Cause, shown, shown_up_to};

/// How much of a schema is shown; JSON has all of it.
const SCHEMA: usize = 2000;

/// How many names of imports or exports of one kind are shown.
const NAMES: usize = 40;

pub(super) fn render(inspection: &Inspection) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| _ = writeln!(text, "{name:<12} {value}");
    line("name", &inspection.name);
    line("size", &format!("{} bytes", inspection.size));
    line("sha256", &inspection.sha256.to_string());
    if let Some(contract) = &inspection.contract {
        line("contract", &shown(contract));
    }
    if let Some(world) = &inspection.world {
        line("world", world);
    }
    let imports = &inspection.imports;
    for import in imports.granted.iter().take(NAMES) {
        let text = format!(
            "{}  (takes the grant `{}`)",
            shown(&import.import),
            import.grant
        );
        line("imports", &text);
    }
    for names in [&imports.contract, &imports.wasi, &imports.other] {
        list("imports", names, &mut line);
    }
    list("exports", &inspection.exports, &mut line);
    for note in &inspection.notes {
        line("note", note);
    }
    if let Some(error) = &inspection.error {
        line("error", error);
    }
    if let Some(cause) = &inspection.cause {
        cause_lines(cause).for_each(|(name, text)| line(name, text));
    }
    inspection.tools.iter().for_each(|one| tool(one, &mut text));
    if let Some(configuration) = &inspection.configuration {
        _ = write!(text, "\nTo use it:\n\n{configuration}");
    }
    text
}

/// Returns the lines that explain a cause: standard error, and the functions that the guest was in.
pub(in crate::cli::plugin) fn cause_lines(cause: &Cause) -> impl Iterator<Item = (&str, &str)> {
    let stderr = cause.stderr.iter().map(|line| ("stderr", line.as_str()));
    let frames = cause.backtrace.iter().map(|line| ("in", line.as_str()));
    stderr.chain(frames)
}

fn list(what: &str, names: &[String], line: &mut impl FnMut(&str, &str)) {
    for name in names.iter().take(NAMES) {
        line(what, &shown_up_to(name, 200));
    }
    if let Some(more @ 1..) = names.len().checked_sub(NAMES) {
        line(what, &format!("… and {more} more"));
    }
}

fn tool(tool: &Tool, text: &mut String) {
    let definition = &tool.definition;
    text.push('\n');
    let mut line = |name: &str, value: &str| _ = writeln!(text, "  {name:<10} {value}");
    line("tool", &definition.name);
    if let Some(title) = &definition.title {
        line("title", &shown(title));
    }
    let hints = definition.hints;
    let hints = [
        ("read-only", hints.read_only),
        ("non-destructive", hints.non_destructive),
        ("idempotent", hints.idempotent),
        ("closed-world", hints.closed_world),
    ];
    let promised = hints.iter().filter(|(_, promised)| *promised);
    let promised: Vec<_> = promised.map(|(name, _)| *name).collect();
    let promised = match promised.as_slice() {
        [] => "nothing".into(),
        some => some.join(", "),
    };
    line("promises", &promised);
    if let Some(most) = definition.max_duration_ms {
        line("at most", &format!("{most} ms"));
    }
    // The description is written for models. Each of its lines is a line here, so that people see where it ends.
    let mut label = "says";
    for part in definition.description.lines().take(NAMES) {
        line(label, &shown(part));
        label = "";
    }
    let schema = |schema: &serde_json::Value| shown_up_to(&schema.to_string(), SCHEMA);
    line("takes", &schema(&definition.input_schema));
    if let Some(output) = &definition.output_schema {
        line("gives", &schema(output));
    }
    for resource in &definition.resources {
        let what = resource.title.as_ref().unwrap_or(&resource.name);
        let text = format!("{}: {}", resource.uri.as_str(), shown(what));
        line("resource", &text);
    }
    for example in &tool.examples {
        let field = |name: &str| {
            let value = example.get(name).and_then(serde_json::Value::as_str);
            shown(value.unwrap_or_default())
        };
        line(
            "example",
            &format!("{}: {}", field("name"), field("arguments")),
        );
    }
}

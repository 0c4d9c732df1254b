//! `toolhost plugin list`.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::{Common, exit_code, host, plugins, print, remote, table};
use toolhost_plugin::shown;

#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    #[command(flatten)]
    plugins: plugins::Options,
    #[command(flatten)]
    remote: remote::Remote,
}

pub(in crate::cli) async fn run(common: &Common, options: &Options) -> anyhow::Result<ExitCode> {
    let plugins = match options.remote.server(common)? {
        Some(server) => server.plugins().await?,
        None => {
            let config = options.plugins.configuration(common)?;
            let host = host::start(common, config.plugins()?, Ok).await?;
            let plugins = json!({ "plugins": host.plugins() });
            host.shutdown().await;
            plugins
        }
    };
    let all = plugins.get("plugins").and_then(Value::as_array);
    let all = all.map(Vec::as_slice).unwrap_or_default();
    match common.json {
        true => print(&serde_json::to_string_pretty(&plugins)?)?,
        false => print(&lines(all))?,
    }
    let failed = |plugin: &Value| plugin.get("error").is_some();
    Ok(exit_code(!all.iter().any(failed)))
}

/// Returns a line for each plugin, and below it why it does not load.
fn lines(plugins: &[Value]) -> String {
    let text = |plugin: &Value, key: &str| {
        let value = plugin.get(key).and_then(Value::as_str);
        shown(value.unwrap_or_default())
    };
    let names = plugins.iter().map(|plugin| text(plugin, "name").len());
    let width = names.chain(["NAME".len()]).max().unwrap_or_default();
    let mut lines = vec![format!("{:width$}  {:11}  TOOLS", "NAME", "STATE")];
    for plugin in plugins {
        let tools = plugin.get("tools").and_then(Value::as_array);
        let tools = tools.into_iter().flatten().filter_map(Value::as_str);
        let tools: Vec<_> = tools.map(shown).collect();
        let (name, state) = (text(plugin, "name"), text(plugin, "state"));
        let line = format!("{name:width$}  {state:11}  {}", tools.join(", "));
        let line = table::width().map_or_else(|| line.clone(), |width| table::cut(&line, width));
        lines.push(line.trim_end().to_owned());
        let error = text(plugin, "error");
        if !error.is_empty() {
            lines.push(format!("{:width$}  {error}", ""));
        }
    }
    lines.join("\n")
}

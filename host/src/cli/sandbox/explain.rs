//! `toolhost sandbox explain`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use toolhost_sandbox::{Policy, Report};
use toolhost_service::processes::{self, Prepared};

use crate::cli::{Common, print};

/// The most paths of one directory that have lines of their own.
const MOST_OF_ONE: usize = 8;

#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    pub(super) processes: processes::Options,
}

pub(super) fn run(
    common: &Common,
    options: Options,
    prepared: Prepared,
) -> anyhow::Result<ExitCode> {
    let config = super::configured(common, options.processes, prepared)?;
    let sandbox = config.prepare_sandbox()?;
    match common.json {
        true => {
            let closed: Vec<_> = config.closed.paths().collect();
            let shown =
                json!({ "policy": config.sandbox, "closed": closed, "report": sandbox.report() });
            print(&shown.to_string())?;
        }
        false => print(text(&config.sandbox, sandbox.report()).trim_end())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn text(policy: &Policy, report: &Report) -> String {
    let mut text = format!("mode: {}\n", policy.mode);
    text.push_str(&lines("write", &report.write));
    text.push_str(&lines("read", &report.read));
    text.push_str(&lines("socket", &report.sockets));
    text.push_str(&report.to_string());
    text
}

/// Returns a line for each path, and one for many paths of a directory together.
fn lines(name: &str, paths: &[PathBuf]) -> String {
    let mut entries = BTreeMap::<_, Vec<_>>::new();
    for path in paths {
        entries
            .entry(path.parent())
            .or_default()
            .push(path.display());
    }
    let mut lines = Vec::new();
    for (parent, mut paths) in entries {
        if let Some(parent) = parent.filter(|_| paths.len() > MOST_OF_ONE) {
            let all = paths.len();
            lines.push(format!("{name}: {all} entries of {}\n", parent.display()));
        } else {
            paths.sort_by_key(ToString::to_string);
            lines.extend(paths.iter().map(|path| format!("{name}: {path}\n")));
        }
    }
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_entries_of_a_directory_are_one_line() {
        let mut paths: Vec<PathBuf> = (0..20).map(|name| format!("/etc/{name}").into()).collect();
        paths.extend(["/usr".into(), "/bin".into()]);
        assert_eq!(
            lines("read", &paths),
            "read: /bin\nread: /usr\nread: 20 entries of /etc\n"
        );
    }
}

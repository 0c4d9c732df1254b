//! The rows of a benchmark: they are printed, and they replace those of the same names in the table of `docs/performance.md`.

use std::fmt::Write as _;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The rows that a benchmark has measured so far.
pub(crate) struct Report {
    /// Whether only a tenth of everything is measured. Such rows are printed, and are not put into the page.
    pub(crate) quick: bool,
    /// What is measured; everything if it is empty.
    parts: Vec<String>,
    rows: Vec<(String, String)>,
}

impl Report {
    /// Reads the arguments: `--quick`, and the names of parts. Without `--bench`, which cargo adds, a smoke test runs the benchmark.
    ///
    /// This must come first: the program begins anew without cargo's `LD_LIBRARY_PATH`, in which the loader of every command would search
    /// a hundred directories for the C library. That takes milliseconds, more in a sandbox, and no server has it.
    pub(crate) fn new() -> Self {
        const CARGOS: &str = "LD_LIBRARY_PATH";
        if std::env::var_os(CARGOS).is_some() {
            let program = std::env::current_exe().expect("the program has a path");
            let mut anew = Command::new(program);
            let error = anew
                .args(std::env::args_os().skip(1))
                .env_remove(CARGOS)
                .exec();
            panic!("the program cannot begin anew: {error}");
        }
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let has = |name: &str| arguments.iter().any(|argument| argument == name);
        Self {
            quick: has("--quick") || !has("--bench"),
            parts: arguments
                .into_iter()
                .filter(|argument| !argument.starts_with('-'))
                .collect(),
            rows: Vec::new(),
        }
    }

    /// Returns whether a part was chosen on the command line, or none was.
    pub(crate) fn chosen(&self, part: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|chosen| chosen == part)
    }

    /// Returns how many rounds are measured: all, or a tenth of them.
    pub(crate) fn rounds(&self, all: usize) -> usize {
        if self.quick { (all / 10).max(1) } else { all }
    }

    /// Adds a row that is compared with nothing.
    pub(crate) fn value(&mut self, measure: &str, ours: impl Into<String>) {
        self.add(measure, &ours.into(), "", "");
    }

    /// Adds a row of two medians, and returns their ratio.
    pub(crate) fn pair(&mut self, measure: &str, ours: Duration, peer: &str, theirs: Duration) {
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        self.compare(
            measure,
            &time(ours),
            &format!("{peer}: {}", time(theirs)),
            ratio,
        );
    }

    /// Adds a row with a ratio.
    pub(crate) fn compare(&mut self, measure: &str, ours: &str, peer: &str, ratio: f64) {
        self.add(measure, ours, peer, &format!("{ratio:.2}"));
    }

    fn add(&mut self, measure: &str, ours: &str, peer: &str, ratio: &str) {
        println!("| {measure} | {ours} | {peer} | {ratio} |");
        let cells = format!("{ours} | {peer} | {ratio}");
        self.rows.push((measure.to_owned(), cells));
    }

    /// Writes a file of the page, such as a chart.
    pub(crate) fn write(&self, file: &str, text: &str) {
        if !self.quick {
            let path = root().join("docs/performance").join(file);
            std::fs::write(path, text).expect("the page can be written");
        }
    }
}

/// Puts the rows into the table: each replaces the one that has its name.
impl Drop for Report {
    fn drop(&mut self) {
        if self.quick || self.rows.is_empty() || std::thread::panicking() {
            return;
        }
        // The README quotes some rows.
        let readme = root().join("README.md");
        let quoting = std::fs::read_to_string(&readme).expect("the README can be read");
        let quoted = self
            .rows
            .iter()
            .filter(|(measure, _)| quoting.contains(&start(measure)));
        let quoted =
            quoted.map(|(measure, cells)| (measure.as_str(), format!("| {measure} | {cells} |")));
        let quoting = replace(&quoting, &quoted.collect::<Vec<_>>());
        std::fs::write(readme, quoting).expect("the README can be written");
        let path = root().join("docs/performance.md");
        let page = std::fs::read_to_string(&path).expect("the page can be read");
        let stamp = format!("{} | {}", today(), commit());
        let rows = self.rows.iter().map(|(measure, cells)| {
            (
                measure.as_str(),
                format!("| {measure} | {cells} | {stamp} |"),
            )
        });
        let page = replace(&page, &rows.collect::<Vec<_>>());
        std::fs::write(path, page).expect("the page can be written");
    }
}

/// Returns the beginning of the row of a measure.
fn start(measure: &str) -> String {
    format!("| {measure} | ")
}

/// Replaces rows of the table on the page. It shows chosen rows only: to show another one, write a row with its name.
fn replace(page: &str, rows: &[(&str, String)]) -> String {
    let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
    for (measure, row) in rows {
        let start = start(measure);
        if let Some(line) = lines.iter_mut().find(|line| line.starts_with(&start)) {
            line.clone_from(row);
        }
    }
    lines.iter().fold(String::new(), |mut page, line| {
        _ = writeln!(page, "{line}");
        page
    })
}

/// The directory of the repository.
pub(crate) fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut roots = crates.filter(|directory| directory.join("docs/performance.md").exists());
    roots.next().expect("the page is there").to_owned()
}

fn today() -> String {
    output("date", &["+%F"]).expect("there is a date")
}

/// The commit that is measured, with a `+` if the sources differ from it.
fn commit() -> String {
    let Some(commit) = output("git", &["rev-parse", "--short=7", "HEAD"]) else {
        return "unknown".to_owned();
    };
    match output("git", &["status", "--porcelain", "--", ".", ":!docs"]) {
        Some(changed) if changed.is_empty() => commit,
        _ => commit + "+",
    }
}

/// What a program prints in the repository, if it succeeds.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    let output = command.args(arguments).current_dir(root()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

pub(crate) fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    let last = times.len().saturating_sub(1);
    times.get(last * percent / 100).copied().unwrap_or_default()
}

pub(crate) fn median(times: &mut [Duration]) -> Duration {
    percentile(times, 50)
}

/// A time with three digits.
pub(crate) fn time(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    let (value, unit) = match micros {
        0.0..1000.0 => (micros, "µs"),
        1000.0..1e6 => (micros / 1e3, "ms"),
        _ => (micros / 1e6, "s"),
    };
    let decimals = match value {
        0.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
}

//! Line numbers, which are shown with the lines of a file and are not in it.

use super::super::{exact, windows};

/// Says that the search string has line numbers, if it is found without them.
pub(super) fn hint(text: &[u8], search: &str) -> Option<String> {
    let lines = search.split_inclusive('\n');
    let lines: Option<String> = lines.map(without_number).collect();
    let search = lines.filter(|lines| !lines.trim().is_empty())?;
    let found = exact::is_found(text, search.as_bytes())
        || windows::find(text, search.as_bytes()).is_some();
    let hint = "Your search string has the line numbers that the file was shown with; leave them and the tabs behind them out";
    found.then(|| hint.to_owned())
}

/// Returns a line without the number and the tab that it begins with; `None` if it does not.
fn without_number(line: &str) -> Option<&str> {
    let (number, line) = line.trim_start_matches(' ').split_once('\t')?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    digits.then_some(line)
}

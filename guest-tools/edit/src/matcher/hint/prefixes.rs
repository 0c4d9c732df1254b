//! What lines are shown with, and is not in the file: line numbers, and the marks of a diff.

use super::super::{exact, windows};

/// Says that the search string has line numbers or the marks of a diff, if it is found without them.
pub(super) fn hint(text: &[u8], search: &str) -> Option<String> {
    let is_found = |search: &String| {
        !search.trim().is_empty()
            && (exact::is_found(text, search.as_bytes())
                || windows::find(text, search.as_bytes()).is_some())
    };
    let lines = || search.split_inclusive('\n');
    let separator = lines()
        .find_map(without_number)
        .map(|(separator, _)| separator);
    if let Some(separator) = separator {
        let numbered = |line| without_number(line).map(|(_, line)| line);
        let search: Option<String> = lines().map(numbered).collect();
        let what = match separator {
            "\t" => "the tabs behind them".to_owned(),
            separator => format!("the \"{separator}\" behind them"),
        };
        return search.filter(is_found).map(|_| {
            format!("Your search string has the line numbers that the file was shown with; leave them and {what} out")
        });
    }
    let is_diff = lines().any(|line| line.starts_with(['-', '+']));
    let old = || lines().filter(|line| !line.starts_with("@@"));
    let all: Option<String> = old().map(without_mark).collect();
    let before: Option<String> = old()
        .filter(|line| !line.starts_with('+'))
        .map(without_mark)
        .collect();
    let found = is_diff
        && (all.is_some_and(|all| is_found(&all))
            || before.is_some_and(|before| is_found(&before)));
    found.then(|| {
        "Your search string has the marks of a diff; leave the \"-\", \"+\" or blank before each line out, and the lines with \"+\""
            .to_owned()
    })
}

/// Returns what is between the number that a line begins with and the rest, and the rest; `None` if it begins with none.
fn without_number(line: &str) -> Option<(&str, &str)> {
    let trimmed = line.trim_start_matches(' ');
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    let (_, rest) = trimmed.split_at_checked(digits).filter(|_| digits > 0)?;
    ["\t", "→", " | ", "|", ": ", ":", " \u{2502} ", "\u{2502}"]
        .into_iter()
        .find_map(|separator| Some((separator, rest.strip_prefix(separator)?)))
}

/// Returns a line without the mark of a diff. An empty line has lost its blank.
fn without_mark(line: &str) -> Option<&str> {
    match line {
        "\n" | "\r\n" => Some(line),
        line => line.strip_prefix([' ', '-', '+']),
    }
}

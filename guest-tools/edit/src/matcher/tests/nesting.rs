//! Code that is inserted is indented as if its author had used the unit of the file.

use proptest::prelude::*;

use super::*;

const UNITS: [&str; 4] = ["\t", "  ", "    ", "   "];

/// A line of code: how deep it is, and what it says.
type Line = (usize, String);

/// Turns steps into depths, none of which is more than one deeper than the one before.
fn nest(steps: &[usize], start: usize, word: &str) -> Vec<Line> {
    let mut depth = start;
    let line = |(index, step): (usize, &usize)| {
        depth = (*step).min(depth + 1);
        (depth, format!("{word}{index}"))
    };
    steps.iter().enumerate().map(line).collect()
}

fn code(lines: &[Line], unit: &str) -> String {
    let line = |(depth, text): &Line| format!("{}{text}\n", unit.repeat(*depth));
    lines.iter().map(line).collect()
}

proptest! {
    #[test]
    fn insertions_are_translated(
        steps in prop::collection::vec(0_usize..5, 3..10),
        window in (0_usize..10, 1_usize..5),
        inserted in prop::collection::vec((0_usize..6, prop::collection::vec(0_usize..6, 1..4)), 1..3),
        (file_unit, edit_unit) in (prop::sample::select(&UNITS[..]), prop::sample::select(&UNITS[..])),
    ) {
        let file = nest(&steps, 0, "line");
        let from = window.0.min(file.len() - 2);
        let to = file.len().min(from + window.1);
        let search = file[from..to].to_vec();
        // Otherwise it is found as it is, and nothing tells that the units differ.
        if search.iter().all(|(depth, _)| *depth == 0) {
            return Ok(());
        }
        // How wide a level is cannot be told of what is less deep than all that the edit shows.
        let least = search.iter().map(|(depth, _)| *depth).min().unwrap();
        let mut replace = search.clone();
        // The last one first, so that none is put into another.
        let mut inserted: Vec<_> = inserted.iter().map(|(at, steps)| (1 + at % search.len(), steps)).collect();
        inserted.sort_unstable_by_key(|(at, _)| std::cmp::Reverse(*at));
        inserted.dedup_by_key(|(at, _)| *at);
        for (at, steps) in inserted {
            let steps: Vec<_> = steps.iter().map(|step| least + step).collect();
            replace.splice(at..at, nest(&steps, search[at - 1].0, &format!("new{at}_")));
        }
        // Four blanks are taken for one level: where all depths of the search are even, nothing tells that they are two.
        if edit_unit == "  " && search.iter().all(|(depth, _)| depth % 2 == 0) {
            return Ok(());
        }
        let expected = [&file[..from], &replace, &file[to..]].concat();
        let (search, replace) = (code(&search, edit_unit), code(&replace, edit_unit));
        let result = apply(code(&file, file_unit).as_bytes(), &[one(&search, &replace)]).unwrap();
        prop_assert_eq!(String::from_utf8(result).unwrap(), code(&expected, file_unit));
    }

    #[test]
    fn what_is_wrapped_becomes_one_deeper_wherever_the_edit_has_it(
        steps in prop::collection::vec(0_usize..5, 3..10),
        window in (0_usize..10, 1_usize..5),
        less in 0_usize..5,
        unit in prop::sample::select(&UNITS[..]),
        ending in prop::sample::select(&["\n", "\r\n"][..]),
    ) {
        let file = nest(&steps, 0, "line");
        let from = window.0.min(file.len() - 1);
        let to = file.len().min(from + window.1);
        let least = file[from..to].iter().map(|(depth, _)| *depth).min().unwrap();
        let wrap = |less: usize| {
            let line = |(depth, text): &Line| (depth + 1 - less, text.clone());
            let mut lines = vec![(least - less, "wrap".to_owned())];
            lines.extend(file[from..to].iter().map(line));
            lines.push((least - less, "end".to_owned()));
            lines
        };
        let less = less.min(least);
        let search: Vec<_> = file[from..to].iter().map(|(depth, text)| (depth - less, text.clone())).collect();
        // Where the search string begins with its text, what precedes it is not looked at.
        if search[0].0 == 0 && less > 0 {
            return Ok(());
        }
        let expected = [&file[..from], &wrap(0), &file[to..]].concat();
        let [file, search, replace, expected] = [&file, &search, &wrap(less), &expected]
            .map(|lines| code(lines, unit).replace('\n', ending));
        let result = apply(file.as_bytes(), &[one(&search, &replace)]).unwrap();
        prop_assert_eq!(String::from_utf8(result).unwrap(), expected);
    }
}

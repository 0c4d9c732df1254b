//! Lines that look alike: the same characters, if white space, width, form and what has no ink do not count.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

/// A line of which only the looks are left, without white space at both ends.
#[derive(Debug)]
pub(super) struct Folded<'a> {
    line: &'a str,
    /// The characters, and what of the line each of them stands for.
    chars: Vec<(char, Range<usize>)>,
}

/// A stretch in which two lines that look alike differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// What the search string has.
    pub(super) searched: String,
    /// What the file has.
    pub(super) has: String,
}

impl<'a> Folded<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        let mut folded = Self {
            line,
            chars: Vec::new(),
        };
        // Where characters without ink begin that none stands for.
        let mut begin = None;
        for (at, char) in line.char_indices() {
            let source = begin.unwrap_or(at)..at + char.len_utf8();
            let last = folded.chars.last_mut();
            match last {
                Some((_, last)) if is_invisible(char) => last.end = source.end,
                None if is_invisible(char) => begin = begin.or(Some(at)),
                Some((' ', last)) if char.is_whitespace() => last.end = source.end,
                None if char.is_whitespace() => begin = None,
                _ => {
                    begin = None;
                    folded.push(char, &source);
                }
            }
        }
        if folded.chars.last().is_some_and(|(last, _)| *last == ' ') {
            folded.chars.pop();
        }
        folded
    }

    fn push(&mut self, char: char, source: &Range<usize>) {
        if char.is_ascii() {
            return self.chars.push((plain(char), source.clone()));
        }
        let all = std::iter::once(char).nfkd();
        self.chars
            .extend(all.map(|char| (plain(char), source.clone())));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chars.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.chars.len()
    }

    pub(super) fn chars(&self) -> impl DoubleEndedIterator<Item = char> + ExactSizeIterator {
        self.chars.iter().map(|(char, _)| *char)
    }

    /// Returns where a line differs that looks like a part of this one, from this character on.
    pub(super) fn differences(&self, from: usize, searched: &Folded<'_>) -> Vec<Difference> {
        let mut differences: Vec<Difference> = Vec::new();
        let mut last: Option<(&Range<usize>, &Range<usize>)> = None;
        let has = self.chars.iter().skip(from);
        for ((_, has), (_, search)) in has.zip(&searched.chars) {
            let texts = (
                self.line.get(has.clone()),
                searched.line.get(search.clone()),
            );
            if texts.0 == texts.1 {
                last = None;
                continue;
            }
            if last.is_none() {
                differences.push(Difference {
                    searched: String::new(),
                    has: String::new(),
                });
            }
            if let Some(difference) = differences.last_mut() {
                // One character can look like several.
                let (last_has, last_search) = last.unzip();
                if last_has != Some(has) {
                    difference.has.push_str(texts.0.unwrap_or_default());
                }
                if last_search != Some(search) {
                    difference.searched.push_str(texts.1.unwrap_or_default());
                }
            }
            last = Some((has, search));
        }
        differences
    }
}

/// Returns the plainest character that looks like this one.
fn plain(char: char) -> char {
    match char {
        '\u{2018}'..='\u{201B}' | '\u{2032}' | '`' | '\u{B4}' | '\u{2B9}' | '\u{2BC}' => '\'',
        '\u{201C}'..='\u{201F}' | '\u{2033}' | '\u{AB}' | '\u{BB}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{2043}' | '\u{2500}' => '-',
        '\u{2022}' | '\u{2219}' => '\u{B7}',
        char if char.is_whitespace() => ' ',
        char => char,
    }
}

/// Returns whether a character has no ink. Of those that are not named here, none is met in files.
pub(super) fn is_invisible(char: char) -> bool {
    matches!(
        char,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{E0000}'..='\u{E007F}'
    ) || (char.is_control() && !char.is_whitespace())
}

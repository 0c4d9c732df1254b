//! Which pages of a document are meant: "3", "2-5", "1,4-6", "7-".

use std::num::NonZeroU32;

/// Ranges of pages, from 1 on. None: all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::read_file) struct Selection(Vec<(u32, Option<u32>)>);

impl Selection {
    /// Reads what a model wrote. `None` if it is no selection.
    pub(in crate::read_file) fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| Some(text.trim().parse::<NonZeroU32>().ok()?.get());
        let range = |part: &str| match part.split_once('-') {
            None => number(part).map(|page| (page, Some(page))),
            Some((first, last)) if last.trim().is_empty() => Some((number(first)?, None)),
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some((first, Some(last)))
            }
        };
        text.split(',').map(range).collect::<Option<_>>().map(Self)
    }

    pub(in crate::read_file) fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the pages, each once and in order.
    ///
    /// # Errors
    ///
    /// A sentence about a page that the file does not have.
    pub(super) fn of(&self, total: u32) -> Result<Vec<u32>, String> {
        if self.is_all() {
            return Ok((1..=total).collect());
        }
        let mut is_meant = vec![false; usize::try_from(total).unwrap_or_default()];
        for &(first, last) in &self.0 {
            let last = last.unwrap_or(total.max(first));
            if last > total {
                let beyond = first.max(total.saturating_add(1));
                let pages = if total == 1 { "page" } else { "pages" };
                return Err(format!("there is no page {beyond}: it has {total} {pages}"));
            }
            for page in first..=last {
                let index = usize::try_from(page - 1).unwrap_or(usize::MAX);
                if let Some(is_meant) = is_meant.get_mut(index) {
                    *is_meant = true;
                }
            }
        }
        let meant = (1..=total).zip(is_meant);
        Ok(meant
            .filter_map(|(page, is_meant)| is_meant.then_some(page))
            .collect())
    }
}

/// Writes pages as a selection: `1-3,7`.
pub(in crate::read_file) fn written(pages: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &page in pages {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == page => *last = page,
            _ => ranges.push((page, page)),
        }
    }
    let written = |(first, last): (u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges
        .into_iter()
        .map(written)
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_are_read_and_written() {
        let pages = |text: &str| Selection::parse(text).map(|selection| selection.of(7));
        for (text, expected) in [
            ("3", "3"),
            ("2-5", "2-5"),
            ("1,4-6", "1,4-6"),
            (" 4 - 5 , 1 ", "1,4-5"),
            ("5-", "5-7"),
            ("1-2,2-3,3", "1-3"),
        ] {
            let pages = pages(text).unwrap().unwrap();
            assert_eq!(written(&pages), expected, "{text}");
        }
        for bad in ["", "0", "a", "3-1", "1,,2", "-3", "1-2-3", "99999999999"] {
            assert_eq!(pages(bad), None, "{bad}");
        }
        let refused = |text: &str| pages(text).unwrap().unwrap_err();
        assert_eq!(refused("8"), "there is no page 8: it has 7 pages");
        assert_eq!(
            refused("3-4000000000"),
            "there is no page 8: it has 7 pages"
        );
        assert_eq!(refused("12-"), "there is no page 12: it has 7 pages");
        assert_eq!(Selection::default().of(3), Ok(vec![1, 2, 3]));
    }
}

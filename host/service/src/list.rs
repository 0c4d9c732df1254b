//! Lists with commas, as variables hold them.

use std::convert::Infallible;
use std::str::FromStr;

/// The elements of a list with commas. Empty ones do not count: an empty variable is an empty list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct List(Vec<String>);

impl List {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Returns the elements of all these lists.
    pub(crate) fn join(lists: &[Self]) -> Vec<String> {
        lists
            .iter()
            .flat_map(Self::iter)
            .map(str::to_owned)
            .collect()
    }
}

impl FromStr for List {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let elements = text.split(',').filter(|element| !element.is_empty());
        Ok(Self(elements.map(str::to_owned).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_elements_do_not_count() {
        let list = |text: &str| text.parse::<List>().unwrap();
        assert_eq!(list(""), List::default());
        assert_eq!(
            List::join(&[list(",A,,B*,"), list(""), list("C")]),
            ["A", "B*", "C"]
        );
    }
}

//! The indentation of the file for one of the edit, going by a line that both have.

use std::iter;

use super::indent::{Seen, Unit, WIDEST};

/// As many spaces as most units have at most.
const LIKELY: usize = 4;

/// A line that the edit and the file have: how the edit indents it, and how the file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Anchor<'a> {
    pub(super) edit: &'a [u8],
    pub(super) file: &'a [u8],
}

/// An indentation: something, and something else so many times after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Indentation<'a> {
    base: &'a [u8],
    more: &'a [u8],
    times: usize,
}

impl<'a> Anchor<'a> {
    /// Returns how the file would put what the edit indents as much as this line, or deeper; `None` if it is less deep, or if it
    /// cannot be told how deep it is.
    pub(super) fn translate(self, lead: &[u8], edit: Unit, file: Unit) -> Option<Indentation<'a>> {
        let deeper = edit.level(lead)?.checked_sub(edit.level(self.edit)?)?;
        Some(Indentation {
            base: self.file,
            more: file.bytes(),
            times: deeper,
        })
    }

    /// Returns the same for what the edit indents less than this line; `None` if the file has not as many levels.
    pub(super) fn translate_back(
        self,
        lead: &[u8],
        edit: Unit,
        file: Unit,
    ) -> Option<Indentation<'a>> {
        let less = edit.level(self.edit)?.checked_sub(edit.level(lead)?)?;
        let base = (0..less).try_fold(self.file, |lead, _| lead.strip_suffix(file.bytes()))?;
        Some(Indentation::of(base))
    }

    /// Returns how the file would put it if both had the same unit, whatever it is: with the characters that the edit has more,
    /// or less, than in this line.
    pub(super) fn shift(self, lead: &'a [u8]) -> Option<Indentation<'a>> {
        if let Some(more) = lead.strip_prefix(self.edit) {
            let base = self.file;
            return Some(Indentation {
                base,
                more,
                times: 1,
            });
        }
        let less = self.edit.strip_prefix(lead)?;
        self.file.strip_suffix(less).map(Indentation::of)
    }

    /// Returns the unit of the edit, of which so much was seen. Wide steps are likely to be several levels: of the unit that
    /// makes this line as deep as it is in the file, if there is one.
    pub(super) fn unit_of_edit(self, seen: Seen, file: Unit) -> Option<Unit> {
        let wide = seen.spaces().filter(|&width| width > LIKELY);
        let as_deep = wide.and_then(|wide| {
            let depth = file.level(self.file)?;
            let width = self.edit.len().checked_div(depth)?;
            let fits = width * depth == self.edit.len() && wide.is_multiple_of(width);
            (fits && (2..=WIDEST).contains(&width)).then_some(Unit::Spaces(width))
        });
        as_deep.or_else(|| seen.unit())
    }
}

impl<'a> Indentation<'a> {
    pub(super) fn of(base: &'a [u8]) -> Self {
        let (more, times): (&[u8], _) = (b"", 0);
        Self { base, more, times }
    }

    /// Returns its parts, one after the other.
    pub(super) fn parts(self) -> impl Iterator<Item = &'a [u8]> {
        iter::once(self.base).chain(iter::repeat_n(self.more, self.times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(indentation: Option<Indentation<'_>>) -> Option<String> {
        let parts = indentation?.parts().collect::<Vec<_>>().concat();
        Some(String::from_utf8(parts).unwrap())
    }

    #[test]
    fn translates() {
        let (two, four) = (Unit::Spaces(2), Unit::Spaces(4));
        for (name, lead, (edit, edit_unit), (file, file_unit), expected) in [
            (
                "one level deeper",
                "        ",
                ("    ", four),
                ("\t\t", Unit::Tab),
                Some("\t\t\t"),
            ),
            (
                "the same level",
                "    ",
                ("    ", four),
                ("\t\t", Unit::Tab),
                Some("\t\t"),
            ),
            (
                "less deep",
                "    ",
                ("        ", four),
                ("\t\t", Unit::Tab),
                None,
            ),
            (
                "malformed",
                "      ",
                ("    ", four),
                ("\t", Unit::Tab),
                None,
            ),
            (
                "four spaces to two",
                "        ",
                ("    ", four),
                ("    ", two),
                Some("      "),
            ),
            (
                "two spaces to tabs",
                "    ",
                ("  ", two),
                ("\t", Unit::Tab),
                Some("\t\t"),
            ),
        ] {
            let anchor = Anchor {
                edit: edit.as_bytes(),
                file: file.as_bytes(),
            };
            let translated = anchor.translate(lead.as_bytes(), edit_unit, file_unit);
            assert_eq!(text(translated).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn translates_back_as_far_as_the_file_goes() {
        let anchor = Anchor {
            edit: b"        ",
            file: b"\t",
        };
        let back =
            |lead: &str| text(anchor.translate_back(lead.as_bytes(), Unit::Spaces(4), Unit::Tab));
        assert_eq!(back("    ").as_deref(), Some(""));
        assert_eq!(back(""), None);
        assert_eq!(back("            "), None);
    }

    #[test]
    fn shifts_by_the_same_characters() {
        for (edit, file, lead, expected) in [
            ("    ", "\t", "       ", Some("\t   ")),
            ("    ", "\t", "  ", None),
            ("    ", "      ", "  ", Some("    ")),
            ("    ", "      ", "\t", None),
        ] {
            let anchor = Anchor {
                edit: edit.as_bytes(),
                file: file.as_bytes(),
            };
            assert_eq!(
                text(anchor.shift(lead.as_bytes())).as_deref(),
                expected,
                "{lead:?}"
            );
        }
    }

    #[test]
    fn wide_steps_are_several_levels_if_the_file_has_as_many() {
        let unit = |edit: &str, file: &str| {
            let anchor = Anchor {
                edit: edit.as_bytes(),
                file: file.as_bytes(),
            };
            anchor.unit_of_edit(Seen::default().with(anchor.edit), Unit::Tab)
        };
        assert_eq!(unit("    ", "\t\t"), Some(Unit::Spaces(4)));
        assert_eq!(unit("        ", "\t\t"), Some(Unit::Spaces(4)));
        assert_eq!(unit("        ", "\t\t\t"), Some(Unit::Spaces(8)));
        assert_eq!(unit("        ", ""), Some(Unit::Spaces(8)));
        assert_eq!(unit("            ", "\t\t\t"), Some(Unit::Spaces(4)));
        assert_eq!(unit("            ", "\t"), None);
        assert_eq!(unit("\t\t", "\t"), Some(Unit::Tab));
    }
}

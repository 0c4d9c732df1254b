//! Depths of one unit as depths of another.

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

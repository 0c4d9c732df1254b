//! `settings` of the plugin `files`: how large the images are that models are shown.

use std::collections::BTreeMap;

use super::section::Section;
use super::values::Size;
use toolhost_plugin::Limits;

/// What a reply has beside an image, in bytes.
const BESIDE: u64 = 64 << 10;

/// The longest edge that can be set, in pixels: providers refuse larger images.
const MAX_EDGE: u64 = 8_000;

/// Reads the settings, as the plugin finds them.
pub(super) fn read(mut section: Section<'_, '_>, limits: &Limits) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    for (key, most) in [
        ("image_max_edge", MAX_EDGE),
        ("image_max_pixels", MAX_EDGE * MAX_EDGE),
    ] {
        match section.expect::<u64>(key, "a number of pixels") {
            Some(number) if (1..=most).contains(&number) => {
                settings.insert(key.to_owned(), number.to_string());
            }
            Some(_) => section.wrong(key, format!("it can be 1 to {most}")),
            None => {}
        }
    }
    let key = "image_max_bytes";
    if let Some(Size(bytes)) = section.read(key) {
        let reply = limits.reply as u64;
        if bytes == 0 {
            section.wrong(key, "it can be 1 byte or more");
        } else if bytes.saturating_add(BESIDE) > reply {
            let most = reply.saturating_sub(BESIDE);
            section.wrong(
                key,
                format!("it can be {most} bytes at most with a reply of {reply} bytes: raise `reply` of the limits"),
            );
        } else {
            settings.insert(key.to_owned(), bytes.to_string());
        }
    }
    section.finish();
    settings
}

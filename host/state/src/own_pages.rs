//! The pages of this program that are mapped into this process.
//!
//! The kernel maps the pages of a program as they are used, with the 15 around each. So after the start of a host, two thirds of the
//! program are mapped, and most of it is never used again.

use std::fs;
use std::ops::Range;

use rustix::mm::{Advice, madvise};

/// Unmaps the code and the constants of this program. The kernel maps again what the process uses from here on; it reads that from the
/// file unless it is still in memory.
pub fn unmap_program() {
    let Ok(maps) = fs::read_to_string("/proc/self/maps") else {
        return;
    };
    let own = unmap_program as fn() as usize;
    for range in unchanged(&maps, own) {
        unmap(range);
    }
}

#[allow(
    unsafe_code,
    reason = "the kernel maps the same bytes again, but `madvise` cannot know that"
)]
fn unmap(range: Range<usize>) {
    let start = std::ptr::with_exposed_provenance_mut(range.start);
    // SAFETY: the range is part of a private mapping of the program's file, which the process has not written to and cannot write to. So
    // the kernel reads the same bytes from the file when the range is used again. An error changes nothing.
    _ = unsafe { madvise(start, range.len(), Advice::LinuxDontNeed) };
}

/// Returns the mappings of the program that contains the address `own` whose pages are those of its file: the code, and the start of the
/// file. What the linker has changed is in other mappings.
fn unchanged(maps: &str, own: usize) -> Vec<Range<usize>> {
    let all: Vec<_> = maps.lines().filter_map(Mapping::parse).collect();
    let program = all.iter().find(|mapping| mapping.range.contains(&own));
    let Some(file) = program.map(|program| program.file) else {
        return Vec::new();
    };
    let is_unchanged = |mapping: &&Mapping<'_>| {
        mapping.file == file
            && match mapping.rights {
                "r-xp" => true,
                "r--p" => mapping.is_start,
                _ => false,
            }
    };
    let unchanged = all.iter().filter(is_unchanged);
    unchanged.map(|mapping| mapping.range.clone()).collect()
}

/// A line of `/proc/self/maps`.
struct Mapping<'a> {
    range: Range<usize>,
    rights: &'a str,
    /// Whether it begins at the start of the file.
    is_start: bool,
    /// The device and the inode of the file.
    file: (&'a str, &'a str),
}

impl<'a> Mapping<'a> {
    /// Reads a line; `None` if the mapping has no file.
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        let rights = fields.next()?;
        let offset = number(fields.next()?)?;
        let file = (fields.next()?, fields.next()?);
        (file.1 != "0").then_some(Self {
            range: number(start)?..number(end)?,
            rights,
            is_start: offset == 0,
            file,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn only_unchanged_pages_of_the_program_are_unmapped() {
        let maps = "\
            1000-3000 r--p 00000000 fe:00 7 /usr/bin/program\n\
            3000-9000 r-xp 00002000 fe:00 7 /usr/bin/program\n\
            9000-a000 r--p 00008000 fe:00 7 /usr/bin/program\n\
            a000-b000 rw-p 00009000 fe:00 7 /usr/bin/program\n\
            b000-c000 rw-p 00000000 00:00 0\n\
            20000-30000 r-xp 00000000 fe:00 8 /usr/lib/library.so\n\
            40000-50000 r-xp 00000000 00:00 0\n";
        assert_eq!(unchanged(maps, 0x3004), [0x1000..0x3000, 0x3000..0x9000]);
        assert_eq!(unchanged(maps, 0xb004), []);
        assert_eq!(unchanged("nonsense\n", 0), []);
    }

    /// Constants of this program that no other test uses, of more pages than the kernel maps around one that is used.
    static CONSTANTS: [u8; 1 << 20] = [7; 1 << 20];

    #[test]
    fn the_program_runs_on_without_the_pages_that_nobody_uses() {
        let page = rustix::param::page_size();
        let sum = CONSTANTS
            .iter()
            .step_by(page)
            .map(|byte| usize::from(*byte))
            .sum::<usize>();
        assert_eq!(std::hint::black_box(sum), 7 * CONSTANTS.len() / page);
        let middle = std::hint::black_box(&CONSTANTS)[CONSTANTS.len() / 2..]
            .as_ptr()
            .addr();
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let own = unmap_program as fn() as usize;
        assert!(
            unchanged(&maps, own)
                .iter()
                .any(|range| range.contains(&middle)),
            "{maps}"
        );
        assert!(is_mapped(middle / page));
        unmap_program();
        assert!(!is_mapped(middle / page));
    }

    /// Says whether a page of this process is in its page table. Source: `Documentation/admin-guide/mm/pagemap.rst` of the kernel.
    fn is_mapped(page: usize) -> bool {
        let pages = fs::File::open("/proc/self/pagemap").unwrap();
        let mut entry = [0; 8];
        pages.read_exact_at(&mut entry, page as u64 * 8).unwrap();
        u64::from_ne_bytes(entry) >> 63 == 1
    }
}

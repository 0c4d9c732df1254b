//! Archives that are made here.

mod sparse;

use std::io::{Cursor, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use toolhost_sdk::testing::FakeFiles;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::*;

/// An archive with these entries of the ninth of September 2001.
pub(in crate::read_file) fn tar(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = ::tar::Builder::new(Vec::new());
    for (name, data) in entries {
        let mut header = ::tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mtime(1_000_000_000);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *data).unwrap();
    }
    builder.into_inner().unwrap()
}

pub(in crate::read_file) fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

pub(in crate::read_file) fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, data) in entries {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        writer.start_file(*name, options).unwrap();
        writer.write_all(data).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn listed(data: &[u8], packed: Packed) -> Result<Option<List>, String> {
    let files = FakeFiles::new().with("f", data);
    list(&files, "f", data.len() as u64, packed)
}

const ENTRIES: [(&str, &[u8]); 2] = [("src/main.rs", b"fn main() {}"), ("r\u{e4}t\nsel", b"x")];

#[test]
fn archives_are_listed() {
    let archive = tar(&ENTRIES);
    let expected = "          12  2001-09-09 01:46  src/main.rs\n           1  2001-09-09 01:46  r\u{e4}t\\nsel\n";
    for (data, packed) in [(gzip(&archive), Packed::Gzip), (archive, Packed::Tar)] {
        let list = listed(&data, packed).unwrap().unwrap();
        assert_eq!((&*list.text, list.entries, list.more), (expected, 2, false));
        assert_eq!(list.note, None);
    }
    let list = listed(&zip(&ENTRIES), Packed::Zip).unwrap().unwrap();
    let expected = "          12  1980-01-01 00:00  src/main.rs\n           1  1980-01-01 00:00  r\u{e4}t\\nsel\n";
    assert_eq!((&*list.text, list.entries), (expected, 2));
    assert_eq!(listed(&gzip(b"no archive"), Packed::Gzip), Ok(None));
    assert_eq!(listed(&gzip(b""), Packed::Gzip), Ok(None));
}

#[test]
fn times_are_those_of_the_calendar() {
    let shown = |seconds| {
        Time::of_unix(seconds).map(|time| (time.year, time.month, time.day, time.hour, time.minute))
    };
    assert_eq!(shown(0), Some((1970, 1, 1, 0, 0)));
    assert_eq!(shown(951_782_400), Some((2000, 2, 29, 0, 0)));
    assert_eq!(shown(1_709_251_140), Some((2024, 2, 29, 23, 59)));
    assert_eq!(shown(253_402_300_799), Some((9999, 12, 31, 23, 59)));
    assert_eq!(shown(253_402_300_800), None);
    assert_eq!(shown(u64::MAX), None);
}

#[test]
fn lists_are_bounded() {
    let names: Vec<_> = (0..MAX_ENTRIES + 5).map(|name| name.to_string()).collect();
    let entries: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &b""[..])).collect();
    for (data, packed) in [(tar(&entries), Packed::Tar), (zip(&entries), Packed::Zip)] {
        let list = listed(&data, packed).unwrap().unwrap();
        assert_eq!((list.entries, list.more), (10_000, true));
    }
    let long = "x".repeat(50_000);
    let list = listed(&tar(&[(&long, b"")]), Packed::Tar).unwrap().unwrap();
    assert!(list.text.len() < 1_100 && list.text.ends_with("x...\n"));
}

/// A gigabyte of zeros in a few kilobytes, twice packed: only so much of it is unpacked.
#[test]
fn what_unpacks_to_a_lot_ends() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let mut header = ::tar::Header::new_gnu();
    header.set_path("zeros").unwrap();
    header.set_size(1 << 30);
    header.set_cksum();
    encoder.write_all(header.as_bytes()).unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..300 {
        encoder.write_all(&zeros).unwrap();
    }
    let list = listed(&encoder.finish().unwrap(), Packed::Gzip)
        .unwrap()
        .unwrap();
    assert_eq!((list.entries, list.more), (1, true));
    assert!(list.note.unwrap().contains("256 MiB"));
}

#[test]
fn what_is_damaged_is_said_to_be() {
    let archive = tar(&ENTRIES);
    let list = listed(&archive[..600], Packed::Tar).unwrap().unwrap();
    assert_eq!(list.entries, 1);
    let mut wrong = archive.clone();
    wrong[1024] ^= 1;
    let list = listed(&wrong, Packed::Tar).unwrap().unwrap();
    assert!(list.more && list.note.unwrap().contains("damaged"));
    assert!(listed(&zip(&ENTRIES)[..60], Packed::Zip).is_err());
    assert!(listed(b"\x1f\x8b\x08nothing", Packed::Gzip).is_err());
    assert!(listed(b"\x28\xb5\x2f\xfd\xff\xff", Packed::Zstd).is_err());
}

#[test]
fn all_frames_of_zstd_are_read() {
    let archive = tar(&ENTRIES);
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let frame = |data: &[u8]| ruzstd::encoding::compress_to_vec(data, level);
    let (first, second) = archive.split_at(700);
    let skipped = b"\x5e\x2a\x4d\x18\x03\0\0\0abc".to_vec();
    let parts = [
        frame(first),
        frame(b""),
        skipped.clone(),
        frame(second),
        skipped,
    ];
    let list = listed(&parts.concat(), Packed::Zstd).unwrap().unwrap();
    assert_eq!((list.entries, list.more, list.note), (2, false, None));
    let damaged = [frame(first), b"no frame".to_vec()].concat();
    let list = listed(&damaged, Packed::Zstd).unwrap().unwrap();
    assert!(list.more && list.note.unwrap().contains("damaged"));
    assert_eq!(listed(&frame(b"no archive"), Packed::Zstd), Ok(None));
}

/// The name of an entry is in memory as a whole.
#[test]
fn long_names_are_bounded() {
    let mut header = ::tar::Header::new_gnu();
    header.set_entry_type(EntryType::GNULongName);
    header.set_size(2 << 20);
    header.set_cksum();
    let name = vec![b'x'; 2 << 20];
    let archive = [
        &tar(&ENTRIES)[..2048],
        header.as_bytes(),
        &name,
        &tar(&ENTRIES),
    ]
    .concat();
    for (data, packed) in [(gzip(&archive), Packed::Gzip), (archive, Packed::Tar)] {
        let list = listed(&data, packed).unwrap().unwrap();
        assert_eq!((list.entries, list.more), (2, true));
        assert!(
            list.note
                .unwrap()
                .contains("headers of an entry are too large")
        );
    }
}

//! Archives that are larger than what is read of them.

use std::cell::Cell;

use toolhost_sdk::files::{Chunk, Entry, Error, Metadata, Skipped, Write};

use super::*;

/// A file of zeros with some bytes in it, which counts what is read of it.
#[derive(Debug, Default)]
struct Sparse {
    size: u64,
    /// Bytes with their places, in order.
    parts: Vec<(u64, Vec<u8>)>,
    read: Cell<u64>,
}

impl Sparse {
    fn list(&self, packed: Packed) -> Result<Option<List>, String> {
        list(self, "f", self.size, packed)
    }
}

impl Files for Sparse {
    fn read(&self, _: &str, offset: u64, max: u32) -> Result<Chunk, Error> {
        let length = u64::from(max.min(4 << 20)).min(self.size - offset);
        self.read.set(self.read.get() + length);
        let mut data = vec![0; usize::try_from(length).unwrap()];
        let first = self
            .parts
            .partition_point(|(place, part)| place + part.len() as u64 <= offset);
        for (place, part) in &self.parts[first..] {
            if *place >= offset + length {
                break;
            }
            for (at, byte) in (*place..).zip(part) {
                if (offset..offset + length).contains(&at) {
                    data[usize::try_from(at - offset).unwrap()] = *byte;
                }
            }
        }
        Ok(Chunk {
            data,
            size: self.size,
            version: "1".to_owned(),
            identity: "f".to_owned(),
        })
    }

    fn metadata(&self, _: &str) -> Result<Metadata, Error> {
        Err(Error::NotFound)
    }

    fn skip_lines(&self, _: &str, _: u64, _: u64) -> Result<Skipped, Error> {
        Err(Error::NotFound)
    }

    fn write_all(&self, _: &[Write]) -> Result<Vec<Metadata>, (usize, Error)> {
        Err((0, Error::NotFound))
    }

    fn read_directory(
        &self,
        _: &str,
        _: Option<&str>,
        _: u32,
    ) -> Result<(Vec<Entry>, bool), Error> {
        Err(Error::NotFound)
    }
}

/// An archive of 4 GB with 2,000 entries.
#[test]
fn a_large_zip_is_listed_by_its_directory() {
    const SIZE: u32 = 2_000_000;
    let (mut parts, mut directory) = (Vec::new(), Vec::new());
    for entry in 0..2_000_u32 {
        let name = format!("entry{entry:04}");
        // No flags, stored, the first of January 1980, no checksum.
        let facts = [
            &[10, 0, 0, 0, 0, 0, 0, 0, 0x21, 0, 0, 0, 0, 0][..],
            &SIZE.to_le_bytes(),
            &SIZE.to_le_bytes(),
            &[9, 0, 0, 0],
        ]
        .concat();
        let place = entry * (SIZE + 39);
        parts.push((
            u64::from(place),
            [b"PK\x03\x04", &*facts, name.as_bytes()].concat(),
        ));
        directory.extend(
            [
                b"PK\x01\x02\x0a\0",
                &*facts,
                &[0; 10],
                &place.to_le_bytes(),
                name.as_bytes(),
            ]
            .concat(),
        );
    }
    let (place, length) = (2_000 * (SIZE + 39), u32::try_from(directory.len()).unwrap());
    let end = [
        b"PK\x05\x06\0\0\0\0\xd0\x07\xd0\x07",
        &length.to_le_bytes()[..],
        &place.to_le_bytes(),
        &[0, 0],
    ];
    directory.extend(end.concat());
    let size = u64::from(place) + directory.len() as u64;
    parts.push((place.into(), directory));
    let file = Sparse {
        size,
        parts,
        ..Sparse::default()
    };
    let list = file.list(Packed::Zip).unwrap().unwrap();
    assert_eq!((list.entries, list.more, list.note), (2_000, false, None));
    assert!(
        list.text
            .starts_with("     2000000  1980-01-01 00:00  entry0000\n")
    );
    assert!(file.read.get() < 1 << 20, "{}", file.read.get());
}

/// An archive of 20 GB with 2,000 entries.
#[test]
fn a_large_tar_is_listed_by_its_headers() {
    const STEP: u64 = 10 << 20;
    let headers = (0..2_000_u64).map(|entry| {
        let mut header = ::tar::Header::new_gnu();
        header.set_path(format!("entry{entry}")).unwrap();
        header.set_size(STEP - 512);
        header.set_cksum();
        (entry * STEP, header.as_bytes().to_vec())
    });
    let (parts, size) = (headers.collect(), 2_000 * STEP + 1024);
    let file = Sparse {
        size,
        parts,
        ..Sparse::default()
    };
    let list = file.list(Packed::Tar).unwrap().unwrap();
    assert_eq!((list.entries, list.more, list.note), (2_000, false, None));
    assert!(file.read.get() < 64 << 20, "{}", file.read.get());
}

#[test]
fn only_so_much_of_a_file_is_read() {
    // A frame that is passed over, and is all of the file.
    let skipped = b"\x50\x2a\x4d\x18\xff\xff\xff\xff".to_vec();
    let file = Sparse {
        size: 5 << 30,
        parts: vec![(0, skipped)],
        ..Sparse::default()
    };
    let why = "its entries are not in the 256 MiB that were read of it; use execute to list it";
    assert_eq!(file.list(Packed::Zstd), Err(why.to_owned()));
    assert!(file.read.get() <= 256 << 20);
    // Entries whose headers are all over the file.
    let headers = (0..10_000_u64).map(|entry| {
        let mut header = ::tar::Header::new_gnu();
        header.set_path(format!("entry{entry}")).unwrap();
        header.set_size((100 << 10) - 512);
        header.set_cksum();
        (entry * (100 << 10), header.as_bytes().to_vec())
    });
    let file = Sparse {
        size: 10_000 * (100 << 10),
        parts: headers.collect(),
        ..Sparse::default()
    };
    let list = file.list(Packed::Tar).unwrap().unwrap();
    assert_eq!((list.entries, list.more), (10_000, false));
    assert!(file.read.get() <= 256 << 20, "{}", file.read.get());
}

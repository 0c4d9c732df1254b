//! Tests of the room of the witness.

use super::*;

fn directory() -> (tempfile::TempDir, StateDir) {
    let base = tempfile::tempdir().unwrap();
    let state = StateDir::open(&base.path().join("state")).unwrap();
    (base, state)
}

fn keys(range: std::ops::Range<u32>) -> Vec<Key> {
    range
        .map(|number| key("chat", &number.to_string()))
        .collect()
}

fn open(state: &StateDir) -> Witness {
    let mut witness = Witness::open(state).unwrap().0;
    witness.clear(std::iter::empty());
    witness
}

fn bytes(state: &StateDir) -> Vec<u8> {
    Witness::read(state).unwrap().0
}

/// Returns the keys that the file names.
fn named(state: &StateDir) -> Vec<Key> {
    Witness::read(state).unwrap().1.keys
}

#[test]
fn room_names_no_call() {
    let (_base, state) = directory();
    let mut witness = open(&state);
    assert!(bytes(&state).len() as u64 >= 2 * ROOM);
    assert!(named(&state).is_empty());
    witness.add(&keys(0..3));
    drop(witness);
    let (mut witness, said) = Witness::open(&state).unwrap();
    assert_eq!((said.keys, said.is_whole), (keys(0..3), true));
    // The next record follows the last one.
    witness.add(&keys(3..4));
    assert_eq!(named(&state), keys(0..4));
}

#[test]
fn a_flip_in_the_room_changes_no_key() {
    let (_base, state) = directory();
    open(&state).add(&keys(0..3));
    let sound = bytes(&state);
    let first = 4 * RECORD;
    for at in (first..sound.len()).step_by(1009).chain([sound.len() - 1]) {
        let mut flipped = sound.clone();
        flipped[at] ^= 0x10;
        state.write(FILE, &flipped).unwrap();
        let said = Witness::read(&state).unwrap().1;
        assert_eq!((said.keys, said.is_whole), (keys(0..3), false), "{at}");
    }
}

#[test]
fn room_grows_with_the_records_and_shrinks_with_them() {
    let (_base, state) = directory();
    let mut witness = open(&state);
    let many = keys(0..20_000);
    for key in &many {
        witness.add(&[*key]);
    }
    assert!(bytes(&state).len() as u64 >= 20_000 * RECORD as u64 + ROOM);
    assert_eq!(named(&state), many);
    witness.clear(keys(7..9).into_iter());
    assert_eq!(named(&state), keys(7..9));
    let length = bytes(&state).len() as u64;
    assert!((2 * ROOM..3 * ROOM).contains(&length), "{length}");
}

#[test]
fn a_note_stays_until_the_database_has_the_call() {
    let (_base, state) = directory();
    let mut witness = open(&state);
    for key in keys(0..2) {
        witness.note(key).unwrap();
    }
    witness.clear(std::iter::empty());
    witness.add(&keys(0..1));
    let mut left = named(&state);
    left.sort_unstable();
    let mut noted = keys(0..2);
    noted.sort_unstable();
    assert_eq!(left, noted);
    witness.forget_notes(|known| *known == key("chat", "0"));
    witness.clear(std::iter::empty());
    assert_eq!(named(&state), keys(1..2));
}

/// The host is killed while it replaces the records, page by page.
#[test]
fn a_witness_that_is_half_emptied_is_not_whole() {
    let (_base, state) = directory();
    let mut witness = open(&state);
    witness.add(&keys(0..2000));
    witness.begin_emptying();
    let before = bytes(&state);
    witness.clear(keys(5..6).into_iter());
    let after = bytes(&state);
    for pages in 1..11 {
        let (done, left) = (&after[..pages * 4096], &before[pages * 4096..]);
        state.write(FILE, &[done, left].concat()).unwrap();
        let said = Witness::read(&state).unwrap().1;
        assert!(!said.is_whole && said.keys.contains(&key("chat", "5")));
    }
}

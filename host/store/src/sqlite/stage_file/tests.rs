//! Tests of the files of staged changes.

use super::*;
use crate::ProcessState;
use crate::sqlite::tests::process;

fn in_state(state: ProcessState) -> Process {
    Process {
        state,
        ..process("1")
    }
}

/// If a host is killed between the removals of two files, the next one goes through the changes of the file that is left.
#[test]
fn a_file_with_later_changes_is_removed_last() {
    for [earlier, later] in [[0, 1], [1, 0]] {
        let base = tempfile::tempdir().unwrap();
        let directory = StateDir::open(&base.path().join("state")).unwrap();
        let append = |at: usize, number, change: &Change<'_>| {
            let mut file = StageFile::open(&directory, FILES[at]).unwrap();
            file.append(number, 0, change).unwrap();
        };
        let running = in_state(ProcessState::Running);
        append(earlier, 8, &Change::AddProcess(Cow::Owned(running)));
        let over = in_state(ProcessState::Ended);
        append(later, 9, &Change::UpdateProcess(Cow::Owned(over)));
        let staged = Staged::read(&directory).unwrap();
        assert_eq!(staged.changes.len(), 2);
        // The removal of the other file fails, because a directory has its name.
        let name = FILES[later];
        directory.remove(name).unwrap();
        directory.subdirectory(name).unwrap();
        staged.remove(&directory).unwrap_err();
        assert_eq!(directory.inode(FILES[earlier]).unwrap(), None);
    }
}

/// Every record but the damaged one is found, whichever bit is flipped.
#[test]
fn a_flipped_bit_damages_one_record() {
    let base = tempfile::tempdir().unwrap();
    let directory = StateDir::open(&base.path().join("state")).unwrap();
    let mut file = StageFile::open(&directory, FILES[0]).unwrap();
    for number in 0..3 {
        let process = Process {
            command: "echo \n\u{1}".to_owned(),
            ..process(&number.to_string())
        };
        let change = Change::AddProcess(Cow::Owned(process));
        file.append(number, 0, &change).unwrap();
    }
    let bytes = directory.read(FILES[0], u64::MAX).unwrap().unwrap();
    let numbers = |bytes: &[u8]| {
        let mut records = Vec::new();
        let are_whole = read_records(bytes, &mut records);
        let numbers: Vec<_> = records.iter().map(|(number, _)| *number).collect();
        (are_whole, numbers)
    };
    assert_eq!(numbers(&bytes), (true, vec![0, 1, 2]));
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            let (are_whole, numbers) = numbers(&damaged);
            assert_eq!(
                (are_whole, numbers.len()),
                (false, 2),
                "bit {bit} of byte {at}"
            );
        }
        // The file ends early.
        let (are_whole, numbers) = numbers(&bytes[..at]);
        assert!(numbers.iter().copied().eq(0..numbers.len() as u64));
        assert!(are_whole || numbers.len() < 3);
    }
}

#[test]
fn a_record_says_when_the_change_happened_unless_an_earlier_host_wrote_it() {
    let change = Change::AddProcess(Cow::Owned(process("1")));
    let json = serde_json::to_string(&change).unwrap();
    for (head, expected) in [("7@1234", Some(1234)), ("7", None)] {
        let rest = format!("{head} {json}");
        let line = format!("{}{rest}", sum_of(&rest));
        let (number, Dated { wall, .. }) = read_record(line.as_bytes()).unwrap();
        assert_eq!((number, wall), (7, expected));
    }
}

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
            file.append(number, change).unwrap();
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

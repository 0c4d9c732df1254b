//! Notes: what a model should do next, in a sentence or two.

/// How many notes a reply carries. More would be noise.
const MAX: usize = 3;

/// The notes of a reply, most useful first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notes(Vec<String>);

impl Notes {
    /// Adds a note after those that are more useful.
    pub(crate) fn add(&mut self, note: impl Into<String>) {
        self.0.push(note.into());
    }

    /// Joins the most useful ones.
    pub(crate) fn join(mut self) -> Option<String> {
        self.0.truncate(MAX);
        (!self.0.is_empty()).then(|| self.0.join("\n"))
    }
}

/// A trailing `&` was cut off.
pub(crate) fn promoted(id: &str) -> String {
    format!(
        "The trailing \"&\" was removed and the command was started in the background instead. Use process_output with \
         process_id \"{id}\" to read its output; next time set run_in_background."
    )
}

/// The timeout of a foreground command is over.
pub(crate) fn timed_out(id: &str) -> String {
    format!(
        "The command was not killed and keeps running. Use process_output with process_id \"{id}\" to wait for it, or \
         process_signal to end it."
    )
}

/// The host did not wait for as long as was asked.
pub(crate) fn clamped(id: &str) -> String {
    format!(
        "The command is still running: one call cannot wait any longer. Use process_output with process_id \"{id}\" to go \
         on waiting."
    )
}

/// The shell has exited, and left something behind.
pub(crate) fn lingering(id: &str) -> String {
    format!(
        "The command has ended, but processes that it started are still running. Use process_signal with process_id \
         \"{id}\" to end them if they are not wanted."
    )
}

/// The middle of the output is not shown, and can be read.
pub(crate) fn omitted(id: &str, from: u64) -> String {
    format!(
        "To read what is omitted, use process_output with process_id \"{id}\" and since={from}."
    )
}

/// The full output could not be saved.
pub(crate) fn not_saved(why: &str) -> String {
    format!(
        "The full output could not be saved ({why}): what is not shown here may not be readable later."
    )
}

/// The output is not kept any longer.
pub(crate) const NO_LONGER_KEPT: &str = "The output is no longer kept.";

/// There is more output after the stretch that was asked for.
pub(crate) fn more_output(cursor: u64) -> String {
    format!("There is more output: go on with since={cursor}.")
}

/// The process has not ended. The text is that of the reference.
pub(crate) const STILL_RUNNING: &str = "process is still running";

/// The command printed a file. The text is that of the reference.
pub(crate) const FILE_DUMP: &str =
    "Consider using read_file instead of dumping file contents with shell commands.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_first_three() {
        assert_eq!(Notes::default().join(), None);
        let notes = Notes(["one", "two", "three", "four"].map(str::to_owned).to_vec());
        assert_eq!(notes.join().as_deref(), Some("one\ntwo\nthree"));
    }
}

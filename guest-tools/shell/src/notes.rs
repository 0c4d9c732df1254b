//! Notes: what a model should do next, in a sentence or two.

use toolhost_sdk::processes::{Error, Info, Trigger};

use crate::clip;

/// How many notes a reply carries. More would be noise.
const MAX: usize = 3;

/// The most processes that a note names.
const MOST_NAMED: usize = 3;

/// How much of a command is in a note that names several, in bytes.
const MAX_NAMED: usize = 60;

/// So many omitted bytes are more than a model should read page by page.
const MANY_PAGES: u64 = 256 * 1024;

/// How useful a note is: more than those after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// The command did something else than was meant.
    Surprise,
    /// What goes on although the call is over.
    Running,
    /// Why it does not go on, or did not go well.
    Cause,
    /// What there is to see of its output.
    Output,
    /// What to do better the next time.
    Advice,
}

/// The notes of a reply.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notes(Vec<(Rank, String)>);

impl Notes {
    /// Adds a note.
    pub(crate) fn add(&mut self, rank: Rank, note: impl Into<String>) {
        self.0.push((rank, note.into()));
    }

    /// Joins the most useful ones, most useful first.
    pub(crate) fn join(mut self) -> Option<String> {
        self.0.sort_by_key(|(rank, _)| *rank);
        let notes = self.0.into_iter().take(MAX).map(|(_, note)| note);
        let notes: Vec<_> = notes.collect();
        (!notes.is_empty()).then(|| notes.join("\n"))
    }
}

/// Returns whether the host ends with this call, and every process with it: no later call can ask for one.
pub(crate) fn ends_with_call() -> bool {
    toolhost_sdk::context::attribute("processes").as_deref() == Some("end-with-call")
}

const ENDS_WITH_CALL: &str = "The process ends with this call. To keep processes, run `toolhost serve` and call with --server.";

/// The middle of the output is not shown, and is gone with the call.
const OMITTED_FOR_GOOD: &str = "What is omitted is not kept. To have all of the output, redirect it into a file: COMMAND > FILE.";

/// A notice was asked for.
pub(crate) fn told_of(on: &Trigger) -> String {
    let what = match on {
        Trigger::Exit => "when the process ends",
        Trigger::Output(_) => "when the output matches, or the process ends before",
    };
    // Clients of MCP are told by a resource, of which most tell no model.
    match toolhost_sdk::context::attribute("client") {
        Some(_) => format!(
            "If your client passes notices on, you are told {what}. If nothing comes, look with process_output."
        ),
        None => format!("You are told {what}: there is no need to wait or to ask."),
    }
}

/// A notice could not be asked for.
pub(crate) fn not_told(error: &Error) -> String {
    format!("You will not be told, because no notice could be asked for: {error}.")
}

/// A trailing `&` was cut off.
pub(crate) fn promoted(id: &str) -> String {
    if ends_with_call() {
        return format!("The trailing \"&\" was removed. {ENDS_WITH_CALL}");
    }
    format!(
        "The trailing \"&\" was removed and the whole command was started in the background instead. Use process_output with \
         process_id \"{id}\" to read its output; next time set run_in_background."
    )
}

/// A trailing `&` was cut off, and the command has ended already.
pub(crate) const ENDED_AT_ONCE: &str = "The trailing \"&\" was removed. The command has ended already: nothing runs in the background.";

/// The timeout of a foreground command is over.
pub(crate) fn timed_out(id: &str) -> String {
    if ends_with_call() {
        return ENDS_WITH_CALL.to_owned();
    }
    format!(
        "The command was not killed and keeps running. Use process_output with process_id \"{id}\" to wait for it, or \
         process_signal to end it."
    )
}

/// The host did not wait for as long as was asked.
pub(crate) fn clamped(id: &str) -> String {
    if ends_with_call() {
        return ENDS_WITH_CALL.to_owned();
    }
    format!(
        "The command is still running and has no exit code yet: one call cannot wait any longer. Use process_output with process_id \
         \"{id}\" to go on waiting."
    )
}

/// The host did not wait for several processes as long as was asked.
pub(crate) const CLAMPED_ALL: &str =
    "One call cannot wait any longer: call process_output again to go on waiting.";

/// The shell has exited, and left something behind.
pub(crate) fn lingering(id: &str) -> String {
    format!(
        "The command has ended, but processes that it started are still running. Use process_signal with process_id \
         \"{id}\" to end them if they are not wanted."
    )
}

/// Git tidies the repository after a command, in processes of its own.
pub(crate) const GIT_TIDIES: &str = "The command has ended. Git tidies its repository in the background and ends by itself: leave it alone.";

/// An `&` that was meant to be part of an address was none.
pub(crate) fn split(rest: &str) -> String {
    format!(
        "The unquoted \"&\" split the command: `{rest}` ran as a command of its own. Put the URL in quotes."
    )
}

/// What outlives the command was started by an `&` within it.
pub(crate) const AMPERSAND: &str =
    "Next time start what should keep running by itself, with run_in_background instead of \"&\".";

/// The sandbox may have denied something.
pub(crate) fn denied(denials: &[String]) -> String {
    format!(
        "The sandbox of commands may be the reason: {}. If it is, another command will not get around it: use other paths, or tell the \
         user.",
        denials.join("; ")
    )
}

/// Something that the command ran was killed, and its shell says so by its exit code.
pub(crate) fn killed(code: i32) -> Option<&'static str> {
    Some(match code {
        134 => {
            "Exit code 134 is 128+6: something that it ran ended itself by SIGABRT, as failed assertions do."
        }
        137 => {
            "Exit code 137 is 128+9: something that it ran was killed by SIGKILL, which is what happens when memory runs out."
        }
        139 => "Exit code 139 is 128+11: something that it ran crashed with SIGSEGV.",
        143 => "Exit code 143 is 128+15: something that it ran was ended by SIGTERM.",
        _ => return None,
    })
}

/// The last line looks like a question, and the process still runs.
pub(crate) const PROMPT: &str = "The last line looks like a prompt, but standard input is closed, so that nobody can answer. End the \
    process, and run the command with its answers as options (such as -y) or piped in, or with terminal=true to answer with process_input.";

/// The last line looks like a question, and the input is open.
pub(crate) const OPEN_PROMPT: &str =
    "The last line looks like a prompt: answer it with process_input.";

/// The program runs, and its input is open.
pub(crate) fn takes_input(id: &str) -> String {
    if ends_with_call() {
        return ENDS_WITH_CALL.to_owned();
    }
    format!(
        "The command still runs: it waits for input, or works in silence. Type with process_input and process_id \"{id}\", wait for more \
         or for its end with process_output, and end it with process_signal."
    )
}

/// The input of a process is closed.
pub(crate) const NO_OPEN_INPUT: &str = "the process takes no input: run the command again with terminal=true, or with keep_input_open=true";

/// A process cannot be typed into any more.
pub(crate) const HAS_ENDED: &str = "the process has ended, and nothing was typed";

/// The shell does not know something of the command that bash knows.
pub(crate) const BASH: &str = "The command is written for bash, and ran in sh, a POSIX shell. Write it for sh; or, if the workspace has \
    bash, run it with a here-document: bash <<'EOF'.";

/// The command has asked a question and read the end of its input.
pub(crate) const NO_INPUT: &str = "The command asked for input, and standard input is empty. Run it with its answers as options (such as -y) or \
    piped in, or with terminal=true to answer with process_input.";

/// The program wants a terminal.
pub(crate) const TERMINAL: &str = "The program wants a terminal, and this command had none. Use its options for scripts, or run it with \
    terminal=true; end it with process_signal if it still runs.";

/// Git does not know who commits.
pub(crate) const IDENTITY: &str = "Git does not know who commits. Say it in this repository: git config user.name \"…\" && git config \
    user.email \"…\". Without --global: commands cannot write the home.";

/// Git cannot write the configuration of its user.
pub(crate) const OWN_CONFIGURATION: &str = "Without --global, git config writes the configuration of the repository, which commands can write.";

/// Git has opened an editor, which wrote nothing.
pub(crate) const EDITOR: &str = "There is no editor: give git the text with -m.";

/// The command was to change the shell, which has ended.
pub(crate) const NEW_SHELL: &str = "Each command runs in a shell of its own, so this changes nothing for the next one. Use workdir, or write it \
    before the command that needs it: cd DIRECTORY && COMMAND.";

/// A `kill` did not reach a process of another command. Names the first of these live processes of the chat.
pub(crate) fn of_another_command(processes: &[Info]) -> String {
    let more = match processes.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(", and {more} more in process_list"),
    };
    let ids: Vec<_> = processes
        .iter()
        .take(MOST_NAMED)
        .map(|info| {
            format!(
                "\"{}\" ({})",
                info.id,
                clip(info.command.clone(), MAX_NAMED)
            )
        })
        .collect();
    let known = match ids.is_empty() {
        true => String::new(),
        false => format!(": {}{more}", ids.join(", ")),
    };
    format!(
        "A command can signal only the processes that it started itself. To end what an earlier command started, use \
         process_signal with its process_id{known}."
    )
}

/// There is no such process.
pub(crate) fn not_found(id: &str) -> String {
    format!("process \"{id}\" not found; process_list has those of this chat")
}

/// The output is no text.
pub(crate) fn binary(id: &str) -> String {
    if ends_with_call() {
        return "The output is binary and not shown. To look at it, pipe it through xxd, base64 or strings.".to_owned();
    }
    format!(
        "The output is binary and not shown. To look at it, pipe it through xxd or strings, or use process_output with process_id \
         \"{id}\" and base64=true."
    )
}

/// A stretch of the output is no text.
pub(crate) fn binary_from(since: u64) -> String {
    format!(
        "The output is binary and not shown. To read its bytes, use since={since} and base64=true."
    )
}

/// The output has characters that nobody sees.
pub(crate) fn escaped(count: u64) -> String {
    let characters = match count {
        1 => "character without ink is",
        _ => "characters without ink are",
    };
    format!("{count} {characters} shown by number, such as <U+200B>.")
}

/// The middle of the output is not shown, and can be read.
pub(crate) fn omitted(id: &str, from: u64, bytes: u64) -> String {
    if ends_with_call() {
        return OMITTED_FOR_GOOD.to_owned();
    }
    let search = match bytes > MANY_PAGES {
        true => {
            " That is many pages: to search them, add until, a regular expression, and go on from match_end."
        }
        false => "",
    };
    format!(
        "To read what is omitted, use process_output with process_id \"{id}\" and since={from}.{search}"
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

/// The cursor is not one of this process.
pub(crate) fn beyond(total: u64) -> String {
    format!("There are {total} bytes of output: since was beyond their end.")
}

/// There is more output after the stretch that was asked for.
pub(crate) fn more_output(cursor: u64) -> String {
    format!("There is more output: go on with since={cursor}.")
}

/// The process has not ended. The text is that of the reference.
pub(crate) const STILL_RUNNING: &str = "process is still running";

/// The user can open a server.
pub(crate) const PORT_FOR_USER: &str = "The user opens the server at url: give it to them as it is. Commands of this chat reach it at \
    localhost. It runs in the background until it is ended.";

/// Nobody but commands can open a server.
pub(crate) const PORT_FOR_NOBODY: &str =
    "Commands of this chat reach the server at localhost; there is no address for the user.";

/// A command listens nowhere.
pub(crate) const NO_PORT: &str = "The process runs, and listens on no TCP port yet. Its output may say why; process_output with ports: true \
    waits for the first one.";

/// The command printed a file. The text is that of the reference.
pub(crate) const FILE_DUMP: &str =
    "Consider using read_file instead of dumping file contents with shell commands.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_three_most_useful() {
        assert_eq!(Notes::default().join(), None);
        let mut notes = Notes::default();
        notes.add(Rank::Advice, "four");
        notes.add(Rank::Running, "two");
        notes.add(Rank::Surprise, "one");
        notes.add(Rank::Running, "three");
        assert_eq!(notes.join().as_deref(), Some("one\ntwo\nthree"));
    }
}

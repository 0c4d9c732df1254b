//! The command line: arguments, logging, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    toolhost::cli::main()
}

//! The lines of the source that a backtrace leads to, as far as the component has debug information (DWARF).
//!
//! Debug information is as hostile as the rest of a component: reading it can take any time. So a host that serves calls never reads
//! it. The commands for authors do, within a limit of CPU time.

use std::collections::HashMap;
use std::time::Duration;

use addr2line::Context;
use addr2line::gimli::{Dwarf, EndianSlice, Error, LittleEndian};
use bytes::Bytes;
use wasmparser::{Parser, Payload};

use super::Cause;
use super::backtrace::AT;
use crate::cpu_limit::limited;
use crate::text::shown_up_to;

/// The most CPU time for all lines of one backtrace. Those of a large program take a second.
const READING: Duration = Duration::from_secs(5);

/// The longest place, in bytes.
const MAX_PLACE: usize = 200;

/// A core module with debug information.
struct Module<'a> {
    /// Where its code begins in the component.
    code: usize,
    /// Where it ends.
    end: usize,
    sections: HashMap<&'a str, &'a [u8]>,
}

impl Cause {
    /// Adds file and line to each function of the backtrace for which the component has debug information.
    #[must_use]
    pub async fn with_lines(self, component: Bytes) -> Self {
        let backtrace = self.backtrace.clone();
        let located = limited(READING, move || located(&backtrace, &component)).await;
        match located {
            Ok(backtrace) => Self { backtrace, ..self },
            // The names of the functions are there without it.
            Err(_) => self,
        }
    }
}

fn located(backtrace: &[String], component: &[u8]) -> Vec<String> {
    let modules = modules(component);
    let add_line = |frame: &String| match line(frame, &modules) {
        Some(line) => format!("{frame} ({})", shown_up_to(&line, MAX_PLACE)),
        None => frame.clone(),
    };
    backtrace.iter().map(add_line).collect()
}

/// Returns file and line of a frame, which ends with its offset in the component.
fn line(frame: &str, modules: &[Module<'_>]) -> Option<String> {
    let (_, offset) = frame.rsplit_once(AT)?;
    let offset = usize::from_str_radix(offset, 16).ok()?;
    let mut modules = modules.iter();
    let module = modules.find(|module| (module.code..module.end).contains(&offset))?;
    let address = u64::try_from(offset - module.code).ok()?;
    let section = |name: &str| {
        let bytes = module.sections.get(name).copied().unwrap_or_default();
        EndianSlice::new(bytes, LittleEndian)
    };
    let dwarf = Dwarf::load(|id| Ok::<_, Error>(section(id.name()))).ok()?;
    let context = Context::from_dwarf(dwarf).ok()?;
    let location = context.find_location(address).ok()??;
    Some(format!("{}:{}", location.file?, location.line?))
}

/// Finds the core modules of a component that have debug information. What cannot be read is left out.
fn modules(component: &[u8]) -> Vec<Module<'_>> {
    let (mut open, mut found): (Vec<Module<'_>>, Vec<Module<'_>>) = (Vec::new(), Vec::new());
    for payload in Parser::new(0).parse_all(component) {
        let Ok(payload) = payload else { break };
        match payload {
            Payload::Version { .. } => open.push(Module {
                code: 0,
                end: 0,
                sections: HashMap::new(),
            }),
            Payload::CodeSectionStart { range, .. } => {
                if let Some(module) = open.last_mut() {
                    (module.code, module.end) = (range.start, range.end);
                }
            }
            Payload::CustomSection(section) if section.name().starts_with(".debug_") => {
                if let Some(module) = open.last_mut() {
                    module.sections.insert(section.name(), section.data());
                }
            }
            Payload::End(_) => found.extend(open.pop()),
            _ => {}
        }
    }
    found.retain(|module| !module.sections.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const SOURCE: &str = "#![no_std]\n\
        #[panic_handler]\n\
        fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n\
        #[unsafe(no_mangle)]\n\
        pub extern \"C\" fn boom(number: u32) -> u32 {\n\
            number.wrapping_mul(7)\n\
        }\n";

    /// The offsets of all functions in the code of a component.
    fn functions(component: &[u8]) -> Vec<usize> {
        let payloads = Parser::new(0).parse_all(component).map(Result::unwrap);
        let bodies = payloads.filter_map(|payload| match payload {
            Payload::CodeSectionEntry(body) => Some(body.get_operators_reader().unwrap()),
            _ => None,
        });
        bodies
            .map(|operators| operators.original_position())
            .collect()
    }

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "the test runs the compiler")]
    async fn a_line_is_found_where_the_compiler_left_it() {
        let directory = tempfile::tempdir().unwrap();
        let (source, wasm) = (
            directory.path().join("fixture.rs"),
            directory.path().join("fixture.wasm"),
        );
        std::fs::write(&source, SOURCE).unwrap();
        let built = Command::new("rustc")
            .args([
                "--edition=2024",
                "--target=wasm32-wasip2",
                "--crate-type=cdylib",
                "-g",
                "-Cpanic=abort",
            ])
            .arg("-o")
            .args([&wasm, &source])
            .output()
            .unwrap();
        assert!(built.status.success(), "{built:?}");
        let component = Bytes::from(std::fs::read(&wasm).unwrap());
        let backtrace = functions(&component).into_iter();
        let cause = Cause {
            backtrace: backtrace.map(|offset| format!("f{AT}{offset:x}")).collect(),
            ..Cause::default()
        };
        let located = cause.clone().with_lines(component).await;
        let found =
            |line: &String| line.contains("fixture.rs:5)") || line.contains("fixture.rs:6)");
        assert!(located.backtrace.iter().any(found), "{located:?}");
        // Without a component, it stays as it was.
        assert_eq!(cause.clone().with_lines(Bytes::new()).await, cause);
    }
}

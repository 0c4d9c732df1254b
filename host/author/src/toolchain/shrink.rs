//! Making a component smaller that is not built for debugging.

use std::path::PathBuf;

use wasmparser::{Encoding, Parser, Payload};

use super::{Build, BuildError, ProgramError};
use crate::embedded;
use crate::program::find;

/// The features that modules of Rust use, and every engine that runs components has.
const FEATURES: [&str; 8] = [
    "--enable-bulk-memory",
    "--enable-extended-const",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
    "--enable-simd",
];

/// The section with the names of the parts of a component.
const NAMES: &str = "component-name";

/// The id of a core module among the sections of a component.
const CORE_MODULE: u8 = 1;

/// A section at the top of a component.
struct Section<'a> {
    id: u8,
    /// The section with its header.
    whole: &'a [u8],
    /// Its content.
    content: &'a [u8],
    /// Whether it has the names that tools show for the parts of the component.
    is_names: bool,
}

/// Returns a component without the names of its own parts, which nothing needs. The names of functions, which traps show, are in its
/// modules. What is not a component stays as it is.
pub fn without_names(component: &[u8]) -> Vec<u8> {
    let Some((head, sections)) = sections(component) else {
        return component.to_vec();
    };
    let kept = sections.iter().filter(|section| !section.is_names);
    kept.fold(head.to_vec(), |mut all, section| {
        all.extend_from_slice(section.whole);
        all
    })
}

/// Optimises the largest module of a component with wasm-opt, if it is installed. If wasm-opt does not know a feature that the module
/// uses, it says so, and the module stays as it is.
///
/// # Errors
///
/// If a file cannot be written or read, or wasm-opt cannot be started.
pub(super) async fn optimized(
    build: &Build<'_>,
    component: Vec<u8>,
) -> Result<Vec<u8>, BuildError> {
    let Some(optimize) = find("wasm-opt", &[]) else {
        return Ok(component);
    };
    let Some((head, sections)) = sections(&component) else {
        return Ok(component);
    };
    let modules = sections.iter().enumerate();
    let modules = modules.filter(|(_, section)| section.id == CORE_MODULE);
    let Some((largest, module)) = modules.max_by_key(|(_, section)| section.content.len()) else {
        return Ok(component);
    };
    let (before, after) = ("build/core.wasm", "build/core.small.wasm");
    embedded::write(&build.folder.join(before), module.content)?;
    let optimize = build.program(optimize).args(FEATURES);
    let ran = optimize.args(["-Os", before, "-o", after]).run().await;
    match ran {
        Ok(()) => {}
        Err(ProgramError::Failed { .. }) => return Ok(component),
        Err(error) => return Err(error.into()),
    }
    let path: PathBuf = build.folder.join(after);
    let small = std::fs::read(&path).map_err(|source| BuildError::File {
        action: "read",
        path,
        source,
    })?;
    let mut all = head.to_vec();
    for (index, section) in sections.iter().enumerate() {
        if index == largest {
            all.push(CORE_MODULE);
            push_length(&mut all, small.len());
            all.extend_from_slice(&small);
        } else {
            all.extend_from_slice(section.whole);
        }
    }
    Ok(all)
}

/// Returns the header of a component, and its sections at the top. `None` if it is not one.
fn sections(component: &[u8]) -> Option<(&[u8], Vec<Section<'_>>)> {
    let mut payloads = Parser::new(0).parse_all(component);
    let Payload::Version {
        encoding: Encoding::Component,
        range: header,
        ..
    } = payloads.next()?.ok()?
    else {
        return None;
    };
    let mut end = header.end;
    let mut sections = Vec::new();
    for payload in payloads {
        let payload = payload.ok()?;
        let Some((id, range)) = payload.as_section() else {
            continue;
        };
        // The sections of modules and components within this one are parts of a section that was there before.
        if range.start < end {
            continue;
        }
        let is_names = matches!(&payload, Payload::CustomSection(one) if one.name() == NAMES);
        sections.push(Section {
            id,
            whole: component.get(end..range.end)?,
            content: component.get(range.clone())?,
            is_names,
        });
        end = range.end;
    }
    Some((component.get(header)?, sections))
}

/// Adds a length as a section has it, seven bits in a byte.
fn push_length(to: &mut Vec<u8>, mut length: usize) {
    loop {
        let low = u8::try_from(length & 0x7f).unwrap_or_default();
        length >>= 7;
        if length == 0 {
            to.push(low);
            return;
        }
        to.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &[u8] = b"\0asm\x0d\0\x01\0";

    /// Returns a section of this id and content.
    fn section(id: u8, content: &[u8]) -> Vec<u8> {
        let mut section = vec![id];
        push_length(&mut section, content.len());
        [section, content.to_vec()].concat()
    }

    fn custom(name: &str, length: usize) -> Vec<u8> {
        let mut content = Vec::new();
        push_length(&mut content, name.len());
        content.extend_from_slice(name.as_bytes());
        content.resize(content.len() + length, 0);
        section(0, &content)
    }

    #[test]
    fn only_the_names_of_the_component_go() {
        let module = [&b"\0asm\x01\0\0\0"[..], &custom(NAMES, 3)].concat();
        let module = section(CORE_MODULE, &module);
        let other = custom("other", 300);
        let all = [HEADER, &module, &custom(NAMES, 200), &other].concat();
        assert_eq!(without_names(&all), [HEADER, &module, &other].concat());
    }

    #[test]
    fn what_is_no_component_stays() {
        let module = [&b"\0asm\x01\0\0\0"[..], &custom(NAMES, 3)].concat();
        let cut = [HEADER, b"\0\xff\xff"].concat();
        for bytes in [&module[..], b"text", b"", &cut] {
            assert_eq!(without_names(bytes), bytes);
        }
    }

    #[test]
    fn lengths_are_those_of_sections() {
        for length in [0, 1, 127, 128, 300, 70_000] {
            let all = [
                HEADER,
                &section(0, &[&[1, b'a'][..], &vec![0; length]].concat()),
            ]
            .concat();
            let (_, sections) = sections(&all).unwrap();
            assert_eq!(sections[0].content.len(), length + 2);
        }
    }
}

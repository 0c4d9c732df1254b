//! The kind of a file, and the imports and exports of a component, read before anything is compiled.

use wasmparser::{ComponentExternalKind, Parser, Payload};

use super::LoadError;
use super::text::shown_up_to;

/// The first bytes of every WebAssembly file.
const MAGIC: &[u8] = b"\0asm";

/// The four bytes after [`MAGIC`]: of a core module, and of a component.
const CORE: [u8; 4] = [1, 0, 0, 0];
const COMPONENT: [u8; 4] = [0x0d, 0, 1, 0];

/// The most imports, and the most exports, of one component. A Python component has about 30.
const MAX_NAMES: usize = 1000;

/// The custom section in which a component says its version, and the most bytes of that.
const VERSION: &str = "version";
const MAX_VERSION: usize = 64;

/// The names of a component's imports and exports. The guest chooses the names: any text of up to 100,000 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// The names of its imports, in its order.
    pub imports: Vec<String>,
    /// The names of its exports, in its order.
    pub exports: Vec<String>,
    /// The version that it says it has, cut at 64 bytes.
    pub version: Option<String>,
}

impl Shape {
    /// Reads the names from the bytes of a component. Little else is checked: the compiler checks the contents.
    ///
    /// # Errors
    ///
    /// [`LoadError::NotAComponent`], [`LoadError::CoreModule`] or [`LoadError::WitPackage`].
    pub fn read(bytes: &[u8]) -> Result<Self, LoadError> {
        check_header(bytes)?;
        let mut shape = Self::default();
        // A package of interfaces has types that it exports, and nothing else.
        let (mut depth, mut has_code, mut only_types) = (0_usize, false, true);
        for payload in Parser::new(0).parse_all(bytes) {
            match payload.map_err(malformed)? {
                Payload::ModuleSection { .. } => {
                    has_code = true;
                    depth += 1;
                }
                Payload::ComponentSection { .. } => depth += 1,
                Payload::CustomSection(section) if depth == 0 && section.name() == VERSION => {
                    let text = String::from_utf8_lossy(section.data());
                    shape.version = Some(shown_up_to(&text, MAX_VERSION));
                }
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentImportSection(imports) if depth == 0 => {
                    for import in imports {
                        push(&mut shape.imports, import.map_err(malformed)?.name.name)?;
                    }
                }
                Payload::ComponentExportSection(exports) if depth == 0 => {
                    for export in exports {
                        let export = export.map_err(malformed)?;
                        only_types &= export.kind == ComponentExternalKind::Type;
                        push(&mut shape.exports, export.name.name)?;
                    }
                }
                _ => {}
            }
        }
        if !has_code && only_types && shape.imports.is_empty() && !shape.exports.is_empty() {
            return Err(LoadError::WitPackage);
        }
        Ok(shape)
    }
}

fn check_header(bytes: &[u8]) -> Result<(), LoadError> {
    let not = |why: &str| Err(LoadError::NotAComponent(why.into()));
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        let text = bytes.trim_ascii_start();
        return if bytes.is_empty() {
            not("it is empty")
        } else if [&b"(component"[..], b"(module", b";;"]
            .iter()
            .any(|start| text.starts_with(start))
        {
            not("it is in the text format: make it binary with `wasm-tools parse`")
        } else if MAGIC.starts_with(bytes) {
            not("it ends after a few bytes: build or download it again")
        } else {
            not("it does not begin as WebAssembly does: give the .wasm file that your build made")
        };
    };
    match rest.first_chunk::<4>() {
        Some(&CORE) => Err(LoadError::CoreModule),
        Some(&COMPONENT) => Ok(()),
        Some([version, _, 1, 0]) => not(&format!(
            "it is in version {version} of the format of components, and this host reads version 13: build it with \
             current tools"
        )),
        Some(_) => not("it is in an unknown version of WebAssembly: build it with current tools"),
        None => not("it ends after a few bytes: build or download it again"),
    }
}

fn push(names: &mut Vec<String>, name: &str) -> Result<(), LoadError> {
    if names.len() == MAX_NAMES {
        let text = format!("it has more than {MAX_NAMES} imports or exports");
        return Err(LoadError::NotAComponent(text));
    }
    names.push(name.to_owned());
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err gives")]
fn malformed(error: wasmparser::BinaryReaderError) -> LoadError {
    LoadError::malformed(&format!("{error}"))
}

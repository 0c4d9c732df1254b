//! Plugins that are made of what they list and reply, by writing that into their memory as the canonical ABI has it.

use std::path::Path;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Where the data begins, and where the guest's own allocations do.
const BASE: usize = 1024;

/// A tool as a plugin lists it.
#[derive(Clone, Debug)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) description: String,
    pub(super) input: String,
    pub(super) output: Option<String>,
    pub(super) max_duration_ms: Option<u64>,
    /// Name, arguments, and whether the reply is an error.
    pub(super) examples: Vec<(String, String, bool)>,
}

impl Default for Tool {
    fn default() -> Self {
        Self {
            name: "t".into(),
            title: None,
            description: "Does nothing, and does it well.".into(),
            input: r#"{"type":"object"}"#.into(),
            output: None,
            max_duration_ms: None,
            examples: Vec::new(),
        }
    }
}

/// What every call of it gets.
#[derive(Clone, Debug, Default)]
pub(super) enum Reply {
    #[default]
    Empty,
    Text(&'static str),
    Json(&'static str),
    /// A text, and that it is an error.
    Error(&'static str),
    /// No reply: the arguments are invalid.
    Invalid(&'static str),
    Trap,
}

/// What a plugin says when it is asked for its tools.
#[derive(Clone, Debug)]
pub(super) enum Says {
    Tools(Vec<Tool>),
    Fails(String),
}

/// A plugin with one tool that was changed.
pub(super) fn tool(change: impl FnOnce(&mut Tool)) -> Vec<u8> {
    let mut tool = Tool::default();
    change(&mut tool);
    plugin(&Says::Tools(vec![tool]), &Reply::Empty)
}

/// A plugin of these parts.
pub(super) fn plugin(says: &Says, reply: &Reply) -> Vec<u8> {
    let mut image = Image::default();
    let listed = image.result(says);
    let (at, trap) = match reply {
        Reply::Trap => (0, "unreachable"),
        reply => (image.reply(reply), ""),
    };
    let (pages, data) = ((BASE + image.bytes.len()) / 65536 + 1, image.escaped());
    let text = format!(
        r#"(module
            (memory (export "memory") {pages})
            (global $next (mut i32) (i32.const {end}))
            (data (i32.const {BASE}) "{data}")
            (func (export "toolhost:plugin/tools@0.1.0#list-tools") (result i32) i32.const {listed})
            (func (export "toolhost:plugin/tools@0.1.0#call-tool") (param i32 i32 i32 i32 i32 i32) (result i32)
              {trap} i32.const {at})
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
              (local $at i32)
              (local.set $at (global.get $next))
              (global.set $next (i32.and (i32.add (i32.add (local.get $at) (local.get 3)) (i32.const 15)) (i32.const -16)))
              (drop (memory.grow (i32.const 1)))
              (local.get $at)))"#,
        end = (BASE + image.bytes.len()).next_multiple_of(16),
    );
    component(wat::parse_str(text).unwrap())
}

/// A component of the text format that imports and exports instances with nothing in them.
pub(super) fn names(imports: &[&str], exports: &[&str]) -> Vec<u8> {
    let imports = imports
        .iter()
        .map(|name| format!("(import \"{name}\" (instance))"));
    let exports = exports
        .iter()
        .map(|name| format!("(export \"{name}\" (instance $i))"));
    let parts: Vec<_> = imports
        .chain(["(instance $i)".into()])
        .chain(exports)
        .collect();
    wat::parse_str(format!("(component {})", parts.join(" "))).unwrap()
}

fn component(mut module: Vec<u8>) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
    let (package, _) = resolve.push_dir(wit).unwrap();
    let world = resolve
        .select_world(&[package], Some("full-plugin"))
        .unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default()
        .module(&module)
        .unwrap()
        .encode()
        .unwrap()
}

/// The memory of a guest from [`BASE`] on.
#[derive(Default)]
struct Image {
    bytes: Vec<u8>,
}

impl Image {
    /// Puts bytes where they are aligned, and returns the address.
    fn put(&mut self, bytes: &[u8]) -> u32 {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let at = BASE + self.bytes.len();
        self.bytes.extend(bytes);
        u32::try_from(at).unwrap()
    }

    /// Puts a string or a list of `len`, and returns pointer and length.
    fn list(&mut self, bytes: &[u8], len: usize) -> [u8; 8] {
        let at = self.put(bytes);
        words([at, u32::try_from(len).unwrap()])
    }

    fn string(&mut self, text: &str) -> [u8; 8] {
        self.list(text.as_bytes(), text.len())
    }

    fn option(&mut self, text: Option<&str>) -> [u8; 12] {
        let string = text.map_or([0; 8], |text| self.string(text));
        let mut option = [0; 12];
        option[0] = text.is_some().into();
        option[4..].copy_from_slice(&string);
        option
    }

    fn tool(&mut self, tool: &Tool) -> Vec<u8> {
        let mut record = self.string(&tool.name).to_vec();
        record.extend(self.option(tool.title.as_deref()));
        record.extend(self.string(&tool.description));
        record.extend(self.string(&tool.input));
        record.extend(self.option(tool.output.as_deref()));
        // No hints.
        record.resize(56, 0);
        record.push(tool.max_duration_ms.is_some().into());
        record.resize(64, 0);
        record.extend(tool.max_duration_ms.unwrap_or_default().to_le_bytes());
        let mut examples = Vec::new();
        for (name, arguments, is_error) in &tool.examples {
            examples.extend(self.string(name));
            examples.extend(self.string(arguments));
            examples.extend([(*is_error).into(), 0, 0, 0]);
        }
        record.extend(self.list(&examples, tool.examples.len()));
        record.extend([0; 8]);
        assert_eq!(record.len(), 88);
        record
    }

    fn result(&mut self, says: &Says) -> u32 {
        let (tag, list) = match says {
            Says::Tools(tools) => {
                let records: Vec<u8> = tools.iter().flat_map(|tool| self.tool(tool)).collect();
                (0, self.list(&records, tools.len()))
            }
            Says::Fails(text) => (1, self.string(text)),
        };
        let mut result = words([tag, 0])[..4].to_vec();
        result.extend(list);
        self.put(&result)
    }

    fn reply(&mut self, reply: &Reply) -> u32 {
        let part = |image: &mut Self, tag: u32, text: &str| {
            let mut part = tag.to_le_bytes().to_vec();
            part.extend(image.string(text));
            part.resize(28, 0);
            image.list(&part, 1)
        };
        let content = match reply {
            Reply::Empty | Reply::Trap => [0; 8],
            Reply::Text(text) | Reply::Error(text) => part(self, 0, text),
            Reply::Json(text) => part(self, 1, text),
            Reply::Invalid(text) => {
                // The second of the errors.
                let mut result = words([1, 1]).to_vec();
                result.extend(self.string(text));
                result.resize(24, 0);
                return self.put(&result);
            }
        };
        let mut result = vec![0; 4];
        result.extend(content);
        result.extend([u8::from(matches!(reply, Reply::Error(_))), 0, 0, 0]);
        result.extend([0; 8]);
        self.put(&result)
    }

    fn escaped(&self) -> String {
        self.bytes
            .iter()
            .map(|byte| format!("\\{byte:02x}"))
            .collect()
    }
}

fn words(words: [u32; 2]) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&words[0].to_le_bytes());
    bytes[4..].copy_from_slice(&words[1].to_le_bytes());
    bytes
}

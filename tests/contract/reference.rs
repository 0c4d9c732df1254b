//! The reference of the contract, `docs/contract.md`, which is generated from `wit/`.

use std::fmt::Write as _;
use std::path::Path;

use toolhost_plugin::CAPABILITIES;
use wit_parser::{
    Docs, Function, Handle, Interface, Resolve, Type, TypeDef, TypeDefKind, World, WorldItem,
};

/// The variable with which the page is written.
const UPDATE: &str = "UPDATE_CONTRACT";

/// The interfaces in the order of the page: the plugin's own first, then those without a grant.
const ORDER: [&str; 8] = [
    "tools",
    "context",
    "settings",
    "log",
    "progress",
    "processes",
    "files",
    "calls",
];

const HEAD: &str = "\
<!-- Generated from wit/. Write it again with: UPDATE_CONTRACT=1 cargo test -p toolhost --test integration contract::reference -->

# The contract

";

#[test]
fn the_page_is_that_of_the_contract() {
    let resolve = super::contract();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/contract.md");
    let generated = Reference(&resolve).page();
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&page, &generated).unwrap();
    }
    let found = std::fs::read_to_string(&page).unwrap_or_default();
    let lines = found.lines().zip(generated.lines());
    let differs = lines
        .enumerate()
        .find(|(_, (found, generated))| found != generated);
    assert!(
        found == generated,
        "docs/contract.md is not that of wit/; run this test with {UPDATE}=1. The first difference: {differs:#?}"
    );
}

/// The page of a contract.
struct Reference<'a>(&'a Resolve);

impl Reference<'_> {
    fn page(&self) -> String {
        let mut page = HEAD.to_owned();
        let (_, package) = self.0.packages.iter().next().unwrap();
        let name = &package.name;
        writeln!(
            page,
            "This is the package `{name}`, from [`wit/`](../wit/world.wit)."
        )
        .unwrap();
        writeln!(page, "`toolhost plugin wit DIR` writes its files.\n").unwrap();
        for paragraph in text(&package.docs).split("\n\n") {
            writeln!(page, "{}\n", one_line(paragraph)).unwrap();
        }
        self.worlds(&mut page);
        self.table_of_interfaces(&mut page);
        assert_eq!(self.0.interfaces.len(), ORDER.len());
        for name in ORDER {
            self.interface(&mut page, self.named(name));
        }
        format!("{}\n", page.trim_end())
    }

    fn named(&self, name: &str) -> &Interface {
        let mut interfaces = self.0.interfaces.iter().map(|(_, interface)| interface);
        let found = interfaces.find(|interface| interface.name.as_deref() == Some(name));
        found.unwrap_or_else(|| panic!("the contract has no interface {name}"))
    }

    /// Writes the worlds. A plugin names one of them, or imports single interfaces beside `plugin`.
    fn worlds(&self, page: &mut String) {
        page.push_str("## Worlds\n\n| world | is | imports | exports |\n|---|---|---|---|\n");
        for (_, world) in &self.0.worlds {
            let World {
                name,
                docs,
                imports,
                exports,
                ..
            } = world;
            let list = |items: Vec<String>| items.join(", ");
            let imports = list(imports.values().map(|item| self.item(item)).collect());
            let exports = list(exports.values().map(|item| self.item(item)).collect());
            let docs = one_line(&text(docs));
            writeln!(page, "| `{name}` | {docs} | {imports} | {exports} |").unwrap();
        }
        page.push('\n');
    }

    fn item(&self, item: &WorldItem) -> String {
        let WorldItem::Interface { id, .. } = item else {
            panic!("a world of the contract has interfaces alone");
        };
        link(self.0.interfaces[*id].name.as_deref().unwrap())
    }

    /// Writes the grant that each interface takes, as the host knows them.
    fn table_of_interfaces(&self, page: &mut String) {
        page.push_str("## Interfaces and grants\n\n| interface | has | grant |\n|---|---|---|\n");
        for name in ORDER {
            let docs = text(&self.named(name).docs);
            let first = docs
                .split_once(". ")
                .map_or(docs.as_str(), |(first, _)| first);
            let first = one_line(first.split("\n\n").next().unwrap_or_default());
            let grant = CAPABILITIES.iter().find(|known| known.name() == name);
            let grant = match grant {
                Some(capability) => format!("`{}`", capability.line()),
                None => "none".to_owned(),
            };
            let first = first.trim_end_matches('.');
            writeln!(page, "| {} | {first} | {grant} |", link(name)).unwrap();
        }
        page.push_str(
            "\nA plugin that imports an interface without its grant does not load, and the error has the line that grants it. \
             `http` is no interface of the contract: it opens `wasi:http`. [configuration.md](configuration.md#grants) has the \
             values of all grants.\n\n| grant | meaning |\n|---|---|\n",
        );
        for capability in &CAPABILITIES {
            let (line, meaning) = (capability.line(), one_line(capability.meaning()));
            writeln!(page, "| `{line}` | {meaning}. |").unwrap();
        }
        page.push('\n');
    }

    fn interface(&self, page: &mut String, interface: &Interface) {
        let name = interface.name.as_deref().unwrap();
        writeln!(page, "## {name}\n").unwrap();
        for paragraph in text(&interface.docs).split("\n\n") {
            writeln!(page, "{}\n", one_line(paragraph)).unwrap();
        }
        page.push_str("| function | does |\n|---|---|\n");
        for function in interface.functions.values() {
            let docs = one_line(&text(&function.docs));
            writeln!(page, "| `{}` | {docs} |", self.function(function)).unwrap();
        }
        page.push('\n');
        for (name, id) in &interface.types {
            self.definition(page, name, &self.0.types[*id]);
        }
    }

    fn function(&self, function: &Function) -> String {
        let name = function.item_name();
        let resource = function.kind.resource();
        let name = match resource.and_then(|id| self.0.types[id].name.as_deref()) {
            Some(resource) => format!("{resource}.{name}"),
            None => name.to_owned(),
        };
        let given = function.params.iter().skip(usize::from(resource.is_some()));
        let given = given.map(|given| format!("{}: {}", given.name, self.name(&given.ty)));
        let given: Vec<_> = given.collect();
        let result = function.result.as_ref();
        let result = result.map(|result| format!(" -> {}", self.name(result)));
        format!("{name}({}){}", given.join(", "), result.unwrap_or_default())
    }

    /// Writes a type: what it is, and a table of its parts.
    fn definition(&self, page: &mut String, name: &str, definition: &TypeDef) {
        let docs = one_line(&text(&definition.docs));
        let mut write = |kind: &str, parts: Vec<(String, String, &Docs)>| {
            writeln!(page, "### {kind} `{name}`\n\n{docs}\n").unwrap();
            if parts.is_empty() {
                return;
            }
            let typed = parts.iter().any(|(_, typed, _)| !typed.is_empty());
            page.push_str(match typed {
                true => "| name | type | is |\n|---|---|---|\n",
                false => "| name | is |\n|---|---|\n",
            });
            for (name, typed_as, docs) in parts {
                let column = match (typed, typed_as.is_empty()) {
                    (false, _) => String::new(),
                    (true, true) => " – |".to_owned(),
                    (true, false) => format!(" `{typed_as}` |"),
                };
                writeln!(page, "| `{name}` |{column} {} |", one_line(&text(docs))).unwrap();
            }
            page.push('\n');
        };
        let bare = |name: &String| (name.clone(), String::new());
        match &definition.kind {
            TypeDefKind::Record(record) => {
                let parts = record.fields.iter();
                let part = |it: &'_ wit_parser::Field| (it.name.clone(), self.name(&it.ty));
                write("record", parts.map(|it| with(part(it), &it.docs)).collect());
            }
            TypeDefKind::Variant(variant) => {
                let parts = variant.cases.iter();
                let typed = |it: &wit_parser::Case| it.ty.as_ref().map(|it| self.name(it));
                let part = |it: &wit_parser::Case| (it.name.clone(), typed(it).unwrap_or_default());
                write(
                    "variant",
                    parts.map(|it| with(part(it), &it.docs)).collect(),
                );
            }
            TypeDefKind::Enum(cases) => {
                let parts = cases.cases.iter();
                write(
                    "enum",
                    parts.map(|it| with(bare(&it.name), &it.docs)).collect(),
                );
            }
            TypeDefKind::Flags(flags) => {
                let parts = flags.flags.iter();
                write(
                    "flags",
                    parts.map(|it| with(bare(&it.name), &it.docs)).collect(),
                );
            }
            TypeDefKind::Resource => write("resource", Vec::new()),
            other => panic!(
                "{name} is a {}, which the reference does not write",
                other.as_str()
            ),
        }
    }

    /// Returns a type as the contract writes it.
    fn name(&self, of: &Type) -> String {
        let Type::Id(id) = of else {
            return match of {
                Type::Bool => "bool",
                Type::U8 => "u8",
                Type::U32 => "u32",
                Type::U64 => "u64",
                Type::S32 => "s32",
                Type::F64 => "f64",
                Type::String => "string",
                other => panic!("the reference does not write {other:?}"),
            }
            .to_owned();
        };
        let definition = &self.0.types[*id];
        if let Some(name) = &definition.name {
            return name.clone();
        }
        match &definition.kind {
            TypeDefKind::List(of) => format!("list<{}>", self.name(of)),
            TypeDefKind::Option(of) => format!("option<{}>", self.name(of)),
            TypeDefKind::Tuple(tuple) => {
                let parts: Vec<_> = tuple.types.iter().map(|of| self.name(of)).collect();
                format!("tuple<{}>", parts.join(", "))
            }
            TypeDefKind::Result(result) => {
                let part = |of: &Option<Type>| of.as_ref().map_or("_".into(), |of| self.name(of));
                format!("result<{}, {}>", part(&result.ok), part(&result.err))
            }
            TypeDefKind::Handle(Handle::Own(id) | Handle::Borrow(id)) => {
                self.0.types[*id].name.clone().unwrap()
            }
            other => panic!("the reference does not write a {}", other.as_str()),
        }
    }
}

fn with((name, typed): (String, String), docs: &Docs) -> (String, String, &Docs) {
    (name, typed, docs)
}

fn link(interface: &str) -> String {
    format!("[`{interface}`](#{interface})")
}

fn text(docs: &Docs) -> String {
    docs.contents
        .as_deref()
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// Returns a text as one line, which can stand in a table.
fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

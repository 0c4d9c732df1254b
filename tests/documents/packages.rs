//! The page about packages: an author pushes one to a registry, and an operator pulls and compares it.

use toolhost_needs::needs;

use super::blocks::blocks;
use super::page;
use super::reader::Reader;
use crate::plugins::packages::Registry;

/// The registry of the page, for which another one stands.
const REGISTRY: &str = "ghcr.io";

#[needs(program = "docker-registry", program = "minisign")]
#[test]
fn the_page_about_packages() {
    let steps = blocks(&page("packages.md"));
    let [author, configuration, operator] = steps.as_slice() else {
        panic!("{steps:?}");
    };
    let mut reader = Reader::new();
    reader.types("minisign -GW && toolhost plugin new weather && cd weather");
    let folder = reader.folder();
    let registry = Registry::start(&folder, false);
    let manifest = std::fs::read_to_string(folder.join("plugin.toml")).unwrap();
    let version = "version = \"0.1.0\"";
    assert!(manifest.contains(version), "{manifest}");
    for number in ["1.2.0", "1.3.0"] {
        let changed = manifest.replace(version, &format!("version = \"{number}\""));
        reader.writes("plugin.toml", &changed);
        let commands = author.text.replace(REGISTRY, &registry.address);
        reader.types(&commands.replace("1.2.0", number));
    }

    reader.types("cd");
    let public = std::fs::read_to_string(reader.folder().join("minisign.pub")).unwrap();
    let mut text = configuration.text.replace(REGISTRY, &registry.address);
    let (_, key) = text.split_once("signed_by = \"").unwrap();
    let key = key.split('"').next().unwrap().to_owned();
    text = text.replace(&key, public.lines().last().unwrap());
    reader.writes("toolhost.toml", &text);
    for line in operator.text.replace(REGISTRY, &registry.address).lines() {
        // Versions that differ end with the code 1.
        match line.contains(" plugin diff ") {
            true => reader.types(&format!("if {line}\nthen exit 1\nfi")),
            false => reader.types(line),
        };
    }
    let locked = std::fs::read_to_string(reader.folder().join("toolhost.lock")).unwrap();
    assert!(locked.contains("acme/weather"), "{locked}");
}

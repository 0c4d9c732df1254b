//! The metadata of a component, in custom sections: those that WebAssembly tools share, and one for the grants.

use std::collections::BTreeMap;

use serde::Serialize;
use url::Url;
use wasm_encoder::ComponentSection;
use wasm_metadata::{AddMetadata, AddMetadataField};
use wasmparser::{Encoding, KnownCustom, Parser, Payload};

/// The section with the grants that a plugin asks for: a JSON object of names and reasons.
const GRANTS: &str = "toolhost-grants";

/// The longest section that is read, in bytes.
const MAX_SECTION: usize = 64 << 10;

/// Facts about a component, as its author states them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Metadata {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its purpose, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its license, as an SPDX expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// Where its sources are: a URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The capabilities that it asks for, each with the reason that an operator reads.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub grants: BTreeMap<String, String>,
}

/// A component whose metadata cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// The bytes are no component.
    #[error("it is no component: {0}")]
    NoComponent(String),
    /// The component has the section of the grants already.
    #[error("it is a package already: pack the component that `toolhost plugin build` made")]
    Packed,
    /// A section cannot be read.
    #[error("its section {name:?} {problem}")]
    Section {
        /// The name of the section.
        name: String,
        /// The problem.
        problem: String,
    },
    /// A fact cannot be written.
    #[error("its {fact} cannot be written: {problem}")]
    Fact {
        /// Which.
        fact: &'static str,
        /// The problem.
        problem: String,
    },
}

impl Metadata {
    /// Reads the metadata of a component. Those of the modules and components within it do not count.
    ///
    /// # Errors
    ///
    /// If the bytes are no component, or a section is not valid or larger than 64 KiB.
    pub fn read(component: &[u8]) -> Result<Self, MetadataError> {
        let broken = |error: wasmparser::BinaryReaderError| {
            MetadataError::NoComponent(error.message().to_owned())
        };
        let mut metadata = Self::default();
        let mut depth = 0_usize;
        for payload in Parser::new(0).parse_all(component) {
            match payload.map_err(broken)? {
                Payload::Version { encoding, .. } => {
                    if depth == 0 && encoding != Encoding::Component {
                        let text =
                            "it is a core module, of which `toolhost plugin build` makes one";
                        return Err(MetadataError::NoComponent(text.into()));
                    }
                    depth += 1;
                }
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::CustomSection(section) if depth == 1 => metadata.take(&section)?,
                _ => {}
            }
        }
        Ok(metadata)
    }

    fn take(&mut self, section: &wasmparser::CustomSectionReader<'_>) -> Result<(), MetadataError> {
        let wrong = |problem: String| MetadataError::Section {
            name: section.name().to_owned(),
            problem,
        };
        let place = match section.name() {
            "component-name" => {
                let KnownCustom::ComponentName(names) = section.as_known() else {
                    return Ok(());
                };
                for name in names.into_iter().flatten() {
                    if let wasmparser::ComponentName::Component { name, .. } = name {
                        self.name = Some(name.to_owned());
                    }
                }
                return Ok(());
            }
            "version" => &mut self.version,
            "description" => &mut self.description,
            "licenses" => &mut self.license,
            "source" => &mut self.source,
            GRANTS => {
                let data = bounded(section.data()).map_err(wrong)?;
                self.grants = serde_json::from_slice(data)
                    .map_err(|error| wrong(format!("has no names and reasons: {error}")))?;
                return Ok(());
            }
            _ => return Ok(()),
        };
        let data = bounded(section.data()).map_err(wrong)?;
        let text = std::str::from_utf8(data).map_err(|_| wrong("is no UTF-8".into()))?;
        *place = Some(text.to_owned());
        Ok(())
    }

    /// Writes these facts into a component, and returns it. The same input gives the same bytes.
    ///
    /// # Errors
    ///
    /// If the bytes are no component, are a package already, or a license or source is not one.
    pub fn add_to(&self, component: &[u8]) -> Result<Vec<u8>, MetadataError> {
        if !Self::read(component)?.grants.is_empty() {
            return Err(MetadataError::Packed);
        }
        let fact = |fact: &'static str| {
            move |error: &dyn std::fmt::Display| MetadataError::Fact {
                fact,
                problem: error.to_string(),
            }
        };
        if let Some(license) = &self.license {
            spdx::Expression::parse(license).map_err(|error| fact("license")(&error))?;
        }
        if let Some(source) = &self.source {
            Url::parse(source).map_err(|error| fact("source")(&error))?;
        }
        let mut add = AddMetadata::default();
        add.name = match &self.name {
            Some(name) => AddMetadataField::Set(name.clone()),
            None => AddMetadataField::Keep,
        };
        let named = add
            .to_wasm(component)
            .map_err(|error| MetadataError::NoComponent(error.to_string()))?;
        let facts = [
            ("version", &self.version),
            ("description", &self.description),
            ("licenses", &self.license),
            ("source", &self.source),
        ];
        let facts = facts.map(|(name, fact)| Some((name, fact.as_deref()?)));
        let facts: Vec<_> = facts.into_iter().flatten().collect();
        let mut component = without(&named, |name| facts.iter().any(|(fact, _)| *fact == name))?;
        for (name, fact) in facts {
            append(&mut component, name, fact.as_bytes());
        }
        if !self.grants.is_empty() {
            let data = serde_json::to_vec(&self.grants).map_err(|error| fact("grants")(&error))?;
            append(&mut component, GRANTS, &data);
        }
        Ok(component)
    }
}

fn bounded(data: &[u8]) -> Result<&[u8], String> {
    match data.len() {
        ..=MAX_SECTION => Ok(data),
        length => Err(format!("has {length} bytes, the most is {MAX_SECTION}")),
    }
}

fn append(component: &mut Vec<u8>, name: &str, data: &[u8]) {
    let (name, data) = (name.into(), data.into());
    wasm_encoder::CustomSection { name, data }.append_to_component(component);
}

/// Returns a component without its custom sections of some names.
fn without(component: &[u8], is_left_out: impl Fn(&str) -> bool) -> Result<Vec<u8>, MetadataError> {
    let broken = |error: &dyn std::fmt::Display| MetadataError::NoComponent(error.to_string());
    let mut kept = Vec::with_capacity(component.len());
    // The bytes before `from` are copied or left out. A section begins where the one before it ends, at `end`.
    let (mut from, mut end, mut depth) = (0, 0, 0_usize);
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload.map_err(|error| broken(&error))?;
        match &payload {
            Payload::Version { range, .. } => {
                depth += 1;
                if depth == 1 {
                    end = range.end;
                }
            }
            Payload::End(_) => depth = depth.saturating_sub(1),
            payload if depth == 1 => {
                if let Payload::CustomSection(section) = payload
                    && is_left_out(section.name())
                {
                    kept.extend_from_slice(component.get(from..end).unwrap_or_default());
                    from = section.range().end;
                }
                end = payload.as_section().map_or(end, |(_, range)| range.end);
            }
            _ => {}
        }
    }
    kept.extend_from_slice(component.get(from..).unwrap_or_default());
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component() -> Vec<u8> {
        wat::parse_str("(component (core module (@custom \"version\" \"inner\")))").unwrap()
    }

    fn metadata() -> Metadata {
        Metadata {
            name: Some("weather".into()),
            version: Some("1.2.0".into()),
            description: Some("Tells the weather.".into()),
            license: Some("MIT OR Apache-2.0".into()),
            source: Some("https://example.com/weather".into()),
            grants: [("http".to_owned(), "asks the weather service".to_owned())].into(),
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let packed = metadata().add_to(&component()).unwrap();
        assert_eq!(Metadata::read(&packed).unwrap(), metadata());
        assert_eq!(
            packed,
            metadata().add_to(&component()).unwrap(),
            "the bytes are the same each time"
        );
    }

    #[test]
    fn facts_replace_earlier_ones() {
        let text = "(component (core module (@custom \"version\" \"inner\")) (@custom \"version\" \"0.1\") (@custom \"other\" \"x\") \
                    (@custom \"source\" \"here\") (core module))";
        let component = wat::parse_str(text).unwrap();
        let packed = metadata().add_to(&component).unwrap();
        assert_eq!(Metadata::read(&packed).unwrap(), metadata());
        let text = String::from_utf8_lossy(&packed);
        let count = |word: &str| text.matches(word).count();
        assert_eq!(
            ["inner", "other", "0.1", "here", "1.2.0"].map(count),
            [1, 1, 0, 0, 1]
        );
    }

    #[test]
    fn the_parts_of_a_component_say_nothing_about_it() {
        assert_eq!(Metadata::read(&component()).unwrap(), Metadata::default());
    }

    #[test]
    fn mistakes_are_named() {
        let said = |component: &[u8], metadata: Metadata| {
            metadata.add_to(component).unwrap_err().to_string()
        };
        let packed = metadata().add_to(&component()).unwrap();
        assert!(said(&packed, metadata()).contains("package already"));
        let module = wat::parse_str("(module)").unwrap();
        assert!(said(&module, metadata()).contains("core module"));
        assert!(said(b"text", metadata()).contains("no component"));
        let license = Metadata {
            license: Some("my own".into()),
            ..metadata()
        };
        assert!(said(&component(), license).contains("license"));
        let source = Metadata {
            source: Some("here".into()),
            ..metadata()
        };
        assert!(said(&component(), source).contains("source"));
    }

    #[test]
    fn hostile_sections_are_refused() {
        let with = |name: &str, data: &[u8]| {
            let mut component = component();
            wasm_encoder::CustomSection {
                name: name.into(),
                data: data.into(),
            }
            .append_to_component(&mut component);
            Metadata::read(&component)
        };
        assert!(with("version", &[0xff]).is_err());
        assert!(with("version", &vec![b'x'; MAX_SECTION + 1]).is_err());
        assert!(with(GRANTS, b"[1]").is_err());
        assert!(with("component-name", &[0xff; 8]).is_ok());
        assert!(with("other", &[0xff]).is_ok());
    }
}

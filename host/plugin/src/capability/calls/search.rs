//! The search for tools by words: BM25 over the names, titles, descriptions and arguments of tools.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use toolhost_call::tool::Definition;

/// The most words of a query; further ones are ignored.
const WORDS: usize = 64;

/// The most bytes of a query that are read.
const QUERY: usize = 4 << 10;

/// The most words that are read of a tool: about ten times as many as a long definition has.
const WORDS_OF_TOOL: usize = 4_096;

/// The weight of a word by its place.
const IN_NAME: f32 = 4.0;
const IN_PLUGIN: f32 = 2.0;
const IN_DESCRIPTION: f32 = 1.0;
const IN_ARGUMENTS: f32 = 0.4;

/// The parameters of BM25 with their usual values: how soon further occurrences count less, and how much the length counts.
const SATURATION: f32 = 1.2;
const LENGTH: f32 = 0.75;

/// The weight of a word that only begins like one of the query, such as `issues` or `creating` for `issue` or `create`.
const ALIKE: f32 = 0.6;

/// The words of one tool: their numbers, their weights, and the sum of these.
#[derive(Debug, Default)]
struct Words {
    weights: HashMap<usize, f32>,
    length: f32,
}

/// Returns at most `max` tools that have words of the query, the best match first. A word counts more in a name than in a description, and
/// there more than in the arguments; a rare word counts more than a common one. An empty query matches every tool.
pub(super) fn best(tools: Vec<Definition>, query: &str, max: usize) -> Vec<Definition> {
    let query = query
        .get(..query.floor_char_boundary(QUERY))
        .unwrap_or_default();
    let mut seen = HashSet::new();
    let mut query = words(query);
    query.retain(|word| seen.insert(word.clone()));
    query.truncate(WORDS);
    let mut numbers = HashMap::new();
    let indexed: Vec<_> = tools.iter().map(|tool| index(tool, &mut numbers)).collect();
    let mut scores = vec![0.0; tools.len()];
    for word in &query {
        add_scores(word, &numbers, &indexed, &mut scores);
    }
    let mut found: Vec<_> = tools.into_iter().zip(scores).collect();
    found.retain(|(_, score)| *score > 0.0 || query.is_empty());
    // The sort is stable: tools that match as well stay sorted by name.
    found.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    found.truncate(max);
    found.into_iter().map(|(tool, _)| tool).collect()
}

/// Adds the score of a word of the query to that of each tool.
fn add_scores(word: &str, numbers: &HashMap<String, usize>, tools: &[Words], scores: &mut [f32]) {
    let mut likeness = vec![0.0; numbers.len()];
    for (known, number) in numbers {
        if let Some(slot) = likeness.get_mut(*number) {
            *slot = alike(word, known);
        }
    }
    let frequency = |tool: &Words| {
        let weights = tool.weights.iter();
        let each = weights.map(|(number, weight)| weight * likeness.get(*number).unwrap_or(&0.0));
        each.sum::<f32>()
    };
    let frequencies: Vec<f32> = tools.iter().map(frequency).collect();
    let with = frequencies
        .iter()
        .filter(|frequency| **frequency > 0.0)
        .count() as f32;
    let all = tools.len() as f32;
    let rarity = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
    let average = tools.iter().map(|tool| tool.length).sum::<f32>() / all.max(1.0);
    for ((score, tool), frequency) in scores.iter_mut().zip(tools).zip(frequencies) {
        let length = 1.0 - LENGTH + LENGTH * tool.length / average.max(1.0);
        *score += rarity * frequency * (SATURATION + 1.0) / (frequency + SATURATION * length);
    }
}

/// Returns how alike two words are: 1 if they are the same, and 0 if they have nothing in common that counts.
fn alike(one: &str, other: &str) -> f32 {
    /// The shortest beginning that words of one stem share, and the longest rest of each.
    const SHARED: usize = 4;
    const REST: usize = 3;
    if one == other {
        return 1.0;
    }
    let pairs = one.bytes().zip(other.bytes());
    let shared = pairs.take_while(|(one, other)| one == other).count();
    let (shorter, longer) = (one.len().min(other.len()), one.len().max(other.len()));
    let is_plural = shared == shorter && longer == shorter + 1 && one.len() + other.len() > 5;
    let is_stem = shared >= SHARED && longer - shared <= REST;
    let is_beginning = shared >= SHARED && shared == one.len();
    match is_plural || is_stem || is_beginning {
        true => ALIKE,
        false => 0.0,
    }
}

/// Returns the words of a tool. New words get the next number.
fn index(tool: &Definition, numbers: &mut HashMap<String, usize>) -> Words {
    let mut indexed = Words::default();
    let mut left = WORDS_OF_TOOL;
    let mut add = |text: &str, weight: f32| {
        for word in words(text).into_iter().take(left) {
            left = left.saturating_sub(1);
            let next = numbers.len();
            let number = *numbers.entry(word).or_insert(next);
            *indexed.weights.entry(number).or_default() += weight;
            indexed.length += weight;
        }
    };
    add(&tool.name, IN_NAME);
    add(tool.title.as_deref().unwrap_or_default(), IN_NAME);
    add(&tool.plugin, IN_PLUGIN);
    add(&tool.description, IN_DESCRIPTION);
    arguments(&tool.input_schema, &mut |text| add(text, IN_ARGUMENTS));
    indexed
}

/// Passes on the names and the descriptions of the arguments that a schema describes, also of those within others.
fn arguments(schema: &Value, pass: &mut impl FnMut(&str)) {
    let mut left = vec![schema];
    while let Some(schema) = left.pop() {
        match schema {
            Value::Object(fields) => {
                for (key, value) in fields {
                    match value {
                        Value::String(text) if matches!(key.as_str(), "description" | "title") => {
                            pass(text)
                        }
                        Value::Object(properties) if key == "properties" => {
                            properties.keys().for_each(|name| pass(name));
                            left.extend(properties.values());
                        }
                        value => left.push(value),
                    }
                }
            }
            Value::Array(items) => left.extend(items),
            _ => {}
        }
    }
}

/// Returns the words of a text in lower case. A capital behind a small letter begins a word, as in `createIssue`, and such words are there
/// as one as well, as in `GitHub`.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let runs = text.split(|character: char| !character.is_alphanumeric());
    for run in runs.filter(|run| !run.is_empty()) {
        let mut parts = vec![String::new()];
        let mut was_small = false;
        for character in run.chars() {
            if was_small && character.is_uppercase() {
                parts.push(String::new());
            }
            if let Some(part) = parts.last_mut() {
                part.extend(character.to_lowercase());
            }
            was_small = character.is_lowercase() || character.is_numeric();
        }
        if parts.len() > 1 {
            words.push(parts.concat());
        }
        words.append(&mut parts);
    }
    words
}

#[cfg(test)]
mod tests;

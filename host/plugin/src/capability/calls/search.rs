//! The search for tools by words.

use toolhost_call::tool::Definition;

/// Returns at most `max` tools whose name or description has words of the query, the best match first. A word in the name counts more
/// than one in the description, and a whole word more than a part of one. An empty query matches every tool.
pub(super) fn best(tools: Vec<Definition>, query: &str, max: usize) -> Vec<Definition> {
    /// The most words of a query; further ones are ignored.
    const WORDS: usize = 16;
    let query = query.to_lowercase();
    let words: Vec<_> = words(&query).take(WORDS).collect();
    let mut found: Vec<_> = tools
        .into_iter()
        .map(|tool| (score(&tool, &words), tool))
        .filter(|(score, _)| *score > 0 || words.is_empty())
        .collect();
    // The sort is stable: tools that match as well stay sorted by name.
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    found.truncate(max);
    found.into_iter().map(|(_, tool)| tool).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|character: char| !character.is_alphanumeric());
    words.filter(|word| !word.is_empty())
}

fn score(tool: &Definition, query: &[&str]) -> u32 {
    let (name, description) = (tool.name.to_lowercase(), tool.description.to_lowercase());
    let of_word = |word: &&str| {
        let within = |text: &str, whole: u32, part: u32| match text.contains(word) {
            true if words(text).any(|one| one == *word) => whole,
            true => part,
            false => 0,
        };
        within(&name, 8, 4) + within(&description, 2, 1)
    };
    query.iter().map(of_word).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolhost_call::tool::Hints;

    fn tool(name: &str, description: &str) -> Definition {
        Definition {
            name: name.to_owned(),
            title: None,
            description: description.to_owned(),
            input_schema: serde_json::json!({}),
            output_schema: None,
            hints: Hints::default(),
            max_duration_ms: None,
            resources: Vec::new(),
            plugin: "p".to_owned(),
        }
    }

    #[test]
    fn the_best_match_comes_first() {
        let found = |query: &str, max: usize| {
            let tools = vec![
                tool("edit_file", "Changes a file."),
                tool("read_file", "Returns the content of a file."),
                tool(
                    "weather__now",
                    "Returns the temperature, read from a station.",
                ),
            ];
            let found = best(tools, query, max).into_iter().map(|tool| tool.name);
            found.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found("read file", 9), "read_file edit_file weather__now");
        assert_eq!(found("READ", 1), "read_file");
        assert_eq!(found("temp", 9), "weather__now");
        assert_eq!(found("nothing", 9), "");
        assert_eq!(found(" ", 2), "edit_file read_file");
    }
}

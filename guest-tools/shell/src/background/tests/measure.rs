//! Measurements of the lexer: commands of which it is unsure and bash is not, and other errors. To be run by hand.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::generate;
use super::properties::{agrees_with_shells, canonical};
use super::{Ampersand, classify};

/// What was counted.
#[derive(Debug, Default)]
struct Counts {
    /// What bash accepts.
    accepted: usize,
    /// What bash accepts, and the lexer is unsure of.
    unsure: usize,
    /// What to bash ends in an `&`.
    trailing: usize,
    /// What to bash ends in an `&`, and the lexer is unsure of.
    missed: usize,
    /// Everything that the lexer is unsure of, short ones first.
    misses: BTreeSet<(usize, String)>,
    failures: BTreeSet<(usize, String)>,
}

impl Counts {
    fn add(&mut self, command: String) {
        if let Err(failure) = agrees_with_shells(&command) {
            self.failures.insert((command.len(), failure.to_string()));
        }
        let Some(Some(form)) = canonical(&command) else {
            return;
        };
        let is_unsure = classify(&command) == Ampersand::Unsure;
        let is_trailing = form.ends_with(" &");
        self.accepted += 1;
        self.unsure += usize::from(is_unsure);
        self.trailing += usize::from(is_trailing);
        self.missed += usize::from(is_trailing && is_unsure);
        if is_unsure {
            self.misses.insert((command.len(), command));
        }
    }
}

#[test]
#[ignore = "it prints numbers for people; PROPTEST_CASES says how many commands to make"]
#[expect(clippy::print_stdout, reason = "it prints numbers for people")]
fn counts_what_is_missed() {
    let config = ProptestConfig::default();
    let cases = config.cases;
    let mut runner = TestRunner::new(config);
    let made = generate::made().prop_map(|made| made.command);
    for (name, strategy) in [
        ("almost commands", generate::almost().boxed()),
        ("commands", made.boxed()),
    ] {
        let mut counts = Counts::default();
        for _ in 0..cases {
            let tree = strategy.new_tree(&mut runner).expect("there is a command");
            counts.add(tree.current());
        }
        let Counts {
            accepted,
            unsure,
            trailing,
            missed,
            misses,
            failures,
        } = counts;
        println!("{name}: bash accepts {accepted} of {cases}, of which {unsure} are unsure;");
        println!("{trailing} of them end in \"&\", of which {missed} are missed");
        for (_, miss) in misses.iter().take(60) {
            println!("  unsure: {miss:?}");
        }
        for (_, failure) in &failures {
            println!("  FAILED: {failure}");
        }
    }
}

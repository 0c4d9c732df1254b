//! A test of the tests: if a statement of the model leaves out a condition, that is noticed.

use crate::LOSSY;
use crate::database::Broken;
use crate::world::{Plan, run};

/// Fails unless a violation with this text is found in one of a few seeds from this one on.
fn is_noticed(broken: Broken, first: u64, text: &str) {
    const SEEDS: u64 = 20;
    let mut others = Vec::new();
    for seed in first..first + SEEDS {
        let plan = Plan {
            broken: Some(broken),
            ..LOSSY
        };
        let violations = run(seed, plan).violations;
        if violations.iter().any(|violation| violation.contains(text)) {
            return;
        }
        others.extend(violations);
    }
    panic!(
        "{broken:?} is not noticed; instead: {:#?}",
        &others[..others.len().min(10)]
    );
}

/// Makes a test of each condition, with a seed in which it matters and the violation that is found without it.
macro_rules! noticed {
    ($($name:ident: $broken:ident, $first:literal, $text:literal;)*) => {
        $(#[test]
        fn $name() {
            is_noticed(Broken::$broken, $first, $text);
        })*
    };
}

noticed! {
    begin_twice: BeginTwice, 1, "its effect happened 2 times";
    begin_without_lease: BeginWithoutLease, 1, "without its lease";
    resume_any: ResumeAny, 3, "another outcome than is stored";
    end_without_lease: EndWithoutLease, 1, "without its lease";
    end_of_another: EndOfAnother, 1, "two callers have different outcomes";
    end_taken: EndTaken, 16, "an outcome follows an unknown one";
    interrupt_with_lease: InterruptWithLease, 1, "changed it from";
    withdraw_resumed: WithdrawResumed, 1, "removed it from";
    withdraw_any: WithdrawAny, 49, "its effect happened 2 times";
    withdraw_taken: WithdrawTaken, 25, "it has no record";
}

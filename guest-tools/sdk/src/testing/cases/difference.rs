//! The difference of two texts, line by line.

/// Writes the lines of both texts: `-` before those that only the first one has, `+` before those of the second one.
pub(super) fn difference(expected: &str, actual: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    let common = common(&old, &new);
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    let length = |i: usize, j: usize| {
        common
            .get(i)
            .and_then(|row| row.get(j))
            .copied()
            .unwrap_or(0)
    };
    loop {
        let line = match (old.get(i), new.get(j)) {
            (Some(one), Some(other)) if one == other => {
                (i, j) = (i + 1, j + 1);
                format!("  {one}")
            }
            (Some(one), other) if other.is_none() || length(i + 1, j) >= length(i, j + 1) => {
                i += 1;
                format!("- {one}")
            }
            (_, Some(other)) => {
                j += 1;
                format!("+ {other}")
            }
            (_, None) => break,
        };
        lines.push(line);
    }
    lines.join("\n")
}

/// Returns how many lines two texts have in common at most, from each line of the one and of the other on.
fn common(old: &[&str], new: &[&str]) -> Vec<Vec<usize>> {
    let mut rows = vec![vec![0; new.len() + 1]];
    for one in old.iter().rev() {
        let mut row = vec![0];
        let below = rows.last().map(Vec::as_slice).unwrap_or_default();
        for ((other, after), diagonal) in new.iter().zip(below).zip(below.iter().skip(1)).rev() {
            let right = row.last().copied().unwrap_or(0);
            row.push(if one == other {
                diagonal + 1
            } else {
                right.max(*after)
            });
        }
        row.reverse();
        rows.push(row);
    }
    rows.reverse();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_only_lines_that_differ_as_such() {
        assert_eq!(difference("a\nb\nc", "a\nc\nd"), "  a\n- b\n  c\n+ d");
        assert_eq!(difference("a", "b"), "- a\n+ b");
        assert_eq!(difference("", "b"), "+ b");
        assert_eq!(difference("a\nb", ""), "- a\n- b");
        assert_eq!(difference("x\na\ny", "a"), "- x\n  a\n- y");
    }
}

//! Runs of lines that a text repeats, however far back. Deflate finds repetitions within 32 KiB
//! only; unrolled loops and the kernels of several sizes repeat each other beyond that.
//!
//! A line `#DISTANCE COUNT` stands for this many lines from that many lines back. A run may reach
//! into itself.

use std::collections::HashMap;

/// The shortest run that is replaced, in lines.
const SHORTEST: usize = 4;
/// The number of earlier places that are compared with a line, the latest first.
const COMPARED: usize = 8;

/// Replaces lines that are repeated, or returns `None` for a text with lines that begin with `#`.
#[allow(dead_code, reason = "the build script compresses by it, and the tests")]
pub fn encode(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    if lines.iter().any(|line| line.starts_with('#')) {
        return None;
    }
    let (mut seen, mut result, mut at) = (HashMap::<&[&str], Vec<usize>>::new(), Vec::new(), 0);
    while at < lines.len() {
        let run = longest(&lines, at, &seen);
        let next = at + run.map_or(1, |(_, count)| count);
        result.push(match run {
            Some((from, count)) => format!("#{} {count}", at - from),
            None => lines[at].into(),
        });
        for at in at..next {
            if let Some(start) = lines.get(at..at + SHORTEST) {
                seen.entry(start).or_default().push(at);
            }
        }
        at = next;
    }
    Some(result.join("\n"))
}

/// The longest run at an earlier place that is repeated here: the place, and the number of lines.
fn longest(lines: &[&str], at: usize, seen: &HashMap<&[&str], Vec<usize>>) -> Option<(usize, usize)> {
    let places = seen.get(lines.get(at..at + SHORTEST)?)?;
    let alike = |from: usize| lines[from..].iter().zip(&lines[at..]).take_while(|(a, b)| a == b).count();
    let compared = places.iter().rev().take(COMPARED).map(|&from| (from, alike(from)));
    compared.max_by_key(|&(_, count)| count)
}

/// Writes repeated lines out again: the text that [`encode`] took. Returns `None` for a text that
/// is none of its results.
pub fn decode(text: &str) -> Option<String> {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.split('\n') {
        let Some(run) = line.strip_prefix('#') else {
            lines.push(line);
            continue;
        };
        let (distance, count) = run.split_once(' ')?;
        let start = lines.len().checked_sub(distance.parse().ok()?)?;
        for at in start..start.checked_add(count.parse().ok()?)? {
            lines.push(lines.get(at).copied()?);
        }
    }
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(text: &str) -> String {
        let encoded = encode(text).unwrap();
        assert_eq!(decode(&encoded).unwrap(), text);
        encoded
    }

    #[test]
    fn repeated_lines_are_written_once() {
        assert_eq!(round("a\nb\nc\nd\n-\na\nb\nc\nd\ne"), "a\nb\nc\nd\n-\n#5 4\ne");
        // Runs that reach into themselves, and the longer of two.
        assert_eq!(round("a\na\na\na\na\na\na\nb"), "a\n#1 6\nb");
        assert_eq!(
            round("a\nb\nc\nd\ne\n-\na\nb\nc\nd\n+\na\nb\nc\nd\ne\n"),
            "a\nb\nc\nd\ne\n-\n#6 4\n+\n#11 5\n"
        );
        // Too short.
        for text in ["a\nb\nc\na\nb\nc", "", "\n"] {
            assert_eq!(round(text), text);
        }
    }

    #[test]
    fn texts_that_would_not_come_back_are_refused() {
        assert_eq!(encode("a\n#1 2"), None);
        for encoded in ["#1 1", "a\n#2 1", "a\n#0 1", "a\n#1", "a\n#1 x", "a\n#1 -1"] {
            assert_eq!(decode(encoded), None, "{encoded}");
        }
    }
}

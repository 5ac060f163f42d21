//! Registers of PTX by how long ago they were mentioned, which compresses to a third of what their
//! numbers do: unrolled loops become one text that is repeated.
//!
//! In the text of a function `%fd741` becomes `%fd` and the number of other registers of that kind
//! that were mentioned since its own last mention (a move-to-front list). At its first mention it
//! becomes `%fd~` if its number is the one after that of the last new register of that kind, and
//! `%fd+` with the difference otherwise.

/// The registers of one kind that a function has mentioned, the latest last.
struct Kind<'a> {
    name: &'a str,
    mentioned: Vec<i64>,
    /// The last one that was new.
    newest: i64,
}

/// The registers that a function has mentioned.
#[derive(Default)]
struct Mentioned<'a>(Vec<Kind<'a>>);

impl<'a> Mentioned<'a> {
    fn kind(&mut self, name: &'a str) -> &mut Kind<'a> {
        let at = self.0.iter().position(|kind| kind.name == name).unwrap_or_else(|| {
            self.0.push(Kind { name, mentioned: Vec::new(), newest: 0 });
            self.0.len() - 1
        });
        &mut self.0[at]
    }
}

impl Kind<'_> {
    /// Adds a register that is new.
    fn add(&mut self, register: i64) {
        self.newest = register;
        self.mentioned.push(register);
    }

    /// Makes the register that was mentioned `ago` others before the latest.
    fn again(&mut self, ago: usize) -> Option<i64> {
        let register = self.mentioned.remove(self.mentioned.len().checked_sub(ago + 1)?);
        self.mentioned.push(register);
        Some(register)
    }
}

/// Walks through a text from one `%` and the letters after it to the next. `write` gets the kind
/// of each register, the rest of the text and the result, and returns the rest behind it.
fn walk<'a>(
    text: &'a str,
    mut write: impl FnMut(&mut Kind<'a>, &'a str, &mut String) -> Option<&'a str>,
) -> Option<String> {
    let mut result = String::with_capacity(text.len() + text.len() / 4);
    let mut mentioned = Mentioned::default();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        // A function begins.
        if rest[..at].contains("\n{") {
            mentioned = Mentioned::default();
        }
        let letters = rest.as_bytes()[at + 1..].iter().take_while(|byte| byte.is_ascii_lowercase()).count();
        let (before, behind) = rest.split_at(at + 1 + letters);
        result.push_str(before);
        rest = behind;
        if letters > 0 && matches!(behind.as_bytes().first(), Some(b'0'..=b'9' | b'~' | b'+')) {
            rest = write(mentioned.kind(&before[at + 1..]), behind, &mut result)?;
        }
    }
    result.push_str(rest);
    Some(result)
}

/// The number at the start of a text, and the rest.
fn number(text: &str) -> Option<(i64, &str)> {
    let (digits, rest) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    // Nothing is written with zeros before it.
    let is_short = digits == "0" || !digits.starts_with('0');
    is_short.then_some((digits.parse().ok()?, rest))
}

/// Appends a number.
fn push(result: &mut String, mut number: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    result.extend(digits[start..].iter().map(|&digit| char::from(digit)));
}

/// Writes registers by their mentions, or returns `None` for a text that would not come back.
#[allow(dead_code, reason = "the build script compresses by it, and the tests")]
pub fn encode(text: &str) -> Option<String> {
    walk(text, |kind, behind, result| {
        let (register, rest) = number(behind)?;
        match kind.mentioned.iter().rev().position(|&other| other == register) {
            Some(ago) => {
                kind.again(ago)?;
                push(result, ago as u64);
            }
            None if register == kind.newest + 1 => {
                kind.add(register);
                result.push('~');
            }
            None => {
                let step = register - kind.newest;
                result.push_str(if step < 0 { "+-" } else { "+" });
                push(result, step.unsigned_abs());
                kind.add(register);
            }
        }
        Some(rest)
    })
}

/// Writes registers by their numbers again: the text that [`encode`] took.
pub fn decode(text: &str) -> Option<String> {
    walk(text, |kind, behind, result| {
        let (register, rest) = if let Some(rest) = behind.strip_prefix('~') {
            (kind.newest.checked_add(1)?, rest)
        } else if let Some(step) = behind.strip_prefix("+-") {
            let (step, rest) = number(step)?;
            (kind.newest - step, rest)
        } else if let Some(step) = behind.strip_prefix('+') {
            let (step, rest) = number(step)?;
            (kind.newest.checked_add(step)?, rest)
        } else {
            let (ago, rest) = number(behind)?;
            push(result, kind.again(usize::try_from(ago).ok()?)?.unsigned_abs());
            return Some(rest);
        };
        push(result, u64::try_from(register).ok()?);
        kind.add(register);
        Some(rest)
    })
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
    fn registers_are_written_by_their_mentions() {
        let text = "f()\n{\n.reg .b64 %rd<9>;\nadd %r1, %r2, %r2;\nsub %r9, %r1, %rd1;\n";
        let encoded = "f()\n{\n.reg .b64 %rd<9>;\nadd %r~, %r~, %r0;\nsub %r+7, %r2, %rd~;\n";
        assert_eq!(round(text), encoded);
        // A function begins anew, and so does its list.
        let two = format!("{text}}}\ng()\n{{\nadd %r1, %r2, %r1;\n");
        assert_eq!(round(&two), format!("{encoded}}}\ng()\n{{\nadd %r~, %r~, %r1;\n"));
        // Down from the newest, and back to one that was mentioned long ago.
        assert_eq!(round("%r9 %r4 %r9"), "%r+9 %r+-5 %r1");
        // Special registers, of which one ends with a number, and signs without a register.
        assert_eq!(round("%tid.x %clock64 %clock64 100% %"), "%tid.x %clock+64 %clock0 100% %");
        assert_eq!(round(""), "");
    }

    #[test]
    fn texts_that_would_not_come_back_are_refused() {
        for text in ["%r01", "%r~", "%r+3", "%r99999999999999999999"] {
            assert_eq!(encode(text), None, "{text}");
        }
        for encoded in ["%r0", "%r~ %r1", "%r+", "%r+-", "%r+9223372036854775807 %r~"] {
            assert_eq!(decode(encoded), None, "{encoded}");
        }
    }
}

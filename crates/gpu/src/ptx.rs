//! The requirements that the header of a PTX text makes on driver and device, and its instructions
//! for later devices.

use crate::driver::DeviceInfo;
use crate::error::{Error, Result};
use std::borrow::Cow;

/// The mark at the start of a line whose instruction is for devices from [`LATER`] on; before it is
/// removed the line is a comment.
const MARK: &str = "// sm_90: ";
/// The instruction, after the mark, for which a kernel's start waits until what precedes it in its
/// stream or sequence has ended and its results are visible.
const WAIT: &str = "// sm_90: griddepcontrol.wait;";
/// The compute capability and the PTX version that marked instructions need.
const LATER: (u32, u32) = (9, 0);
const LATER_VERSION: (u32, u32) = (7, 8);

/// A text for one device.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text<'a> {
    pub(crate) ptx: Cow<'a, str>,
    /// Whether every kernel waits for those before it.
    pub(crate) waits: bool,
}

impl<'a> Text<'a> {
    /// Takes marked instructions into the text if the device executes them.
    pub(crate) fn new(ptx: &'a str, capability: (u32, u32)) -> Self {
        let header = Header::parse(ptx);
        let target = match header.target {
            Some(Target { capability, reach: Reach::Onward }) if ptx.contains(MARK) => capability,
            _ => return Self { ptx: Cow::Borrowed(ptx), waits: false },
        };
        if capability < LATER || header.version < Some(LATER_VERSION) {
            return Self { ptx: Cow::Borrowed(ptx), waits: false };
        }
        let directive = |(major, minor)| format!(".target sm_{major}{minor}");
        let waits = ptx.matches(".entry ").count() == ptx.matches(WAIT).count();
        let text = ptx.replace(MARK, "").replacen(&directive(target), &directive(target.max(LATER)), 1);
        Self { ptx: Cow::Owned(text), waits }
    }
}

/// The directives `.version` and `.target`, if the text has them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    /// PTX version.
    pub(crate) version: Option<(u32, u32)>,
    /// Architecture.
    pub(crate) target: Option<Target>,
}

/// An architecture such as `sm_70`, `sm_90a` or `sm_100f`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    capability: (u32, u32),
    reach: Reach,
}

/// The devices that run code of an architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// This and all later ones.
    Onward,
    /// Later ones of the same major number.
    Family,
    /// This one alone.
    Exact,
}

impl Header {
    /// Reads the header: the directives before the first other line.
    pub(crate) fn parse(ptx: &str) -> Self {
        let mut header = Self::default();
        let text = without_comments(ptx);
        let mut words = text.split_whitespace();
        while let Some(directive) = words.next() {
            match directive {
                ".version" => header.version = words.next().and_then(version),
                ".target" => header.target = words.next().and_then(target),
                ".visible" | ".entry" | ".func" => break,
                _ => {}
            }
            if header.version.is_some() && header.target.is_some() {
                break;
            }
        }
        header
    }

    /// The least CUDA version whose driver compiles the text.
    pub(crate) fn needed_driver(&self) -> (u32, u32) {
        match self.version {
            None | Some((0..=5, _)) => (0, 0),
            Some((6, minor @ 0..=2)) => (9, minor),
            Some((6, minor)) => (10, (minor - 3).min(2)),
            Some((7, minor)) => (11, minor.min(8)),
            Some((8, minor @ 0..=5)) => (12, minor),
            Some((8, minor)) => (12, (minor + 1).min(9)),
            Some((major, minor)) => (major.saturating_add(4), minor),
        }
    }

    /// Checks that a device and its driver accept the text.
    ///
    /// # Errors
    /// [`Error::UnsupportedPtx`], [`Error::UnsupportedDevice`].
    pub(crate) fn check(&self, info: &DeviceInfo) -> Result<()> {
        let needed = self.needed_driver();
        if info.driver < needed {
            return Err(Error::UnsupportedPtx { driver: info.driver, needed });
        }
        match self.target {
            Some(target) if !target.runs_on(info.compute_capability) => {
                Err(Error::UnsupportedDevice { found: info.compute_capability, needed: target.capability })
            }
            _ => Ok(()),
        }
    }
}

impl Target {
    fn runs_on(self, device: (u32, u32)) -> bool {
        match self.reach {
            Reach::Onward => device >= self.capability,
            Reach::Family => device >= self.capability && device.0 == self.capability.0,
            Reach::Exact => device == self.capability,
        }
    }
}

/// The first 16 KiB of a text without comments; they contain the header.
fn without_comments(ptx: &str) -> String {
    let mut end = ptx.len().min(1 << 14);
    while !ptx.is_char_boundary(end) {
        end -= 1;
    }
    let mut rest = &ptx[..end];
    let mut text = String::with_capacity(rest.len());
    loop {
        let (line, block) = (rest.find("//"), rest.find("/*"));
        let end = match (line, block) {
            (None, None) => {
                text.push_str(rest);
                return text;
            }
            (Some(line), block) if block.is_none_or(|block| line < block) => {
                text.push_str(&rest[..line]);
                rest[line..].find('\n').map(|at| line + at)
            }
            (_, block) => {
                let block = block.unwrap_or(0);
                text.push_str(&rest[..block]);
                rest[block + 2..].find("*/").map(|at| block + 2 + at + 2)
            }
        };
        text.push(' ');
        match end {
            Some(end) => rest = &rest[end..],
            None => return text,
        }
    }
}

fn version(word: &str) -> Option<(u32, u32)> {
    let (major, minor) = word.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn target(word: &str) -> Option<Target> {
    let word = word.split(',').next()?.strip_prefix("sm_")?;
    let digits = word.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number: u32 = digits.parse().ok()?;
    let reach = match &word[digits.len()..] {
        "" => Reach::Onward,
        "a" => Reach::Exact,
        _ => Reach::Family,
    };
    Some(Target { capability: (number / 10, number % 10), reach })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::info;

    fn header(version: (u32, u32)) -> Header {
        Header { version: Some(version), target: None }
    }

    #[test]
    fn reads_the_header() {
        let text = "// .version 9.9\n/* .target sm_99\n */ .version 8.0 // really\n.target sm_70, debug\n.address_size 64\n";
        let header = Header::parse(text);
        assert_eq!(header.version, Some((8, 0)));
        assert_eq!(header.target, Some(Target { capability: (7, 0), reach: Reach::Onward }));
        assert_eq!(
            Header::parse(".target sm_90a").target,
            Some(Target { capability: (9, 0), reach: Reach::Exact })
        );
        assert_eq!(
            Header::parse(".target sm_103f").target,
            Some(Target { capability: (10, 3), reach: Reach::Family })
        );
    }

    const MARKED: &str =
        ".version 8.1\n.target sm_70\n.visible .entry a(\n)\n{\n// sm_90: griddepcontrol.wait;\nret;\n}\n";

    #[test]
    fn later_devices_execute_marked_instructions() {
        let text = Text::new(MARKED, (9, 0));
        assert!(text.waits);
        assert_eq!(
            text.ptx,
            ".version 8.1\n.target sm_90\n.visible .entry a(\n)\n{\ngriddepcontrol.wait;\nret;\n}\n"
        );
        assert_eq!(
            Text::new(&MARKED.replace("sm_70", "sm_100"), (12, 0)).ptx,
            text.ptx.replace("sm_90", "sm_100")
        );
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for (text, capability) in [
            (MARKED.to_owned(), (8, 9)),
            (MARKED.replace("8.1", "7.7"), (9, 0)),
            (MARKED.replace(".version 8.1", ""), (9, 0)),
            (MARKED.replace("sm_70", "sm_90a"), (9, 0)),
            (MARKED.replace(MARK, ""), (9, 0)),
            (MARKED.replace(WAIT, ""), (9, 0)),
            (MARK.to_owned(), (9, 0)),
            (format!("{MARK}.version 8.1\n{MARK}.target sm_70\n"), (9, 0)),
        ] {
            assert_eq!(Text::new(&text, capability), Text { ptx: Cow::Borrowed(&text), waits: false });
        }
    }

    #[test]
    fn every_kernel_must_wait() {
        let other = "\n.visible .entry b(\n)\n{\nret;\n}\n";
        let text = format!("{MARKED}{other}");
        assert!(!Text::new(&text, (9, 0)).waits);
        assert!(Text::new(&text.replace("{\nret", &format!("{{\n{WAIT}\nret")), (9, 0)).waits);
    }

    #[test]
    fn takes_anything() {
        for text in [
            "",
            ".version",
            ".version x.y",
            ".target",
            ".target sm_",
            "/*",
            "//",
            "é/*",
            ".version 99999999999.1",
            "/*/",
        ] {
            assert_eq!(Header::parse(text), Header::default(), "{text}");
            assert_eq!(Header::parse(text).check(&info()), Ok(()));
        }
        let long = "é".repeat(1 << 14);
        assert_eq!(Header::parse(&long), Header::default());
    }

    #[test]
    fn knows_the_driver_of_a_version() {
        let table = [
            ((5, 0), (0, 0)),
            ((6, 0), (9, 0)),
            ((6, 2), (9, 2)),
            ((6, 3), (10, 0)),
            ((6, 5), (10, 2)),
            ((7, 0), (11, 0)),
            ((7, 8), (11, 8)),
            ((8, 0), (12, 0)),
            ((8, 5), (12, 5)),
            ((8, 6), (12, 7)),
            ((8, 7), (12, 8)),
            ((8, 8), (12, 9)),
            ((9, 0), (13, 0)),
            ((9, 1), (13, 1)),
        ];
        for (version, driver) in table {
            assert_eq!(header(version).needed_driver(), driver, "{version:?}");
        }
    }

    #[test]
    fn refuses_what_is_too_old() {
        let info = DeviceInfo { driver: (12, 4), compute_capability: (8, 6), ..info() };
        assert_eq!(header((8, 4)).check(&info), Ok(()));
        assert_eq!(
            header((8, 5)).check(&info),
            Err(Error::UnsupportedPtx { driver: (12, 4), needed: (12, 5) })
        );
        let refused = |needed| Err(Error::UnsupportedDevice { found: (8, 6), needed });
        let check = |text: &str| Header::parse(text).check(&info);
        assert_eq!(check(".target sm_70"), Ok(()));
        assert_eq!(check(".target sm_86"), Ok(()));
        assert_eq!(check(".target sm_90"), refused((9, 0)));
        assert_eq!(check(".target sm_80a"), refused((8, 0)));
        assert_eq!(check(".target sm_80f"), Ok(()));
        assert_eq!(check(".target sm_70f"), refused((7, 0)));
    }
}

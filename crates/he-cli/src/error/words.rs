//! The advice for errors of `he-files`, in the options and commands of this program.
//!
//! The library speaks of what a program passes to it. Where the user of this program passes it by
//! an option, or a command makes it, the error is told in these words.

use he_core::Error as Core;
use he_core::aes::container::ContainerError;
use he_core::params::ParamsError;
use he_core::wire::WireError;
use he_cuda::gpu;
use he_files::Error;
use he_files::error::{
    AesFileError, ArchiveError, ContentError, FileError, HaloRemedy, IntersectionError, KeyError,
    LookupError, NoteError, OperationError, OutputError, PictureError, Problem, SearchError, TableError,
    TranscipherError, Wanted,
};
use he_files::watch::Remedy;

/// The remedy if a file and a key are of different sets.
const SAME_SET: &str = "use the keys of the same keygen; he-cli info FILE shows the key set";
/// The remedy if there is no noise budget.
pub const NO_BUDGET: &str = "leave --key out: it is for files encrypted under bfv and bgv";
/// The remedy if a key is missing.
const KEYS: &str = "keygen writes secret.key for decrypt, public.key for encrypt, eval.key for eval";
/// The purpose of a bootstrapping key.
const BOOTSTRAP_KEY: &str = "bootstrap.key is for eval refresh, and beside eval.key for tables in digits; the other keys of its keygen are beside it";
/// The remedy if a bootstrapping key is missing.
const REFRESH_KEYS: &str = "keygen --bootstrap of ckks, bfv and bgv writes bootstrap.key for eval refresh";
/// The keys of transciphering.
const TRANSCIPHER_KEYS: &str = "keygen tfhe --transcipher writes eval.key, and encrypt SENSOR.KEY --transcipher the encrypted sensor key";
/// The remedy if an encrypted file is missing.
const ENCRYPT: &str = "encrypt first, then give what encrypt or eval wrote";
/// The remedy if either is.
const EITHER: &str = "give a key from keygen, or what encrypt or eval wrote";
/// The remedy for too little depth.
const DEEPER: &str = "make keys with a larger keygen --depth, and encrypt again";
/// The remedy for a device that fails.
const USE_CPU: &str = "use the CPU: --device cpu";
/// The remedy for a table that seems to have no rows.
const NO_ROWS: &str = "a table has rows of numbers; use --no-header if the first row is data";
/// The command that counts categories.
const COUNTS: &str = "eval count counts them";

/// The fault, where the library's own words are not those of this program.
pub fn message(error: &Error) -> Option<String> {
    Some(match error {
        Error::InFile { name, source } => format!("{name}: {}", message(source)?),
        Error::Unreadable { name, source } => format!("cannot read {name}: {}", message(source)?),
        Error::Core(Core::Wire(WireError::NotThisFormat)) => {
            "this is not a file that he-cli wrote".to_owned()
        }
        Error::Picture(PictureError::NoFrame { name, frames, frame }) => {
            let s = if *frames == 1 { "" } else { "s" };
            format!("{name} holds {frames} picture{s}, and --frame is {frame}")
        }
        Error::AesFile(AesFileError::RangeOfFolder { name }) => {
            format!("{name} holds a folder, and --range is for files")
        }
        Error::Content(error) => match error {
            ContentError::FrameOfTable { name } => format!("--frame is for images, and {name} is a table"),
            ContentError::Categories { scheme } => {
                format!("--categories is for bfv and bgv keys, and this is a key of {scheme}")
            }
            ContentError::Offsets => "--offset is for keys of ckks and bigckks".to_owned(),
            ContentError::Halo { scheme } => {
                format!("--halo is for filters, which {scheme} does not have")
            }
            _ => return None,
        },
        Error::Operation(OperationError::NoLevels { operation, .. }) => {
            format!("--levels drop is not for {operation} of such a file")
        }
        Error::Operation(OperationError::Gaussian { sigma, radius, source }) => {
            format!("a Gaussian of sigma {sigma} has radius {radius} (3 sigma): {}", message(source)?)
        }
        Error::Operation(
            OperationError::Value { source }
            | OperationError::AfterStatistic { source, .. }
            | OperationError::TooLate { source, .. },
        ) => return message(source),
        _ => return None,
    })
}

/// The advice, where the library's own words are not those of this program.
pub fn hint(error: &Error) -> Option<String> {
    match error {
        Error::InFile { source, .. } | Error::Unreadable { source, .. } => hint(source),
        Error::NoDevice => Some(USE_CPU.to_owned()),
        Error::Nn(he_nn::Error::DynamicShape { dimension, .. }) => {
            Some(format!("give it a number with --dimension {dimension}=SIZE; the batch may stay dynamic"))
        }
        Error::Core(Core::InvalidParams(error)) => params(error),
        Error::Core(error) => core(error).map(str::to_owned),
        Error::Container(ContainerError::WrongKey { .. }) => Some(
            "give the key that it was encrypted with; he-cli info FILE shows which one that is".to_owned(),
        ),
        Error::Container(ContainerError::Cost { .. }) => {
            Some("if you know who made the file, open it with --allow-cost".to_owned())
        }
        Error::Gpu(error) => gpu(error).map(str::to_owned),
        Error::Output(error) => output(error).map(str::to_owned),
        Error::Archive(ArchiveError::TooDeep { .. }) => {
            Some("move it up, or pipe an archive of your own into he-cli encrypt -".to_owned())
        }
        Error::Archive(ArchiveError::OddFile { .. }) => {
            Some("move it out of the folder, or pipe an archive of your own into he-cli encrypt -".to_owned())
        }
        Error::Table(error) => table(error),
        Error::Picture(error) => picture(error),
        Error::Key(error) => key(error).map(str::to_owned),
        Error::File(error) => file(error).map(str::to_owned),
        Error::Note(NoteError::Impossible { .. }) => {
            Some("get an undamaged copy of the file, or a newer he-cli".to_owned())
        }
        Error::AesFile(error) => aes_file(error),
        Error::Content(error) => content(error),
        Error::Operation(error) => operation(error),
        Error::Transcipher(error) => transcipher(error).map(str::to_owned),
        Error::SearchFile(error) => search(error).map(str::to_owned),
        Error::LookupFile(LookupError::NoDatabase { .. }) => {
            Some("make one with he-cli lookup prepare".to_owned())
        }
        Error::IntersectionFile(IntersectionError::NoSet { .. }) => {
            Some("make one with he-cli intersect prepare".to_owned())
        }
        _ => None,
    }
}

fn search(error: &SearchError) -> Option<&'static str> {
    Some(match error {
        SearchError::NoIndex { .. } => "make one with he-cli search create",
        SearchError::OtherKeys { .. } => "use keys that he-cli search keygen made for this index",
        SearchError::Part { .. } => "give the file that he-cli search wrote for this",
        SearchError::Decrypt { .. } => "he-cli search read decrypts answers",
        _ => return None,
    })
}

/// The hint of this program, or else that of the library.
fn any_hint(error: &Error) -> Option<String> {
    hint(error).or_else(|| error.hint())
}

/// The advice for a warning.
pub fn remedy(remedy: &Remedy) -> String {
    const COLUMNS: &str = "put numbers of unlike size into columns of their own";
    const OFFSET: &str = "encrypt the column with --offset if it lies far from zero";
    match remedy {
        Remedy::Header { names: true } => {
            "give --header to confirm it, --no-header if the row holds numbers".to_owned()
        }
        Remedy::Header { names: false } => {
            "give --no-header to confirm it, --header if the row holds names".to_owned()
        }
        Remedy::RowsLeft => {
            "counts, sums, means and variances are those of the other rows; --columns NAME encrypts a column by itself, with all rows that it has".to_owned()
        }
        Remedy::UnlikeSizes { precision: Some(bits) } => {
            format!("make keys with keygen --precision {bits}, or {COLUMNS}")
        }
        Remedy::Offset { finest: None } => OFFSET.to_owned(),
        Remedy::Offset { finest: Some((bits, error)) } => {
            format!("keys of --precision {bits} would, down to {error:.1e}; or {OFFSET}")
        }
        other => other.to_string(),
    }
}

fn params(error: &ParamsError) -> Option<String> {
    let ParamsError::PublishedScale { most_precision, most_security, .. } = error else { return None };
    let flags: Vec<String> = [("--precision", most_precision), ("--statistical-security", most_security)]
        .into_iter()
        .filter_map(|(flag, most)| Some(format!("{flag} up to {}", (*most)?)))
        .collect();
    if flags.is_empty() {
        return Some("give smaller --precision, --queries or --statistical-security".to_owned());
    }
    Some(format!("give {}", flags.join(", or ")))
}

fn core(error: &Core) -> Option<&'static str> {
    Some(match error {
        Core::LevelExhausted { .. } | Core::BudgetSpent { .. } => DEEPER,
        Core::ValueTooLarge { .. } => "use smaller numbers, or make keys with a larger keygen --range",
        Core::ModulusExhausted { .. } => "make keys with a larger keygen --depth-bits, and encrypt again",
        Core::MissingGaloisKey { .. } | Core::MissingRelinKey => "use the eval.key that keygen wrote",
        Core::KeyMismatch { .. } => SAME_SET,
        Core::FloodTooWide { .. } => {
            "make keys with keygen --publish, and encrypt again, or leave --publish out and keep the numbers to yourself"
        }
        Core::FailureProbability { .. } => {
            "make keys with keygen tfhe --failure 2^-128, or leave --publish out and keep the numbers to yourself"
        }
        Core::DecryptionsSpent { .. } => {
            "give the --queries that this key may ever have: the protection of each depends on their number"
        }
        Core::PredictedBudget { .. } => {
            "make keys with a larger keygen --depth, or leave --publish out and keep the numbers to yourself"
        }
        Core::Wire(WireError::NotThisFormat) => EITHER,
        _ => return None,
    })
}

fn gpu(error: &gpu::Error) -> Option<&'static str> {
    match error {
        gpu::Error::OutOfMemory { .. } => {
            Some("end other programs on it, make keys of smaller parameters, or use --device cpu")
        }
        gpu::Error::DeviceFailed { .. } => {
            Some("run it again, and if it fails again, check the device with nvidia-smi, or use --device cpu")
        }
        gpu::Error::Module { .. } | gpu::Error::Driver { .. } => Some(USE_CPU),
        _ => None,
    }
}

fn output(error: &OutputError) -> Option<&'static str> {
    Some(match error {
        OutputError::NoName => "give a path, or - for standard output",
        OutputError::NeedsFolder => "name a folder with -o, such as out/",
        OutputError::NotAFolder { .. } => "choose another folder with -o",
        OutputError::Exists { .. } => "choose another name, or replace it with --force",
        _ => return None,
    })
}

fn table(error: &TableError) -> Option<String> {
    Some(match error {
        TableError::Empty { .. } | TableError::HeaderAlone { .. } | TableError::NoWholeRow { .. } => {
            NO_ROWS.to_owned()
        }
        TableError::Fields { .. } => {
            "every row needs the same number of fields; if the delimiter was guessed wrong, give --delimiter"
                .to_owned()
        }
        TableError::Field { problem, .. } => return field(problem),
        TableError::DoubtfulMark { mark, .. } => {
            format!("give --decimal {mark} if it is decimal; otherwise remove the {mark}s")
        }
        TableError::ChosenTwice { .. } => "name each column once in --columns".to_owned(),
        _ => return None,
    })
}

fn field(problem: &Problem) -> Option<String> {
    let hint = match problem {
        Problem::Empty => {
            "every row needs a number in every column; --missing skip leaves such rows out, --missing zero takes 0"
        }
        Problem::NoWord => "every row needs a word there; --missing skip leaves such rows out",
        Problem::CommaForPoint => "numbers have a decimal point; give --decimal comma if theirs is a comma",
        Problem::PointForComma => "with --decimal comma there are no points, not between thousands either",
        Problem::TwoMarks => "give --decimal point or --decimal comma, and remove what separates thousands",
        Problem::Text => {
            "numbers look like -1.5 or 2e-3, with a decimal point; give --header or --delimiter if they were guessed wrong"
        }
        Problem::Grouped => {
            "remove marks and spaces between thousands, and currencies; give --header if the row holds names"
        }
        Problem::NotWhole => {
            "bfv and bgv take whole numbers: count in smaller units (cents), use keys of ckks, or name the column in --categories"
        }
        Problem::NotUnsigned => {
            "give --signed for numbers below 0; whole numbers are in digits: count in smaller units (cents)"
        }
        Problem::BeyondSigned(bits) => {
            let magnitude = bits.saturating_sub(1);
            return Some(format!(
                "{bits} bits with a sign hold -2^{magnitude} to 2^{magnitude} - 1: give a larger --width, up to 256"
            ));
        }
        Problem::BeyondWidth(bits) => {
            return Some(format!(
                "{bits} bits hold numbers below 2^{bits}: give a larger --width, up to 256"
            ));
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

fn picture(error: &PictureError) -> Option<String> {
    match error {
        PictureError::Several { frames, .. } => {
            Some(format!("choose one of them with --frame, from 1 to {frames}"))
        }
        PictureError::NoFrame { frames: 1, .. } => Some("leave --frame out".to_owned()),
        PictureError::NoFrame { frames, .. } => Some(format!("choose --frame from 1 to {frames}")),
        _ => None,
    }
}

fn key(error: &KeyError) -> Option<&'static str> {
    Some(match error {
        KeyError::Encrypted { .. } | KeyError::Kind { .. } | KeyError::OfAes { .. } => KEYS,
        KeyError::Bootstrapping { .. } => BOOTSTRAP_KEY,
        KeyError::NotBootstrapping { .. } => REFRESH_KEYS,
        KeyError::OfTfhe { .. } | KeyError::Other { .. } | KeyError::Foreign { .. } => SAME_SET,
        KeyError::NotSensor { .. } => "keygen aes --transcipher makes the keys of sensors",
        KeyError::NotTfhe { .. } => TRANSCIPHER_KEYS,
        KeyError::NotAes { .. } => {
            "give the key that the file was encrypted with; keygen aes makes such keys"
        }
        _ => return None,
    })
}

fn file(error: &FileError) -> Option<&'static str> {
    Some(match error {
        FileError::Kind { wanted: Wanted::Key, .. } => KEYS,
        FileError::Kind { wanted: Wanted::Encrypted, .. } | FileError::IsKey { .. } => ENCRYPT,
        FileError::Kind { wanted: Wanted::Either, .. } => EITHER,
        FileError::Scheme { .. } => SAME_SET,
        FileError::Insecure { .. } => "make keys with he-cli keygen",
        _ => return None,
    })
}

fn aes_file(error: &AesFileError) -> Option<String> {
    Some(match error {
        AesFileError::NeedsKey { .. } => "give the key with -k".to_owned(),
        AesFileError::NeedsPassphrase { .. } => "give --passphrase in place of -k".to_owned(),
        AesFileError::RangeOfFolder { .. } => {
            "leave it out, or decrypt to a .tar file and cut that".to_owned()
        }
        AesFileError::Range { bytes, .. } => format!("give a --range within 0..{bytes}"),
        _ => return None,
    })
}

fn transcipher(error: &TranscipherError) -> Option<&'static str> {
    Some(match error {
        TranscipherError::NotASensorFile { .. } => {
            "give what encrypt wrote with a key of keygen aes --transcipher"
        }
        TranscipherError::NoCircuitKey { .. } => {
            "make keys with keygen tfhe --transcipher, and encrypt the sensor key under them"
        }
        TranscipherError::Version { .. } | TranscipherError::Header { .. } => {
            "get an undamaged copy of the file, or a newer he-cli"
        }
        _ => return None,
    })
}

fn content(error: &ContentError) -> Option<String> {
    let hint = match error {
        ContentError::FrameOfTable { .. } => "leave it out",
        ContentError::Categories { .. } => "make keys with keygen bfv",
        ContentError::IntegerBits { .. } => "choose --bits between 1 and 58",
        ContentError::NoSlots { order, .. } => {
            return Some(format!(
                "choose --bits instead, or a prime equal to 1 modulo {order} or more, such as 786433"
            ));
        }
        ContentError::NoBudget { .. } => NO_BUDGET,
        ContentError::Offsets => "leave it out: whole numbers are exact wherever they lie",
        ContentError::Halo { .. } => "leave it out, or make keys with keygen ckks",
        ContentError::WideHalo { most, .. } => {
            return Some(format!("choose --halo up to {most}, or make keys with a larger keygen --slots"));
        }
        ContentError::LongColumn { .. } => {
            "cut the table into parts, encrypt each with the same --categories COLUMN=A,B,..., and add their counts"
        }
        ContentError::Modulus { .. } => {
            "make keys with a larger keygen --bits or --plain-modulus, and encrypt again"
        }
        ContentError::Rows { .. } => {
            "cut the table into parts of fewer rows, or encrypt with a smaller --width"
        }
        ContentError::Radius { most, .. } => {
            return Some(format!(
                "choose --radius up to {most}; larger filters sweep along columns and rows by the keys of radius 1"
            ));
        }
        ContentError::Security { .. } => "choose --security 128, 192 or 256",
        ContentError::PublicOnly { .. } => "give the public.key of the same keygen",
        ContentError::Tiles { .. } => "encrypt both with the same version of he-cli",
        ContentError::Layouts => "encrypt both again with encrypt --unpacked, or both without it",
        ContentError::UnlikeCategories { .. } => "encrypt both with the same --categories COLUMN=A,B,...",
        ContentError::RefreshSlots { .. } => {
            "make keys with keygen ckks --bootstrap fast, which refresh every file"
        }
        ContentError::RefreshRange { .. } => {
            "make them smaller first: images by eval contrast --by 0.5 and the like, tables before they are encrypted"
        }
        ContentError::SampleIntegers { .. } => "leave --width and --signed out",
        ContentError::Widths { .. } => "encrypt both with the same --width",
        ContentError::Signs { .. } => "encrypt both with --signed, or both without",
        ContentError::Entry { .. } => "give a larger --width, up to 256",
        ContentError::NoDigits { .. } => "make keys with keygen ckks --bootstrap fast, or with keygen tfhe",
        ContentError::NoDigitWidth { .. } => "choose --width 8, 16, 32 or 64, or make keys with keygen tfhe",
        ContentError::NotDigits { .. } => "encrypt both with the same --width",
        ContentError::NoBootstrapKey { .. } => {
            "give the bootstrap.key of the same keygen with --bootstrap-key"
        }
        ContentError::NeedlessBootstrapKey { .. } => "leave --bootstrap-key out",
        ContentError::PlainOperand { .. } => "encrypt a table of as many rows, and give it --with",
        ContentError::LittleHalo { remedy, .. } => return halo(*remedy),
        ContentError::Weight { .. } => "choose --alpha between 0 and 1",
        ContentError::Magnitude { .. } => "use smaller weights, or make keys with a larger keygen --range",
        ContentError::Capacity { .. } => "make keys with a larger keygen --range, and encrypt again",
        ContentError::Sums { .. } => "make keys with a larger keygen --depth or --range, and encrypt again",
        ContentError::CountFirst { .. } => "count them first: eval count",
        ContentError::CategoriesNotNumbers { .. } | ContentError::CategoriesOf { .. } => COUNTS,
        ContentError::NoCategories { .. } => "encrypt with --categories COLUMN, then count",
        ContentError::NoNumbers { .. } => "eval count counts categories",
        _ => return None,
    };
    Some(hint.to_owned())
}

fn operation(error: &OperationError) -> Option<String> {
    Some(match error {
        OperationError::ForOthers { kind: "images", own, .. } => format!(
            "images have {own}; to sum pixels, encrypt the table of them that decrypt -o pixels.csv writes"
        ),
        OperationError::OneOperand { or: "columns", .. } => "give --columns A,B, or --with OTHER".to_owned(),
        OperationError::OneOperand { .. } => "give --number N, or --with OTHER".to_owned(),
        OperationError::Columns { .. } => "give two: --columns A,B".to_owned(),
        OperationError::WideGaussian { most, .. } => {
            format!("choose --sigma up to {}: no tile holds more than {most}", most / 3)
        }
        OperationError::NoLevels { others, .. } => format!("leave it out: it is for {others}"),
        OperationError::AfterStatistic { statistic, source } => {
            let hint = any_hint(source)?;
            format!("compute the {statistic} again with eval {statistic} --levels keep; or {hint}")
        }
        OperationError::Gaussian { source, .. } | OperationError::Value { source } => return hint(source),
        _ => return None,
    })
}

fn halo(remedy: HaloRemedy) -> Option<String> {
    match remedy {
        HaloRemedy::Halo(halo) => {
            Some(format!("encrypt the image with --halo {halo}: the sum of the radii of all filters"))
        }
        HaloRemedy::Slots { depth, slots, halo } => Some(format!(
            "make keys with he-cli keygen ckks --depth {depth} --slots {slots} -o keys/, then encrypt with --halo {halo}"
        )),
        HaloRemedy::Filters { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::CliError;

    fn told(error: Error) -> (String, String) {
        let error = CliError::from(error);
        (error.message().to_owned(), error.hint_text().unwrap_or_default().to_owned())
    }

    #[test]
    fn options_are_named_by_the_program() {
        let name = || "x".to_owned();
        for (error, message, hint) in [
            (
                ContentError::FrameOfTable { name: name() }.into(),
                "--frame is for images, and x is a table",
                "leave it out",
            ),
            (
                ContentError::WideHalo { halo: 9, slots: 64, most: 3 }.into(),
                "a halo of 9 pixels leaves nothing of a tile of 64 slots",
                "choose --halo up to 3, or make keys with a larger keygen --slots",
            ),
            (
                ContentError::LittleHalo { radius: 2, left: 1, remedy: HaloRemedy::Halo(3) }.into(),
                "a filter of radius 2 on an image with 1 pixel of halo left",
                "encrypt the image with --halo 3: the sum of the radii of all filters",
            ),
            (
                ContentError::LittleHalo { radius: 2, left: 1, remedy: HaloRemedy::Filters { most: 7 } }
                    .into(),
                "a filter of radius 2 on an image with 1 pixel of halo left",
                "the radii of all filters of an image make up 7 pixels at most",
            ),
            (
                PictureError::NoFrame { name: name(), frames: 1, frame: 2 }.into(),
                "x holds 1 picture, and --frame is 2",
                "leave --frame out",
            ),
            (
                OutputError::Exists { path: name() }.into(),
                "x exists already",
                "choose another name, or replace it with --force",
            ),
            (
                FileError::IsKey { name: name() }.into(),
                "x is a key, not an encrypted file",
                "encrypt first, then give what encrypt or eval wrote",
            ),
            (
                AesFileError::Range { name: name(), bytes: 5 }.into(),
                "x holds 5 bytes, and the range goes further",
                "give a --range within 0..5",
            ),
            (
                Core::LevelExhausted { needed: 1, left: 0 }.into(),
                "the operation needs 1 level, and the encrypted file has 0 left",
                "make keys with a larger keygen --depth, and encrypt again",
            ),
            (
                gpu::Error::OutOfMemory { bytes: 3 << 30 }.into(),
                "the device has no 3.00 GiB of memory left",
                "end other programs on it, make keys of smaller parameters, or use --device cpu",
            ),
            (
                gpu::Error::DeviceFailed { call: "cuMemAlloc", reason: "lost".to_owned() }.into(),
                "the device failed in cuMemAlloc: lost",
                "run it again, and if it fails again, check the device with nvidia-smi, or use --device cpu",
            ),
            (Error::NoDevice, "there is no device to compute on", "use the CPU: --device cpu"),
            (
                Core::FloodTooWide { needed_bits: 75, available_bits: 40 }.into(),
                "hiding the noise takes 75 bits, and the numbers stay visible below 40 at most",
                "make keys with keygen --publish, and encrypt again, or leave --publish out and keep the numbers to yourself",
            ),
            // Errors for which the library's words will do.
            (
                Core::TooManyValues { found: 5, capacity: 4 }.into(),
                "5 values for 4 slots",
                "split them over a batch",
            ),
        ] {
            assert_eq!(told(error), (message.to_owned(), hint.to_owned()));
        }
    }

    #[test]
    fn files_are_named_before_the_words_of_the_program() {
        let foreign = || Error::from(Core::Wire(WireError::NotThisFormat));
        assert_eq!(
            told(foreign().in_file_of("x.he")),
            ("x.he: this is not a file that he-cli wrote".to_owned(), EITHER.to_owned())
        );
        let unreadable = Error::Unreadable { name: "x.he".to_owned(), source: Box::new(foreign()) };
        assert_eq!(told(unreadable).0, "cannot read x.he: this is not a file that he-cli wrote");
    }

    #[test]
    fn warnings_name_options() {
        assert_eq!(
            remedy(&Remedy::Header { names: true }),
            "give --header to confirm it, --no-header if the row holds numbers"
        );
        assert_eq!(
            remedy(&Remedy::Offset { finest: Some((40, 0.25)) }),
            "keys of --precision 40 would, down to 2.5e-1; or encrypt the column with --offset if it lies far from zero"
        );
    }
}

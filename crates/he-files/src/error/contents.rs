//! Errors of what is encrypted and computed.

use super::{DAMAGED, errors};
use std::fmt;

/// The advice for a file that does not decrypt to what it says.
const RIGHT_KEY: &str = "use the secret key of the key set that it was encrypted with";

/// The ways to make room for filters that reach further than the halo of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HaloRemedy {
    /// Encrypting the image with a wider halo.
    Halo(usize),
    /// Keys with more slots, and then a wider halo.
    Slots {
        /// The depth of the keys, which stays.
        depth: usize,
        /// The slots that are needed.
        slots: usize,
        /// The halo that is needed.
        halo: usize,
    },
    /// Nothing: the radii of all filters of an image make up so many pixels at most.
    Filters {
        /// The widest halo of all.
        most: usize,
    },
}

impl fmt::Display for HaloRemedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Halo(halo) => {
                write!(f, "encrypt the image with a halo of {halo}, the sum of the radii of all filters")
            }
            Self::Slots { slots, halo, .. } => {
                write!(f, "use parameters with {slots} slots, and encrypt the image with a halo of {halo}")
            }
            Self::Filters { most } => {
                write!(f, "the radii of all filters of an image make up {most} pixels at most")
            }
        }
    }
}

errors! {
    /// Contents that cannot be encrypted, computed on or decrypted.
    pub enum ContentError {
        /// It is a file of he-cli.
        OurFile { name: String }:
            ("{name} is a file of he-cli, not an image or a table"),
            ("encrypt takes PNG, JPEG, BMP, TIFF, WebP and CSV files");
        /// It is neither image nor table.
        Unknown { name: String }:
            ("{name} is neither an image nor a table"),
            ("PNG, JPEG, BMP, TIFF and WebP are read, and CSV in UTF-8");
        /// A frame is chosen of a table.
        [request] FrameOfTable { name: String }:
            ("a frame is chosen, and {name} is a table"), ("choose none");
        /// Its vectors are longer than those that bootstrapping refreshes.
        RefreshSlots { found: usize, most: usize }:
            ("the file has vectors of {found} values, and these keys refresh {most}"),
            ("use keys of parameters that refresh full vectors");
        /// Its numbers may be beyond what bootstrapping refreshes.
        RefreshRange { bound: f64 }:
            ("the numbers of the file may be as large as {bound}, and those up to 1 can be refreshed"),
            ("make them smaller first");
        /// Integers in digits need no refresh.
        RefreshDigits:
            ("the file holds integers in digits, and each operation refreshes them by itself"),
            ("compute on them as they are");
        /// It does not hold examples for a model.
        NotExamples { name: String, found: &'static str }:
            ("{name} holds {found}, not encrypted examples of a model"),
            ("give what was encrypted for the model");
        /// It holds examples for another model.
        OtherModel { name: String, model: String }:
            ("{name} was encrypted for another model than {model}"),
            ("encrypt the examples for this model, or give the model that they were encrypted for");
        /// It holds the inputs of a model.
        Inputs { name: String }:
            ("{name} holds the inputs of a model"),
            ("compute the outputs first, then decrypt those");
        /// It is not a table.
        NotATable { name: String }:
            ("{name} is not a table"),
            ("give a CSV table of integers, in UTF-8");
        /// Categories are asked for under a scheme of real numbers.
        [request] Categories { scheme: String }:
            ("categories are for bfv and bgv, and this is a key of {scheme}"),
            ("use keys of bfv");
        /// Offsets are asked for under a scheme of integers.
        [request] Offsets:
            ("offsets are for keys of ckks and bigckks"),
            ("give none: whole numbers are exact wherever they lie");
        /// A halo is asked for under a scheme without filters.
        [request] Halo { scheme: &'static str }:
            ("a halo is for filters, which {scheme} does not have"),
            ("give none, or use keys of ckks");
        /// A halo leaves nothing of a tile.
        [request] WideHalo { halo: usize, slots: usize, most: usize }:
            ("a halo of {halo} pixels leaves nothing of a tile of {slots} slots"),
            ("choose a halo of at most {most}, or parameters with more slots");
        /// A description is of something else.
        Mismatch: ("the description does not fit the content");
        /// An offset is too far from its column.
        [request] FarOffset { value: f64, column: String }:
            ("the offset {value:e} is too far from the numbers of column {column}"),
            ("give a number among them, or none");
        /// A column has more categories than slots.
        Categorical { column: String, slots: usize }:
            ("column {column} has more categories than fit {slots} slots"),
            ("put rare categories together");
        /// A column takes too many slots.
        LongColumn { column: String, stride: usize, rows: usize, most: usize }:
            ("column {column} takes {stride} slots for each of {rows} rows, more than {most} in all"),
            ("cut the table into parts, encrypt each with the same categories, and add their counts");
        /// Numbers may not fit the plaintext modulus.
        Modulus { what: String, low: i64, high: i64, t: u64 }:
            ("{what} may be from {low} to {high}, and these keys hold {t} numbers (t)"),
            ("use parameters with a larger plaintext modulus, and encrypt again");
        /// A table is too long for TFHE.
        Rows { rows: u64, width: u32, most: u64 }:
            ("{rows} rows of {width} bits are too many: at most {most} fit a file"),
            ("cut the table into parts of fewer rows, or encrypt with a smaller width");
        /// A width or a sign is asked for of samples.
        [request] SampleIntegers { name: String }:
            ("{name} is a picture, whose samples have 8 or 16 bits and no sign"),
            ("ask for neither a width nor a sign");
        /// A picture is too large for TFHE.
        Pixels { width: u32, height: u32, most: u64 }:
            ("a picture of {width} x {height} pixels is too large: at most {most} pixels fit a file"),
            ("make it smaller, or cut it into parts");
        /// Keys for filters of such a radius are too many.
        [request] Radius { radius: usize, most: usize }:
            ("a radius of {radius} would take too many keys"),
            ("choose a radius of at most {most}; larger filters sweep along columns and rows by the keys of radius 1");
        /// No table of security has so many bits.
        [request] Security { bits: u32 }:
            ("no table for {bits} bits of security"), ("choose 128, 192 or 256");
        /// A scheme encrypts by public key alone.
        PublicOnly { scheme: &'static str }:
            ("{scheme} encrypts by public key only"), ("give the public key of the same key set");

        /// Two files are of unlike content.
        Unlike { left: String, left_is: &'static str, right: String, right_is: &'static str }:
            ("{left} is {left_is}, {right} is {right_is}"),
            ("give two images or two tables of the same shape");
        /// Two images differ in size, pixels or halo.
        Images { left: String, right: String, operation: String, takes: &'static str }:
            ("the images differ: {left} and {right}"), ("{operation} takes images of {takes}");
        /// Two images are cut into other tiles.
        Tiles { both: String }:
            ("the images differ in how they are cut into tiles, both {both}"),
            ("encrypt both with the same version of this library");
        /// Two tables differ in shape.
        Shapes { left: String, right: String, operation: String }:
            ("the tables differ in shape: {left} and {right}"),
            ("{operation} takes tables with as many rows and columns");
        /// Two tables differ in how columns share vectors.
        Layouts:
            ("the tables differ in how their columns are laid out in ciphertexts"),
            ("encrypt both again, both of them packed or both unpacked");
        /// Two tables differ in categories.
        UnlikeCategories { column: String }:
            ("the tables differ in the categories of column {column}"),
            ("encrypt both with the same categories");
        /// Two tables of TFHE differ in width.
        Widths { left: String, left_width: String, right: String, right_width: String }:
            ("{left} holds numbers of {left_width}, {right} of {right_width}"),
            ("encrypt both with the same width");
        /// There are no integers of TFHE of this width.
        [request] NoWidth { width: u32 }:
            ("there are no integers of {width} bits"), ("choose 8, 16, 32, 64, 128 or 256");
        /// One of two tables of TFHE has numbers with a sign.
        Signs { signed: String, unsigned: String }:
            ("{signed} holds numbers with a sign, and {unsigned} numbers without one"),
            ("encrypt both with a sign, or both without");
        /// A file holds numbers, and conditions are needed.
        NotConditions { name: String, operation: String }:
            ("{name} holds numbers, and {operation} chooses by conditions, 0 or 1"),
            ("compare first: lt and eq make conditions");
        /// A public table has more columns than one.
        EntryColumns { name: String, found: usize }:
            ("{name} has {found} columns, and a table to be looked up has one"),
            ("leave one column, an entry in each row");
        /// An entry of a public table is not an integer.
        [request] EntryText { entry: usize, text: String }:
            ("entry {entry} of the table is \"{}\", which is not an integer", text.escape_debug()),
            ("give integers in decimal digits");
        /// A public table has too many entries, or none.
        Entries { found: usize, most: usize }:
            ("the table has {found} entries, and from 1 to {most} can be looked up"),
            ("encrypt the numbers with a greater width, or cut the table into parts");
        /// An entry of a public table does not fit.
        Entry { entry: usize, integers: String }:
            ("entry {entry} of the table does not fit {integers}"),
            ("ask for a greater width");
        /// Parameters do not compute on integers in digits.
        NoDigits { presets: String }:
            ("these keys do not compute on machine integers"),
            ("use keys of parameters with bootstrapping: {presets}");
        /// There are no integers in digits of this width.
        [request] NoDigitWidth { width: u32 }:
            ("under ckks there are no machine integers of {width} bits"), ("choose 8, 16, 32 or 64");
        /// A file does not hold integers in digits.
        NotDigits { name: String, found: &'static str }:
            ("{name} is {found}, and the other file holds integers in digits"),
            ("encrypt both with a width");
        /// Integers in digits without the key that computes on them.
        [request] NoBootstrapKey { name: String }:
            ("{name} holds integers in digits, and no bootstrapping key is given"),
            ("give the bootstrapping key of its key set as well as the evaluation key");
        /// A bootstrapping key for an operation that has no use for it.
        [request] NeedlessBootstrapKey { name: String, operation: String }:
            ("{operation} of {name} takes no bootstrapping key"), ("leave it out");
        /// A plain number is not one of the integers.
        [request] PlainNumber { number: String, integers: String }:
            ("{number} is not an integer of {integers}"), ("give one that is");
        /// A text is not an integer.
        [request] NumberText { text: String }:
            ("\"{}\" is not an integer", text.escape_debug()), ("give an integer in decimal digits");
        /// A plain number where the scheme takes files alone.
        [request] PlainOperand { operation: &'static str, scheme: &'static str }:
            ("under {scheme}, {operation} takes another file, not a plain number"),
            ("encrypt the number as a table of as many rows");
        /// A divisor of zero.
        [request] ZeroDivisor: ("there is no quotient by 0"), ("divide by a number from 1 on");
        /// Bits are moved too far.
        [request] Places { by: u64, bits: u32 }:
            ("bits of integers of {bits} bits move by less than {bits} places, not by {by}"),
            ("give fewer places");
        /// More rows than one vector has are to be put in order.
        SlotRows { operation: String, rows: u64, most: u64 }:
            ("{operation} takes up to {most} rows under these keys, and the table has {rows}"),
            ("cut the table into parts");
        /// More numbers are asked for than there are.
        [request] TopCount { count: u64, rows: u64 }:
            ("{count} numbers are asked for, of {rows}"), ("ask for 1 to {rows}");
        /// A file holds conditions, and numbers are needed.
        Conditions { name: String, operation: String }:
            ("{name} holds conditions, 0 or 1, and {operation} is for numbers"),
            ("decrypt it, or compute from the files that were compared");

        /// A filter reaches further than the halo that is left.
        LittleHalo { radius: usize, left: usize, remedy: HaloRemedy }:
            ("a filter of radius {radius} on an image with {left} {} of halo left",
                if *left == 1 { "pixel" } else { "pixels" }),
            ("{remedy}");
        /// An image has no colours.
        Gray:
            ("the image has no colours: it is gray already"), ("grayscale takes RGB and RGBA images");
        /// The second file is not an image.
        NotAnImage { name: String }:
            ("{name} is not an encrypted image"), ("blend takes two encrypted images");
        /// Integers of this many bits.
        [request] IntegerBits { bits: u32 }: ("{bits} bits of integers"), ("choose from 1 to 58 bits");
        /// A plaintext modulus without slots.
        [request] NoSlots { modulus: u64, order: usize }:
            ("the plaintext modulus {modulus} has no slots to put numbers into"),
            ("choose bits instead, or a prime equal to 1 modulo {order} or more, such as 786433");
        /// A plaintext modulus out of range.
        [request] PlainModulus { modulus: u64 }:
            ("a plaintext modulus of {modulus}"), ("choose a prime below 2^61, such as 65537");
        /// It has no noise budget to measure.
        [request] NoBudget { name: String }:
            ("{name} has no noise budget to measure"),
            ("give no key: it is for files encrypted under bfv and bgv");
        /// The second file is missing.
        [request] OneImage: ("blend takes two encrypted images");
        /// A weight is outside of 0 to 1.
        [request] Weight { alpha: f64 }: ("a weight of {alpha}"), ("choose one between 0 and 1");
        /// Results are larger than keys hold.
        Magnitude { magnitude: f64, limit: f64 }:
            ("results of up to {} do not fit keys that hold {limit:.1}",
                if *magnitude < 1e6 { format!("{magnitude:.1}") } else { format!("{magnitude:.1e}") }),
            ("use smaller weights, or parameters of wider range");
        /// Results are larger than ciphertexts hold after an operation.
        Capacity { bound: f64, capacity: f64, operation: &'static str }:
            ("results of up to {bound:.1} do not fit the {capacity:.1} that ciphertexts hold after {operation}"),
            ("use parameters of wider range, and encrypt again");
        /// Sums are larger than keys hold.
        Sums { rows: u64, limit: f64 }:
            ("sums over {rows} rows do not fit keys that hold {limit:.1} there"),
            ("use parameters of greater depth or wider range, and encrypt again");
        /// Results are beyond all floating-point numbers.
        Exponent { exponent: i32 }:
            ("results of about 2^{exponent} are beyond all numbers"),
            ("multiply the column by a power of ten before it is encrypted");
        /// Results of images are beyond all integers.
        BeyondNumbers:
            ("results are beyond all numbers"), ("compute from files with a shorter history");
        /// Results of a column are beyond all integers.
        Beyond { column: String }:
            ("results of column {column} may be beyond 2^63"),
            ("compute from fewer rows, or from files with a shorter history");
        /// A file is the result of a statistic.
        Statistic { name: String, operation: String }:
            ("{name} is the result of {operation} already"), ("compute from the encrypted original");
        /// A file is a sum.
        IsSum { name: String }: ("{name} is a sum already"), ("compute from the encrypted original");
        /// The second file is an image.
        ImageForTable { name: String }:
            ("{name} is an encrypted image, not a table"), ("dot takes two encrypted tables");
        /// A column holds categories.
        CountFirst { column: String }:
            ("column {column} holds categories, not numbers"), ("count them first");
        /// A column holds categories.
        CategoriesNotNumbers { column: String }:
            ("column {column} holds categories, not numbers"), ("count them instead");
        /// A column of the second file holds categories.
        CategoriesOf { column: String, name: String }:
            ("column {column} of {name} holds categories"), ("count them instead");
        /// A table has no categories.
        NoCategories { name: String }:
            ("{name} has no column of categories"),
            ("encrypt a column as categories, then count");
        /// A table has no numbers.
        NoNumbers { name: String }:
            ("{name} has no column of numbers"), ("categories can be counted");
        /// A table has no column beside the one that a regression explains.
        NoFeatures:
            ("the table has one column, and a regression explains one by others"),
            ("encrypt the columns of all features in one table with it");
        /// A table has too few rows for a regression.
        FewRows { rows: u64, needed: u64 }:
            ("a regression needs at least {needed} rows, and the table has {rows}"),
            ("encrypt a table of more rows or fewer columns");
        /// Features are linearly dependent as far as can be told.
        Dependent { name: String }:
            ("the features of {name} are constant, or depend on each other linearly, as far as the precision tells"),
            ("leave out columns that follow from others, or encrypt with more precision");
        /// A table has no rows.
        NoRows: ("the table has no rows"), ("{DAMAGED}");
        /// A table lacks columns.
        NoSuchColumns: ("the table has no such columns"), ("{DAMAGED}");

        /// A file does not decrypt to an image.
        NoImage { name: String }: ("{name} does not decrypt to an image"), ("{RIGHT_KEY}");
        /// A file does not decrypt to numbers of its size.
        Size { name: String }:
            ("{name} does not decrypt to numbers of the size that it states"), ("{RIGHT_KEY}");
        /// A file does not decrypt to what it says.
        Undescribed { name: String }:
            ("{name} does not decrypt to what its description says"), ("{RIGHT_KEY}");
        /// A result is beyond all floating-point numbers.
        Overflow { name: String }:
            ("{name} holds a result beyond 1.8e308"),
            ("divide the column by a power of ten before it is encrypted");
        /// Whole numbers are given to an image of real ones.
        RealImage: ("the image holds real numbers");
        /// Real numbers are given to an image of whole ones.
        WholeImage: ("the image holds whole numbers");
    }
}

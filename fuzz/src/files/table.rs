//! Tables as CSV.
//!
//! Must hold: any text is refused or is a table that is written and read as the same; the readers
//! of integers, categories and numbers of TFHE end without a panic.
//!
//! Bytes: how headers and delimiters are recognised, and a delimiter; then the text.

use he_core::bfv::Bfv;
use he_files::contents::clear::Clear;
use he_files::contents::options::{ColumnCategories, TableFlags};
use he_files::data::table::{Header, Table, TableOptions};
use he_files::io::input::Input;
use he_files::scheme::Ckks;
use he_files::tfhe::note::Integers;

pub fn run(data: &[u8]) {
    let [how, delimiter, text @ ..] = data else { return };
    let header = [Header::Auto, Header::Yes, Header::No][usize::from(how % 3)];
    let delimiter = match how / 3 % 5 {
        0 | 1 => None,
        2 => Some(b','),
        3 => Some(b';'),
        _ => Some(*delimiter).filter(|byte| byte.is_ascii() && !byte.is_ascii_control()),
    };
    let options = TableOptions { header, delimiter, ..TableOptions::default() };
    if let Ok(table) = Table::<f64>::read(text, "x", options) {
        let mut written = Vec::new();
        table.write(&mut written, b',').expect("a vector takes all");
        let header = if table.header().is_some() { Header::Yes } else { Header::No };
        let options = TableOptions { header, delimiter: Some(b','), ..TableOptions::default() };
        let again = Table::<f64>::read(&written[..], "x", options)
            .unwrap_or_else(|error| panic!("what was written is not read: {error}: {written:?}"));
        assert_eq!(again.columns(), table.columns());
        // Control characters of names are spelt out when they are written.
        let odd =
            table.header().is_some_and(|names| names.iter().any(|name| name.contains(char::is_control)));
        assert!(odd || again.header() == table.header(), "{:?}", table.header());
    }
    let categories: Vec<ColumnCategories> = ["1", "a=x,y", "b"]
        .iter()
        .take(usize::from(how / 15 % 4))
        .map(|text| text.parse().expect("a column"))
        .collect();
    let flags = TableFlags { options, categories: &categories, ..TableFlags::default() };
    let input = || Input::from_bytes("x", text.to_vec());
    let _ = Clear::read::<Bfv>(input(), flags, None, &());
    let _ = Clear::read::<Ckks>(input(), TableFlags { options, ..TableFlags::default() }, None, &());
    let width = [8, 16, 32, 64, 128, 256][usize::from(how / 7 % 6)];
    let integers = Integers { bits: width, signed: how / 42 % 2 == 1 };
    let _ = he_files::tfhe::columns::read(input(), options, integers, &());
}

pub fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "a,b\n1,2\n3,4\n",
        "1;2\n3;4",
        "\u{feff}x\ty\n1e3\t-2.5\n",
        "\"a,b\",\"c\nd\"\n\"1\",2\n",
        "a\nx\ny\nx\n",
        "12345678901234567890\n255\n",
        "nan,inf\n1e999,2\n",
        "1\r\n2\r\n\r\n3",
        "\"1\"\"2\"\n",
        "a;b,c\td\n1\n",
        "2019;2020\n1,5;2,5\n1.000,5;3",
        "'=1+2,\"=x\"\n1,2",
    ];
    let of = |text: &&str| [0, 1, 2, 12, 18].map(|how| [&[how, b';'][..], text.as_bytes()].concat());
    texts.iter().flat_map(of).collect()
}

//! Tables of figures, those of a paper beside ours, as text, JSON and CSV.

use crate::error::Result;
use he_cuda::gpu::DeviceInfo;
use serde_json::{Value as Json, json};
use std::fmt;
use std::io::{self, Write};

/// The machine, the time and the program of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The command that measures the same again.
    pub command: String,
    /// The processor's name.
    pub cpu: String,
    /// The instructions that the library uses.
    pub cpu_backend: String,
    /// The GPU's name.
    pub gpu: Option<String>,
    /// The CUDA version and, if known, that of the driver.
    pub driver: Option<String>,
    /// The time, in UTC.
    pub date: String,
    /// The version of the program.
    pub version: &'static str,
    /// The commit from which it was built.
    pub commit: &'static str,
    /// Whether sizes are small.
    pub quick: bool,
}

impl Header {
    /// The present time and machine.
    pub fn of_this_machine(
        command: String,
        cpu_backend: String,
        gpu: Option<&DeviceInfo>,
        quick: bool,
    ) -> Self {
        let now = jiff::Timestamp::now();
        Self {
            command,
            cpu: processor(),
            cpu_backend,
            gpu: gpu.map(|info| info.name.clone()),
            driver: gpu.map(|info| {
                let cuda = format!("CUDA {}.{}", info.driver.0, info.driver.1);
                driver_version().map_or(cuda.clone(), |version| format!("{cuda}, NVIDIA {version}"))
            }),
            date: now.strftime("%Y-%m-%d %H:%M UTC").to_string(),
            version: env!("CARGO_PKG_VERSION"),
            commit: env!("HE_BENCH_COMMIT"),
            quick,
        }
    }

    fn json(&self) -> Json {
        json!({
            "command": self.command, "cpu": self.cpu, "cpu_backend": self.cpu_backend, "gpu": self.gpu, "driver": self.driver, "date": self.date,
            "version": self.version, "commit": self.commit, "quick": self.quick,
        })
    }
}

/// The processor by its name in Linux, otherwise its architecture.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or(std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

/// The version in Linux's description of NVIDIA's driver.
fn driver_version() -> Option<String> {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let mut words = text.lines().next()?.split_whitespace();
    words.find(|word| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit())).map(str::to_owned)
}

/// The unit of a table's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// µs.
    Microseconds,
    /// ms.
    Milliseconds,
    /// s.
    Seconds,
    /// 1000 bytes per second.
    KilobytesPerSecond,
    /// 10^9 bytes per second.
    GigabytesPerSecond,
    /// 10^9 modular products per second.
    BillionsPerSecond,
    /// Hundredths of a whole; in place of seconds there is the fraction.
    Percent,
}

impl Unit {
    /// The printed form.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Microseconds => "µs",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::KilobytesPerSecond => "KB/s",
            Self::GigabytesPerSecond => "GB/s",
            Self::BillionsPerSecond => "10^9/s",
            Self::Percent => "%",
        }
    }

    fn is_time(self) -> bool {
        matches!(self, Self::Microseconds | Self::Milliseconds | Self::Seconds)
    }

    /// The figure for this many seconds and bytes, or products.
    fn figure(self, seconds: f64, bytes: f64) -> f64 {
        match self {
            Self::Microseconds => seconds * 1e6,
            Self::Milliseconds => seconds * 1e3,
            Self::Seconds => seconds,
            Self::KilobytesPerSecond => bytes / seconds * 1e-3,
            Self::GigabytesPerSecond | Self::BillionsPerSecond => bytes / seconds * 1e-9,
            Self::Percent => seconds * 1e2,
        }
    }
}

/// A figure, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// The figure.
    Number(f64),
    /// It would have taken longer than the limit.
    NotRun,
    /// There is no figure: the paper does not give one, or there is no such experiment.
    Nothing,
}

impl Value {
    /// The figure, if there is one.
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(number),
            Self::NotRun | Self::Nothing => None,
        }
    }

    /// The figure of one of so many that are computed together.
    #[must_use]
    pub fn each(self, count: usize) -> Self {
        match self {
            Self::Number(number) => Self::Number(number / count as f64),
            other => other,
        }
    }

    /// The figure in the unit of a table, from seconds.
    #[must_use]
    pub fn of_seconds(self, unit: Unit) -> Self {
        self.of_bytes(unit, f64::NAN)
    }

    /// The figure as a rate, from seconds for this many bytes.
    #[must_use]
    pub fn of_bytes(self, unit: Unit, bytes: f64) -> Self {
        match self {
            Self::Number(seconds) => Self::Number(unit.figure(seconds, bytes)),
            other => other,
        }
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        if number.is_finite() { Self::Number(number) } else { Self::Nothing }
    }
}

/// The source of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The paper.
    Paper,
    /// This run.
    Measured,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// The subject of the column.
    pub name: String,
    /// The source of the column.
    pub origin: Origin,
    /// One figure per row.
    pub values: Vec<Value>,
}

/// Words on every row that are not figures: parameters, sizes.
#[derive(Clone, Debug)]
pub struct Remark {
    /// Their subject.
    pub name: String,
    /// One text per row.
    pub texts: Vec<String>,
}

/// A row, with its name and its place on the axis.
#[derive(Clone, Debug)]
pub struct Row {
    /// The name.
    pub name: String,
    /// Its place on the axis of a plot.
    pub x: Option<f64>,
}

/// Figures by rows and columns.
#[derive(Clone, Debug)]
pub struct Table {
    /// A short and unique name, which is that of the plot's file.
    pub id: String,
    /// The subject of the table.
    pub title: String,
    /// The meaning of the rows.
    pub axis: String,
    /// The unit of every figure.
    pub unit: Unit,
    /// The rows.
    pub rows: Vec<Row>,
    /// The columns.
    pub columns: Vec<Column>,
    /// Pairs of columns, the paper's and ours, whose quotient is shown.
    pub speed_ups: Vec<(usize, usize)>,
    /// The remarks on the rows.
    pub remarks: Vec<Remark>,
    /// The origin of the paper's figures, and the differences in measurement.
    pub notes: Vec<String>,
}

impl Table {
    /// A table without rows and columns.
    pub fn new(id: impl Into<String>, title: impl Into<String>, axis: &str, unit: Unit) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            axis: axis.to_owned(),
            unit,
            rows: Vec::new(),
            columns: Vec::new(),
            speed_ups: Vec::new(),
            remarks: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Sets the rows to categories.
    #[must_use]
    pub fn categories<T: ToString>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.rows = names.into_iter().map(|name| Row { name: name.to_string(), x: None }).collect();
        self
    }

    /// Sets the rows to points along an axis.
    #[must_use]
    pub fn along(mut self, points: impl IntoIterator<Item = (String, f64)>) -> Self {
        self.rows = points.into_iter().map(|(name, x)| Row { name, x: Some(x) }).collect();
        self
    }

    /// Adds the paper's figures, in the table's unit; NaN where it has none.
    pub fn paper(&mut self, name: &str, figures: impl IntoIterator<Item = f64>) {
        self.add(name, Origin::Paper, figures.into_iter().map(Value::from).collect());
    }

    /// Adds measured figures, given in seconds.
    pub fn measured(&mut self, name: &str, seconds: impl IntoIterator<Item = Value>) {
        let unit = self.unit;
        self.add(name, Origin::Measured, seconds.into_iter().map(|value| value.of_seconds(unit)).collect());
    }

    /// Adds measured rates: seconds, and the bytes or products of each row.
    pub fn measured_rates(&mut self, name: &str, seconds: impl IntoIterator<Item = (Value, usize)>) {
        let unit = self.unit;
        let rates = seconds.into_iter().map(|(value, bytes)| value.of_bytes(unit, bytes as f64));
        self.add(name, Origin::Measured, rates.collect());
    }

    fn add(&mut self, name: &str, origin: Origin, mut values: Vec<Value>) {
        values.resize(self.rows.len(), Value::Nothing);
        self.columns.push(Column { name: name.to_owned(), origin, values });
    }

    /// Shows how much faster ours is than the paper's, if both columns are there.
    pub fn compare(&mut self, paper: &str, ours: &str) {
        let find = |name: &str| self.columns.iter().position(|column| column.name == name);
        if let (Some(paper), Some(ours)) = (find(paper), find(ours)) {
            self.speed_ups.push((paper, ours));
        }
    }

    /// Adds a remark on every row.
    pub fn remark(&mut self, name: &str, texts: impl IntoIterator<Item = String>) {
        let mut texts: Vec<String> = texts.into_iter().collect();
        texts.resize(self.rows.len(), String::new());
        self.remarks.push(Remark { name: name.to_owned(), texts });
    }

    /// Adds a note.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// The factor by which ours is faster, in a row.
    pub fn speed_up(&self, pair: usize, row: usize) -> Option<f64> {
        let (paper, ours) = self.speed_ups[pair];
        let of = |column: usize| self.columns[column].values[row].number();
        let (paper, ours) = (of(paper)?, of(ours)?);
        Some(if self.unit.is_time() { paper / ours } else { ours / paper })
    }

    fn speed_up_name(&self, pair: usize) -> String {
        let (paper, ours) = self.speed_ups[pair];
        format!("{} over {}", self.columns[ours].name, self.columns[paper].name)
    }

    /// A cell: the figure, or why there is none.
    fn cell(&self, column: usize, row: usize) -> String {
        match self.columns[column].values[row] {
            Value::Number(number) => figure(number),
            Value::NotRun => "not run".to_owned(),
            Value::Nothing => "-".to_owned(),
        }
    }

    fn speed_up_cell(&self, pair: usize, row: usize, unit: &str) -> String {
        self.speed_up(pair, row).map_or("-".to_owned(), |times| format!("{}{unit}", figure(times)))
    }

    fn markdown(&self, plot: Option<&str>) -> String {
        let mut text = format!("{}, {} (`{}`):\n\n", self.title, self.unit.symbol(), self.id);
        let mut line = |cells: Vec<String>| text.push_str(&format!("| {} |\n", cells.join(" | ")));
        let (columns, pairs) = (0..self.columns.len(), 0..self.speed_ups.len());
        let mut names = vec![self.axis.clone()];
        names.extend(self.columns.iter().map(|column| column.name.clone()));
        names.extend(pairs.clone().map(|pair| self.speed_up_name(pair)));
        names.extend(self.remarks.iter().map(|remark| remark.name.clone()));
        let rule = vec!["---".to_owned(); names.len()];
        line(names);
        line(rule);
        for (i, row) in self.rows.iter().enumerate() {
            let mut cells = vec![row.name.clone()];
            cells.extend(columns.clone().map(|column| self.cell(column, i)));
            cells.extend(pairs.clone().map(|pair| self.speed_up_cell(pair, i, "x")));
            cells.extend(self.remarks.iter().map(|remark| remark.texts[i].clone()));
            line(cells);
        }
        if !self.notes.is_empty() {
            text.push('\n');
        }
        self.notes.iter().for_each(|note| text.push_str(&format!("- {note}\n")));
        if let Some(path) = plot {
            text.push_str(&format!("\n![{}]({path})\n", self.title));
        }
        text
    }

    fn json(&self) -> Json {
        let value = |value: Value| match value {
            Value::Number(number) => json!(number),
            Value::NotRun => json!("not run"),
            Value::Nothing => Json::Null,
        };
        json!({
            "id": self.id, "title": self.title, "axis": self.axis, "unit": self.unit.symbol(), "notes": self.notes,
            "rows": self.rows.iter().map(|row| json!({ "name": row.name, "x": row.x })).collect::<Vec<_>>(),
            "columns": self.columns.iter().map(|column| json!({
                "name": column.name,
                "origin": origin(column.origin),
                "values": column.values.iter().copied().map(value).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
            "speed_ups": (0..self.speed_ups.len()).map(|pair| json!({
                "name": self.speed_up_name(pair),
                "values": (0..self.rows.len()).map(|row| self.speed_up(pair, row)).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
            "remarks": self.remarks.iter().map(|remark| json!({ "name": remark.name, "texts": remark.texts })).collect::<Vec<_>>(),
        })
    }
}

/// The receiver of the tables of a run, each as soon as it is done.
pub type Show<'a> = dyn FnMut(Table) -> Result<()> + 'a;

fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Paper => "paper",
        Origin::Measured => "measured",
    }
}

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The machine, the time and the program of a run.
    pub header: Header,
    /// The results.
    pub tables: Vec<Table>,
}

impl Report {
    /// Everything.
    pub fn json(&self) -> Json {
        let tables: Vec<Json> = self.tables.iter().map(Table::json).collect();
        json!({ "header": self.header.json(), "tables": tables })
    }

    /// Tables to paste into a document, each with its plot where `plot` says that there is one.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn markdown(
        &self,
        output: &mut impl Write,
        plot: impl Fn(&Table) -> Option<String>,
    ) -> io::Result<()> {
        for line in self.header.to_string().lines() {
            writeln!(output, "{line}  ")?;
        }
        for table in &self.tables {
            write!(output, "\n{}", table.markdown(plot(table).as_deref()))?;
        }
        Ok(())
    }

    /// One line per figure.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn csv(&self, output: &mut impl Write) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(output);
        let mut write = |record: &[&str]| writer.write_record(record).map_err(io::Error::other);
        write(&["table", "unit", "row", "x", "column", "origin", "value", "status"])?;
        for table in &self.tables {
            for column in &table.columns {
                for (row, value) in table.rows.iter().zip(&column.values) {
                    let (value, status) = match value {
                        Value::Number(number) => (number.to_string(), "measured"),
                        Value::NotRun => (String::new(), "not run"),
                        Value::Nothing => continue,
                    };
                    let status = if column.origin == Origin::Paper { "quoted" } else { status };
                    let x = row.x.map_or(String::new(), |x| x.to_string());
                    let unit = table.unit.symbol();
                    let origin = origin(column.origin);
                    write(&[&table.id, unit, &row.name, &x, &column.name, origin, &value, status])?;
                }
            }
        }
        writer.flush()
    }
}

/// Four significant digits.
fn figure(number: f64) -> String {
    match number.abs() {
        size if size >= 999.95 || size == 0.0 => format!("{number:.0}"),
        size if size >= 99.995 => format!("{number:.1}"),
        size if size >= 9.9995 => format!("{number:.2}"),
        size if size >= 0.99995 => format!("{number:.3}"),
        size if size >= 1e-4 => format!("{number:.*}", (3 - size.log10().floor() as i32) as usize),
        _ => format!("{number:.3e}"),
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { command, cpu, cpu_backend, gpu, driver, date, version, commit, quick } = self;
        writeln!(f, "he-cli {version}, commit {commit}, {date}")?;
        writeln!(f, "command: {command}")?;
        writeln!(f, "CPU: {cpu}; {cpu_backend}")?;
        if let (Some(gpu), Some(driver)) = (gpu, driver) {
            writeln!(f, "GPU: {gpu}; {driver}")?;
        }
        if *quick {
            writeln!(f, "quick: small sizes, each call timed once; no figure to quote")?;
        }
        Ok(())
    }
}

impl fmt::Display for Table {
    /// Columns are named by letters, which are explained first, because names are long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = |column: usize| char::from(b'a' + (column % 26) as u8).to_string();
        writeln!(f, "{} [{}], {}", self.title, self.id, self.unit.symbol())?;
        for (i, column) in self.columns.iter().enumerate() {
            writeln!(f, "  {}: {}", letter(i), column.name)?;
        }
        let mut lines = vec![vec![self.axis.clone()]];
        lines[0].extend((0..self.columns.len()).map(letter));
        lines[0].extend(self.speed_ups.iter().map(|&(paper, ours)| match self.unit.is_time() {
            true => format!("{}/{}", letter(paper), letter(ours)),
            false => format!("{}/{}", letter(ours), letter(paper)),
        }));
        for (i, row) in self.rows.iter().enumerate() {
            let mut line = vec![row.name.clone()];
            line.extend((0..self.columns.len()).map(|column| self.cell(column, i)));
            line.extend((0..self.speed_ups.len()).map(|pair| self.speed_up_cell(pair, i, "")));
            lines.push(line);
        }
        let widths: Vec<usize> = (0..lines[0].len())
            .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0))
            .collect();
        for line in lines {
            let mut text = format!("  {:<1$}", line[0], widths[0]);
            for (cell, width) in line.iter().zip(&widths).skip(1) {
                text.push_str(&format!("  {cell:>width$}"));
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        for remark in &self.remarks {
            writeln!(f, "  {}:", remark.name)?;
            for (row, text) in self.rows.iter().zip(&remark.texts).filter(|(_, text)| !text.is_empty()) {
                writeln!(f, "    {}: {text}", row.name)?;
            }
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "  * {note}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("t", "A table", "size", Unit::Milliseconds)
            .along([("1".to_owned(), 1.0), ("10".to_owned(), 10.0)]);
        table.paper("paper", [4.0, f64::NAN]);
        table.measured("CPU", [Value::Number(2e-3), Value::NotRun]);
        table.compare("paper", "CPU");
        table.compare("paper", "GPU");
        table.note("a note");
        table
    }

    #[test]
    fn tables_as_text() {
        let expected = "A table [t], ms\n  a: paper\n  b: CPU\n  size      a        b    a/b\n  \
                        1     4.000    2.000  2.000\n  10        -  not run      -\n  * a note\n";
        assert_eq!(table().to_string(), expected);
    }

    #[test]
    fn tables_as_markdown() {
        let mut table = table();
        table.remark("chain", ["2^13".to_owned()]);
        let expected = "A table, ms (`t`):\n\n| size | paper | CPU | CPU over paper | chain |\n| --- | --- | --- | --- | --- |\n\
                        | 1 | 4.000 | 2.000 | 2.000x | 2^13 |\n| 10 | - | not run | - |  |\n\n- a note\n\n![A table](plots/t.svg)\n";
        assert_eq!(table.markdown(Some("plots/t.svg")), expected);
        assert!(table.markdown(None).ends_with("- a note\n"));
    }

    #[test]
    fn remarks_follow_the_figures() {
        let mut table = table();
        table.remark("chain", ["2^13".to_owned()]);
        assert!(table.to_string().ends_with("  chain:\n    1: 2^13\n  * a note\n"), "{table}");
        assert_eq!(table.json()["remarks"], json!([{ "name": "chain", "texts": ["2^13", ""] }]));
    }

    #[test]
    fn tables_as_json() {
        let json = table().json();
        assert_eq!(json["columns"][1]["values"], json!([2.0, "not run"]));
        assert_eq!(json["columns"][0]["values"], json!([4.0, null]));
        assert_eq!(json["speed_ups"], json!([{ "name": "CPU over paper", "values": [2.0, null] }]));
    }

    #[test]
    fn faster_is_larger_for_rates_too() {
        let mut table = Table::new("t", "", "bytes", Unit::KilobytesPerSecond).categories(["16"]);
        table.paper("paper", [100.0]);
        table.measured_rates("CPU", [(Value::Number(1e-6), 16)]);
        table.compare("paper", "CPU");
        assert_eq!(table.columns[1].values[0], Value::Number(16000.0));
        assert_eq!(table.speed_up(0, 0), Some(160.0));
    }

    #[test]
    fn figures_have_four_digits() {
        for (number, text) in [
            (0.0, "0"),
            (123456.0, "123456"),
            (999.96, "1000"),
            (123.45, "123.5"),
            (9.99996, "10.00"),
            (1.0, "1.000"),
            (0.012346, "0.01235"),
            (0.0001, "0.0001000"),
            (0.00001234, "1.234e-5"),
        ] {
            assert_eq!(figure(number), text);
        }
    }
}

//! Predictions, before anything is prepared.

use crate::answer::Answer;
use crate::plan::Params;
use crate::query::Query;

/// The bytes and operations of a database, of its queries and of its answers. Bytes are exact.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The bytes of a query, with its keys.
    pub query_bytes: u64,
    /// The bytes of its keys among them.
    pub key_bytes: u64,
    /// The bytes of an answer.
    pub answer_bytes: u64,
    /// The bytes of the matrix, which each scan reads.
    pub matrix_bytes: u64,
    /// The bytes of the digits of masks, which each scan reads as well.
    pub digit_bytes: u64,
    /// The products of a byte and a word of 32 bits for each query.
    pub byte_products: u64,
    /// The modular products for each query.
    pub modular_products: u64,
    /// The transforms of the preparation, of N coefficients each.
    pub preparation_transforms: u64,
    /// log2 of a bound on the probability that a record is read wrongly.
    pub log2_failure: f64,
}

impl Facts {
    /// The facts of parameters.
    pub fn of(params: &Params) -> Self {
        let (n, rows) = (params.n() as u64, (params.packs() * params.n()) as u64);
        let matrix_bytes = rows * params.columns() as u64;
        let products = rows * (n - 1);
        Self {
            query_bytes: Query::bytes(params) as u64,
            key_bytes: Query::key_bytes(params) as u64,
            answer_bytes: Answer::bytes(params) as u64,
            matrix_bytes,
            digit_bytes: 8 * products,
            byte_products: matrix_bytes,
            modular_products: products,
            preparation_transforms: matrix_bytes / n + 3 * rows,
            log2_failure: params.log2_failure(),
        }
    }

    /// The seconds of a scan, for one query or as many as the processor computes in that time: all
    /// of the database is read once at `rate` bytes per second.
    pub fn scan_seconds(&self, rate: f64) -> f64 {
        (self.matrix_bytes + self.digit_bytes) as f64 / rate
    }
}

impl std::fmt::Display for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kilo = |bytes: u64| bytes as f64 / 1e3;
        let mega = |bytes: u64| bytes as f64 / 1e6;
        writeln!(
            f,
            "query: {:.1} kB, of which {:.1} kB are keys",
            kilo(self.query_bytes),
            kilo(self.key_bytes)
        )?;
        writeln!(f, "answer: {:.1} kB", kilo(self.answer_bytes))?;
        let [matrix, digits] = [self.matrix_bytes, self.digit_bytes].map(mega);
        writeln!(f, "prepared database: {matrix:.1} MB of records and {digits:.1} MB of digits")?;
        let giga = |count: u64| count as f64 / 1e9;
        let [bytes, modular] = [self.byte_products, self.modular_products].map(giga);
        writeln!(f, "each query: {bytes:.3} 10^9 products of bytes, {modular:.3} 10^9 modular products")?;
        let seconds = self.scan_seconds(10e9);
        writeln!(f, "each scan: {seconds:.3} s where memory is read at 10 GB/s")?;
        write!(f, "a record is read wrongly with a probability below 2^{:.1}", self.log2_failure)
    }
}

//! Lookups in public tables by an encrypted index.
//!
//! An index has a *column*, the four bits of its lowest two digits, and a *row*, the b bits above.
//! Every function T of both is a sum over the sets S of bits of the row, T(h, l) = sum of sign_S(h)
//! F_S(l), where sign_S is -1 if an odd number of the bits in S are set, and F_S(l) is the mean of
//! sign_S(h) T(h, l) over h: the Walsh-Hadamard transform of each column of the table. Half a turn
//! changes the sign of whatever a bootstrap looks up. The lookup of l / 32, plus half a turn for
//! each bit in S that is set, in the table F_S thus yields the whole term: 2^b bootstraps, with the
//! margin of messages below 16 and hardly more noise than a digit. Terms are not integers, but
//! their sum is one, 0 to 15: two digits of an entry, which two more bootstraps take apart. With b
//! = 1 this is the split into an even function and an odd one of Clet, Boudguiga, Sirdey, Zuber,
//! *ComBo: a Novel Functional Bootstrapping Method for Efficient Evaluation of Nonlinear Functions
//! in the Encrypted Domain*, AFRICACRYPT 2023.

use super::rows::{Form, Rows};
use super::tables::{BITS, Table, UNIT};
use super::{EncryptedInteger, EncryptedUint, IntegerEvaluator, digits_of};
use crate::error::{Error, Result};
use crate::tfhe::{LookupTables, LweBatch, LweOps};
use num_bigint::BigUint;

/// The digits of a column.
const COLUMN: usize = 2;
/// The entries of a row.
const COLUMNS: usize = 1 << (COLUMN * BITS);
/// The most digits of an index: sums of 4^3 bootstraps, and one, are within
/// [`DIGIT_LOOKUP`](super::DIGIT_LOOKUP), and those of 4^4 are not.
const MOST: usize = COLUMN + 3;
/// The functions of a condition that one bootstrap evaluates, by two entries each.
const OF_CONDITION: usize = 8;

/// A public table for lookups by indices of one width: [`IntegerEvaluator::plain_array`] makes it,
/// and [`get_in`](IntegerEvaluator::get_in) looks indices up, batch after batch.
#[derive(Debug)]
pub struct PlainArray {
    /// The bits of an entry.
    bits: usize,
    /// The bits of an index.
    index_bits: usize,
    way: Way,
}

/// The way of a lookup.
#[derive(Debug)]
enum Way {
    /// By a sum of terms for each part of an entry.
    Terms(Parts),
    /// By a condition for each of these entries.
    Conditions(Vec<BigUint>),
}

/// A public table, by parts of its entries.
#[derive(Debug)]
struct Parts {
    /// The digits of an index that are looked up.
    digits: usize,
    /// The digits of a part: two, which a sum of terms has, or one if there is one term.
    size: usize,
    /// The different parts, as the values that they have in the entries; 0 beyond the last entry.
    values: Vec<Vec<u8>>,
    /// The part that is in each place of an entry, from the lowest.
    places: Vec<usize>,
}

impl Parts {
    /// The parts of entries of so many digits, by so many digits of an index.
    fn of(table: &[BigUint], places: usize, digits: usize) -> Self {
        let digits = digits.max(COLUMN);
        let size = if digits == COLUMN { 1 } else { 2 };
        let mut parts = Self { digits, size, values: Vec::new(), places: Vec::new() };
        for place in 0..places.div_ceil(size) {
            let bits = size * BITS;
            let value = |entry: &BigUint| {
                let bit = |bit: usize| u8::from(entry.bit((place * bits + bit) as u64)) << bit;
                (0..bits).map(bit).sum::<u8>()
            };
            let mut values: Vec<_> = table.iter().map(value).collect();
            values.resize(1 << (digits * BITS), 0);
            let known = parts.values.iter().position(|known| *known == values);
            parts.places.push(known.unwrap_or(parts.values.len()));
            if known.is_none() {
                parts.values.push(values);
            }
        }
        parts
    }

    /// The bits of a row.
    fn row_bits(&self) -> usize {
        (self.digits - COLUMN) * BITS
    }

    /// A row in which all entries are 0.
    fn empty_row(&self) -> Option<usize> {
        let row = |values: &Vec<u8>, row: usize| values[row * COLUMNS..][..COLUMNS].iter().all(|&v| v == 0);
        (0..1 << self.row_bits()).find(|&at| self.values.iter().all(|values| row(values, at)))
    }
}

/// The tables of the terms of a part, 2^b F_S(l), by the set S as the bits of its number.
fn transformed(values: &[u8]) -> Vec<[i64; COLUMNS]> {
    let row = |row: &[u8]| std::array::from_fn(|l| i64::from(row[l]));
    let mut rows: Vec<[i64; COLUMNS]> = values.chunks_exact(COLUMNS).map(row).collect();
    let mut half = 1;
    while half < rows.len() {
        for block in rows.chunks_exact_mut(2 * half) {
            let (clear, set) = block.split_at_mut(half);
            for (x, y) in clear.iter_mut().flatten().zip(set.iter_mut().flatten()) {
                (*x, *y) = (*x + *y, *x - *y);
            }
        }
        half *= 2;
    }
    rows
}

/// Rows from which terms are looked up: the digits of a column, half a turn for each bit of a row
/// that is set, and for some parts the difference to 0 beyond the last entry.
struct Selection<B: LweOps> {
    rows: Rows<B>,
    bits: Vec<usize>,
    missing: Vec<Option<usize>>,
}

impl<B: LweOps> IntegerEvaluator<B> {
    /// Entry `index` of a public table, as an integer of `bits` bits; 0 beyond its end.
    ///
    /// Let q be the digits of an index that tell the entries apart, at least 2, and g = ceil(`bits`
    /// / 4). Tables of up to 1024 entries take at most q - 2 + g (4^(q - 2) + 2) bootstraps, at
    /// depth 3: 38 for 256 entries of 8 bits, 290 for 256 of 64 bits. Up to 16 entries take one
    /// bootstrap for each digit of a result. If the index has more digits than q, there are at most
    /// 2 + ceil(g / 8) more, or 2 + ceil(g / 4) for up to 16 entries, and about one for each five
    /// of those digits. Four bits of results that are 0 in all entries, or equal to four others in
    /// all of them, are free.
    ///
    /// Longer tables, and shorter ones for which this takes fewer bootstraps, are looked up by a
    /// condition for each entry: about one bootstrap for each entry, and one for each twenty
    /// entries and digit.
    ///
    /// ```
    /// # use he_core::{backend::Cpu, tfhe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let (cpu, mut rng) = (Cpu::new(), he_core::rand::rng());
    /// # let secret = TfheSecretKey::generate(&presets::insecure_small()?, &mut rng);
    /// # let key = BootstrapKey::generate(&secret, &mut rng);
    /// let evaluator = IntegerEvaluator::new(&cpu, &key, Carry::Ripple)?;
    /// let squares: Vec<_> = (0..20u32).map(|i| num_bigint::BigUint::from(i * i)).collect();
    /// let index = secret.encrypt_u64(&cpu, &[3, 19, 20], 8, &mut rng)?;
    /// let found = evaluator.get_plain(&squares, 16, &index)?;
    /// assert_eq!(secret.decrypt_u64(&found)?, [9, 361, 0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Noise
    /// Results are those of bootstraps, or sums of two. No lookup takes more than
    /// [`DIGIT_LOOKUP`](crate::tfhe::DIGIT_LOOKUP): the two digits of a column count 34, each bit
    /// above them 1; a sum of terms counts 4^(q - 2), 64 at most, and one for the entry that is
    /// subtracted beyond the end.
    ///
    /// # Errors
    /// [`Error::Argument`] for an empty table, for more entries than the index can reach, and for
    /// entries that do not fit; the errors of [`add`](Self::add).
    pub fn get_plain(
        &self,
        table: &[BigUint],
        bits: usize,
        index: &EncryptedUint<B>,
    ) -> Result<EncryptedUint<B>> {
        self.get_in(&self.plain_array(table, bits, index.bits())?, index)
    }

    /// A table of entries of `bits` bits for indices of `index_bits` bits, for many lookups: the
    /// way that takes fewer bootstraps is found here, by counting those of both in a run without
    /// ciphertexts. Lookups are those of [`get_plain`](Self::get_plain).
    ///
    /// ```
    /// # use he_core::{backend::Cpu, tfhe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let (cpu, mut rng) = (Cpu::new(), he_core::rand::rng());
    /// # let secret = TfheSecretKey::generate(&presets::insecure_small()?, &mut rng);
    /// # let key = BootstrapKey::generate(&secret, &mut rng);
    /// # let evaluator = IntegerEvaluator::new(&cpu, &key, Carry::Ripple)?;
    /// let primes = evaluator.plain_array(&[2u32, 3, 5, 7, 11].map(Into::into), 8, 8)?;
    /// for (index, prime) in [(0, 2), (4, 11), (5, 0)] {
    ///     let index = secret.encrypt_u64(&cpu, &[index], 8, &mut rng)?;
    ///     assert_eq!(secret.decrypt_u64(&evaluator.get_in(&primes, &index)?)?, [prime]);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`get_plain`](Self::get_plain).
    pub fn plain_array(&self, table: &[BigUint], bits: usize, index_bits: usize) -> Result<PlainArray> {
        let places = digits_of(bits)?;
        if let Some(entry) = table.iter().position(|entry| entry.bits() > bits as u64) {
            let why = format!("entry {entry} does not fit {bits} bits");
            return Err(Error::argument("table", why));
        }
        let (tally, counting) = self.counting()?;
        let one = LweBatch::zeros(&tally, self.params(), digits_of(index_bits)?)?;
        let one: EncryptedUint<_> = EncryptedInteger::from_ciphertexts(one, index_bits)?;
        let digits = one.digits_to(table.len())?;
        let conditions = || PlainArray { bits, index_bits, way: Way::Conditions(table.to_vec()) };
        if digits > MOST {
            return Ok(conditions());
        }
        // Both ways, on a back end that counts.
        let parts = Parts::of(table, places, digits);
        counting.by_terms(&parts, places, &one)?;
        let by_terms = tally.lookups();
        counting.by_conditions(table, places, &one)?;
        Ok(match tally.lookups() - by_terms < by_terms {
            true => conditions(),
            false => PlainArray { bits, index_bits, way: Way::Terms(parts) },
        })
    }

    /// Entry `index` of a public table; 0 beyond its end. The bootstraps and the noise are those of
    /// [`get_plain`](Self::get_plain).
    ///
    /// # Errors
    /// [`Error::Argument`] for an index of another width than the table is for; the errors of
    /// [`add`](Self::add).
    pub fn get_in(&self, array: &PlainArray, index: &EncryptedUint<B>) -> Result<EncryptedUint<B>> {
        if index.bits() != array.index_bits {
            let why = format!("{} bits, and the table is for {}", index.bits(), array.index_bits);
            return Err(Error::argument("index", why));
        }
        let places = digits_of(array.bits)?;
        match &array.way {
            Way::Terms(parts) => self.by_terms(parts, places, index),
            Way::Conditions(table) => self.by_conditions(table, places, index),
        }
    }

    /// The entry by one condition for each entry.
    fn by_conditions(
        &self,
        table: &[BigUint],
        places: usize,
        index: &EncryptedUint<B>,
    ) -> Result<EncryptedUint<B>> {
        let selectors = self.one_hot(index, table.len())?;
        let digit =
            |entry: &BigUint, d: u64| i64::from(entry.bit(2 * d)) + 2 * i64::from(entry.bit(2 * d + 1));
        let digits = (0..places as u64)
            .map(|d| {
                let terms = table.iter().enumerate().map(|(row, entry)| (digit(entry, d), row));
                terms.filter(|&(weight, _)| weight > 0).collect()
            })
            .collect();
        Ok(EncryptedInteger::new(self.gathered(selectors, digits)?))
    }

    /// The entry by a sum of terms for each part of it.
    fn by_terms(&self, parts: &Parts, places: usize, index: &EncryptedUint<B>) -> Result<EncryptedUint<B>> {
        let selection = self.selection(parts, index)?;
        // No more terms are in memory at once than the table has entries.
        let all: Vec<_> = (0..parts.values.len()).collect();
        let sums = all.chunks(COLUMNS).map(|some| self.sums_of_terms(parts, some, &selection));
        let sums = sums.collect::<Result<Vec<_>>>()?;
        let sums = Rows::stack(&sums.iter().collect::<Vec<_>>())?;
        let part = |place: usize| parts.places[place / parts.size];
        if parts.size == 1 {
            let digits: Vec<_> = (0..places).map(|place| Form::of([(1, part(place))])).collect();
            return Ok(EncryptedInteger::new(self.combine(&sums, &digits)?));
        }
        let (mut apart, mut known) = (Vec::new(), Vec::new());
        let digits: Vec<_> = (0..places)
            .map(|place| {
                let (part, upper) = (part(place), place % 2 == 1);
                if parts.values[part].iter().all(|value| if upper { value / 4 == 0 } else { value % 4 == 0 })
                {
                    return Form::default();
                }
                let at = known.iter().position(|&other| other == (part, upper)).unwrap_or_else(|| {
                    known.push((part, upper));
                    let table = if upper { Table::Quarter } else { Table::Message };
                    apart.push((Form::of([(1, part)]), table));
                    apart.len() - 1
                });
                Form::of([(1, at)])
            })
            .collect();
        let apart = self.lookup(&sums, &apart)?;
        Ok(EncryptedInteger::new(self.combine(&apart, &digits)?))
    }

    /// The sums of the terms of some parts.
    fn sums_of_terms(&self, parts: &Parts, some: &[usize], selection: &Selection<B>) -> Result<Rows<B>> {
        let (mut tables, mut forms, mut sums) = (Vec::new(), Vec::new(), Vec::new());
        let rows = selection.rows.count;
        for &part in some {
            let mut sum = Form::default();
            for (set, values) in transformed(&parts.values[part]).into_iter().enumerate() {
                // The mean: the unit is a multiple of 2^b.
                let table = values.map(|value| (value as u64).wrapping_mul(UNIT >> parts.row_bits()));
                if set == 0 && table == [table[0]; COLUMNS] {
                    sum.constant = table[0];
                } else if table != [0; COLUMNS] {
                    let signs = selection.bits.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1);
                    let form = Form::of([(1, 0), (4, 1)]);
                    let form = signs.fold(form, |form, (_, &row)| form.and(1, row));
                    sum = sum.and(1, rows + forms.len());
                    forms.push((form, forms.len() as u32));
                    tables.push(table.to_vec());
                }
            }
            sums.push(selection.missing[part].into_iter().fold(sum, |sum, row| sum.and(1, row)));
        }
        if forms.is_empty() {
            return self.combine(&selection.rows, &sums);
        }
        let tables = LookupTables::new(self.backend(), self.params(), &tables)?;
        let terms = self.lookup_in(&tables, &selection.rows, &forms)?;
        self.combine(&Rows::stack(&[&selection.rows, &terms])?, &sums)
    }

    /// The rows that select the terms of an index; beyond the end of the table they are those of a
    /// row of zeros, or of index 0, whose entry is then subtracted.
    fn selection(&self, parts: &Parts, index: &EncryptedUint<B>) -> Result<Selection<B>> {
        let upper = parts.digits - COLUMN;
        let beyond = (parts.digits < index.places()).then(|| {
            let flags = self.any_digit(&index.digits.rows(parts.digits..index.places())?)?;
            self.row(&flags, index.batch())
        });
        let beyond = beyond.transpose()?;
        let digits = index.digits.rows(0..parts.digits)?;
        let pool = Rows::stack(&std::iter::once(&digits).chain(&beyond).collect::<Vec<_>>())?;
        let form = |digit: usize| {
            let form = Form::of([(1, digit)]);
            if beyond.is_some() { form.and(4, parts.digits) } else { form }
        };
        let empty = parts.empty_row();
        let mut rows = match &beyond {
            Some(_) if empty.is_none() => {
                self.lookup_all(&pool, (0..COLUMN).map(form).collect(), Table::Unless)?
            }
            _ => digits.rows(0..COLUMN)?,
        };
        if upper > 0 {
            let empty = empty.unwrap_or(0) as u64;
            let turns = |digit: usize, bit: usize| {
                let of = |message: u64| if message < 4 { message } else { empty >> (digit * BITS) };
                (0..8).map(|message| (of(message) >> bit & 1) << 63).collect()
            };
            let tables: Vec<_> = (0..upper).map(|digit| [turns(digit, 0), turns(digit, 1)]).collect();
            let tables = LookupTables::pairs(self.backend(), self.params(), &tables)?;
            let forms: Vec<_> = (0..upper).zip(0..).map(|(digit, at)| (form(COLUMN + digit), at)).collect();
            rows = Rows::stack(&[&rows, &self.lookup_functions(&tables, &pool, &forms, 2)?])?;
        }
        let bits = (0..parts.row_bits()).map(|bit| COLUMN + bit % BITS * upper + bit / BITS).collect();
        let mut selection = Selection { rows, bits, missing: vec![None; parts.values.len()] };
        if let Some(beyond) = beyond.filter(|_| empty.is_none()) {
            self.subtract_first(parts, &beyond, &mut selection)?;
        }
        Ok(selection)
    }

    /// Adds rows of minus the first entry where the condition is set, for the parts of it that are
    /// not 0.
    fn subtract_first(&self, parts: &Parts, beyond: &Rows<B>, selection: &mut Selection<B>) -> Result<()> {
        let first: Vec<_> = (0..parts.values.len()).filter(|&part| parts.values[part][0] > 0).collect();
        if first.is_empty() {
            return Ok(());
        }
        let words = |&part: &usize| [0, u64::from(parts.values[part][0]).wrapping_mul(UNIT).wrapping_neg()];
        let mut tables: Vec<_> = first.iter().map(words).collect();
        tables.resize(first.len().next_multiple_of(OF_CONDITION), [0; 2]);
        let count = tables.len() / OF_CONDITION;
        let entries: Vec<&[u64]> = tables.iter().map(|table| &table[..]).collect();
        let tables = LookupTables::of_functions(self.backend(), self.params(), &entries, OF_CONDITION)?;
        let forms: Vec<_> = (0..count).map(|at| (Form::of([(1, 0)]), at as u32)).collect();
        let found = self.lookup_functions(&tables, beyond, &forms, OF_CONDITION)?;
        for (at, &part) in first.iter().enumerate() {
            let row = at % OF_CONDITION * count + at / OF_CONDITION;
            selection.missing[part] = Some(selection.rows.count + row);
        }
        selection.rows = Rows::stack(&[&selection.rows, &found])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng, rngs::ChaCha20Rng};

    /// The sum of the terms, with signs by the parity of the bits of a row, is the table.
    #[test]
    fn terms_add_up_to_the_table() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for bits in [0, 2, 4, 6] {
            let values: Vec<u8> = (0..COLUMNS << bits).map(|_| rng.next_u32() as u8 % 16).collect();
            let terms = transformed(&values);
            for (at, &value) in values.iter().enumerate() {
                let (row, column) = (at / COLUMNS, at % COLUMNS);
                let sign = |set: usize| if (set & row).count_ones().is_multiple_of(2) { 1 } else { -1 };
                let sum: i64 = (0..terms.len()).map(|set| sign(set) * terms[set][column]).sum();
                assert_eq!(sum, i64::from(value) << bits, "entry {at}, seed 1");
            }
        }
    }
}

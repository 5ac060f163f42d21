//! Shifts and rotations.

use super::rows::{Form, Rows};
use super::tables::{BITS, Pair, Table};
use super::{EncryptedInteger, EncryptedUint, IntegerEvaluator, Signedness};
use crate::error::Result;
use crate::tfhe::LweOps;

/// The direction in which digits move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Motion {
    Up,
    Down,
    /// Down, with copies of the sign behind.
    DownSigned,
    Around,
    AroundDown,
}

impl Motion {
    /// A shift to the right.
    fn down<S: Signedness>() -> Self {
        if S::SIGNED { Self::DownSigned } else { Self::Down }
    }

    /// The digit that moves to `digit` by `distance` digits, unless that is from outside.
    fn source(self, digit: usize, distance: usize, places: usize) -> Option<usize> {
        match self {
            Self::Up => digit.checked_sub(distance),
            Self::Down | Self::DownSigned => Some(digit + distance).filter(|&d| d < places),
            Self::Around => Some((digit + places - distance) % places),
            Self::AroundDown => Some((digit + distance) % places),
        }
    }

    /// The table of moves by one bit.
    fn by_a_bit(self) -> Pair {
        match self {
            Self::Up | Self::Around => Pair::ShiftUp,
            _ => Pair::ShiftDown,
        }
    }
}

/// The condition of a move: a row, or always.
fn under(digit: usize, condition: Option<usize>) -> Form {
    match condition {
        Some(row) => Form::of([(1, digit), (4, row)]),
        None => Form::sum([digit]).plus(4),
    }
}

impl<B: LweOps> IntegerEvaluator<B> {
    /// x times 2^amount modulo 2^bits: 0 from the width on. Without a bootstrap for even amounts,
    /// otherwise with one per digit. The time reveals the amount.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn shl_plain<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        amount: usize,
    ) -> Result<EncryptedInteger<S, B>> {
        self.moved_plain(x, amount.min(x.bits()), Motion::Up)
    }

    /// x / 2^amount, rounded down: 0 from the width on, or -1 if x is negative. Bootstraps as for
    /// [`shl_plain`](Self::shl_plain), and one for the sign.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn shr_plain<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        amount: usize,
    ) -> Result<EncryptedInteger<S, B>> {
        self.moved_plain(x, amount.min(x.bits()), Motion::down::<S>())
    }

    /// The bits of x rotated to the left by `amount` modulo the width. Bootstraps as for
    /// [`shl_plain`](Self::shl_plain).
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn rotl_plain<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        amount: usize,
    ) -> Result<EncryptedInteger<S, B>> {
        self.moved_plain(x, amount % x.bits(), Motion::Around)
    }

    /// The bits of x rotated to the right by `amount` modulo the width.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn rotr_plain<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        amount: usize,
    ) -> Result<EncryptedInteger<S, B>> {
        self.moved_plain(x, amount % x.bits(), Motion::AroundDown)
    }

    /// x times 2^amount modulo 2^bits, for encrypted amounts of any width: 0 from the width of x
    /// on. One bootstrap per digit for each bit of the amount that matters.
    ///
    /// # Errors
    /// [`Error::BatchMismatch`](crate::Error::BatchMismatch); the errors of [`add`](Self::add).
    pub fn shl<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        amount: &EncryptedUint<B>,
    ) -> Result<EncryptedInteger<S, B>> {
        self.shifted(x, amount, Motion::Up)
    }

    /// x / 2^amount, rounded down, for encrypted amounts of any width: 0 from the width of x on, or
    /// -1 if x is negative. Bootstraps as for [`shl`](Self::shl).
    ///
    /// # Errors
    /// The errors of [`shl`](Self::shl).
    pub fn shr<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        amount: &EncryptedUint<B>,
    ) -> Result<EncryptedInteger<S, B>> {
        self.shifted(x, amount, Motion::down::<S>())
    }

    /// The bits of x rotated to the left by an encrypted amount modulo the width. One bootstrap per
    /// digit for each bit of the amount, or as many as the width has if that is a power of two.
    ///
    /// # Errors
    /// The errors of [`shl`](Self::shl).
    pub fn rotl<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        amount: &EncryptedUint<B>,
    ) -> Result<EncryptedInteger<S, B>> {
        self.rotated(x, amount, Motion::Around)
    }

    /// The bits of x rotated to the right by an encrypted amount modulo the width; see
    /// [`rotl`](Self::rotl).
    ///
    /// # Errors
    /// The errors of [`shl`](Self::shl).
    pub fn rotr<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        amount: &EncryptedUint<B>,
    ) -> Result<EncryptedInteger<S, B>> {
        self.rotated(x, amount, Motion::AroundDown)
    }

    /// Moves by a plain amount of at most the width.
    fn moved_plain<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        amount: usize,
        motion: Motion,
    ) -> Result<EncryptedInteger<S, B>> {
        let (places, whole) = (x.places(), amount / BITS);
        let digits = match amount % BITS {
            0 => x.digits.rows(0..places)?,
            _ => self.moved(&x.digits, None, 1, motion)?,
        };
        // Digits that were moved by a bit have the sign that x had.
        let fill = self.fill(&digits, motion, whole > 0)?;
        let pool = Rows::stack(&[&digits, &fill])?;
        let outside = || if fill.count > 0 { Form::sum([places]) } else { Form::default() };
        let form = |d: usize| motion.source(d, whole, places).map_or_else(outside, |d| Form::sum([d]));
        let copies = if motion == Motion::DownSigned { whole.saturating_sub(1) } else { 0 };
        Ok(self.joined(&pool, (0..places).map(form))?.with_copies(copies))
    }

    /// Three times the sign of an integer, as a row, if a motion fills it in.
    fn fill(&self, digits: &Rows<B>, motion: Motion, needed: bool) -> Result<Rows<B>> {
        if motion != Motion::DownSigned || !needed {
            return self.zeros(0, digits.batch);
        }
        self.sign_digit(digits)
    }

    /// Three times the sign of an integer, as a row: the digit above its digits.
    pub(super) fn sign_digit(&self, digits: &Rows<B>) -> Result<Rows<B>> {
        self.lookup_pairs(digits, &[(under(digits.count - 1, None), Pair::Fill)])?.rows(1..2)
    }

    /// Moves digits by `amount` bits, one or an even number, where the condition is set: one
    /// bootstrap per digit. The part that remains and the part that moves in are the two functions
    /// of a table.
    fn moved(
        &self,
        digits: &Rows<B>,
        condition: Option<&Rows<B>>,
        amount: usize,
        motion: Motion,
    ) -> Result<Rows<B>> {
        let places = digits.count;
        let by_a_bit = amount == 1;
        let pool = match condition {
            Some(condition) => Rows::stack(&[digits, condition])?,
            None => digits.rows(0..places)?,
        };
        let row = condition.map(|_| places);
        let pair = if by_a_bit { motion.by_a_bit() } else { Pair::IfAndUnless };
        let mut forms: Vec<_> = (0..places).map(|d| (under(d, row), pair)).collect();
        if motion == Motion::DownSigned {
            forms.push((under(places - 1, row), Pair::Fill));
        }
        let all = forms.len();
        let parts = self.lookup_pairs(&pool, &forms)?;
        let form = |d: usize| {
            let source = motion.source(d, amount.div_ceil(BITS), places);
            // The first function of a move by a bit remains, and the second moves; a move by whole
            // digits has them the other way round. So has the filling: half a digit, and a whole
            // one.
            let (stays, moves) = if by_a_bit { (d, all) } else { (all + d, 0) };
            let filled = if by_a_bit { places } else { all + places };
            match source {
                Some(source) => Form::sum([stays, moves + source]),
                None if motion == Motion::DownSigned => Form::sum([stays, filled]),
                None => Form::sum([stays]),
            }
        };
        self.combine(&parts, &(0..places).map(form).collect::<Vec<_>>())
    }

    /// The lowest bits of amounts, a row each.
    fn amount_bits(&self, amount: &EncryptedUint<B>, count: usize) -> Result<Vec<Rows<B>>> {
        let digits = count.div_ceil(BITS);
        let forms: Vec<_> = (0..digits).map(|d| (Form::sum([d]), Pair::Bits)).collect();
        let bits = self.lookup_pairs(&amount.digits, &forms)?;
        (0..digits * BITS)
            .map(|bit| {
                let row = bit % BITS * digits + bit / BITS;
                bits.rows(row..row + 1)
            })
            .collect()
    }

    fn shifted<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        amount: &EncryptedUint<B>,
        motion: Motion,
    ) -> Result<EncryptedInteger<S, B>> {
        super::evaluator::expect_batch(x.batch(), amount.batch())?;
        let places = x.places();
        // Shifts by 2^level bits, up to the last that leaves something.
        let levels = (x.bits().next_power_of_two().trailing_zeros() as usize).min(amount.bits());
        let bits = self.amount_bits(amount, levels)?;
        let mut digits = x.digits.rows(0..places)?;
        for (level, bit) in bits.iter().enumerate().take(levels) {
            digits = self.moved(&digits, Some(bit), 1 << level, motion)?;
        }
        // Any bit above these leaves nothing but the sign.
        let above = amount.digits.rows(bits.len() / BITS..amount.places())?;
        let above = match bits.get(levels) {
            Some(odd) => Rows::stack(&[odd, &above])?,
            None => above,
        };
        if above.count == 0 {
            return Ok(EncryptedInteger::new(digits));
        }
        let beyond = self.row(&self.any_digit(&above)?, x.batch())?;
        let fill = self.fill(&x.digits, motion, true)?;
        let pool = Rows::stack(&[&digits, &beyond, &fill])?;
        let mut forms: Vec<_> = (0..places).map(|d| (under(d, Some(places)), Table::Unless)).collect();
        forms.extend((0..fill.count).map(|_| (under(places + 1, Some(places)), Table::If)));
        let parts = self.lookup(&pool, &forms)?;
        let form = |d: usize| if fill.count > 0 { Form::sum([d, places]) } else { Form::sum([d]) };
        self.joined(&parts, (0..places).map(form))
    }

    fn rotated<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        amount: &EncryptedUint<B>,
        motion: Motion,
    ) -> Result<EncryptedInteger<S, B>> {
        super::evaluator::expect_batch(x.batch(), amount.batch())?;
        // 2^level modulo the width; 0 from some level on if that is a power of two.
        let moves: Vec<usize> = std::iter::successors(Some(1), |move_by| Some(2 * move_by % x.bits()))
            .take(amount.bits())
            .take_while(|&move_by| move_by > 0)
            .collect();
        let bits = self.amount_bits(amount, moves.len())?;
        let mut digits = x.digits.rows(0..x.places())?;
        for (&move_by, bit) in moves.iter().zip(&bits) {
            digits = self.moved(&digits, Some(bit), move_by, motion)?;
        }
        Ok(EncryptedInteger::new(digits))
    }
}

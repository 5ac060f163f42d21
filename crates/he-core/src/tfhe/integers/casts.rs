//! Other widths.

use super::rows::{Form, Rows};
use super::{EncryptedFlags, EncryptedInteger, IntegerEvaluator, Signedness, digits_of};
use crate::error::Result;
use crate::tfhe::LweOps;

impl<B: LweOps> IntegerEvaluator<B> {
    /// x in another width, as Rust's `as`: narrower integers keep the lower bits, wider ones of
    /// integers with a sign repeat it, at the price of one bootstrap. All other casts are free.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for a width that is not an even number from 8 to
    /// 256; device errors.
    pub fn cast<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        bits: usize,
    ) -> Result<EncryptedInteger<S, B>> {
        let (from, to) = (x.places(), digits_of(bits)?);
        if to <= from {
            let copies = x.copies.saturating_sub(from - to);
            return Ok(EncryptedInteger::new(x.digits.rows(0..to)?).with_copies(copies));
        }
        let added = if S::SIGNED {
            self.combine(&self.sign_digit(&x.digits)?, &vec![Form::sum([0]); to - from])?
        } else {
            self.zeros(to - from, x.batch())?
        };
        Ok(EncryptedInteger::new(Rows::stack(&[&x.digits, &added])?).with_copies(to - from - 1))
    }

    /// Conditions as integers, 1 where they are set. Free.
    ///
    /// # Errors
    /// The errors of [`cast`](Self::cast).
    pub fn cast_flags<S: Signedness>(
        &self,
        flags: &EncryptedFlags<B>,
        bits: usize,
    ) -> Result<EncryptedInteger<S, B>> {
        let above = digits_of(bits)? - 1;
        let row = self.row(flags, flags.batch())?;
        let digits = Rows::stack(&[&row, &self.zeros(above, row.batch)?])?;
        Ok(EncryptedInteger::new(digits).with_copies(above - 1))
    }
}

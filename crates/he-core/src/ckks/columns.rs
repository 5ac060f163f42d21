//! Columns of numbers: the methods that CKKS and `bigckks` have in common, which differ in their
//! types and documentation alone.

use crate::backend::check_finite;
use crate::error::Result;
use num_complex::Complex64;

/// Converts real numbers to complex ones.
pub(crate) fn real_column(values: &[f64]) -> Vec<Complex64> {
    values.iter().map(|&x| Complex64::new(x, 0.0)).collect()
}

/// A column as vectors of `slots` numbers, the last of which may be shorter; an empty column is one
/// empty vector.
///
/// # Errors
/// [`Error::NotFinite`] with the index in the column.
pub(crate) fn column_vectors(values: &[Complex64], slots: usize) -> Result<Vec<&[Complex64]>> {
    check_finite(values)?;
    Ok(match values {
        [] => vec![&[]],
        values => values.chunks(slots).collect(),
    })
}

/// The encoding of one vector by an encoder of batches.
macro_rules! vector_encoding {
    ($(#[$complex:meta])* encode; $(#[$real:meta])* encode_real;) => {
        $(#[$complex])*
        pub fn encode(&self, values: &[Complex64], to: Encoding) -> Result<Plaintext<B>> {
            self.encode_batch(&[values], to)
        }

        $(#[$real])*
        pub fn encode_real(&self, values: &[f64], to: Encoding) -> Result<Plaintext<B>> {
            self.encode(&$crate::ckks::real_column(values), to)
        }
    };
}

/// The encryption of columns by an encryptor of plaintexts.
macro_rules! column_encryption {
    ($(#[$real:meta])* encrypt_real; $(#[$complex:meta])* encrypt_complex;) => {
        $(#[$real])*
        pub fn encrypt_real(
            &self,
            values: &[f64],
            rng: &mut (impl CryptoRng + ?Sized),
        ) -> Result<Ciphertext<B>> {
            self.encrypt_complex(&$crate::ckks::real_column(values), rng)
        }

        $(#[$complex])*
        pub fn encrypt_complex(
            &self,
            values: &[Complex64],
            rng: &mut (impl CryptoRng + ?Sized),
        ) -> Result<Ciphertext<B>> {
            self.encrypt(&Encoder::new(&self.params, self.key.ring())?.encode_column(values)?, rng)
        }
    };
}

/// The decryption of columns by a decryptor of ciphertexts.
macro_rules! column_decryption {
    ($(#[$real:meta])* decrypt_real; $(#[$complex:meta])* decrypt_complex;) => {
        $(#[$real])*
        pub fn decrypt_real(&self, ct: &Ciphertext<B>) -> Result<Vec<f64>> {
            let encoder = Encoder::new(&self.params, self.secret.get().ring())?;
            Ok(encoder.decode_real(&self.decrypt(ct)?)?.concat())
        }

        $(#[$complex])*
        pub fn decrypt_complex(&self, ct: &Ciphertext<B>) -> Result<Vec<Complex64>> {
            let encoder = Encoder::new(&self.params, self.secret.get().ring())?;
            Ok(encoder.decode(&self.decrypt(ct)?)?.concat())
        }
    };
}

pub(crate) use {column_decryption, column_encryption, vector_encoding};

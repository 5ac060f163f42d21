//! Conversion of residues between sets of primes, against big integers.
//!
//! Must hold: a number x modulo the product D of the source primes, taken in [-D/2, D/2), has the
//! residues that the conversion gives; within 2^-40 D of D/2 either neighbour may be taken.
//!
//! Bytes: the number of source primes (1 to 8) and their width, then residues as words.

use super::target::Fields;
use he_core::arith::{Modulus, ntt_primes_below};
use he_core::ring::BaseConversion;
use num_bigint::{BigInt, BigUint};
use num_traits::ToPrimitive;

pub fn run(data: &[u8]) {
    let mut fields = Fields(data);
    let (Some(count), Some(width)) = (fields.u8(), fields.u8()) else { return };
    let (count, width) = (usize::from(count % 8) + 1, 12 + u32::from(width) % 50);
    let Ok(primes) = ntt_primes_below(width, 2, count + 2, &[]) else { return };
    let moduli = |values: &[u64]| -> Vec<Modulus> {
        values.iter().map(|&q| Modulus::new(q).expect("a prime")).collect()
    };
    let from = moduli(&primes[..count]);
    let to = moduli(&[&primes[count..], &[17, 65537, (1 << 61) - 1, primes[0]]].concat());
    let mut rows = vec![Vec::new(); count];
    'values: while rows[0].len() < 64 {
        let mut value = Vec::with_capacity(count);
        for modulus in &from {
            let Some(word) = fields.u64() else { break 'values };
            value.push(word % modulus.value());
        }
        rows.iter_mut().zip(value).for_each(|(row, x)| row.push(x));
    }
    let n = rows[0].len();
    if n == 0 {
        return;
    }
    let product: BigUint = from.iter().map(|m| BigUint::from(m.value())).product();
    let values: Vec<BigInt> = (0..n)
        .map(|k| {
            let terms = from.iter().zip(&rows).map(|(m, row)| {
                let hat = &product / m.value();
                let inverse = hat.modpow(&BigUint::from(m.value() - 2), &BigUint::from(m.value()));
                hat * (inverse * row[k] % m.value())
            });
            BigInt::from(terms.sum::<BigUint>() % &product)
        })
        .collect();
    let conversion = BaseConversion::new(&from, &to);
    let (mut y, mut overflow, mut out) = (vec![0; n * count], vec![0; n], vec![0; n]);
    conversion.decompose(|i| &rows[i], &mut y, &mut overflow);
    let product = BigInt::from(product);
    for (j, t) in to.iter().enumerate() {
        conversion.recompose(j, &y, &overflow, &mut out);
        let t = BigInt::from(t.value());
        let residue = |x: BigInt| (((x % &t) + &t) % &t).to_u64().expect("a residue");
        for (x, &found) in values.iter().zip(&out) {
            // 2 x - D is the distance to the edge, twice.
            let edge: BigInt = 2 * x - &product;
            let near = edge.magnitude() << 39u32 < *product.magnitude();
            let (low, high) = (residue(x.clone()), residue(x - &product));
            let negative = edge >= BigInt::from(0);
            let right = found == if negative { high } else { low };
            assert!(right || near && (found == low || found == high), "{x} modulo {product} to {t}: {found}");
        }
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let seed = |count: u8, width: u8, words: &[u64]| {
        let words = words.iter().flat_map(|word| word.to_le_bytes());
        [count, width].into_iter().chain(words).collect::<Vec<u8>>()
    };
    vec![
        seed(0, 49, &[0, 1, u64::MAX, 1 << 60]),
        seed(1, 38, &[0, 0, 1, 1, 5, 7, u64::MAX, 3]),
        seed(2, 18, &[1, 2, 3, 4, 5, 6, 7, 8, 9]),
        seed(7, 49, &(0..32).map(|i| 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(i)).collect::<Vec<_>>()),
    ]
}

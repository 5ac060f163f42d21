//! Polynomials through points modulo a prime.

use he_core::arith::Modulus;

/// The coefficients, lowest first, of the polynomial of degree below the number of nodes that has
/// value `values[v][i]` at node i, for every v: divided differences (Newton), multiplied out. The
/// nodes must differ. For n nodes and v polynomials, (v + 3 / 2) n^2 products; variable time.
pub(crate) fn interpolate(t: &Modulus, nodes: &[u64], values: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let inverses = inverse_differences(t, nodes);
    let through = |values: &Vec<u64>| multiply_out(t, nodes, differences(t, &inverses, values.clone()));
    values.iter().map(through).collect()
}

/// The divided differences of values.
fn differences(t: &Modulus, inverses: &[Vec<u64>], mut values: Vec<u64>) -> Vec<u64> {
    for (step, row) in inverses.iter().enumerate() {
        for i in (step + 1..values.len()).rev() {
            values[i] = t.mul(t.sub(values[i], values[i - 1]), row[i - step - 1]);
        }
    }
    values
}

/// 1 / (x_(i + d) - x_i) at `[d - 1][i]`, all by one inversion.
fn inverse_differences(t: &Modulus, nodes: &[u64]) -> Vec<Vec<u64>> {
    let differences = |d: usize| (d..nodes.len()).map(move |i| t.sub(nodes[i], nodes[i - d]));
    let mut rows: Vec<Vec<u64>> = (1..nodes.len()).map(|d| differences(d).collect()).collect();
    let mut product = 1;
    let mut before = Vec::with_capacity(nodes.len() * nodes.len() / 2);
    for &difference in rows.iter().flatten() {
        before.push(product);
        product = t.mul(product, difference);
    }
    let mut inverse = t.inv(product);
    for (difference, before) in rows.iter_mut().flatten().rev().zip(before.into_iter().rev()) {
        let next = t.mul(inverse, *difference);
        *difference = t.mul(inverse, before);
        inverse = next;
    }
    rows
}

/// sum c_i prod_(j < i) (X - x_j) as coefficients, by Horner's rule.
fn multiply_out(t: &Modulus, nodes: &[u64], newton: Vec<u64>) -> Vec<u64> {
    let mut result: Vec<u64> = Vec::with_capacity(newton.len());
    for (&node, &c) in nodes.iter().zip(&newton).rev() {
        let minus = t.neg(node);
        result.insert(0, 0);
        for i in 0..result.len() - 1 {
            result[i] = t.mul_add(result[i + 1], minus, result[i]);
        }
        result[0] = t.add(result[0], c);
    }
    result
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_pass_through_their_points() {
        let t = Modulus::new(65537).unwrap();
        for n in [1u64, 2, 3, 17, 60] {
            let nodes: Vec<u64> = (0..n).map(|i| (i * i * 977 + 5) % 65537).collect();
            let values: Vec<Vec<u64>> =
                [31, 4001].map(|f| (0..n).map(|i| i * i * f % 65537).collect()).into();
            let polynomials = interpolate(&t, &nodes, &values);
            for (polynomial, values) in polynomials.iter().zip(&values) {
                assert_eq!(polynomial.len(), n as usize);
                for (&x, &y) in nodes.iter().zip(values) {
                    let horner = polynomial
                        .iter()
                        .rev()
                        .fold(0u128, |sum, &c| (sum * u128::from(x) + u128::from(c)) % 65537);
                    assert_eq!(horner, u128::from(y));
                }
            }
        }
    }
}

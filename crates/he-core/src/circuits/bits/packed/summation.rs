//! The order of full adders with the least depth.
//!
//! A full adder turns three bits at depths (d, d, d + 1) into two at d + 2, because the third input
//! is multiplied by a product of the first two. Read backwards from the result, two words of depth
//! d + 2 stand for two of depth d and one of depth d + 1, so depth L holds about 1.28^L words,
//! where 1.28 is the root of 2 m^2 = 2 + m. (This is as in Dadda 1965; plain levels of full adders
//! would hold 1.5^(L/2).)

/// The number of full adders of each depth, the number of inputs used as words of each, and the
/// depths at which a word waits.
#[derive(Debug)]
pub(super) struct Plan {
    adders: Vec<usize>,
    inputs: Vec<usize>,
    waits: Vec<bool>,
}

impl Plan {
    /// The order for this many words, until two are left.
    pub fn new(words: usize) -> Self {
        let mut depth = 0;
        loop {
            let plan = Self::of_depth(depth, words);
            if words <= 2 || plan.inputs.iter().sum::<usize>() == words {
                return plan;
            }
            depth += 1;
        }
    }

    /// As many words as this depth holds, up to `words`.
    fn of_depth(depth: usize, words: usize) -> Self {
        let (mut adders, mut inputs, mut waits) =
            (vec![0; depth + 1], vec![0; depth + 1], vec![false; depth + 1]);
        inputs[depth] = words.min(2);
        let mut missing = words.saturating_sub(2);
        for d in (2..=depth).rev() {
            let count = missing.min(inputs[d] / 2);
            adders[d] = count;
            inputs[d] -= 2 * count;
            inputs[d - 1] += count;
            inputs[d - 2] += 2 * count;
            missing -= count;
            // A word that is left over joins those that are made one product earlier.
            if missing > 0 && inputs[d] == 1 {
                inputs[d] = 0;
                inputs[d - 1] += 1;
                waits[d] = true;
            }
        }
        Self { adders, inputs, waits }
    }

    /// The depth in products.
    pub fn depth(&self) -> usize {
        self.adders.len() - 1
    }

    /// The full adders whose results have depth d, at d.
    pub fn adders(&self) -> &[usize] {
        &self.adders
    }

    /// Whether a word of depth d - 1 is used as one of depth d, at d.
    pub fn waits(&self) -> &[bool] {
        &self.waits
    }

    /// The inputs that are used as words of depth d, at d.
    pub fn inputs(&self) -> &[usize] {
        &self.inputs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_used_once() {
        for words in (0..200).chain([256, 512, 1000, 1024]) {
            let plan = Plan::new(words);
            assert_eq!(plan.inputs().iter().sum::<usize>(), words);
            assert_eq!(plan.adders().iter().sum::<usize>(), words.saturating_sub(2));
            let mut pool = plan.inputs().to_vec();
            for (depth, (&count, &wait)) in plan.adders().iter().zip(plan.waits()).enumerate().skip(2) {
                pool[depth - 2] -= 2 * count;
                pool[depth - 1] -= count + usize::from(wait);
                pool[depth] += 2 * count + usize::from(wait);
            }
            assert_eq!(pool.iter().sum::<usize>(), words.min(2));
        }
        let depth = |words| Plan::new(words).depth();
        assert_eq!([2, 3, 4, 8, 16, 32, 1024].map(depth), [0, 2, 4, 7, 10, 13, 27]);
    }
}

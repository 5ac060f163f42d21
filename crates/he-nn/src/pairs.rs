//! Classes by decisions between each two of them: votes and probabilities.

/// The least probability of a class of two, as in LIBSVM: no class is impossible.
const LEAST: f64 = 1e-7;

/// The classes of which there are this many pairs, or more.
pub fn classes(pairs: usize) -> usize {
    (2..).find(|classes| classes * (classes - 1) / 2 >= pairs).unwrap_or(2)
}

/// All pairs of classes: (0, 1), (0, 2) ... (1, 2) ...
pub fn of(classes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..classes).flat_map(move |i| (i + 1..classes).map(move |j| (i, j)))
}

/// The votes for each class: of a pair, for the first one if the output is positive.
pub fn votes(outputs: &[f64]) -> Vec<f64> {
    votes_by(outputs, |output| output > 0.0)
}

fn votes_by(outputs: &[f64], is_first: impl Fn(f64) -> bool) -> Vec<f64> {
    let classes = classes(outputs.len());
    let mut votes = vec![0.0; classes];
    for ((i, j), &output) in of(classes).zip(outputs) {
        votes[if is_first(output) { i } else { j }] += 1.0;
    }
    votes
}

/// The score of each class against the rest, as scikit-learn takes it from those of pairs.
///
/// It is v + c / (3 (|c| + 1)), with the votes v for the class, where an output of 0 votes for the
/// first of two, and the sum c of the outputs of its pairs, negated where it is the second: votes
/// decide, and less than a third of a vote orders classes of equal votes.
pub fn one_vs_rest(outputs: &[f64]) -> Vec<f64> {
    let mut scores = votes_by(outputs, |output| output >= 0.0);
    let mut sums = vec![0.0; scores.len()];
    for ((i, j), &output) in of(scores.len()).zip(outputs) {
        sums[i] += output;
        sums[j] -= output;
    }
    for (score, sum) in scores.iter_mut().zip(sums) {
        *score += sum / (3.0 * (sum.abs() + 1.0));
    }
    scores
}

/// The probabilities of classes from those of each two of them, by the second method of Wu, Lin and
/// Weng, "Probability estimates for multi-class classification by pairwise coupling" (2004).
///
/// They are the p of sum 1 that minimise sum_(i < j) (r_ji p_i - r_ij p_j)^2, where
/// r_ij = 1 - r_ji = 1 / (1 + exp(t_ij)) for outputs t in the order of the pairs.
///
/// With Q_ii = sum_j r_ji^2 and Q_ij = -r_ij r_ji the minimum has Q p proportional to the vector e
/// of ones, and so has (Q + e e^T) p, whose matrix is positive definite: the equations are solved
/// exactly. LIBSVM iterates, and stops within 0.005 divided by the number of classes.
pub fn probabilities(outputs: &[f64]) -> Vec<f64> {
    let classes = classes(outputs.len());
    let mut matrix = vec![1.0; classes * classes];
    for ((i, j), &t) in of(classes).zip(outputs) {
        let first = (1.0 / (1.0 + libm::exp(t))).clamp(LEAST, 1.0 - LEAST);
        let second = 1.0 - first;
        matrix[i * classes + i] += second * second;
        matrix[j * classes + j] += first * first;
        matrix[i * classes + j] -= first * second;
        matrix[j * classes + i] -= first * second;
    }
    let solution = solve(matrix, vec![1.0; classes]);
    let sum: f64 = solution.iter().sum();
    solution.iter().map(|x| x / sum).collect()
}

/// The solution of equations with a positive definite matrix, by elimination.
fn solve(mut matrix: Vec<f64>, mut right: Vec<f64>) -> Vec<f64> {
    let n = right.len();
    for at in 0..n {
        for row in at + 1..n {
            let factor = matrix[row * n + at] / matrix[at * n + at];
            for column in at..n {
                matrix[row * n + column] -= factor * matrix[at * n + column];
            }
            right[row] -= factor * right[at];
        }
    }
    for at in (0..n).rev() {
        let known: f64 = (at + 1..n).map(|column| matrix[at * n + column] * right[column]).sum();
        right[at] = (right[at] - known) / matrix[at * n + at];
    }
    right
}

//! Launches that may run side by side.

use crate::driver::Launch;

/// The branch of a launch, from [`Stream::fork`](crate::Stream::fork). Launches of one branch run
/// in order; those of different branches of one fork may run at the same time. All of them run
/// after the launches before the fork, and before those that follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Branch {
    /// The number of the fork.
    pub fork: u64,
    /// The number of the branch.
    pub index: u32,
}

/// For each launch of a batch, the launches that must end before it begins.
pub(crate) fn predecessors(launches: &[Launch]) -> Vec<Vec<usize>> {
    // The launches that a new branch waits for, and the last launch of each branch of the present
    // fork.
    let (mut trunk, mut tails) = (Vec::new(), Vec::<(Branch, usize)>::new());
    let mut all = Vec::with_capacity(launches.len());
    for (index, launch) in launches.iter().enumerate() {
        let fork = launch.branch.map(|branch| branch.fork);
        if tails.first().is_some_and(|(branch, _)| Some(branch.fork) != fork) {
            trunk = tails.drain(..).map(|(_, last)| last).collect();
        }
        all.push(match launch.branch {
            None => std::mem::replace(&mut trunk, vec![index]),
            Some(branch) => match tails.iter_mut().find(|(tail, _)| *tail == branch) {
                Some((_, last)) => vec![std::mem::replace(last, index)],
                None => {
                    tails.push((branch, index));
                    trunk.clone()
                }
            },
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Gpu;
    use crate::lazy::Lazy;

    #[test]
    fn branches_wait_for_the_fork_and_what_follows_for_all_of_them() {
        let launch = |branch: Option<(u64, u32)>| Launch {
            function: 1,
            grid: [1; 3],
            block: [1; 3],
            shared: 0,
            waits: false,
            branch: branch.map(|(fork, index)| Branch { fork, index }),
        };
        let check = |branches: &[Option<(u64, u32)>], expected: &[&[usize]]| {
            let launches: Vec<Launch> = branches.iter().copied().map(launch).collect();
            assert_eq!(predecessors(&launches), expected, "{branches:?}");
        };
        check(&[], &[]);
        check(&[None, None, None], &[&[], &[0], &[1]]);
        // A batch that begins and ends with a fork.
        check(&[Some((0, 0)), Some((0, 1)), Some((0, 0))], &[&[], &[], &[0]]);
        // One between other launches, whose branches come one after the other, or in turns.
        let (a, b) = (Some((0, 0)), Some((0, 1)));
        check(&[None, a, a, b, b, None], &[&[], &[0], &[1], &[0], &[3], &[2, 4]]);
        check(&[None, a, b, a, b, None, None], &[&[], &[0], &[0], &[1], &[2], &[3, 4], &[5]]);
        // A launch that belongs to no branch comes between all of both sides.
        check(&[a, b, None, a, b], &[&[], &[], &[0, 1], &[2], &[2]]);
        // One fork after the other.
        let (c, d) = (Some((1, 0)), Some((1, 1)));
        check(&[a, b, c, d, c, None], &[&[], &[], &[0, 1], &[0, 1], &[2], &[4, 3]]);
    }

    /// Batches whose launches write growing numbers, as the driver asserts: to all places, then in
    /// each branch to its place, then to all.
    fn batches(seed: u64) {
        let stream = Gpu::from_driver(Lazy::new(seed)).stream().unwrap();
        let kernel = stream.gpu().load("k", "").unwrap().kernel("send", 0).unwrap();
        let words = stream.upload(&[0; 3]).unwrap();
        let place = |index: u64| words.address() + 8 * index;
        let mut number = 0;
        for _ in 0..6 {
            let batch = || {
                let all = |number: u64| {
                    let args = [place(0), place(1), place(2), number, 3];
                    // SAFETY: the argument is that of the kernel.
                    unsafe { stream.launch(&kernel, [1; 3], [1; 3], 0, &args) }.unwrap();
                };
                all(number + 1);
                let branches = stream.fork(3);
                // The launches of the second branch lie between those of the others.
                for (branch, step) in [(0, 2), (0, 3), (1, 2), (2, 2), (1, 3), (2, 3)] {
                    let args = [place(branch), 0, 0, number + step, 1];
                    let branch = Some(branches[branch as usize]);
                    // SAFETY: the same, and no other branch has the place.
                    unsafe { stream.launch_in(branch, &kernel, [1; 3], [1; 3], 0, &args) }.unwrap();
                }
                all(number + 4);
                number += 4;
            };
            stream.batched(batch).unwrap();
        }
        let mut found = [0; 3];
        stream.read(&words, 0, &mut found).unwrap();
        assert_eq!(found, [number; 3]);
    }

    #[test]
    fn branches_run_in_any_order_between_what_surrounds_them() {
        let seeds = 1..=if cfg!(miri) { 3 } else { 100 };
        seeds.for_each(batches);
    }
}

//! Negacyclic transforms of one polynomial beside tfhe-ntt's, in place.

use he_core::arith::ntt_primes_below;
use he_core::backend::{Backend, Cpu, PolyOps};
use he_core::ring::{Ring, RingSpec, Rows, Seed, Span};
use he_peers::{heading, pair, version};
use tfhe_ntt::prime64::Plan;

/// Primes below 2^50 and 2^60, N = 2^12 ... 2^16. The peer's inverse omits 1/N.
pub fn table() {
    heading(&version("tfhe-ntt"));
    let cpu = Cpu::new();
    let rows = Rows::new(Span::chain(1), 1);
    for bits in [50, 60] {
        for log_n in 12..=16 {
            let primes = ntt_primes_below(bits, log_n, 1, &[]).expect("a prime");
            let (q, n) = (primes[0], 1 << log_n);
            let spec = RingSpec::new(log_n, primes, vec![]).expect("a valid prime");
            let ring = Ring::new(cpu.clone(), spec).expect("the CPU does not fail");
            let plan = Plan::try_new(n, q).expect("a prime of this degree");
            let mut ours = cpu.scratch(n).expect("memory");
            let filled = ring.prepared().sample_uniform(rows, &Seed([1; 32]), 0, &mut ours);
            filled.expect("the CPU does not fail");
            let mut peer = ours.clone();

            let input = ours.clone();
            ring.prepared().ntt(rows, &mut ours).expect("the CPU does not fail");
            plan.fwd(&mut peer);
            let ordered = |words: &[u64]| {
                let mut words = words.to_vec();
                words.sort_unstable();
                words
            };
            assert!(ordered(&ours) == ordered(&peer), "the transforms differ by more than their order");
            ring.prepared().intt(rows, &mut ours).expect("the CPU does not fail");
            plan.inv(&mut peer);
            plan.normalize(&mut peer);
            assert!(
                ours[..] == input[..] && peer[..] == input[..],
                "a transform and its inverse are not inverse"
            );

            pair(
                format_args!("NTT, N = 2^{log_n}, {bits} bits"),
                || ring.prepared().ntt(rows, &mut ours),
                || plan.fwd(&mut peer),
            );
            pair(
                format_args!("inverse NTT, N = 2^{log_n}, {bits} bits"),
                || ring.prepared().intt(rows, &mut ours),
                || plan.inv(&mut peer),
            );
        }
    }
}

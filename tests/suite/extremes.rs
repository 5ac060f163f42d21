//! Tests parameters of every extreme: each constructor ends, with parameters or with an error that
//! says which number is wrong. None panics, and none searches for primes that do not exist.

use he::arith::{Modulus, is_prime, nearest_ntt_primes, ntt_primes_below, primitive_root_2n};
use he::bfv::Bfv;
use he::bgv::Bgv;
use he::bigckks::{BigCkksParams, BigCkksSpec, SecretDistribution};
use he::ckks::{CkksParams, CkksSpec, LevelGroup};
use he::exact::{ExactSpec, Params, PlainModulus, Scheme};
use he::params::{ParamsError, Security, max_log_qp, security_of};
use he::ring::RingSpec;
use he::rlwe::RlweParams;
use he::tfhe::{Gadget, TfheParams, TfheSpec};

const U32: [u32; 24] = [
    0,
    1,
    2,
    3,
    4,
    5,
    12,
    16,
    17,
    18,
    31,
    32,
    49,
    50,
    60,
    61,
    62,
    63,
    64,
    65,
    1201,
    1 << 31,
    u32::MAX - 1,
    u32::MAX,
];
const U64: [u64; 20] = [
    0,
    1,
    2,
    3,
    4,
    17,
    97,
    256,
    65537,
    (1 << 32) - 1,
    1 << 32,
    (1 << 50) - 1,
    1 << 60,
    (1 << 61) - 1,
    1 << 61,
    (1 << 62) + 1,
    1 << 63,
    (1 << 63) + 1,
    u64::MAX - 1,
    u64::MAX,
];
const F64: [f64; 16] = [
    0.0,
    -0.0,
    5e-324,
    -1.0,
    0.999,
    1.0,
    4.0,
    30.0,
    61.0,
    120.0,
    1e18,
    f64::MAX,
    f64::MIN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn sizes() -> impl Iterator<Item = usize> {
    U64.into_iter().map(|x| x as usize)
}

#[test]
fn searches_for_primes_end() {
    for bits in U32 {
        for log_n in U32 {
            for count in [0, 1, 2, 1 << 10, (1 << 10) + 1, 1 << 40, usize::MAX] {
                // A thousand primes of 61 bits take their time, but for these degrees they are
                // there.
                if count == 1 << 10 && bits > 32 && log_n != 4 {
                    continue;
                }
                for primes in [
                    ntt_primes_below(bits, log_n, count, &[]),
                    nearest_ntt_primes(f64::from(bits).exp2(), bits, log_n, count, &[]),
                ]
                .into_iter()
                .flatten()
                {
                    assert!(primes.len() == count && count <= 1 << 10);
                }
            }
        }
    }
    for target in F64.into_iter().chain(U64.map(|x| x as f64)) {
        for below in U32 {
            for log_n in [0, 2, 17, 60, 61, 63, u32::MAX] {
                if let Ok(primes) = nearest_ntt_primes(target, below, log_n, 1, &[]) {
                    assert!(primes[0] >> below == 0 && is_prime(primes[0]));
                }
            }
        }
    }
    // q = 1 modulo 2^56: its roots of that order are found in 2^55 steps, which nobody waits for.
    let prime = (1u64 << 57..1 << 61).step_by(1 << 56).map(|x| x + 1).find(|&q| is_prime(q)).unwrap();
    for q in U64.into_iter().chain([prime]) {
        for log_n in U32.into_iter().chain([55]) {
            if let Ok(q) = Modulus::new(q) {
                drop(primitive_root_2n(&q, log_n));
            }
        }
    }
}

#[test]
fn plain_moduli_of_nothing_are_refused_before_primes_are_sought() {
    for t in [0, 1, 1 << 61, u64::MAX] {
        let refused = Err(ParamsError::ModulusRange { found: t });
        assert_eq!(ExactSpec::from_bits(5, &[40], &[40], t), refused);
        assert_eq!(ExactSpec::with_unit_correction_factors(5, &[40], &[40], t), refused);
        assert_eq!(PlainModulus::new(t).map(drop), refused.clone().map(drop));
        assert_eq!(Params::<Bfv>::for_depth(t, 1).build().map(drop), refused.clone().map(drop));
        assert_eq!(Params::<Bgv>::for_depth(t, 1).build().map(drop), refused.map(drop));
    }
    // With t = 2 or 3 there are parameters.
    assert!(ExactSpec::from_bits(5, &[40], &[40], 2).is_ok());
    assert!(ExactSpec::with_unit_correction_factors(5, &[40], &[40], 3).is_ok());
}

fn exact<S: Scheme>() {
    let build = |spec: Result<ExactSpec, ParamsError>| {
        if let Ok(spec) = spec {
            drop(Params::<S>::insecure(spec.clone()));
            drop(Params::<S>::try_from(spec));
        }
    };
    for t in U64 {
        for log_n in U32 {
            build(ExactSpec::from_bits(log_n, &[40, 40], &[45], t));
            build(ExactSpec::with_unit_correction_factors(log_n, &[40, 40], &[45], t));
        }
        for bits in U32 {
            for log_n in [2, 5, 17] {
                build(ExactSpec::from_bits(log_n, &[bits; 3], &[bits], t));
                build(ExactSpec::with_unit_correction_factors(log_n, &[bits; 3], &[bits], t));
            }
        }
        drop(Params::<S>::for_depth(t, 0).log_n(12).unit_correction_factors().build());
        drop(Params::<S>::for_depth(t, 1).slots().build());
    }
    drop(Params::<S>::for_depth((1 << 61) - 1, 1).build());
    for depth in sizes() {
        drop(Params::<S>::for_depth(65537, depth).build());
    }
    for extreme in U32 {
        drop(Params::<S>::for_depth(65537, 1).margin_bits(extreme).build());
        drop(Params::<S>::for_depth(65537, 1).log_n(extreme).slots().build());
    }
    for lengths in [0, 1, 64, 65, 1000] {
        build(ExactSpec::from_bits(2, &vec![50; lengths], &[50], 17));
        build(ExactSpec::from_bits(2, &[50], &vec![50; lengths], 17));
    }
    drop(Params::<S>::for_depth(17, 1).security(Security::Insecure).build());
    let spec = ExactSpec::from_bits(5, &[40, 40], &[45], 17).unwrap();
    for t in U64 {
        build(Ok(ExactSpec { plain_modulus: t, ..spec.clone() }));
        build(Ok(ExactSpec { q: vec![t, t], ..spec.clone() }));
        build(Ok(ExactSpec { p: vec![t], ..spec.clone() }));
    }
    for start in sizes() {
        for end in sizes() {
            let digits = std::iter::once(start..end).collect();
            build(Ok(ExactSpec { digits, ..spec.clone() }));
        }
    }
    for log_n in U32 {
        build(Ok(ExactSpec { log_n, ..spec.clone() }));
    }
}

#[test]
fn exact_parameters_end() {
    exact::<Bfv>();
    exact::<Bgv>();
}

#[test]
fn ckks_parameters_end() {
    let build = |spec: Result<CkksSpec, ParamsError>| {
        if let Ok(spec) = spec {
            drop(CkksParams::insecure(spec.clone()));
            drop(CkksParams::try_from(spec));
        }
    };
    for bits in U32 {
        for scale in F64 {
            for log_n in U32 {
                build(CkksSpec::from_bits(log_n, &[bits; 3], &[50], scale));
            }
            build(CkksSpec::from_bits(5, &[50, 40, 40], &[bits], scale));
            build(CkksSpec::from_bits(5, &[bits, 40, 40], &[50], scale));
        }
        drop(CkksParams::for_depth(1).precision_bits(bits).build());
        drop(CkksParams::for_depth(1).range_bits(bits).build());
        drop(CkksParams::for_depth(1).log_n(bits).build());
        drop(CkksParams::for_depth(bits as usize).precision_bits(20).log_n(16).build());
    }
    for extreme in sizes() {
        drop(CkksParams::for_depth(extreme).build());
        drop(CkksParams::for_depth(1).slots(extreme).build());
    }
    drop(CkksParams::for_depth(1).security(Security::Insecure).build());
    for lengths in [0, 1, 64, 65, 1000] {
        build(CkksSpec::from_bits(2, &vec![40; lengths], &[50], 40.0));
        build(CkksSpec::from_bits(2, &[40], &vec![50; lengths], 40.0));
    }
    let spec = CkksSpec::from_bits(5, &[50, 40, 40], &[50], 40.0).unwrap();
    for extreme in sizes() {
        build(Ok(spec.clone().with_levels(vec![extreme, 3], 40.0)));
        build(Ok(spec.clone().with_levels(vec![1, extreme], 40.0)));
        let group = |levels| LevelGroup { levels, scale_log2: 40.0 };
        build(Ok(CkksSpec { groups: vec![group(extreme), group(3)], ..spec.clone() }));
        build(Ok(CkksSpec { groups: vec![group(1), group(extreme)], ..spec.clone() }));
        build(Ok(CkksSpec { digits: vec![0..extreme, extreme..3], ..spec.clone() }));
        build(Ok(spec.clone().with_dnum(extreme)));
    }
    for scale_log2 in F64 {
        build(Ok(spec.clone().with_scale(scale_log2)));
        for others in [30.0, 119.0, scale_log2] {
            let group = |scale_log2| LevelGroup { levels: 1, scale_log2 };
            let groups = vec![group(others), group(scale_log2), group(others)];
            build(Ok(CkksSpec { groups, ..spec.clone() }));
            build(CkksSpec::from_level_bits(
                5,
                &[50],
                &[vec![40], vec![40]],
                &[50],
                &[group(others), group(scale_log2), group(40.0)],
            ));
            drop(CkksParams::for_depth(1).below(1, others, &[40]).above(1, scale_log2, &[45]).build());
        }
    }
    for prime in U64 {
        build(Ok(CkksSpec { q: vec![prime; 3], ..spec.clone() }));
    }
}

#[test]
fn bigckks_parameters_end() {
    let build = |spec: BigCkksSpec| {
        drop(BigCkksParams::insecure(spec));
        drop(BigCkksParams::try_from(spec));
    };
    let spec = BigCkksSpec::new(5, 100, 30);
    for extreme in U32 {
        build(BigCkksSpec { log_n: extreme, ..spec });
        build(BigCkksSpec { log_q: extreme, ..spec });
        build(BigCkksSpec { log_p: extreme, ..spec });
        build(BigCkksSpec { digit_bits: extreme, ..spec });
        build(BigCkksSpec { scale_log2: extreme, ..spec });
        build(spec.with_digits(extreme));
        for other in U32 {
            build(BigCkksSpec::new(extreme, other, 30));
            build(BigCkksSpec::new(5, extreme, other));
            build(BigCkksSpec::new(5, extreme, 2).with_digits(other));
        }
        drop(BigCkksParams::for_depth_bits(extreme).build());
        drop(BigCkksParams::for_depth_bits(9).precision_bits(extreme).build());
        drop(BigCkksParams::for_depth_bits(9).range_bits(extreme).build());
    }
    for extreme in sizes() {
        build(spec.with_secret(SecretDistribution::Sparse { weight: extreme }));
        drop(BigCkksParams::for_depth_bits(9).slots(extreme).build());
    }
    drop(BigCkksParams::for_depth_bits(9).security(Security::Insecure).build());
}

#[test]
fn tfhe_parameters_end() {
    let build = |spec: TfheSpec| {
        drop(TfheParams::insecure(spec));
        drop(TfheParams::try_from(spec));
    };
    let gadget = Gadget { base_log: 4, levels: 3 };
    let spec = TfheSpec {
        lwe_dimension: 500,
        lwe_sigma_log2: -9.0,
        glwe_dimension: 1,
        log_degree: 10,
        glwe_sigma_log2: -22.0,
        bootstrap: gadget,
        switch: gadget,
    };
    for extreme in sizes() {
        build(TfheSpec { lwe_dimension: extreme, ..spec });
        build(TfheSpec { glwe_dimension: extreme, ..spec });
    }
    for extreme in F64 {
        build(TfheSpec { lwe_sigma_log2: extreme, ..spec });
        build(TfheSpec { glwe_sigma_log2: extreme, ..spec });
    }
    for extreme in U32 {
        build(TfheSpec { log_degree: extreme, ..spec });
        for other in U32 {
            let gadget = Gadget { base_log: extreme, levels: other };
            build(TfheSpec { bootstrap: gadget, ..spec });
            build(TfheSpec { switch: gadget, ..spec });
        }
    }
}

#[test]
fn rings_and_tables_end() {
    for extreme in U32 {
        drop(RingSpec::new(extreme, vec![17], vec![]));
        for security in [Security::Insecure, Security::Bits128, Security::Bits256] {
            assert!(max_log_qp(extreme, security).is_none_or(|bits| bits > 0));
        }
        let refused = security_of(extreme, f64::NAN);
        assert_eq!(refused, Security::Insecure);
        assert!(F64.iter().all(|&log_qp| security_of(extreme, log_qp).bits() <= 256));
    }
    for prime in U64 {
        drop(RingSpec::new(2, vec![prime], vec![prime]));
        drop(RingSpec::new(2, vec![17], vec![prime]));
        if let Ok(modulus) = Modulus::new(prime) {
            assert_eq!(modulus.value(), prime);
        }
    }
    for dnum in sizes() {
        let digits = RlweParams::even_digits(7, dnum);
        assert_eq!((digits[0].start, digits[digits.len() - 1].end), (0, 7));
    }
    assert!(RlweParams::greedy_digits(&[17], &[]).is_empty());
}

//! `Device` as a back end: the contract on each kind of device, and the error for what belongs to
//! another one.

use he::backend::{Backend, Cpu, PolyOps, PreparedRing};
use he::conformance::Mirror;
use he::conformance_suite;
use he::ring::{Operand, Poly, Ring, RingSpec, Rows, Seed, Span};
use he::tfhe::{BootstrapKey, Gadget, GateEvaluator, LweOps, TfheParams, TfheSecretKey, TfheSpec};
use he::{Device, Error};
use rand::{SeedableRng, rngs::ChaCha20Rng};

#[cfg(feature = "cuda")]
mod lookup;

conformance_suite!(cpu, Device::cpu(), log_n <= 11);
conformance_suite!(wide cpu_wide, Device::cpu(), log_n <= 10);

#[cfg(feature = "cuda")]
mod cuda {
    use super::*;
    use gpu::Gpu;
    use gpu_emulator::Emulator;
    use he::cuda::{Cuda, CudaGroup};
    use std::path::Path;
    use std::sync::{Arc, OnceLock};

    // The operations that `Device` forwards do not depend on the degree; he-cuda's tests have the
    // others.
    conformance_suite!(emulated_device, emulated(), log_n <= 4);
    conformance_suite!(wide emulated_wide, emulated(), log_n <= 6);
    conformance_suite!(emulated_group, emulated_group(), log_n <= 4);
    conformance_suite!(wide emulated_group_wide, emulated_group(), log_n <= 6);
    conformance_suite!(gpu_device, optional gpu_or_skip(), log_n <= 15);
    conformance_suite!(wide gpu_wide, optional gpu_or_skip(), log_n <= 12);

    /// A device whose kernels run on the host.
    pub fn emulated() -> Device {
        emulated_cuda().into()
    }

    /// Two of them as one, which splits all rings.
    fn emulated_group() -> Device {
        let devices = vec![emulated_cuda(), emulated_cuda()];
        CudaGroup::on(devices).expect("the emulators connect").split_from(0).into()
    }

    fn emulated_cuda() -> Cuda {
        static LIBRARY: OnceLock<Arc<Emulator>> = OnceLock::new();
        let library = LIBRARY.get_or_init(|| {
            let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
            Emulator::build(&kernels, Path::new(env!("CARGO_TARGET_TMPDIR")))
                .expect("the kernels compile for the host")
        });
        let driver = library.with_compute_capability((9, 0));
        Cuda::on(&Gpu::from_driver(driver)).expect("the emulator opens")
    }

    /// The first device, or nothing, visibly; with `HE_REQUIRE_GPU=1` a missing device is a
    /// failure.
    pub fn gpu_or_skip() -> Option<Device> {
        match Device::cuda(0) {
            Ok(device) => Some(device),
            Err(error) if std::env::var_os("HE_REQUIRE_GPU").is_some_and(|value| value == "1") => {
                panic!("HE_REQUIRE_GPU=1, and there is no device: {error}")
            }
            Err(error) => {
                eprintln!("skipped: no CUDA device ({error})");
                None
            }
        }
    }

    #[test]
    fn gates_on_a_cuda_device_leave_the_words_of_the_cpu() {
        gates(emulated());
        gates(emulated_group());
    }

    fn is_mismatch(result: he::Result<()>, op: &str, device: &Device, found: &str) {
        let error = result.unwrap_err();
        let expected =
            format!("{op} runs on {device} and was given what is on {found}; move it with `to` first");
        assert!(matches!(error, Error::DeviceMismatch { .. }), "{error}");
        assert_eq!(error.to_string(), expected);
    }

    /// A buffer of another device, in every way that an operation takes it. A ring needs no check:
    /// its operations are its own, and run on the device that prepared it.
    #[test]
    fn what_is_on_another_device_is_refused() {
        let spec = RingSpec::new(3, vec![97, 113], vec![]).unwrap();
        let rows = Rows::new(Span::chain(2), 1);
        let (cpu, cuda, group) = (Device::cpu(), emulated(), emulated_group());
        for (here, there, found) in [
            (&cpu, &cuda, "cuda:0"),
            (&cuda, &cpu, "cpu"),
            (&group, &cuda, "cuda:0"),
            (&cuda, &group, "cuda:0+0"),
            (&cpu, &group, "cuda:0+0"),
            (&group, &cpu, "cpu"),
        ] {
            let ring = here.prepare(&spec).unwrap();
            assert_eq!((ring.spec(), ring.backend().name()), (&spec, here.name()));
            let mut own = here.upload(&[1; 16]).unwrap();
            let mut foreign = there.upload(&[2; 16]).unwrap();
            is_mismatch(ring.ntt(rows, &mut foreign), "ntt", here, found);
            let b = Operand::new(&foreign, 1);
            is_mismatch(ring.add_assign(rows, &mut own, b), "add_assign", here, found);
            let pairs = [Operand::new(&own, 1), b];
            is_mismatch(ring.tensor(rows, pairs, pairs).map(drop), "tensor", here, found);
            is_mismatch(here.download(&foreign, 0..16).map(drop), "download", here, found);
            is_mismatch(here.copy(&foreign, 0, &mut own, 0, 16), "copy", here, found);
            is_mismatch(here.copy(&own, 0, &mut foreign, 0, 16), "copy", here, found);
            is_mismatch(here.take(&mut foreign).map(drop), "take", here, found);
            let taken = there.upload(&[3; 16]).unwrap();
            is_mismatch(here.take_with(taken, |_| Ok(())), "take_with", here, found);
            // Neither operand was touched; what cannot fail works wherever the buffer is.
            assert_eq!(here.download(&own, 0..16).unwrap(), [1; 16]);
            assert_eq!(there.download(&foreign, 0..16).unwrap(), [2; 16]);
            assert_eq!(here.words(&foreign), 16);
            here.wipe(&mut foreign);
            here.truncate(&mut foreign, 8);
            assert_eq!(there.download(&foreign, 0..8).unwrap(), [0; 8]);
            assert_eq!(there.words(&foreign), 8);
            is_mismatch(ring.mod_down(Span::chain(2), 1, 1, foreign).map(drop), "mod_down", here, found);
        }
    }

    /// Objects move between devices with `to`; before, they belong to different rings.
    #[test]
    fn polynomials_move_between_devices() {
        let spec = RingSpec::new(4, vec![97, 193], vec![]).unwrap();
        let [on_cpu, on_cuda] =
            [Device::cpu(), emulated()].map(|device| Ring::new(device, spec.clone()).unwrap());
        let seed = Seed([7; 32]);
        let mut a = Poly::uniform(&on_cpu, Span::chain(2), 3, &seed, 0).unwrap().into_eval().unwrap();
        let b = Poly::uniform(&on_cuda, Span::chain(2), 3, &seed, 1).unwrap().into_eval().unwrap();
        assert!(matches!(a.add_assign(&b), Err(Error::RingMismatch)));
        let mut moved = a.to(&on_cuda).unwrap();
        moved.mul_assign(&b).unwrap();
        a.mul_assign(&b.to(&on_cpu).unwrap()).unwrap();
        assert_eq!(moved.to_words().unwrap(), a.to_words().unwrap());
    }
}

/// A program under a mirror: every word of a device is that of the CPU itself.
#[test]
fn the_cpu_as_a_device_leaves_the_words_of_the_cpu() {
    let spec = RingSpec::new(5, vec![193, 257], vec![]).unwrap();
    let ring = Ring::new(Mirror::new(Cpu::portable(), Device::cpu()), spec).unwrap();
    let a = Poly::uniform(&ring, Span::chain(2), 2, &Seed([1; 32]), 0).unwrap();
    let mut b = Poly::error(&ring, Span::chain(2), 2, &Seed([2; 32]), 0).unwrap().into_eval().unwrap();
    b.mul_assign(&a).unwrap();
    b.mod_down(1).unwrap();
}

/// The words of a gate under keys of a seed, and what they decrypt to.
fn xor<B: LweOps>(backend: &B, seed: u64) -> (Vec<u64>, Vec<bool>) {
    let params = TfheParams::insecure(TfheSpec {
        lwe_dimension: 20,
        lwe_sigma_log2: -20.0,
        glwe_dimension: 1,
        log_degree: 6,
        glwe_sigma_log2: -45.0,
        bootstrap: Gadget { base_log: 10, levels: 3 },
        switch: Gadget { base_log: 4, levels: 5 },
    })
    .unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let secret = TfheSecretKey::generate(&params, &mut rng);
    let key = BootstrapKey::generate(&secret, &mut rng);
    let gates = GateEvaluator::new(backend, &key).unwrap();
    let [a, b] = [[false, true, true, false, true], [true, true, false, false, true]]
        .map(|bits| secret.encrypt_bits(backend, &bits, &mut rng).unwrap());
    let sum = gates.xor(&a, &b).unwrap();
    let words = sum.ciphertexts().download().unwrap();
    (words, secret.decrypt_bits(&sum).unwrap())
}

/// Operations of `LweOps` on a device and on the CPU.
fn gates(device: Device) {
    let seed = 11;
    let (words, bits) = xor(&device, seed);
    assert_eq!(words, xor(&Cpu::new(), seed).0, "{device}, seed {seed}");
    assert_eq!(bits, [true, false, true, false, false], "{device}, seed {seed}");
}

#[test]
fn gates_on_the_cpu_as_a_device_leave_the_words_of_the_cpu() {
    gates(Device::cpu());
}

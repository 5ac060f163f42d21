//! The costs of transciphering, on a device that counts bootstraps.

use super::clear::Clear;
use he::aes::{Key, KeySize};
use he::tfhe::{
    BootstrapKey, CircuitBootstrapper, CircuitKey, CircuitParams, CircuitSpec, Gadget, TfheParams,
    TfheSecretKey, TfheSpec,
};
use he::transcipher::{EncryptedAesKey, Transcipher};
use rand::{SeedableRng, rngs::ChaCha20Rng};

#[test]
fn blocks_take_the_documented_bootstraps() {
    let tfhe = TfheParams::insecure(TfheSpec {
        lwe_dimension: 1,
        lwe_sigma_log2: -30.0,
        glwe_dimension: 1,
        log_degree: 8,
        glwe_sigma_log2: -60.0,
        bootstrap: Gadget { base_log: 20, levels: 2 },
        switch: Gadget { base_log: 15, levels: 2 },
    })
    .unwrap();
    let params = CircuitParams::new(&tfhe, CircuitSpec::default()).unwrap();
    let (mut rng, device) = (ChaCha20Rng::seed_from_u64(1), Clear::default());
    let secret = TfheSecretKey::generate(&tfhe, &mut rng);
    let key = BootstrapKey::generate(&secret, &mut rng);
    let circuit = CircuitKey::generate(&secret, &params, &mut rng).unwrap();
    let boot = CircuitBootstrapper::new(&device, &key, &circuit).unwrap();
    for (size, bootstraps) in [(KeySize::Bits128, 1280), (KeySize::Bits192, 1536), (KeySize::Bits256, 1792)] {
        let aes = Key::generate(size, &mut rng);
        let encrypted = EncryptedAesKey::generate(&secret, &aes, &mut rng).unwrap();
        let transcipher = Transcipher::new(&boot, &encrypted).unwrap();
        // Sixteen different bytes, so that no two are looked up as one.
        let counter = std::array::from_fn(|byte| byte as u8);
        let (bits, counted) = device.counted(|| transcipher.decrypt(&counter, &[0; 16]));
        assert_eq!((bits.count(), counted), (128, bootstraps), "{size:?}");
        let (_, counted) = device.counted(|| bits.integers(boot.bootstrapper(), 32));
        assert_eq!(counted, 128);
        let (_, counted) = device.counted(|| bits.padded(boot.bootstrapper()));
        assert_eq!(counted, 128);
        // Two blocks that differ in one byte: in the first round 17 bytes, in the second 20.
        let mut others = [counter; 2];
        others[1][15] = 255;
        let (bits, counted) = device.counted(|| transcipher.key_stream(&others));
        let shared = 2 * bootstraps - 8 * (15 + 12);
        assert_eq!((bits.count(), counted), (256, shared), "{size:?}");
    }
}

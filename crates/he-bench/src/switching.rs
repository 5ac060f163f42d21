//! From CKKS to TFHE and back: exact functions of all slots, and their parts.

use super::keys::rng;
use super::measure::{Id, Lab, Place};
use super::report::{Show, Table, Unit, Value};
use crate::error::{Error, Result};
use he_core::backend::RingOps;
use he_core::bootstrapping::presets::Preset;
use he_core::bootstrapping::{BootstrapKeys, Bootstrapper};
use he_core::ckks::{Ciphertext, Decryptor, Evaluator, SecretEncryptor};
use he_core::rlwe::{EvaluationKeys, SecretKey};
use he_core::switching::{
    ExactFunctions, FromTfheKey, SlotsToTfhe, SlotsToTfheSpec, SwitchingKeys, SwitchingParams, TfheToSlots,
    ToTfheKey,
};
use he_core::tfhe::{BootstrapKey, Carry, IntegerEvaluator, LweOps, TfheSecretKey, presets};
use rand::RngExt;

const ID: &str = "switching";

/// The names of the tables.
pub fn names() -> Vec<String> {
    vec![ID.to_owned()]
}

/// The table of the device that was chosen: the GPU, or all threads of the CPU. `widths` are those
/// of the integers on which functions are exact, in bits.
///
/// # Errors
/// The device fails; a comparison is wrong; the errors of `show`.
pub fn tables(lab: &Lab, widths: &[usize], show: &mut Show<'_>) -> Result<()> {
    lab.announce("keys of CKKS and TFHE");
    let (device, rows) = match &lab.gpu {
        Some(gpu) => (&gpu.name, gpu.on(|| measure(lab, gpu, widths))?),
        None => (&lab.threads.name, lab.threads.on(|| measure(lab, &lab.threads, widths))?),
    };
    let title = format!("CKKS and TFHE, {} slots", Preset::Small.params()?.slots());
    let mut table =
        Table::new(ID, title, "operation", Unit::Milliseconds).categories(rows.iter().map(|(name, _)| name));
    table.measured(device, rows.iter().map(|(_, time)| *time));
    table.note("preset small of CKKS, phases_2m128 of TFHE; comparisons are checked");
    show(table)
}

/// The seconds of each operation.
fn measure<B: RingOps + LweOps>(
    lab: &Lab,
    place: &Place<B>,
    widths: &[usize],
) -> Result<Vec<(String, Value)>> {
    let (rng, device) = (&mut rng(), &place.backend);
    let (boot, torus) = (Preset::Small.params()?, presets::phases_2m128()?);
    let (params, slots) = (boot.params(), boot.slots());
    let to = SwitchingParams::new(params.rlwe(), params.levels()[0].primes, &torus)?;
    let (ring, there) = (boot.ring(device.clone())?, to.ring(device.clone())?);
    let ev = Evaluator::new(params, &ring)?;
    let spec = SlotsToTfheSpec { log_slots: slots.ilog2(), matrices: 2, range: 2.0 };
    let forth = SlotsToTfhe::new(&ev, &to, &there, spec)?;
    let back = TfheToSlots::new(&torus, Bootstrapper::new(&boot, &ring)?, &ring)?;
    let secret = SecretKey::generate(params.rlwe(), rng);
    let torus_secret = TfheSecretKey::generate(&torus, rng);
    let evaluation = EvaluationKeys::generate(&secret, &ring, forth.requirements(), rng)?;
    let to_tfhe = ToTfheKey::generate(&secret, &torus_secret, &to, &there, rng)?;
    let from_tfhe = FromTfheKey::generate(&torus_secret, &secret, back.params(), &ring, rng)?;
    let bootstrapping = BootstrapKeys::generate(&secret, &boot, &ring, rng)?;
    let boot_key = BootstrapKey::generate(&torus_secret, rng);
    let integers = IntegerEvaluator::new(device, &boot_key, Carry::Ripple)?;

    let encryptor = SecretEncryptor::new(params, &secret, &ring)?;
    let decryptor = Decryptor::new(params, &secret, &ring)?;
    let numbers = [(); 2].map(|()| (0..slots).map(|_| rng.random_range(-0.49..0.49)).collect::<Vec<f64>>());
    let mut encrypt = |values: &[f64]| -> Result<Ciphertext<B>> {
        let plain = ev.encoder().encode_real(values, params.encoding().slots(slots))?;
        Ok(encryptor.encrypt(&plain, rng)?.expand()?)
    };
    let (x, y) = (encrypt(&numbers[0])?, encrypt(&numbers[1])?);
    let mut rows = Vec::new();
    let mut time = |name: &str,
                    call: &mut dyn FnMut() -> Result<Option<Ciphertext<B>>>,
                    check: &dyn Fn(&Ciphertext<B>) -> Result<()>| {
        lab.announce(name);
        let checked = |result: Option<_>| result.as_ref().map_or(Ok(()), check);
        let seconds = lab.time_checked(&Id::new(ID, &place.name, name), place, call, checked)?;
        rows.push((name.to_owned(), seconds));
        Ok::<_, Error>(())
    };
    let whatever = |_: &Ciphertext<B>| Ok(());
    let phases = forth.switch(&x, &evaluation, &to_tfhe)?;
    time("slots to TFHE", &mut || Ok(forth.switch(&x, &evaluation, &to_tfhe).map(|_| None)?), &whatever)?;
    let to_slots = &mut || Ok(back.switch(&phases, &from_tfhe, &bootstrapping).map(|_| None)?);
    time("TFHE to slots", to_slots, &whatever)?;
    for &bits in widths {
        let keys = SwitchingKeys {
            evaluation: &evaluation,
            to_tfhe: &to_tfhe,
            from_tfhe: &from_tfhe,
            bootstrapping: &bootstrapping,
        };
        let exact = ExactFunctions::new(&ev, &forth, &integers, &back, keys, bits)?;
        let right = |less: &Ciphertext<B>| {
            let found = decryptor.decrypt_real(less)?;
            let wrong = (0..slots).filter(|&i| {
                let difference = (numbers[0][i] - numbers[1][i]) / exact.unit();
                // Between -1 and 0 the nearest integer decides, and noise near the middle.
                (difference + 0.5).abs() > 0.1 && (found[i] - f64::from(difference < -0.5)).abs() > 0.1
            });
            match wrong.count() {
                0 => Ok(()),
                wrong => {
                    Err(Error::WrongResult { what: format!("{wrong} of {slots} comparisons are wrong") })
                }
            }
        };
        time(&format!("less and back, {bits} bits"), &mut || Ok(Some(exact.less(&x, &y)?)), &right)?;
        time(&format!("sign and back, {bits} bits"), &mut || Ok(Some(exact.sign(&x)?)), &whatever)?;
    }
    Ok(rows)
}

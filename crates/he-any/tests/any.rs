//! The same programs under every scheme, and what this crate does not know.
#![allow(missing_docs, clippy::unwrap_used)]

use he::{Device, Overseer};
use he_any::arrays::{self, Values};
use he_any::layout::{Dim, Layout, Op, Packing};
use he_any::{Engine, Family, Kind, Params, Public, Value, rlwe};
use he_core::ckks::CkksParams;
use he_core::rlwe::{EvaluationKeys, KeyRequirements};
use he_core::{bfv, bgv, tfhe};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Schemes over RLWE with the keys of products, sums and short rotations.
struct World {
    any: Engine,
    owner: rlwe::Owner,
    public: Public,
    keys: EvaluationKeys<Device>,
    rng: ChaCha20Rng,
}

impl World {
    fn new(params: impl Into<Params>, seed: u64) -> Self {
        println!("seed {seed}");
        let (params, mut rng) = (params.into(), ChaCha20Rng::seed_from_u64(seed));
        let any = Engine::new(&params, Device::cpu()).unwrap();
        assert!(any.is_of(&params) && any.is_exact() == params.is_exact());
        let row = params.log_n().unwrap() - 1;
        let needs = KeyRequirements::new().relinearisation().rotations((0..row).map(|bit| 1 << bit));
        let needs = if any.is_exact() { needs.conjugation() } else { needs };
        let needs = needs.rotations([-3, -2, -1]);
        let mut told = Vec::new();
        let (secret, public, keys) =
            any.generate(&needs, &mut rng, |done, all| told.push((done, all))).unwrap();
        assert_eq!(
            told.first().zip(told.last()),
            Some((&(0, told.len() - 1), &(told.len() - 1, told.len() - 1)))
        );
        let owner = secret.owner(&any).unwrap();
        let Family::Rlwe(keys) = keys else { panic!("keys of RLWE") };
        Self { any, owner, public, keys, rng }
    }

    fn engine(&self) -> &rlwe::Engine {
        self.any.rlwe().unwrap()
    }

    fn encrypt(&mut self, values: &[i64], shape: &[usize], packing: Packing) -> (rlwe::Cipher, Layout) {
        let engine = self.any.rlwe().unwrap();
        let layout = Layout::of_array(shape, engine.slots(), packing, "values").unwrap();
        let layout = layout.bounded(Values::Signed(values).public_bounds());
        let array = (Values::Signed(values), shape);
        let (mut steps, public) = (Vec::new(), self.public.rlwe().unwrap());
        let encrypt = |plain: &_| Ok::<_, he_any::Error>(engine.encrypt(public, plain, &mut self.rng)?);
        let ct = arrays::encrypted(engine, array, &layout, None, encrypt, |at, of| steps.push((at, of)));
        assert_eq!(steps.last().map(|&(at, of)| at == of), Some(true));
        (ct.unwrap(), layout)
    }

    fn decrypt(&self, ct: &rlwe::Cipher, layout: &Layout) -> Vec<i64> {
        let plain = self.owner.decrypt(ct).unwrap();
        match self.engine().is_exact() {
            true => layout.values(&self.engine().integers(&plain).unwrap()),
            false => {
                let reals = layout.values(&self.engine().reals(&plain).unwrap());
                assert!(reals.iter().all(|x| (x - x.round()).abs() < 0.01), "{reals:?}");
                reals.into_iter().map(|x| x.round() as i64).collect()
            }
        }
    }
}

fn worlds() -> [World; 3] {
    let ckks = CkksParams::for_depth(2).precision_bits(20).range_bits(12).slots(8).build().unwrap();
    [
        World::new(ckks, 1),
        World::new(bfv::presets::bfv_n12_d1().unwrap(), 2),
        World::new(bgv::presets::bgv_n12_d1().unwrap(), 3),
    ]
}

#[test]
fn arrays_mean_the_same_under_every_scheme() {
    for mut world in worlds() {
        let (x, of) = world.encrypt(&[1, 2, 3, 4, 5, 6], &[2, 3], Packing::Rows);
        let (column, of_column) = world.encrypt(&[7, -8, 9], &[3], Packing::Auto);
        let (engine, keys) = (world.any.rlwe().unwrap(), &world.keys);
        let found = |(ct, layout): (rlwe::Cipher, Layout)| world.decrypt(&ct, &layout);

        let product = arrays::combine(engine, Some(keys), Op::Mul, &x, &x).unwrap();
        assert_eq!(found((product, of)), [1, 4, 9, 16, 25, 36]);
        assert!(arrays::combine(engine, None, Op::Mul, &x, &x).is_err());
        let plain = of.beside(&[3], engine.slots()).unwrap();
        let array = (Values::Signed(&[10, 20, 30]), &[3][..]);
        let shifted = arrays::with_array(engine, Op::Sub, &x, &plain, array).unwrap();
        assert_eq!(found((shifted, of)), [-9, -18, -27, -6, -15, -24]);

        let sum = |ct, layout, axes: &[Dim]| arrays::sum(engine, keys, (ct, layout), axes, false).unwrap();
        assert_eq!(found(sum(&x, &of, &[Dim::Batch, Dim::Slots])), [21]);
        assert_eq!(found(sum(&x, &of, &[Dim::Slots])), [6, 15]);
        assert_eq!(found(sum(&x, &of, &[Dim::Batch])), [5, 7, 9]);

        assert_eq!(found(arrays::gathered(engine, keys, (&column, &of_column), &[2, 0]).unwrap()), [9, 7]);
        let both = arrays::side_by_side(engine, keys, &[(&column, 3), (&column, 2)]).unwrap();
        let layout = Layout { size: 5, ..of_column };
        assert_eq!(found((both, layout)), [7, -8, 9, 7, -8]);

        let value = Value::Rlwe(column);
        let bytes = world.any.encode(&value).unwrap();
        let read = world.any.decode(Kind::Ciphertext, &bytes).unwrap();
        assert_eq!(world.any.encode(&read).unwrap(), bytes);
        assert!(world.any.decode(Kind::Uint, &bytes).is_err());
        assert!(world.any.decode(Kind::Ciphertext, &bytes[1..]).is_err());
    }
}

/// Counts how often it is asked whether work goes on, and ends it when it is told to.
#[derive(Default)]
struct Counted {
    asked: AtomicUsize,
    ended: AtomicBool,
}

impl Overseer for Counted {
    fn goes_on(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed);
        !self.ended.load(Ordering::Relaxed)
    }
}

/// A batch of 128 MB is computed in three pieces: there is a question for each operation on each,
/// and the words are those of its entries alone.
#[test]
fn large_batches_are_worked_on_in_pieces() {
    let mut world = World::new(bfv::presets::bfv_n12_d1().unwrap(), 5);
    let (x, of) = world.encrypt(&[1, -2, 3], &[3], Packing::Auto);
    let many = 1100;
    let repeated = |ct: &rlwe::Cipher| rlwe::Cipher::concat(&vec![ct; many]).unwrap();
    let mut steps = Vec::new();
    let decode = |plain: &_| world.engine().integers::<i64>(plain);
    let step = |done, all| steps.push((done, all));
    let rows = arrays::decrypted(&world.owner, &repeated(&x), decode, step).unwrap();
    assert!(rows.len() == many && rows.iter().all(|row| row[..4] == [1, -2, 3, 0]));
    assert!(steps.len() == many.div_ceil(arrays::PIECE) + 1 && steps.last() == Some(&(many, many)));

    let counted = Arc::new(Counted::default());
    let params = bfv::presets::bfv_n12_d1().unwrap();
    let engine = Engine::new(&params.into(), Device::cpu().overseen(Arc::clone(&counted) as _)).unwrap();
    let overseen = engine.rlwe().unwrap();
    let bytes = |ct| world.any.encode(&Value::Rlwe(ct)).unwrap();
    let Value::Rlwe(x) = engine.decode(Kind::Ciphertext, &bytes(x)).unwrap() else { panic!("of RLWE") };
    let y = repeated(&x);
    let plain = of.beside(&[3], overseen.slots()).unwrap();
    let array = (Values::Signed(&[10, 20, 30]), &[3][..]);
    type Operation<'a> = &'a dyn Fn(&rlwe::Cipher) -> he_any::Result<rlwe::Cipher>;
    let operations: [Operation<'_>; 3] = [
        &|ct| arrays::combine(overseen, None, Op::Add, ct, ct),
        &|ct| arrays::combine(overseen, None, Op::Sub, ct, &x),
        &|ct| arrays::with_array(overseen, Op::Mul, ct, &plain, array),
    ];
    for operation in operations {
        let asked = |ct: &rlwe::Cipher| {
            let before = counted.asked.load(Ordering::Relaxed);
            let found = operation(ct).unwrap();
            (found, counted.asked.load(Ordering::Relaxed) - before)
        };
        let ((one, few), (all, more)) = (asked(&x), asked(&y));
        assert!(few > 0 && more >= 3 * few, "{more} questions for {many} entries, {few} for one");
        assert_eq!(all.batch(), many);
        for at in [0, 511, 512, 1099] {
            assert!(bytes(all.slice_batch(at..at + 1).unwrap()) == bytes(one.duplicate().unwrap()), "{at}");
        }
        counted.ended.store(true, Ordering::Relaxed);
        assert!(operation(&y).is_err());
        counted.ended.store(false, Ordering::Relaxed);
    }
}

/// Rows, whose columns are the entries of a batch, times a matrix: the words of sums one by one.
#[test]
fn rows_times_a_matrix() {
    let [mut world, _, mut bgv] = worlds();
    let numbers: Vec<i64> = (0..60).map(|i| i * i % 7 - 3).collect();
    let (x, of) = world.encrypt(&numbers, &[20, 3], Packing::Columns);
    let columns = [vec![1.0, 0.0, -2.0], vec![3.0, -1.0, 4.0]];
    let product = arrays::combinations(world.engine(), &x, &columns).unwrap();
    let row = |x: &[i64]| [x[0] - 2 * x[2], 3 * x[0] - x[1] + 4 * x[2]];
    let expected: Vec<i64> = numbers.chunks(3).flat_map(row).collect();
    assert_eq!(world.decrypt(&product, &Layout { entries: Some(2), ..of }), expected);

    let (engine, ct) = (world.engine().ckks().unwrap(), x.ckks().unwrap());
    let entries: Vec<_> = (0..3).map(|at| ct.slice_batch(at..at + 1).unwrap()).collect();
    for (at, weights) in columns.iter().enumerate() {
        let terms: Vec<_> = entries.iter().zip(weights.iter().copied()).collect();
        let sum = rlwe::Cipher::Ckks(engine.ev.linear_combination(&terms).unwrap());
        let bytes = |ct| world.any.encode(&Value::Rlwe(ct)).unwrap();
        assert_eq!(bytes(product.slice_batch(at..at + 1).unwrap()), bytes(sum));
    }
    let (y, of) = bgv.encrypt(&numbers, &[20, 3], Packing::Columns);
    let integers = [vec![1, 0, -2], vec![3, -1, 4]];
    let sums = arrays::integer_combinations(bgv.engine(), &y, &integers).unwrap();
    assert_eq!(bgv.decrypt(&sums, &Layout { entries: Some(2), ..of }), expected);
    assert!(arrays::integer_combinations(bgv.engine(), &y, &[vec![1; 4]]).is_err());
    assert!(arrays::integer_combinations(world.engine(), &x, &integers).is_err());
    // A column of another length, a level that is not there, and another scheme.
    assert!(arrays::combinations(world.engine(), &x, &[vec![1.0; 4]]).is_err());
    let mut low = product;
    while low.level() > 0 {
        low = arrays::combinations(world.engine(), &low, &[vec![1.0; 2], vec![1.0; 2]]).unwrap();
    }
    assert!(arrays::combinations(world.engine(), &low, &[vec![1.0; 2]]).is_err());
    let (other, _) = bgv.encrypt(&numbers, &[20, 3], Packing::Columns);
    assert!(arrays::combinations(bgv.engine(), &other, &columns).is_err());
}

/// The product of two encrypted matrices, however each of them lies.
#[test]
fn matrices_multiply_in_every_layout() {
    let [ckks, _, _] = worlds();
    let bfv = bfv::presets::bfv_n13_d4().unwrap();
    for mut world in [ckks, World::new(bfv, 4)] {
        let (m, k, n) = (2, 3, 5);
        let a: Vec<i64> = (0..m * k).map(|i| (i * i % 7) as i64 - 3).collect();
        let b: Vec<i64> = (0..k * n).map(|i| (5 * i % 11) as i64 - 4).collect();
        let entry = |at: usize| (0..k).map(|j| a[at / n * k + j] * b[j * n + at % n]).sum();
        let expected: Vec<i64> = (0..m * n).map(entry).collect();
        for (left, right) in [
            (Packing::Rows, Packing::Columns),
            (Packing::Rows, Packing::Rows),
            (Packing::Columns, Packing::Rows),
            (Packing::Columns, Packing::Columns),
        ] {
            let (x, of_x) = world.encrypt(&a, &[m, k], left);
            let (y, of_y) = world.encrypt(&b, &[k, n], right);
            let (product, of) =
                arrays::product(world.engine(), &world.keys, (&x, &of_x), (&y, &of_y)).unwrap();
            assert_eq!(of.shape(), [m, n]);
            assert_eq!(world.decrypt(&product, &of), expected, "{left:?} by {right:?}");
            let bounds = of.bounds.unwrap();
            assert!(expected.iter().all(|&x| bounds.hold(x as f64)), "{bounds:?}");
        }
    }
}

/// The padding after sums of a batch is as many times what it was.
#[test]
fn padding_adds_up_with_the_values() {
    for mut world in worlds() {
        let (x, of) = world.encrypt(&[1, 2, 3, 4, 5, 6], &[2, 3], Packing::Rows);
        let (engine, keys) = (world.any.rlwe().unwrap(), &world.keys);
        // Ones in the padding: c0 of a polynomial.
        let x = engine.add_number(&x, he_any::Number::Integer(1)).unwrap();
        let of = of.with_scalar(1.0, Op::Add);
        let (sum, layout) = arrays::sum(engine, keys, (&x, &of), &[Dim::Batch], false).unwrap();
        assert_eq!((world.decrypt(&sum, &layout), layout.padding), (vec![7, 9, 11], Some(2.0)));
        let (total, layout) = arrays::sum(engine, keys, (&sum, &layout), &[Dim::Slots], false).unwrap();
        assert_eq!(world.decrypt(&total, &layout), [27]);
    }
}

#[test]
fn parameters_come_back_and_belong_to_their_scheme() {
    let all: [Params; 4] = [
        CkksParams::for_depth(1).precision_bits(20).build().unwrap().into(),
        bfv::presets::bfv_n12_d1().unwrap().into(),
        bgv::presets::bgv_n12_d1().unwrap().into(),
        tfhe::presets::digits_2m128().unwrap().into(),
    ];
    let facts = all.each_ref().map(|params| (params.scheme(), params.is_exact(), params.slots().is_some()));
    assert_eq!(
        facts,
        [("ckks", false, true), ("bfv", true, true), ("bgv", true, true), ("tfhe", false, false)]
    );
    for params in all {
        assert_eq!(Params::from_bytes(&params.to_bytes().unwrap()).unwrap(), params);
        assert!(params.security_bits() >= 128 && params.fingerprint_text().len() == 64);
    }
    let insecure: Params = tfhe::presets::insecure_small().unwrap().into();
    let bytes = insecure.to_bytes().unwrap();
    assert!(Params::from_bytes(&bytes).is_err());
    assert_eq!(Params::from_bytes_insecure(&bytes).unwrap().security_bits(), 0);
    assert!(Params::from_bytes(&[]).is_err() && Params::from_bytes(&bytes[..bytes.len() - 1]).is_err());
}

#[test]
fn ciphertexts_of_two_schemes_do_not_meet() {
    let [mut ckks, mut bfv, _] = worlds();
    let (a, of) = ckks.encrypt(&[1, 2], &[2], Packing::Auto);
    let (b, _) = bfv.encrypt(&[1, 2], &[2], Packing::Auto);
    assert!(ckks.engine().add(&a, &b).is_err() && bfv.engine().neg(&a).is_err());
    assert!(rlwe::Cipher::concat(&[&a, &b]).is_err() && rlwe::Cipher::concat(&[]).is_err());
    assert!(ckks.owner.decrypt(&b).is_err() && bfv.engine().to_bytes(&a).is_err());
    assert!(ckks.engine().swap_rows(&a, &ckks.keys).is_err());
    assert!(arrays::mean(bfv.engine(), &bfv.keys, (&b, &of), &[Dim::Slots], false).is_err());
    let real = (Values::Real(&[0.5, 1.0]), &[2][..]);
    assert!(arrays::encoded(bfv.engine(), real, &of, None).is_err());
}

/// The layer is one of schemes: what carries values to it and from it is above it.
#[test]
fn neither_python_nor_arrow_nor_files_are_known() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let section = manifest.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    let names = section
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(['.', ' ']).next());
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    assert_eq!(names, ["he", "he-core", "serde", "serde_json", "thiserror", "zeroize"]);
    let mut folders = vec![root.join("src")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            let text = fs::read_to_string(&path).unwrap();
            for name in ["std::fs", "std::path", "std::env", "std::process", "std::thread", "println!"] {
                assert!(!text.contains(name), "{}: {name}", path.display());
            }
        }
    }
    assert!(files > 20, "{files}");
}

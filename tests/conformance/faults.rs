//! Back ends that are broken on purpose: every fault must be found, under the name of the broken
//! operation.

use he_core::backend::{
    Backend, Blocks, CkksOps, Cpu, ExactOps, KeySwitchOps, MatrixOps, MatrixProduct, PolyOps, PreparedRing,
};
use he_core::conformance::{Mirror, MirrorMismatch, Naive, suite};
use he_core::for_each_ring_op;
use he_core::ring::{Poly, Ring, RingSpec, Seed, Span};
use he_core::{Error, Result};
use num_complex::Complex64;
use std::ops::Range;

/// Flips a bit of one word that an operation wrote, or omits the operation if it is `wipe` or
/// `truncate`.
#[derive(Clone, Debug)]
struct Faulty<B> {
    inner: B,
    op: &'static str,
    word: Word,
}

/// A ring of [`Faulty`].
struct FaultyRing<B: Backend> {
    backend: Faulty<B>,
    inner: B::Ring,
}

/// The word that is wrong.
#[derive(Clone, Copy, Debug)]
enum Word {
    Third,
    /// The last word of the whole buffer, often after the rows that the operation had to write.
    Last,
}

fn faulty(op: &'static str) -> Faulty<Cpu> {
    Faulty { inner: Cpu::new(), op, word: Word::Third }
}

impl<B: Backend> Faulty<B> {
    fn after(&self, op: &'static str, dst: &mut B::Buf) -> Result<()> {
        let count = self.inner.words(dst);
        if op == self.op && count > 2 {
            let mut words = self.inner.download(dst, 0..count)?;
            match self.word {
                Word::Third => words[2] ^= 1,
                Word::Last => words[count - 1] ^= 1,
            }
            *dst = self.inner.upload(&words)?;
        }
        Ok(())
    }

    fn after_all<const N: usize>(&self, op: &'static str, mut dst: [B::Buf; N]) -> Result<[B::Buf; N]> {
        // The last result, which a comparison of only the first would miss.
        dst.last_mut().map_or(Ok(()), |last| self.after(op, last))?;
        Ok(dst)
    }

    fn after_vectors(&self, op: &'static str, mut vectors: Vec<Vec<Complex64>>) -> Vec<Vec<Complex64>> {
        let flip = |x: &mut f64| *x = f64::from_bits(x.to_bits() ^ 1);
        let mut numbers: Vec<&mut f64> =
            vectors.iter_mut().flatten().flat_map(|z| [&mut z.re, &mut z.im]).collect();
        if op == self.op && numbers.len() > 2 {
            match self.word {
                Word::Third => flip(numbers[2]),
                Word::Last => numbers.last_mut().into_iter().for_each(|x| flip(x)),
            }
        }
        vectors
    }
}

impl<B: Backend> Backend for Faulty<B> {
    type Buf = B::Buf;
    type Ring = FaultyRing<B>;

    fn name(&self) -> String {
        format!("{} with a broken {}", self.inner.name(), self.op)
    }

    fn prepare(&self, spec: &RingSpec) -> Result<FaultyRing<B>> {
        Ok(FaultyRing { backend: self.clone(), inner: self.inner.prepare(spec)? })
    }

    fn zeros(&self, words: usize) -> Result<Self::Buf> {
        let [buf] = self.after_all("zeros", [self.inner.zeros(words)?])?;
        Ok(buf)
    }

    fn upload(&self, words: &[u64]) -> Result<Self::Buf> {
        let [buf] = self.after_all("upload", [self.inner.upload(words)?])?;
        Ok(buf)
    }

    fn download(&self, buf: &Self::Buf, range: Range<usize>) -> Result<Vec<u64>> {
        self.inner.download(buf, range)
    }

    fn take_with<T>(&self, mut buf: Self::Buf, read: impl FnOnce(&[u64]) -> Result<T>) -> Result<T> {
        self.after("take_with", &mut buf)?;
        self.inner.take_with(buf, read)
    }

    fn copy(
        &self,
        src: &Self::Buf,
        src_at: usize,
        dst: &mut Self::Buf,
        dst_at: usize,
        words: usize,
    ) -> Result<()> {
        self.inner.copy(src, src_at, dst, dst_at, words)?;
        self.after("copy", dst)
    }

    fn copy_blocks(
        &self,
        src: &Self::Buf,
        from: Blocks,
        dst: &mut Self::Buf,
        to: Blocks,
        words: usize,
        count: usize,
    ) -> Result<()> {
        self.inner.copy_blocks(src, from, dst, to, words, count)?;
        self.after("copy_blocks", dst)
    }

    fn copy_places(
        &self,
        src: &Self::Buf,
        from: Blocks,
        dst: &mut Self::Buf,
        to: Blocks,
        places: &[[usize; 2]],
        shape: [usize; 2],
    ) -> Result<()> {
        self.inner.copy_places(src, from, dst, to, places, shape)?;
        self.after("copy_places", dst)
    }

    fn join_runs(&self, parts: &[(&Self::Buf, usize)], dst: &mut Self::Buf, runs: usize) -> Result<()> {
        self.inner.join_runs(parts, dst, runs)?;
        self.after("join_runs", dst)
    }

    fn transpose_words(
        &self,
        src: &Self::Buf,
        src_at: usize,
        dst: &mut Self::Buf,
        dst_at: usize,
        shape: [usize; 2],
        count: usize,
    ) -> Result<()> {
        self.inner.transpose_words(src, src_at, dst, dst_at, shape, count)?;
        self.after("transpose_words", dst)
    }

    fn words(&self, buf: &Self::Buf) -> usize {
        self.inner.words(buf)
    }

    fn truncate(&self, buf: &mut Self::Buf, words: usize) {
        if self.op != "truncate" {
            self.inner.truncate(buf, words);
        }
    }

    fn wipe(&self, buf: &mut Self::Buf) {
        if self.op != "wipe" {
            self.inner.wipe(buf);
        }
    }

    fn synchronize(&self) -> Result<()> {
        self.inner.synchronize()
    }

    fn batched<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.inner.batched(work)
    }
}

/// An operation of the other back end, whose result is damaged if it is the broken one.
macro_rules! broken {
    (fn $op:ident($($kind:ident $arg:ident: $type:ty),*) -> $outcome:ident $result:ty;) => {
        fn $op(&self, $($arg: $type),*) -> Result<$result> {
            const OP: &str = stringify!($op);
            $(rebound!($kind $arg);)*
            let result = self.inner.$op($(lent!($kind $arg)),*)?;
            damaged!($outcome, self.backend, OP, result, $($kind $arg,)*)
        }
    };
}

/// The buffer that an operation leaves, or its result, after damage.
macro_rules! rebound {
    (fill $arg:ident) => {
        let mut $arg = $arg;
    };
    ($kind:ident $arg:ident) => {};
}

/// An argument for the other back end.
macro_rules! lent {
    (fill $arg:ident) => {
        $arg.as_mut().map(|buf| &mut **buf)
    };
    ($kind:ident $arg:ident) => {
        $arg
    };
}

macro_rules! damaged {
    (done, $faulty:expr, $op:expr, $result:expr, write $arg:ident, $($rest:tt)*) => {
        $faulty.after($op, $arg).map(|()| $result)
    };
    (done, $faulty:expr, $op:expr, $result:expr, fill $arg:ident, $($rest:tt)*) => {
        $faulty.after($op, $arg.buf()).map(|()| $result)
    };
    (done, $faulty:expr, $op:expr, $result:expr, $kind:ident $arg:ident, $($rest:tt)*) => {
        damaged!(done, $faulty, $op, $result, $($rest)*)
    };
    (one, $faulty:expr, $op:expr, $result:expr, $($rest:tt)*) => {
        $faulty.after_all($op, [$result]).map(|[buf]| buf)
    };
    (each, $faulty:expr, $op:expr, $result:expr, $($rest:tt)*) => {
        $faulty.after_all($op, $result)
    };
    (opaque, $faulty:expr, $op:expr, $result:expr, $($rest:tt)*) => {
        $result.try_map(|buf| $faulty.after_all($op, [buf]).map(|[buf]| buf))
    };
    (vectors, $faulty:expr, $op:expr, $result:expr, $($rest:tt)*) => {
        Ok($faulty.after_vectors($op, $result))
    };
}

impl<B: Backend> PreparedRing for FaultyRing<B> {
    type Buf = B::Buf;
    type Backend = Faulty<B>;

    fn backend(&self) -> &Faulty<B> {
        &self.backend
    }

    fn spec(&self) -> &RingSpec {
        self.inner.spec()
    }

    fn prepare_beside(&self, spec: &RingSpec) -> Result<Self> {
        Ok(Self { backend: self.backend.clone(), inner: self.inner.prepare_beside(spec)? })
    }
}

impl<B: Backend<Ring: PolyOps>> PolyOps for FaultyRing<B> {
    for_each_ring_op! { required, broken }
    for_each_ring_op! { provided, broken }
}

impl<B: Backend<Ring: KeySwitchOps>> KeySwitchOps for FaultyRing<B> {
    for_each_ring_op! { key_switch, broken }
}

impl<B: Backend<Ring: CkksOps>> CkksOps for FaultyRing<B> {
    for_each_ring_op! { ckks, broken }
}

impl<B: Backend<Ring: ExactOps>> ExactOps for FaultyRing<B> {
    for_each_ring_op! { exact, broken }
}

impl<B: Backend<Ring: MatrixOps>> MatrixOps for FaultyRing<B> {
    for_each_ring_op! { matrix, broken }

    fn shares_left(&self, packed: &MatrixProduct, other: &MatrixProduct) -> bool {
        self.inner.shares_left(packed, other)
    }
}

type Body<B> = fn(&B, u32) -> Result<()>;

fn op_of(result: Result<()>) -> Option<&'static str> {
    match result {
        Err(Error::Backend { op, .. }) => Some(op),
        _ => None,
    }
}

#[test]
fn a_broken_product_is_found_in_a_program() {
    let spec = RingSpec::new(3, vec![97, 113], vec![]).unwrap();
    let broken = faulty("mul_assign");
    let ring = Ring::new(Mirror::new(broken.clone(), Naive), spec).unwrap();
    let a = Poly::uniform(&ring, Span::chain(2), 2, &Seed([1; 32]), 0).unwrap();
    let mut b = Poly::error(&ring, Span::chain(2), 2, &Seed([2; 32]), 0).unwrap().into_eval().unwrap();
    b.add_assign(&a).unwrap();
    let error = b.mul_assign(&a).unwrap_err();
    let Error::Backend { op: "mul_assign", source } = &error else { panic!("{error}") };
    let mismatch: &MirrorMismatch = source.downcast_ref().unwrap();
    assert_eq!(mismatch.index, 2);
    assert_eq!(mismatch.left, broken.name());
    assert_eq!(mismatch.right, "naive");
    assert_eq!(mismatch.op, "mul_assign");
    assert_eq!(mismatch.left_word.unwrap() ^ 1, mismatch.right_word.unwrap());
    let expected = format!(
        "mul_assign failed on the back end: after mul_assign, word 2 of result 0 is {} on {} and {} on naive",
        mismatch.left_word.unwrap(),
        broken.name(),
        mismatch.right_word.unwrap()
    );
    assert_eq!(error.to_string(), expected);
}

/// The body that tests an operation finds a fault in it, and names the operation.
#[test]
fn every_broken_operation_is_found_by_the_suite() {
    let bodies: [(Body<Faulty<Cpu>>, &[&str]); 12] = [
        (suite::transforms, &["ntt", "intt"]),
        (
            suite::elementwise,
            &[
                "add_assign",
                "sub_assign",
                "neg_assign",
                "mul_assign",
                "mul_add_assign",
                "scale_assign",
                "scale_add_assign",
                "add_scalar_assign",
            ],
        ),
        (suite::automorphisms, &["automorphism"]),
        (suite::conversions, &["convert_basis"]),
        (suite::signed_words, &["reduce_signed"]),
        (suite::samplers, &["sample_uniform", "sample_ternary", "sample_error"]),
        (suite::known_answers, &["ntt", "intt", "convert_basis", "sample_uniform", "sample_error"]),
        (
            suite::memory,
            &[
                "zeros",
                "upload",
                "copy",
                "copy_blocks",
                "copy_places",
                "join_runs",
                "transpose_words",
                "truncate",
                "wipe",
                "take_with",
            ],
        ),
        (
            suite::fused_equal_provided,
            &[
                "tensor",
                "tensor_sum",
                "combine",
                "decompose",
                "key_product",
                "add_pairs",
                "sub_pairs",
                "mul_pairs",
                "mul_add",
                "apply_automorphism",
                "mod_down_pair",
                "mul_mod_down_pair",
                "relinearize",
                "multiply_relinearize",
                "switch_automorphism",
                "mod_down",
                "rotate_and_sum",
                "scaled_tensor",
                "message_phase",
                "greatest_squares",
                "encrypt",
                "phase_mod_t",
                "gather",
            ],
        ),
        (suite::embeddings, &["encode_slots", "encode_host_vector", "decode_slots"]),
        (suite::programs, &["ntt", "add_assign", "automorphism", "copy"]),
        (suite::matrices, &["multiply_matrices"]),
    ];
    for (body, ops) in bodies {
        for &op in ops {
            for word in [Word::Third, Word::Last] {
                let found = op_of(body(&Faulty { word, ..faulty(op) }, 4));
                assert_eq!(found, Some(op), "{word:?}");
            }
        }
    }
    let coarse: [(Body<Faulty<Cpu>>, &str); 28] = [
        (suite::keys, "empty_key"),
        (suite::keys, "write_key"),
        (suite::keys, "read_key"),
        (suite::tensors, "tensor"),
        (suite::tensors, "tensor_sum"),
        (suite::tensors, "combine"),
        (suite::decompositions, "decompose"),
        (suite::key_products, "key_product"),
        (suite::divisions, "mod_down"),
        (suite::rotations, "rotate_and_sum"),
        (suite::tensors, "add_pairs"),
        (suite::tensors, "sub_pairs"),
        (suite::tensors, "mul_pairs"),
        (suite::tensors, "mul_add"),
        (suite::divisions, "mod_down_pair"),
        (suite::divisions, "mul_mod_down_pair"),
        (suite::switches, "apply_automorphism"),
        (suite::switches, "relinearize"),
        (suite::switches, "multiply_relinearize"),
        (suite::switches, "switch_automorphism"),
        (suite::scaled_tensors, "scaled_tensor"),
        (suite::encryptions, "message_phase"),
        (suite::encryptions, "encrypt"),
        (suite::greatest_values, "greatest_squares"),
        (suite::phases_mod_t, "phase_mod_t"),
        (suite::gathers, "gather"),
        (suite::matrices, "pack_left"),
        (suite::matrices, "pack_right"),
    ];
    for (body, op) in coarse {
        // The contents of a key are compared by reading it, and an empty key is the first; those
        // of packed matrices by multiplying them.
        let found = match op {
            "read_key" => "empty_key",
            "pack_left" | "pack_right" => "multiply_matrices",
            op => op,
        };
        assert_eq!(op_of(body(&faulty(op), 4)), Some(found));
    }
}

/// The laws find faults without a second back end. They name the operation whose result is wrong,
/// which may be a later one.
#[test]
fn every_broken_operation_breaks_a_law() {
    let laws: [(Body<Faulty<Cpu>>, &[&str]); 6] = [
        (suite::transforms_obey_laws, &["ntt", "intt"]),
        (suite::automorphisms, &["automorphism"]),
        (suite::divisions_are_exact, &["mod_down"]),
        (suite::encryptions, &["message_phase", "encrypt"]),
        (suite::phases_mod_t, &["phase_mod_t"]),
        (suite::key_switching_is_exact, &["decompose", "key_product", "rotate_and_sum"]),
    ];
    for (body, ops) in laws {
        for &op in ops {
            assert!(op_of(body(&faulty(op), 4)).is_some(), "{op}");
        }
    }
}

//! Back ends that are broken on purpose: every break must be found, under the name of the broken operation.

use super::provided::forward_small_operations;
use super::{Mirror, MirrorMismatch, Naive, suite};
use crate::backend::{
    Backend, Cpu, Embedding, KeySwitchShape, PlainPhase, Remainders, RingOps, RotationTerm, ScaledTensor,
};
use crate::error::{Error, Result};
use crate::ring::{DomainKind, Operand, Poly, Ring, RingSpec, Rows, Seed, Span};
use num_complex::Complex64;
use std::ops::Range;

/// Flips a bit of one word of what an operation wrote, or does not do it at all if it is `wipe` or `truncate`.
#[derive(Clone, Debug)]
struct Faulty<B> {
    inner: B,
    op: &'static str,
    word: Word,
}

/// Which word is wrong.
#[derive(Clone, Copy, Debug)]
enum Word {
    Third,
    /// Of the whole buffer: often behind the rows that the operation was to write.
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
        // The last result, so that a comparison of the first alone would miss it.
        dst.last_mut().map_or(Ok(()), |last| self.after(op, last))?;
        Ok(dst)
    }
}

impl<B: Backend> Backend for Faulty<B> {
    type Buf = B::Buf;
    type Tables = B::Tables;

    fn name(&self) -> String {
        format!("{} with a broken {}", self.inner.name(), self.op)
    }

    fn tables(&self, spec: &RingSpec) -> Result<Self::Tables> {
        self.inner.tables(spec)
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

    fn together<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.inner.together(work)
    }
}

impl<B: RingOps> RingOps for Faulty<B> {
    forward_small_operations! {}

    fn tensor(
        &self,
        t: &Self::Tables,
        rows: Rows,
        a: [Operand<'_, Self::Buf>; 2],
        b: [Operand<'_, Self::Buf>; 2],
    ) -> Result<[Self::Buf; 3]> {
        self.after_all("tensor", self.inner.tensor(t, rows, a, b)?)
    }

    fn decompose(&self, t: &Self::Tables, shape: &KeySwitchShape, src: &Self::Buf) -> Result<Self::Buf> {
        let [digits] = self.after_all("decompose", [self.inner.decompose(t, shape, src)?])?;
        Ok(digits)
    }

    fn key_product(
        &self,
        t: &Self::Tables,
        shape: &KeySwitchShape,
        digits: &Self::Buf,
        key: &Self::Buf,
    ) -> Result<[Self::Buf; 2]> {
        self.after_all("key_product", self.inner.key_product(t, shape, digits, key)?)
    }

    fn add_pairs(
        &self,
        t: &Self::Tables,
        rows: Rows,
        a: [Operand<'_, Self::Buf>; 2],
        b: [Operand<'_, Self::Buf>; 2],
    ) -> Result<[Self::Buf; 2]> {
        self.after_all("add_pairs", self.inner.add_pairs(t, rows, a, b)?)
    }

    fn sub_pairs(
        &self,
        t: &Self::Tables,
        rows: Rows,
        a: [Operand<'_, Self::Buf>; 2],
        b: [Operand<'_, Self::Buf>; 2],
    ) -> Result<[Self::Buf; 2]> {
        self.after_all("sub_pairs", self.inner.sub_pairs(t, rows, a, b)?)
    }

    fn mul_add(
        &self,
        t: &Self::Tables,
        rows: Rows,
        a: Operand<'_, Self::Buf>,
        x: Operand<'_, Self::Buf>,
        y: Operand<'_, Self::Buf>,
    ) -> Result<Self::Buf> {
        let [sum] = self.after_all("mul_add", [self.inner.mul_add(t, rows, a, x, y)?])?;
        Ok(sum)
    }

    fn apply_automorphism(
        &self,
        t: &Self::Tables,
        shape: &KeySwitchShape,
        c: [&Self::Buf; 2],
        key: &Self::Buf,
        g: u64,
    ) -> Result<[Self::Buf; 2]> {
        self.after_all("apply_automorphism", self.inner.apply_automorphism(t, shape, c, key, g)?)
    }

    fn mod_down_pair(
        &self,
        t: &Self::Tables,
        span: Span,
        keep: usize,
        batch: usize,
        src: [&Self::Buf; 2],
    ) -> Result<[Self::Buf; 2]> {
        self.after_all("mod_down_pair", self.inner.mod_down_pair(t, span, keep, batch, src)?)
    }

    fn relinearize(
        &self,
        t: &Self::Tables,
        shape: &KeySwitchShape,
        d: [&Self::Buf; 3],
        key: &Self::Buf,
        keep: usize,
    ) -> Result<[Self::Buf; 2]> {
        self.after_all("relinearize", self.inner.relinearize(t, shape, d, key, keep)?)
    }

    fn switch_automorphism(
        &self,
        t: &Self::Tables,
        shape: &KeySwitchShape,
        c0: &Self::Buf,
        digits: &Self::Buf,
        key: &Self::Buf,
        g: u64,
    ) -> Result<[Self::Buf; 2]> {
        let image = self.inner.switch_automorphism(t, shape, c0, digits, key, g)?;
        self.after_all("switch_automorphism", image)
    }

    fn mod_down(
        &self,
        t: &Self::Tables,
        span: Span,
        keep: usize,
        batch: usize,
        src: Self::Buf,
    ) -> Result<Self::Buf> {
        let [quotient] = self.after_all("mod_down", [self.inner.mod_down(t, span, keep, batch, src)?])?;
        Ok(quotient)
    }

    fn rotate_and_sum(
        &self,
        t: &Self::Tables,
        shape: &KeySwitchShape,
        c: [&Self::Buf; 2],
        digits: &Self::Buf,
        terms: &[RotationTerm<'_, Self::Buf>],
    ) -> Result<[Self::Buf; 2]> {
        self.after_all("rotate_and_sum", self.inner.rotate_and_sum(t, shape, c, digits, terms)?)
    }

    fn scaled_tensor(
        &self,
        t: &Self::Tables,
        shape: &ScaledTensor,
        a: [Operand<'_, Self::Buf>; 2],
        b: [Operand<'_, Self::Buf>; 2],
    ) -> Result<[Self::Buf; 3]> {
        self.after_all("scaled_tensor", self.inner.scaled_tensor(t, shape, a, b)?)
    }

    fn plain_phase(
        &self,
        t: &Self::Tables,
        rows: Rows,
        message: PlainPhase<'_, Self::Buf>,
    ) -> Result<Self::Buf> {
        let [buf] = self.after_all("plain_phase", [self.inner.plain_phase(t, rows, message)?])?;
        Ok(buf)
    }

    fn encrypt(
        &self,
        t: &Self::Tables,
        rows: Rows,
        seed: &Seed,
        key: [Operand<'_, Self::Buf>; 2],
        message: Option<PlainPhase<'_, Self::Buf>>,
    ) -> Result<[Self::Buf; 2]> {
        self.after_all("encrypt", self.inner.encrypt(t, rows, seed, key, message)?)
    }

    fn remainders(
        &self,
        t: &Self::Tables,
        rows: Rows,
        c: [Operand<'_, Self::Buf>; 2],
        secret: Operand<'_, Self::Buf>,
        to: Remainders<'_>,
    ) -> Result<Self::Buf> {
        let [buf] = self.after_all("remainders", [self.inner.remainders(t, rows, c, secret, to)?])?;
        Ok(buf)
    }

    fn gather(&self, t: &Self::Tables, rows: Rows, index: &Self::Buf, src: &Self::Buf) -> Result<Self::Buf> {
        let [buf] = self.after_all("gather", [self.inner.gather(t, rows, index, src)?])?;
        Ok(buf)
    }

    fn encode_slots(
        &self,
        t: &Self::Tables,
        rows: Rows,
        vectors: &[&[Complex64]],
        to: Embedding<'_>,
    ) -> Result<Self::Buf> {
        let [buf] = self.after_all("encode_slots", [self.inner.encode_slots(t, rows, vectors, to)?])?;
        Ok(buf)
    }

    fn decode_slots(
        &self,
        t: &Self::Tables,
        rows: Rows,
        src: &Self::Buf,
        from: Embedding<'_>,
    ) -> Result<Vec<Vec<Complex64>>> {
        let mut vectors = self.inner.decode_slots(t, rows, src, from)?;
        let flip = |x: &mut f64| *x = f64::from_bits(x.to_bits() ^ 1);
        let mut numbers: Vec<&mut f64> =
            vectors.iter_mut().flatten().flat_map(|z| [&mut z.re, &mut z.im]).collect();
        if self.op == "decode_slots" && numbers.len() > 2 {
            match self.word {
                Word::Third => flip(numbers[2]),
                Word::Last => numbers.last_mut().into_iter().for_each(|x| flip(x)),
            }
        }
        Ok(vectors)
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

/// A fault in each operation is found by the body that tests it, with the operation's name.
#[test]
fn every_broken_operation_is_found_by_the_suite() {
    let bodies: [(Body<Faulty<Cpu>>, &[&str]); 11] = [
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
                "shift_assign",
            ],
        ),
        (suite::automorphisms, &["automorphism"]),
        (suite::conversions, &["convert_basis"]),
        (suite::signed_words, &["reduce_signed"]),
        (suite::samplers, &["sample_uniform", "sample_ternary", "sample_error"]),
        (suite::known_answers, &["ntt", "intt", "convert_basis", "sample_uniform", "sample_error"]),
        (suite::memory, &["zeros", "upload", "copy", "truncate", "wipe"]),
        (
            suite::fused_equal_provided,
            &[
                "tensor",
                "decompose",
                "key_product",
                "add_pairs",
                "sub_pairs",
                "mul_add",
                "apply_automorphism",
                "mod_down_pair",
                "relinearize",
                "switch_automorphism",
                "mod_down",
                "rotate_and_sum",
                "scaled_tensor",
                "plain_phase",
                "encrypt",
                "remainders",
                "gather",
            ],
        ),
        (suite::embeddings, &["encode_slots", "decode_slots"]),
        (suite::programs, &["ntt", "add_assign", "automorphism", "copy"]),
    ];
    for (body, ops) in bodies {
        for &op in ops {
            for word in [Word::Third, Word::Last] {
                let found = op_of(body(&Faulty { word, ..faulty(op) }, 4));
                assert_eq!(found, Some(op), "{word:?}");
            }
        }
    }
    let coarse: [(Body<Faulty<Cpu>>, &str); 17] = [
        (suite::tensors, "tensor"),
        (suite::decompositions, "decompose"),
        (suite::key_products, "key_product"),
        (suite::divisions, "mod_down"),
        (suite::rotations, "rotate_and_sum"),
        (suite::tensors, "add_pairs"),
        (suite::tensors, "sub_pairs"),
        (suite::tensors, "mul_add"),
        (suite::divisions, "mod_down_pair"),
        (suite::switches, "apply_automorphism"),
        (suite::switches, "relinearize"),
        (suite::switches, "switch_automorphism"),
        (suite::scaled_tensors, "scaled_tensor"),
        (suite::encryptions, "plain_phase"),
        (suite::encryptions, "encrypt"),
        (suite::remainders, "remainders"),
        (suite::gathers, "gather"),
    ];
    for (body, op) in coarse {
        assert_eq!(op_of(body(&faulty(op), 4)), Some(op));
    }
}

/// The laws find faults without a second back end. They tell the operation whose result is wrong, which may be a later one.
#[test]
fn every_broken_operation_breaks_a_law() {
    let laws: [(Body<Faulty<Cpu>>, &[&str]); 6] = [
        (suite::transforms_obey_laws, &["ntt", "intt"]),
        (suite::automorphisms, &["automorphism"]),
        (suite::divisions_are_exact, &["mod_down"]),
        (suite::encryptions, &["plain_phase", "encrypt"]),
        (suite::remainders, &["remainders"]),
        (suite::key_switching_is_exact, &["decompose", "key_product", "rotate_and_sum"]),
    ];
    for (body, ops) in laws {
        for &op in ops {
            assert!(op_of(body(&faulty(op), 4)).is_some(), "{op}");
        }
    }
}

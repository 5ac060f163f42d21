//! Two back ends that must leave the same words.

use crate::backend::delegate::Refer;
use crate::backend::{
    Backend, Blocks, CkksOps, ExactOps, HostVector, KeyBuf, KeyShape, KeySwitchOps, MatrixOps, MatrixProduct,
    PolyOps, PreparedRing, WidePolyOps,
};
use crate::error::{Error, Result};
use crate::ring::RingSpec;
use crate::{for_each_ring_op, for_each_wide_op};
use num_complex::Complex64;
use std::ops::Range;

/// A back end made of two. Every operation runs on both, each with its own bodies of the coarse
/// operations, and every buffer that was written is compared as a whole. The first difference is an
/// [`Error::Backend`] with the operation's name and a [`MirrorMismatch`] as its source.
///
/// `truncate` and `wipe` report nothing; their effect is compared by the next operation that writes
/// or downloads the buffer.
///
/// This is a tool for tests: it holds everything twice, downloads every result, and its errors
/// reveal words, including secret ones.
#[derive(Clone, Debug)]
pub struct Mirror<L, R> {
    left: L,
    right: R,
}

/// One buffer on each side.
#[derive(Debug)]
pub struct MirrorBuf<L, R> {
    left: L,
    right: R,
}

/// A ring on both sides.
#[derive(Debug)]
pub struct MirrorRing<L: Backend, R: Backend> {
    mirror: Mirror<L, R>,
    left: L::Ring,
    right: R::Ring,
}

/// The first difference between two back ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "after {op}, word {index} of result {output} is {} on {left} and {} on {right}",
    word(left_word),
    word(right_word)
)]
pub struct MirrorMismatch {
    /// Name of the left back end.
    pub left: String,
    /// Name of the right back end, or of the rule that the left one broke.
    pub right: String,
    /// The operation.
    pub op: &'static str,
    /// The index of the result that differs, from 0.
    pub output: usize,
    /// Index of the first word that differs.
    pub index: usize,
    /// The left word; `None` if the left buffer ends there.
    pub left_word: Option<u64>,
    /// The right word; `None` if the right buffer ends there.
    pub right_word: Option<u64>,
}

fn word(word: &Option<u64>) -> String {
    word.map_or_else(|| "missing".into(), |word| word.to_string())
}

/// The first index at which two lists of words differ, including their lengths.
pub(super) fn first_difference(left: &[u64], right: &[u64]) -> Option<usize> {
    let common = left.iter().zip(right).position(|(l, r)| l != r);
    common.or_else(|| (left.len() != right.len()).then(|| left.len().min(right.len())))
}

impl<L, R> Mirror<L, R> {
    /// Joins two back ends.
    pub const fn new(left: L, right: R) -> Self {
        Self { left, right }
    }

    /// The left back end.
    pub const fn left(&self) -> &L {
        &self.left
    }

    /// The right back end.
    pub const fn right(&self) -> &R {
        &self.right
    }
}

impl<L, R> MirrorBuf<L, R> {
    /// The left buffer.
    pub const fn left(&self) -> &L {
        &self.left
    }

    /// The right buffer.
    pub const fn right(&self) -> &R {
        &self.right
    }
}

impl<L: Backend, R: Backend> Mirror<L, R> {
    /// The results of both sides, or the error on which they agree.
    fn agreed<T, U>(&self, op: &'static str, left: Result<T>, right: Result<U>) -> Result<(T, U)> {
        match (left, right) {
            (Ok(left), Ok(right)) => Ok((left, right)),
            (Err(left), Err(right)) if left.to_string() == right.to_string() => Err(left),
            (Err(error @ Error::Backend { .. }), _) | (_, Err(error @ Error::Backend { .. })) => Err(error),
            (left, right) => {
                let (left, right) = (left.err(), right.err());
                let source = format!("{}: {left:?}; {}: {right:?}", self.left.name(), self.right.name());
                Err(Error::Backend { op, source: source.into() })
            }
        }
    }

    /// Compares vectors of complex numbers bit by bit.
    fn same_vectors(
        &self,
        op: &'static str,
        left: &[Vec<Complex64>],
        right: &[Vec<Complex64>],
    ) -> Result<()> {
        let bits = |vectors: &[Vec<Complex64>]| -> Vec<u64> {
            vectors.iter().flatten().flat_map(|z| [z.re.to_bits(), z.im.to_bits()]).collect()
        };
        self.same_words(op, 0, &bits(left), &bits(right))
    }

    fn same_words(&self, op: &'static str, output: usize, left: &[u64], right: &[u64]) -> Result<()> {
        match first_difference(left, right) {
            None => Ok(()),
            Some(index) => Err(Error::Backend {
                op,
                source: Box::new(MirrorMismatch {
                    left: self.left.name(),
                    right: self.right.name(),
                    op,
                    output,
                    index,
                    left_word: left.get(index).copied(),
                    right_word: right.get(index).copied(),
                }),
            }),
        }
    }

    fn compare(&self, op: &'static str, output: usize, buf: &MirrorBuf<L::Buf, R::Buf>) -> Result<()> {
        let left = self.left.download(&buf.left, 0..self.left.words(&buf.left))?;
        let right = self.right.download(&buf.right, 0..self.right.words(&buf.right))?;
        self.same_words(op, output, &left, &right)
    }

    fn join<const N: usize>(
        &self,
        op: &'static str,
        left: [L::Buf; N],
        right: [R::Buf; N],
    ) -> Result<[MirrorBuf<L::Buf, R::Buf>; N]> {
        let joined: Vec<_> =
            left.into_iter().zip(right).map(|(left, right)| MirrorBuf { left, right }).collect();
        for (output, buf) in joined.iter().enumerate() {
            self.compare(op, output, buf)?;
        }
        joined.try_into().map_err(|_| Error::argument("results", "too few"))
    }
}

impl<L: Backend, R: Backend> Backend for Mirror<L, R> {
    type Buf = MirrorBuf<L::Buf, R::Buf>;
    type Ring = MirrorRing<L, R>;

    fn name(&self) -> String {
        format!("mirror of {} and {}", self.left.name(), self.right.name())
    }

    fn prepare(&self, spec: &RingSpec) -> Result<MirrorRing<L, R>> {
        let (left, right) = (self.left.prepare(spec)?, self.right.prepare(spec)?);
        Ok(MirrorRing { mirror: self.clone(), left, right })
    }

    fn zeros(&self, words: usize) -> Result<Self::Buf> {
        let buf = MirrorBuf { left: self.left.zeros(words)?, right: self.right.zeros(words)? };
        self.compare("zeros", 0, &buf)?;
        Ok(buf)
    }

    fn upload(&self, words: &[u64]) -> Result<Self::Buf> {
        let buf = MirrorBuf { left: self.left.upload(words)?, right: self.right.upload(words)? };
        self.compare("upload", 0, &buf)?;
        Ok(buf)
    }

    /// Memory of the left side, which the right one copies.
    fn host_vector(&self, count: usize) -> Result<HostVector> {
        self.left.host_vector(count)
    }

    fn download(&self, buf: &Self::Buf, range: Range<usize>) -> Result<Vec<u64>> {
        let left = self.left.download(&buf.left, range.clone())?;
        let right = self.right.download(&buf.right, range)?;
        self.same_words("download", 0, &left, &right)?;
        Ok(left)
    }

    fn take_with<T>(&self, buf: Self::Buf, read: impl FnOnce(&[u64]) -> Result<T>) -> Result<T> {
        self.left.take_with(buf.left, |left| {
            self.right.take_with(buf.right, |right| {
                self.same_words("take_with", 0, left, right)?;
                read(left)
            })
        })
    }

    fn copy(
        &self,
        src: &Self::Buf,
        src_at: usize,
        dst: &mut Self::Buf,
        dst_at: usize,
        words: usize,
    ) -> Result<()> {
        self.left.copy(&src.left, src_at, &mut dst.left, dst_at, words)?;
        self.right.copy(&src.right, src_at, &mut dst.right, dst_at, words)?;
        self.compare("copy", 0, dst)
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
        self.left.copy_blocks(&src.left, from, &mut dst.left, to, words, count)?;
        self.right.copy_blocks(&src.right, from, &mut dst.right, to, words, count)?;
        self.compare("copy_blocks", 0, dst)
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
        self.left.copy_places(&src.left, from, &mut dst.left, to, places, shape)?;
        self.right.copy_places(&src.right, from, &mut dst.right, to, places, shape)?;
        self.compare("copy_places", 0, dst)
    }

    fn join_runs(&self, parts: &[(&Self::Buf, usize)], dst: &mut Self::Buf, runs: usize) -> Result<()> {
        let left: Vec<_> = parts.iter().map(|(part, words)| (&part.left, *words)).collect();
        let right: Vec<_> = parts.iter().map(|(part, words)| (&part.right, *words)).collect();
        self.left.join_runs(&left, &mut dst.left, runs)?;
        self.right.join_runs(&right, &mut dst.right, runs)?;
        self.compare("join_runs", 0, dst)
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
        self.left.transpose_words(&src.left, src_at, &mut dst.left, dst_at, shape, count)?;
        self.right.transpose_words(&src.right, src_at, &mut dst.right, dst_at, shape, count)?;
        self.compare("transpose_words", 0, dst)
    }

    /// The words of the left buffer; the next comparison reports another number on the right.
    fn words(&self, buf: &Self::Buf) -> usize {
        self.left.words(&buf.left)
    }

    fn truncate(&self, buf: &mut Self::Buf, words: usize) {
        self.left.truncate(&mut buf.left, words);
        self.right.truncate(&mut buf.right, words);
    }

    fn wipe(&self, buf: &mut Self::Buf) {
        self.left.wipe(&mut buf.left);
        self.right.wipe(&mut buf.right);
    }

    fn synchronize(&self) -> Result<()> {
        self.left.synchronize()?;
        self.right.synchronize()
    }

    fn batched<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.left.batched(|| self.right.batched(work))
    }
}

/// An operation on both sides, whose results are compared.
macro_rules! mirrored {
    // Keys have a layout of their own on each side, so what is in them is read out.
    (fn empty_key($($arguments:tt)*) -> opaque $result:ty;) => {
        fn empty_key(&self, shape: &KeyShape) -> Result<$result> {
            let (left, right) = (self.left.empty_key(shape), self.right.empty_key(shape));
            let (left, right) = self.mirror.agreed("empty_key", left, right)?;
            let key = left.map(|left| MirrorBuf { left, right: right.buf() });
            for (digit, part) in (0..shape.digits).flat_map(|digit| [(digit, 0), (digit, 1)]) {
                self.same_polynomial("empty_key", shape, key.as_ref(), digit, part)?;
            }
            Ok(key)
        }
    };
    (fn write_key($($arguments:tt)*) -> done ();) => {
        fn write_key(
            &self,
            shape: &KeyShape,
            mut key: KeyBuf<&mut Self::Buf>,
            digit: usize,
            part: usize,
            src: &Self::Buf,
        ) -> Result<()> {
            const OP: &str = "write_key";
            let left = self.left.write_key(shape, key.as_mut().map(|key| &mut key.left), digit, part, &src.left);
            let right = self.right.write_key(shape, key.as_mut().map(|key| &mut key.right), digit, part, &src.right);
            self.mirror.agreed(OP, left, right)?;
            self.same_polynomial(OP, shape, key.map(|key| &*key), digit, part)
        }
    };
    // So have packed matrices, whose words meet in their products.
    (fn pack_left($($arguments:tt)*) -> opaque $result:ty;) => {
        packed! { pack_left $result }
    };
    (fn pack_right($($arguments:tt)*) -> opaque $result:ty;) => {
        packed! { pack_right $result }
    };
    (fn $op:ident($($kind:ident $arg:ident: $type:ty),*) -> $outcome:ident $result:ty;) => {
        fn $op(&self, $($arg: $type),*) -> Result<$result> {
            const OP: &str = stringify!($op);
            let left = self.left.$op($(side!($kind $arg, left)),*);
            let right = self.right.$op($(side!($kind $arg, right)),*);
            compared!($outcome, self.mirror, OP, self.mirror.agreed(OP, left, right)?, $($kind $arg,)*)
        }
    };
}

/// A matrix that both sides pack.
macro_rules! packed {
    ($op:ident $result:ty) => {
        fn $op(&self, product: &MatrixProduct, src: &Self::Buf, at: usize) -> Result<$result> {
            let left = self.left.$op(product, &src.left, at);
            let right = self.right.$op(product, &src.right, at);
            let (left, right) = self.mirror.agreed(stringify!($op), left, right)?;
            Ok(left.map(|left| MirrorBuf { left, right: right.buf() }))
        }
    };
}

/// An argument as one side takes it.
macro_rules! side {
    (value $arg:ident, $side:ident) => {
        $arg
    };
    (read $arg:ident, $side:ident) => {
        $arg.refer(&|buf: &MirrorBuf<_, _>| Ok(&buf.$side))?
    };
    (terms $arg:ident, $side:ident) => {
        &$arg.refer(&|buf: &MirrorBuf<_, _>| Ok(&buf.$side))?
    };
    (write $arg:ident, $side:ident) => {
        &mut $arg.$side
    };
    (take $arg:ident, $side:ident) => {
        $arg.$side
    };
}

/// Both results, or what was written, as one if they are the same.
macro_rules! compared {
    (done, $mirror:expr, $op:expr, $results:expr, write $arg:ident, $($rest:tt)*) => {{
        let ((), ()) = $results;
        $mirror.compare($op, 0, $arg)
    }};
    (done, $mirror:expr, $op:expr, $results:expr, $kind:ident $arg:ident, $($rest:tt)*) => {
        compared!(done, $mirror, $op, $results, $($rest)*)
    };
    (one, $mirror:expr, $op:expr, $results:expr, $($rest:tt)*) => {{
        let (left, right) = $results;
        $mirror.join($op, [left], [right]).map(|[buf]| buf)
    }};
    (each, $mirror:expr, $op:expr, $results:expr, $($rest:tt)*) => {{
        let (left, right) = $results;
        $mirror.join($op, left, right)
    }};
    (opaque, $mirror:expr, $op:expr, $results:expr, $($rest:tt)*) => {{
        let (left, right) = $results;
        left.try_map(|left| $mirror.join($op, [left], [right.buf()]).map(|[buf]| buf))
    }};
    (vectors, $mirror:expr, $op:expr, $results:expr, $($rest:tt)*) => {{
        let (left, right) = $results;
        $mirror.same_vectors($op, &left, &right).map(|()| left)
    }};
    (sized, $mirror:expr, $op:expr, $results:expr, $($rest:tt)*) => {{
        let ((left, left_bits), (right, right_bits)) = $results;
        $mirror.same_words($op, 1, &[left_bits.into()], &[right_bits.into()])?;
        $mirror.join($op, [left], [right]).map(|[buf]| (buf, left_bits))
    }};
}

impl<L: Backend, R: Backend> PreparedRing for MirrorRing<L, R> {
    type Buf = MirrorBuf<L::Buf, R::Buf>;
    type Backend = Mirror<L, R>;

    fn backend(&self) -> &Mirror<L, R> {
        &self.mirror
    }

    fn spec(&self) -> &RingSpec {
        self.left.spec()
    }

    fn prepare_beside(&self, spec: &RingSpec) -> Result<Self> {
        let (left, right) = (self.left.prepare_beside(spec)?, self.right.prepare_beside(spec)?);
        Ok(Self { mirror: self.mirror.clone(), left, right })
    }
}

impl<L: Backend<Ring: PolyOps>, R: Backend<Ring: PolyOps>> PolyOps for MirrorRing<L, R> {
    for_each_ring_op! { required, mirrored }
    for_each_ring_op! { provided, mirrored }
}

impl<L: Backend<Ring: KeySwitchOps>, R: Backend<Ring: KeySwitchOps>> MirrorRing<L, R> {
    /// Compares one polynomial of a key.
    fn same_polynomial(
        &self,
        op: &'static str,
        shape: &KeyShape,
        key: KeyBuf<&MirrorBuf<L::Buf, R::Buf>>,
        digit: usize,
        part: usize,
    ) -> Result<()> {
        let left = self.left.read_key(shape, key.map(|key| &key.left), digit, part);
        let right = self.right.read_key(shape, key.map(|key| &key.right), digit, part);
        let (left, right) = self.mirror.agreed(op, left, right)?;
        self.mirror.join(op, [left], [right]).map(drop)
    }
}

impl<L: Backend<Ring: KeySwitchOps>, R: Backend<Ring: KeySwitchOps>> KeySwitchOps for MirrorRing<L, R> {
    for_each_ring_op! { key_switch, mirrored }
}

impl<L: Backend<Ring: CkksOps>, R: Backend<Ring: CkksOps>> CkksOps for MirrorRing<L, R> {
    for_each_ring_op! { ckks, mirrored }
}

impl<L: Backend<Ring: ExactOps>, R: Backend<Ring: ExactOps>> ExactOps for MirrorRing<L, R> {
    for_each_ring_op! { exact, mirrored }
}

impl<L: Backend<Ring: MatrixOps>, R: Backend<Ring: MatrixOps>> MatrixOps for MirrorRing<L, R> {
    for_each_ring_op! { matrix, mirrored }

    fn shares_left(&self, packed: &MatrixProduct, other: &MatrixProduct) -> bool {
        self.left.shares_left(packed, other) && self.right.shares_left(packed, other)
    }
}

impl<L: Backend<Ring: WidePolyOps>, R: Backend<Ring: WidePolyOps>> WidePolyOps for MirrorRing<L, R> {
    for_each_wide_op! { required, mirrored }
    for_each_wide_op! { provided, mirrored }
}

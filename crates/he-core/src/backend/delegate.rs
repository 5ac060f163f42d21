//! The operations of the back-end traits as lists, for back ends that are made of others.
//!
//! A back end that passes each operation on to another one differs from its neighbours in what it
//! does around the call, not in the signatures. [`for_each_ring_op!`](crate::for_each_ring_op) and
//! [`for_each_wide_op!`](crate::for_each_wide_op) hold the signatures once and hand each of them to
//! a macro of the caller, which writes the method:
//!
//! ```text
//! fn add_assign(value rows: Rows, write a: &mut Self::Buf, read b: Operand<'_, Self::Buf>) -> done ();
//! ```
//!
//! The word before an argument says how it meets buffers: `value` holds none, `read` refers to some
//! (see [`Refer`]), `terms` is a slice of elements that refer to some, `write` is the buffer
//! that is written, `fill` the opaque one that is written, `take` a buffer that is consumed. The
//! word before the result says what it is: `done` nothing, `one` buffer, `each` of an array of
//! buffers, `opaque` a buffer in a type of its own, `vectors` of slots, `sized` a buffer with a
//! number of bits; [`own_outcome!`](crate::own_outcome) gives the words for results their meaning.
//! The methods are those of a prepared ring, whose `Self::Buf` is the buffer of its back end.

use super::{
    DigitBuf, GiantStep, KeyBuf, LeftMatrix, MessagePhase, Multiple, Pair, RightMatrix, Rotation, Weight,
};
use crate::error::Result;
use crate::ring::Operand;

/// An argument that refers to buffers of type `T` and can refer to other ones in their place.
pub trait Refer<'a, T: 'a> {
    /// The same argument with references to buffers of type `U`.
    type To<U: 'a>;

    /// Exchanges every reference.
    ///
    /// # Errors
    /// The first one of `to`.
    fn refer<U: 'a>(self, to: &impl Fn(&'a T) -> Result<&'a U>) -> Result<Self::To<U>>;
}

impl<'a, T: 'a> Refer<'a, T> for &'a T {
    type To<U: 'a> = &'a U;

    fn refer<U: 'a>(self, to: &impl Fn(&'a T) -> Result<&'a U>) -> Result<&'a U> {
        to(self)
    }
}

impl<'a, T: 'a> Refer<'a, T> for Operand<'a, T> {
    type To<U: 'a> = Operand<'a, U>;

    fn refer<U: 'a>(self, to: &impl Fn(&'a T) -> Result<&'a U>) -> Result<Operand<'a, U>> {
        Ok(Operand::at(to(self.buf)?, self.batch, self.at))
    }
}

impl<'a, T: 'a> Refer<'a, T> for DigitBuf<&'a T> {
    type To<U: 'a> = DigitBuf<&'a U>;

    fn refer<U: 'a>(self, to: &impl Fn(&'a T) -> Result<&'a U>) -> Result<DigitBuf<&'a U>> {
        self.try_map(to)
    }
}

impl<'a, T: 'a> Refer<'a, T> for KeyBuf<&'a T> {
    type To<U: 'a> = KeyBuf<&'a U>;

    fn refer<U: 'a>(self, to: &impl Fn(&'a T) -> Result<&'a U>) -> Result<KeyBuf<&'a U>> {
        self.try_map(to)
    }
}

impl<'a, T: 'a> Refer<'a, T> for LeftMatrix<&'a T> {
    type To<U: 'a> = LeftMatrix<&'a U>;

    fn refer<U: 'a>(self, to: &impl Fn(&'a T) -> Result<&'a U>) -> Result<LeftMatrix<&'a U>> {
        self.try_map(to)
    }
}

impl<'a, T: 'a> Refer<'a, T> for RightMatrix<&'a T> {
    type To<U: 'a> = RightMatrix<&'a U>;

    fn refer<U: 'a>(self, to: &impl Fn(&'a T) -> Result<&'a U>) -> Result<RightMatrix<&'a U>> {
        self.try_map(to)
    }
}

impl<'a, T: 'a> Refer<'a, T> for MessagePhase<'a, T> {
    type To<U: 'a> = MessagePhase<'a, U>;

    fn refer<U: 'a>(self, to: &impl Fn(&'a T) -> Result<&'a U>) -> Result<MessagePhase<'a, U>> {
        let MessagePhase { words, modulus, factor, scale } = self;
        Ok(MessagePhase { words: to(words)?, modulus, factor, scale })
    }
}

impl<'a, T: 'a, R: Refer<'a, T>> Refer<'a, T> for Option<R> {
    type To<U: 'a> = Option<R::To<U>>;

    fn refer<U: 'a>(self, to: &impl Fn(&'a T) -> Result<&'a U>) -> Result<Self::To<U>> {
        self.map(|argument| argument.refer(to)).transpose()
    }
}

impl<'a, T: 'a, R: Refer<'a, T>> Refer<'a, T> for [R; 2] {
    type To<U: 'a> = [R::To<U>; 2];

    fn refer<U: 'a>(self, to: &impl Fn(&'a T) -> Result<&'a U>) -> Result<Self::To<U>> {
        let [a, b] = self;
        Ok([a.refer(to)?, b.refer(to)?])
    }
}

impl<'a, T: 'a, R: Refer<'a, T>> Refer<'a, T> for [R; 3] {
    type To<U: 'a> = [R::To<U>; 3];

    fn refer<U: 'a>(self, to: &impl Fn(&'a T) -> Result<&'a U>) -> Result<Self::To<U>> {
        let [a, b, c] = self;
        Ok([a.refer(to)?, b.refer(to)?, c.refer(to)?])
    }
}

impl<'a, T: 'a> Refer<'a, T> for &Rotation<'a, T> {
    type To<U: 'a> = Rotation<'a, U>;

    fn refer<U: 'a>(self, to: &impl Fn(&'a T) -> Result<&'a U>) -> Result<Rotation<'a, U>> {
        Ok(Rotation { g: self.g, key: self.key.refer(to)? })
    }
}

impl<'a, T: 'a> Refer<'a, T> for &[Rotation<'a, T>] {
    type To<U: 'a> = Vec<Rotation<'a, U>>;

    fn refer<U: 'a>(self, to: &impl Fn(&'a T) -> Result<&'a U>) -> Result<Self::To<U>> {
        self.iter().map(|rotation| rotation.refer(to)).collect()
    }
}

impl<'a, T: 'a> Refer<'a, T> for &[[Pair<'a, T>; 2]] {
    type To<U: 'a> = Vec<[Pair<'a, U>; 2]>;

    fn refer<U: 'a>(self, to: &impl Fn(&'a T) -> Result<&'a U>) -> Result<Self::To<U>> {
        self.iter().map(|product| (*product).refer(to)).collect()
    }
}

impl<'a, T: 'a> Refer<'a, T> for &[Multiple<'a, T>] {
    type To<U: 'a> = Vec<Multiple<'a, U>>;

    fn refer<U: 'a>(self, to: &impl Fn(&'a T) -> Result<&'a U>) -> Result<Self::To<U>> {
        let multiple = |Multiple { pair, factors }: &Multiple<'a, T>| {
            Ok(Multiple { pair: (*pair).refer(to)?, factors: factors.clone() })
        };
        self.iter().map(multiple).collect()
    }
}

impl<'a, T: 'a> Refer<'a, T> for &[GiantStep<'a, T>] {
    type To<U: 'a> = Vec<GiantStep<'a, U>>;

    fn refer<U: 'a>(self, to: &impl Fn(&'a T) -> Result<&'a U>) -> Result<Self::To<U>> {
        let term = |(baby, weight): &(usize, Weight<'a, T>)| {
            let weight = match weight {
                Weight::Scalar(factors) => Weight::Scalar(factors.clone()),
                Weight::Poly { words, log_run } => Weight::Poly { words: to(words)?, log_run: *log_run },
            };
            Ok((*baby, weight))
        };
        let step = |step: &GiantStep<'a, T>| {
            let terms = step.terms.iter().map(term).collect::<Result<_>>()?;
            Ok(GiantStep { rotation: (&step.rotation).refer(to)?, terms })
        };
        self.iter().map(step).collect()
    }
}

/// The result of an operation that another back end computed, with each of its buffers passed
/// through a function that makes it one of the caller's back end. The first argument is the word
/// for the result; see [`backend::delegate`](crate::backend::delegate).
///
/// ```
/// # use he_core::{Result, own_outcome};
/// let computed: Result<[u32; 2]> = Ok([1, 2]);
/// assert_eq!(own_outcome!(each, |buf| Some(buf), computed)?, [Some(1), Some(2)]);
/// # Ok::<(), he_core::Error>(())
/// ```
#[macro_export]
macro_rules! own_outcome {
    (done, $own:expr, $result:expr) => {
        $result
    };
    (one, $own:expr, $result:expr) => {
        $result.map($own)
    };
    (each, $own:expr, $result:expr) => {
        $result.map(|bufs| bufs.map($own))
    };
    (opaque, $own:expr, $result:expr) => {
        $result.map(|part| part.map($own))
    };
    (vectors, $own:expr, $result:expr) => {
        $result
    };
    (sized, $own:expr, $result:expr) => {
        $result.map(|(buf, bits)| ($own(buf), bits))
    };
}

/// Hands operations of a ring to a macro, one after the other: `required` and `provided` those of
/// [`PolyOps`](crate::backend::PolyOps) without and with a body, `key_switch`, `ckks`, `exact` and
/// `matrix` those of [`KeySwitchOps`](crate::backend::KeySwitchOps),
/// [`CkksOps`](crate::backend::CkksOps), [`ExactOps`](crate::backend::ExactOps) and
/// [`MatrixOps`](crate::backend::MatrixOps). See [`backend::delegate`](crate::backend::delegate) for
/// the form of an operation.
#[macro_export]
macro_rules! for_each_ring_op {
    (required, $then:ident) => {
        $then! { fn ntt(value rows: $crate::ring::Rows, write a: &mut Self::Buf) -> done (); }
        $then! { fn intt(value rows: $crate::ring::Rows, write a: &mut Self::Buf) -> done (); }
        $then! {
            fn add_assign(
                value rows: $crate::ring::Rows,
                write a: &mut Self::Buf,
                read b: $crate::ring::Operand<'_, Self::Buf>
            ) -> done ();
        }
        $then! {
            fn sub_assign(
                value rows: $crate::ring::Rows,
                write a: &mut Self::Buf,
                read b: $crate::ring::Operand<'_, Self::Buf>
            ) -> done ();
        }
        $then! { fn neg_assign(value rows: $crate::ring::Rows, write a: &mut Self::Buf) -> done (); }
        $then! {
            fn mul_assign(
                value rows: $crate::ring::Rows,
                write a: &mut Self::Buf,
                read b: $crate::ring::Operand<'_, Self::Buf>
            ) -> done ();
        }
        $then! {
            fn mul_add_assign(
                value rows: $crate::ring::Rows,
                write acc: &mut Self::Buf,
                read x: $crate::ring::Operand<'_, Self::Buf>,
                read y: $crate::ring::Operand<'_, Self::Buf>
            ) -> done ();
        }
        $then! {
            fn scale_assign(
                value rows: $crate::ring::Rows,
                write a: &mut Self::Buf,
                value factors: &[u64]
            ) -> done ();
        }
        $then! {
            fn scale_add_assign(
                value rows: $crate::ring::Rows,
                write acc: &mut Self::Buf,
                read x: $crate::ring::Operand<'_, Self::Buf>,
                value factors: &[u64]
            ) -> done ();
        }
        $then! {
            fn add_scalar_assign(
                value rows: $crate::ring::Rows,
                write a: &mut Self::Buf,
                value terms: &[u64]
            ) -> done ();
        }
        $then! {
            fn automorphism(
                value rows: $crate::ring::Rows,
                value domain: $crate::ring::DomainKind,
                value g: u64,
                read src: $crate::ring::Operand<'_, Self::Buf>,
                write dst: &mut Self::Buf
            ) -> done ();
        }
        $then! {
            fn convert_basis(
                value from: $crate::ring::Rows,
                read src: &Self::Buf,
                value to: $crate::ring::Rows,
                write dst: &mut Self::Buf
            ) -> done ();
        }
        $then! {
            fn reduce_signed(
                value rows: $crate::ring::Rows,
                read src: &Self::Buf,
                write dst: &mut Self::Buf
            ) -> done ();
        }
        $then! {
            fn sample_uniform(
                value rows: $crate::ring::Rows,
                value seed: &$crate::ring::Seed,
                value index: u32,
                write dst: &mut Self::Buf
            ) -> done ();
        }
        $then! {
            fn sample_ternary(
                value rows: $crate::ring::Rows,
                value seed: &$crate::ring::Seed,
                value index: u32,
                write dst: &mut Self::Buf
            ) -> done ();
        }
        $then! {
            fn sample_error(
                value rows: $crate::ring::Rows,
                value seed: &$crate::ring::Seed,
                value index: u32,
                write dst: &mut Self::Buf
            ) -> done ();
        }
    };
    (provided, $then:ident) => {
        $then! {
            fn tensor(
                value rows: $crate::ring::Rows,
                read a: [$crate::ring::Operand<'_, Self::Buf>; 2],
                read b: [$crate::ring::Operand<'_, Self::Buf>; 2]
            ) -> each [Self::Buf; 3];
        }
        $then! {
            fn tensor_sum(
                value rows: $crate::ring::Rows,
                terms products: &[[$crate::backend::Pair<'_, Self::Buf>; 2]],
                value factors: &[u64],
                terms multiples: &[$crate::backend::Multiple<'_, Self::Buf>],
                value constant: &[u64]
            ) -> each [Self::Buf; 3];
        }
        $then! {
            fn combine(
                value rows: $crate::ring::Rows,
                terms multiples: &[$crate::backend::Multiple<'_, Self::Buf>],
                value constant: &[u64]
            ) -> each [Self::Buf; 2];
        }
        $then! {
            fn add_pairs(
                value rows: $crate::ring::Rows,
                read a: [$crate::ring::Operand<'_, Self::Buf>; 2],
                read b: [$crate::ring::Operand<'_, Self::Buf>; 2]
            ) -> each [Self::Buf; 2];
        }
        $then! {
            fn sub_pairs(
                value rows: $crate::ring::Rows,
                read a: [$crate::ring::Operand<'_, Self::Buf>; 2],
                read b: [$crate::ring::Operand<'_, Self::Buf>; 2]
            ) -> each [Self::Buf; 2];
        }
        $then! {
            fn mul_pairs(
                value rows: $crate::ring::Rows,
                read a: [$crate::ring::Operand<'_, Self::Buf>; 2],
                read b: [$crate::ring::Operand<'_, Self::Buf>; 2]
            ) -> each [Self::Buf; 2];
        }
        $then! {
            fn mul_add(
                value rows: $crate::ring::Rows,
                read a: $crate::ring::Operand<'_, Self::Buf>,
                read x: $crate::ring::Operand<'_, Self::Buf>,
                read y: $crate::ring::Operand<'_, Self::Buf>
            ) -> one Self::Buf;
        }
        $then! {
            fn mod_down(
                value span: $crate::ring::Span,
                value keep: usize,
                value batch: usize,
                take src: Self::Buf
            ) -> one Self::Buf;
        }
        $then! {
            fn mod_down_pair(
                value span: $crate::ring::Span,
                value keep: usize,
                value batch: usize,
                read src: [&Self::Buf; 2]
            ) -> each [Self::Buf; 2];
        }
        $then! {
            fn mul_mod_down_pair(
                value span: $crate::ring::Span,
                value keep: usize,
                value batch: usize,
                read src: [&Self::Buf; 2],
                read factor: $crate::ring::Operand<'_, Self::Buf>
            ) -> each [Self::Buf; 2];
        }
    };
    (key_switch, $then:ident) => {
        $then! {
            fn decompose(
                value shape: &$crate::backend::KeySwitchShape,
                read src: &Self::Buf
            ) -> opaque $crate::backend::DigitBuf<Self::Buf>;
        }
        $then! {
            fn empty_key(
                value shape: &$crate::backend::KeyShape
            ) -> opaque $crate::backend::KeyBuf<Self::Buf>;
        }
        $then! {
            fn write_key(
                value shape: &$crate::backend::KeyShape,
                fill key: $crate::backend::KeyBuf<&mut Self::Buf>,
                value digit: usize,
                value part: usize,
                read src: &Self::Buf
            ) -> done ();
        }
        $then! {
            fn read_key(
                value shape: &$crate::backend::KeyShape,
                read key: $crate::backend::KeyBuf<&Self::Buf>,
                value digit: usize,
                value part: usize
            ) -> one Self::Buf;
        }
        $then! {
            fn key_product(
                value shape: &$crate::backend::KeySwitchShape,
                read digits: $crate::backend::DigitBuf<&Self::Buf>,
                read key: $crate::backend::KeyBuf<&Self::Buf>
            ) -> each [Self::Buf; 2];
        }
        $then! {
            fn relinearize(
                value shape: &$crate::backend::KeySwitchShape,
                read d: [&Self::Buf; 3],
                read key: $crate::backend::KeyBuf<&Self::Buf>,
                value keep: usize
            ) -> each [Self::Buf; 2];
        }
        $then! {
            fn multiply_relinearize(
                value shape: &$crate::backend::KeySwitchShape,
                read a: [$crate::ring::Operand<'_, Self::Buf>; 2],
                read b: [$crate::ring::Operand<'_, Self::Buf>; 2],
                read key: $crate::backend::KeyBuf<&Self::Buf>,
                value keep: usize
            ) -> each [Self::Buf; 2];
        }
        $then! {
            fn switch_automorphism(
                value shape: &$crate::backend::KeySwitchShape,
                read c0: &Self::Buf,
                read digits: $crate::backend::DigitBuf<&Self::Buf>,
                read key: $crate::backend::KeyBuf<&Self::Buf>,
                value g: u64
            ) -> each [Self::Buf; 2];
        }
        $then! {
            fn apply_automorphism(
                value shape: &$crate::backend::KeySwitchShape,
                read c: [&Self::Buf; 2],
                read key: $crate::backend::KeyBuf<&Self::Buf>,
                value g: u64
            ) -> each [Self::Buf; 2];
        }
        $then! {
            fn rotate_and_sum(
                value shape: &$crate::backend::KeySwitchShape,
                value blocks: &$crate::backend::RotationBlocks,
                read c: [&Self::Buf; 2],
                read digits: $crate::backend::DigitBuf<&Self::Buf>,
                terms babies: &[$crate::backend::Rotation<'_, Self::Buf>],
                terms giants: &[$crate::backend::GiantStep<'_, Self::Buf>]
            ) -> each [Self::Buf; 2];
        }
    };
    (ckks, $then:ident) => {
        $then! {
            fn encode_slots(
                value rows: $crate::ring::Rows,
                value vectors: &[&[$crate::ckks::Complex64]],
                value to: $crate::backend::Embedding<'_>
            ) -> one Self::Buf;
        }
        $then! {
            fn encode_host_vector(
                value rows: $crate::ring::Rows,
                value vector: &$crate::backend::HostVector,
                value to: $crate::backend::Embedding<'_>
            ) -> one Self::Buf;
        }
        $then! {
            fn decode_slots(
                value rows: $crate::ring::Rows,
                read src: &Self::Buf,
                value from: $crate::backend::Embedding<'_>
            ) -> vectors Vec<Vec<$crate::ckks::Complex64>>;
        }
    };
    (exact, $then:ident) => {
        $then! {
            fn scaled_tensor(
                value shape: &$crate::backend::ScaledTensor,
                read a: [$crate::ring::Operand<'_, Self::Buf>; 2],
                read b: [$crate::ring::Operand<'_, Self::Buf>; 2]
            ) -> each [Self::Buf; 3];
        }
        $then! {
            fn message_phase(
                value rows: $crate::ring::Rows,
                read message: $crate::backend::MessagePhase<'_, Self::Buf>
            ) -> one Self::Buf;
        }
        $then! {
            fn greatest_squares(
                value batch: usize,
                read words: &Self::Buf,
                value modulus: &$crate::arith::Modulus,
                value fft: &$crate::ring::SpecialFft
            ) -> one Self::Buf;
        }
        $then! {
            fn encrypt(
                value rows: $crate::ring::Rows,
                value seed: &$crate::ring::Seed,
                read key: [$crate::ring::Operand<'_, Self::Buf>; 2],
                read message: Option<$crate::backend::MessagePhase<'_, Self::Buf>>
            ) -> each [Self::Buf; 2];
        }
        $then! {
            fn phase_mod_t(
                value rows: $crate::ring::Rows,
                read c: [$crate::ring::Operand<'_, Self::Buf>; 2],
                read secret: $crate::ring::Operand<'_, Self::Buf>,
                value to: $crate::backend::PhaseModT<'_>
            ) -> one Self::Buf;
        }
        $then! {
            fn gather(
                value rows: $crate::ring::Rows,
                read index: &Self::Buf,
                read src: &Self::Buf
            ) -> one Self::Buf;
        }
    };
    (matrix, $then:ident) => {
        $then! {
            fn pack_left(
                value product: &$crate::backend::MatrixProduct,
                read src: &Self::Buf,
                value at: usize
            ) -> opaque $crate::backend::LeftMatrix<Self::Buf>;
        }
        $then! {
            fn pack_right(
                value product: &$crate::backend::MatrixProduct,
                read src: &Self::Buf,
                value at: usize
            ) -> opaque $crate::backend::RightMatrix<Self::Buf>;
        }
        $then! {
            fn multiply_matrices(
                read left: $crate::backend::LeftMatrix<&Self::Buf>,
                read right: $crate::backend::RightMatrix<&Self::Buf>,
                value add: bool,
                value at: usize,
                write c: &mut Self::Buf
            ) -> done ();
        }
    };
}

/// Hands every operation of [`WideOps`](crate::backend::WideOps) to a macro, as
/// [`for_each_ring_op!`](crate::for_each_ring_op) does.
#[macro_export]
macro_rules! for_each_wide_op {
    (required, $then:ident) => {
        $then! {
            fn wide_add_assign(
                value rows: $crate::backend::WideRows,
                write a: &mut Self::Buf,
                read b: $crate::ring::Operand<'_, Self::Buf>
            ) -> done ();
        }
        $then! {
            fn wide_sub_assign(
                value rows: $crate::backend::WideRows,
                write a: &mut Self::Buf,
                read b: $crate::ring::Operand<'_, Self::Buf>
            ) -> done ();
        }
        $then! {
            fn wide_neg_assign(value rows: $crate::backend::WideRows, write a: &mut Self::Buf) -> done ();
        }
        $then! {
            fn wide_scale_assign(
                value rows: $crate::backend::WideRows,
                write a: &mut Self::Buf,
                value factor: &[u64]
            ) -> done ();
        }
        $then! {
            fn wide_shift_round(
                value from: $crate::backend::WideRows,
                read src: &Self::Buf,
                value shift: u32,
                value to: $crate::backend::WideRows,
                write dst: &mut Self::Buf
            ) -> done ();
        }
        $then! {
            fn wide_automorphism(
                value rows: $crate::backend::WideRows,
                value g: u64,
                read src: $crate::ring::Operand<'_, Self::Buf>,
                write dst: &mut Self::Buf
            ) -> done ();
        }
        $then! {
            fn wide_residues(
                value wide: $crate::backend::WideRows,
                read src: &Self::Buf,
                value rows: $crate::ring::Rows,
                write dst: &mut Self::Buf
            ) -> done ();
        }
        $then! {
            fn wide_compose(
                value rows: $crate::ring::Rows,
                read src: &Self::Buf,
                value wide: $crate::backend::WideRows,
                write dst: &mut Self::Buf
            ) -> done ();
        }
    };
    (provided, $then:ident) => {
        $then! {
            fn wide_from_signed(
                value wide: $crate::backend::WideRows,
                read src: &Self::Buf,
                write dst: &mut Self::Buf
            ) -> done ();
        }
        $then! {
            fn wide_sample_uniform(
                value wide: $crate::backend::WideRows,
                value seed: &$crate::ring::Seed,
                value index: u32,
                write dst: &mut Self::Buf
            ) -> done ();
        }
        $then! {
            fn wide_sample_ternary(
                value wide: $crate::backend::WideRows,
                value seed: &$crate::ring::Seed,
                value index: u32,
                write dst: &mut Self::Buf
            ) -> done ();
        }
        $then! {
            fn wide_sample_error(
                value wide: $crate::backend::WideRows,
                value seed: &$crate::ring::Seed,
                value index: u32,
                write dst: &mut Self::Buf
            ) -> done ();
        }
        $then! {
            fn wide_values(
                value wide: $crate::backend::WideRows,
                read src: &Self::Buf,
                value span: $crate::ring::Span
            ) -> one Self::Buf;
        }
        $then! {
            fn wide_from_values(
                value rows: $crate::ring::Rows,
                take values: Self::Buf,
                value bits: u32
            ) -> one Self::Buf;
        }
        $then! {
            fn wide_tensor(
                value span: $crate::ring::Span,
                value rows: $crate::backend::WideRows,
                read a: [$crate::ring::Operand<'_, Self::Buf>; 2],
                read b: [$crate::ring::Operand<'_, Self::Buf>; 2]
            ) -> each [Self::Buf; 3];
        }
        $then! {
            fn wide_key_switch(
                value shape: &$crate::backend::WideSwitchShape,
                read c: &Self::Buf,
                read key: $crate::backend::KeyBuf<&Self::Buf>,
                read addend: [Option<&Self::Buf>; 2]
            ) -> each [Self::Buf; 2];
        }
        $then! {
            fn wide_encode_slots(
                value wide: $crate::backend::WideRows,
                value vectors: &[&[$crate::ckks::Complex64]],
                value to: $crate::backend::WideEmbedding<'_>
            ) -> sized (Self::Buf, u32);
        }
        $then! {
            fn wide_decode_slots(
                value wide: $crate::backend::WideRows,
                read src: &Self::Buf,
                value from: $crate::backend::WideEmbedding<'_>
            ) -> vectors Vec<Vec<$crate::ckks::Complex64>>;
        }
    };
}

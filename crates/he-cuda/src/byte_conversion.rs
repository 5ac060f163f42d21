//! Base conversions in the matrix units: the form of coefficients and of constants
//! (kernels/include/byte_conversion.cuh).

use he_core::arith::Modulus;

/// The bytes of a residue in the matrix units, those of a word, and the words of a coefficient in
/// one product of matrices.
const SOURCE_BYTES: usize = 7;
const WORD_BYTES: usize = 8;
const CHUNK_ROW_WORDS: usize = 4;

/// The sources whose rows fit so many products of matrices.
const fn chunk_sources(chunks: usize) -> usize {
    (chunks * CHUNK_ROW_WORDS * WORD_BYTES - 1) / SOURCE_BYTES
}

/// The most sources of a conversion in the matrix units: with one more, the sums of a target might
/// have more than 65 bits.
pub(crate) const BYTE_SOURCES: usize = chunk_sources(4);

/// The most of them where transforms begin in the same kernel, for which shared memory allows.
pub(crate) const COLUMN_SOURCES: usize = chunk_sources(3);

/// The words of a coefficient with so many sources in the matrix units: a byte for the number of
/// times that the product was too much, and those of the residues.
pub(crate) const fn row_words(sources: usize) -> usize {
    (1 + SOURCE_BYTES * sources).div_ceil(WORD_BYTES)
}

/// The products of matrices that they take.
pub(crate) const fn row_chunks(sources: usize) -> usize {
    row_words(sources).div_ceil(CHUNK_ROW_WORDS)
}

/// The constants of one target as `ByteConversion` reads them
/// (kernels/include/byte_conversion.cuh): the multiple of the product that is subtracted for byte 0
/// of a coefficient, then 2^(8i) h for byte i of each residue, where h is that of its source. A
/// word holds one byte of the constants of eight bytes; columns are the bytes of the constants.
/// Bytes that are missing from so many as `sources` take count as zeros.
pub(crate) fn byte_columns(q: &Modulus, hats: &[u64], minus_product: u64, sources: usize) -> Vec<u64> {
    let of_sources =
        hats.iter().flat_map(|&hat| (0..SOURCE_BYTES).map(move |i| q.mul(q.reduce(1 << (8 * i)), hat)));
    let mut constants: Vec<u64> = std::iter::once(minus_product).chain(of_sources).collect();
    constants.resize(row_chunks(sources) * CHUNK_ROW_WORDS * WORD_BYTES, 0);
    let column = |word: &[u64; WORD_BYTES], byte: usize| {
        u64::from_le_bytes(word.map(|constant| constant.to_le_bytes()[byte]))
    };
    let (words, _) = constants.as_chunks::<WORD_BYTES>();
    words
        .chunks(CHUNK_ROW_WORDS)
        .flat_map(|chunk| (0..8).flat_map(move |byte| chunk.iter().map(move |word| column(word, byte))))
        .collect()
}

//! The PTX of all CUDA kernels, compressed in the program: 16 MB take 0.9 MB. This crate alone
//! reads `kernels/ptx`; `he-cuda` and `he-aes-gpu` load from it.

mod registers;
mod repeats;

use flate2::read::DeflateDecoder;
use std::io::Read;

/// A compressed file of kernels.
struct File {
    name: &'static str,
    /// The text with registers by their mentions and repeated lines by their places, compressed.
    deflated: &'static [u8],
}

/// All files, sorted by name.
const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The text of the file of this name, without the ending `.ptx`. A file of 1 MB takes some
/// milliseconds: callers keep what they load.
///
/// Returns `None` if there is no such file.
///
/// ```
/// assert!(he_ptx::text("sampler").unwrap().contains(".entry"));
/// assert!(he_ptx::text("sample").is_none());
/// ```
pub fn text(name: &str) -> Option<String> {
    let file = &FILES[FILES.binary_search_by(|file| file.name.cmp(name)).ok()?];
    let mut text = String::new();
    DeflateDecoder::new(file.deflated).read_to_string(&mut text).ok()?;
    registers::decode(&repeats::decode(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every file is found by its name and is the one in the folder, byte for byte.
    #[test]
    fn texts_are_those_of_the_folder() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/ptx");
        let (mut count, mut bytes) = (0, 0);
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let expected = std::fs::read_to_string(&path).unwrap();
            assert!(text(path.file_stem().unwrap().to_str().unwrap()).unwrap() == expected, "{path:?}");
            count += 1;
            bytes += expected.len();
        }
        assert_eq!(count, FILES.len());
        let compressed: usize = FILES.iter().map(|file| file.deflated.len()).sum();
        assert!(compressed * 17 < bytes, "{bytes} bytes take {compressed}");
    }
}

//! Which frames of files a frame of a result is computed from.

/// A frame of ciphertexts of a file, both counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// The file, in the order in which the operation takes them.
    pub file: usize,
    /// Its frame.
    pub frame: usize,
}

/// For each frame of a result, the frames that it is computed from, in order.
pub type Uses = Vec<Vec<Use>>;

/// Each of so many frames is computed from those in the same place of so many files.
pub fn each(frames: usize, files: usize) -> Uses {
    (0..frames).map(|frame| of(files, [frame])).collect()
}

/// These frames of so many files, frame by frame.
pub fn of(files: usize, frames: impl IntoIterator<Item = usize>) -> Vec<Use> {
    frames.into_iter().flat_map(|frame| (0..files).map(move |file| Use { file, frame })).collect()
}

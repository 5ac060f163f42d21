//! The views of decrypted images.

/// The requested view of the numbers of a decrypted image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// A picture of light, clipped at black and white.
    #[default]
    Light,
    /// A picture of the numbers themselves, in steps of a sample, with 16 bits if they may
    /// exceed 8.
    Raw,
    /// A picture in which the least possible number is black and the greatest is white.
    Scaled,
    /// A table of the numbers themselves.
    Numbers,
}

impl View {
    /// The name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Raw => "raw",
            Self::Scaled => "scaled",
            Self::Numbers => "numbers",
        }
    }
}

//! The parameters of models.

use crate::levels::Range;
use he_core::bootstrapping::BootstrapParams;
use he_core::ckks::CkksParams;

/// The parameters that a model computes with.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameters {
    /// Parameters with as many levels as the model takes.
    Leveled(CkksParams),
    /// Levels that refreshes restore.
    Refreshed(BootstrapParams),
}

impl Parameters {
    /// The parameters of ciphertexts.
    pub fn params(&self) -> &CkksParams {
        match self {
            Self::Leveled(params) => params,
            Self::Refreshed(params) => params.params(),
        }
    }

    /// The parameters of refreshes, if there are any.
    pub fn bootstrapping(&self) -> Option<&BootstrapParams> {
        match self {
            Self::Leveled(_) => None,
            Self::Refreshed(params) => Some(params),
        }
    }

    pub(crate) fn range(&self) -> Range {
        let start = self.params().max_level();
        let refresh = self.bootstrapping().map(|params| (params.output_level(), params.input_level()));
        Range { start, refresh }
    }
}

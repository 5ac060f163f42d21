//! Integers and conditions under TFHE.

use crate::family::mixed;
use he::Device;
use he_core::Result;
use he_core::params::ParamsError;
use he_core::rand::CryptoRng;
use he_core::tfhe::{
    BootstrapKey, EncryptedFlags, EncryptedInt, EncryptedInteger, EncryptedUint, IntegerEvaluator, LweOps,
    Signedness, TfheParams, TfheSecretKey, Unsigned, presets,
};

/// The width of counts of conditions.
pub const COUNT_BITS: usize = 32;

/// A preset by its name.
pub type Preset = (&'static str, fn() -> Result<TfheParams, ParamsError>);

/// The presets for integers: their evaluation keys are bootstrapping keys of single bits.
pub const PRESETS: [Preset; 5] = [
    ("digits_2m128", presets::digits_2m128),
    ("digits_2m40", presets::digits_2m40),
    ("phases_2m128", presets::phases_2m128),
    ("insecure_small", presets::insecure_small),
    ("insecure_phases", presets::insecure_phases),
];

/// The presets for integers whose evaluation keys are multi-bit keys, by groups of [`GROUP`] bits.
pub const MULTI_BIT_PRESETS: [Preset; 3] = [
    ("digits_2m128_multibit", presets::digits_2m128_multibit),
    ("digits_2m40_multibit", presets::digits_2m40_multibit),
    ("phases_2m128_multibit", presets::phases_2m128_multibit),
];

/// The bits of a group of multi-bit keys: of all groups, these take the least time on a GPU.
pub const GROUP: usize = 4;

/// The bits of a group in the evaluation keys of these parameters: [`GROUP`] for
/// [`MULTI_BIT_PRESETS`], and otherwise 1.
pub fn group_of(params: &TfheParams) -> usize {
    let is_it = |(_, preset): &Preset| preset().is_ok_and(|preset| preset == *params);
    if MULTI_BIT_PRESETS.iter().any(is_it) { GROUP } else { 1 }
}

/// The bootstrapping key of a secret key by groups of so many bits, of single ones if it is 1.
///
/// # Errors
/// [`he_core::Error::Argument`] for another group than 1, 2, 3 or 4 bits, and for one that does not
/// divide the dimension.
pub fn bootstrap_key(
    secret: &TfheSecretKey,
    group: usize,
    rng: &mut (impl CryptoRng + ?Sized),
) -> Result<BootstrapKey> {
    match group {
        1 => Ok(BootstrapKey::generate(secret, rng)),
        _ => BootstrapKey::generate_multi_bit(secret, group, rng),
    }
}

/// TFHE on a device.
#[derive(Clone, Debug)]
pub struct Engine {
    /// The parameters.
    pub params: TfheParams,
    /// The device.
    pub device: Device,
}

/// A batch of integers, or of conditions.
#[derive(Debug)]
pub enum Integers {
    /// Integers without a sign.
    Uint(EncryptedUint<Device>),
    /// Integers with a sign.
    Int(EncryptedInt<Device>),
    /// Conditions.
    Flags(EncryptedFlags<Device>),
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// <
    Lt,
    /// <=
    Le,
    /// >
    Gt,
    /// >=
    Ge,
    /// =
    Eq,
    /// <>
    Ne,
}

impl Comparison {
    /// The comparison of integers, one by one.
    ///
    /// # Errors
    /// The widths or batches differ; the device fails.
    pub fn of<S: Signedness, B: LweOps>(
        self,
        keys: &IntegerEvaluator<B>,
        a: &EncryptedInteger<S, B>,
        b: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedFlags<B>> {
        match self {
            Self::Lt => keys.lt(a, b),
            Self::Le => keys.le(a, b),
            Self::Gt => keys.gt(a, b),
            Self::Ge => keys.ge(a, b),
            Self::Eq => keys.eq(a, b),
            Self::Ne => keys.ne(a, b),
        }
    }
}

type Keys = IntegerEvaluator<Device>;

/// Integers of those of either sign.
macro_rules! computed {
    (($($any:expr),+), ($($x:ident),+) => $body:expr) => {
        match ($($any,)+) {
            ($(Integers::Uint($x),)+) => $body.map(Integers::Uint),
            ($(Integers::Int($x),)+) => $body.map(Integers::Int),
            _ => Err(mixed()),
        }
    };
}

impl Integers {
    /// The approximate bytes in memory.
    pub fn size(&self) -> usize {
        match self {
            Self::Uint(x) => 8192 * x.bits() * x.batch() / 2,
            Self::Int(x) => 8192 * x.bits() * x.batch() / 2,
            Self::Flags(x) => 8192 * x.batch(),
        }
    }

    /// As bytes; those of integers with a sign are those of their bits.
    ///
    /// # Errors
    /// They are of other parameters; the device fails.
    pub fn to_bytes(&self, params: &TfheParams) -> Result<Vec<u8>> {
        match self {
            Self::Uint(x) => x.to_bytes(params),
            Self::Int(x) => x.part(0..x.batch())?.reinterpret::<Unsigned>().to_bytes(params),
            Self::Flags(x) => x.to_bytes(params),
        }
    }

    /// a + b.
    ///
    /// # Errors
    /// The widths or batches differ; conditions; the device fails.
    pub fn add(&self, b: &Self, keys: &Keys) -> Result<Self> {
        computed!((self, b), (a, b) => keys.add(a, b))
    }

    /// a - b.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    pub fn sub(&self, b: &Self, keys: &Keys) -> Result<Self> {
        computed!((self, b), (a, b) => keys.sub(a, b))
    }

    /// a b.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    pub fn mul(&self, b: &Self, keys: &Keys) -> Result<Self> {
        computed!((self, b), (a, b) => keys.mul(a, b))
    }

    /// -a.
    ///
    /// # Errors
    /// Conditions; the device fails.
    pub fn neg(&self, keys: &Keys) -> Result<Self> {
        computed!((self), (a) => keys.neg(a))
    }

    /// The sum of all integers of a batch.
    ///
    /// # Errors
    /// Conditions; the device fails.
    pub fn total(&self, keys: &Keys) -> Result<Self> {
        computed!((self), (a) => keys.sum_batch(a))
    }

    /// A clear integer as a batch like this one.
    ///
    /// # Errors
    /// It does not fit; conditions.
    pub fn constant(&self, value: i64, keys: &Keys) -> Result<Self> {
        match self {
            Self::Uint(x) => {
                let why = |_| he_core::Error::argument("number", format!("{value} is negative"));
                let value = u64::try_from(value).map_err(why)?;
                keys.constant_u64(&vec![value; x.batch()], x.bits()).map(Self::Uint)
            }
            Self::Int(x) => keys.constant_i64(&vec![value; x.batch()], x.bits()).map(Self::Int),
            Self::Flags(_) => Err(mixed()),
        }
    }

    /// A comparison.
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    pub fn compare(&self, how: Comparison, b: &Self, keys: &Keys) -> Result<Self> {
        match (self, b) {
            (Self::Uint(a), Self::Uint(b)) => how.of(keys, a, b),
            (Self::Int(a), Self::Int(b)) => how.of(keys, a, b),
            _ => return Err(mixed()),
        }
        .map(Self::Flags)
    }

    fn flags(&self) -> Result<&EncryptedFlags<Device>> {
        match self {
            Self::Flags(flags) => Ok(flags),
            _ => Err(mixed()),
        }
    }

    /// Both conditions.
    ///
    /// # Errors
    /// The batches differ; integers; the device fails.
    pub fn and(&self, b: &Self, keys: &Keys) -> Result<Self> {
        keys.and_flags(self.flags()?, b.flags()?).map(Self::Flags)
    }

    /// Either condition.
    ///
    /// # Errors
    /// The same as for [`and`](Self::and).
    pub fn or(&self, b: &Self, keys: &Keys) -> Result<Self> {
        keys.or_flags(self.flags()?, b.flags()?).map(Self::Flags)
    }

    /// The opposite of conditions.
    ///
    /// # Errors
    /// Integers; the device fails.
    pub fn not(&self, keys: &Keys) -> Result<Self> {
        keys.not_flags(self.flags()?).map(Self::Flags)
    }

    /// a where this condition is set, b elsewhere.
    ///
    /// # Errors
    /// The widths or batches differ; integers in place of conditions; the device fails.
    pub fn select(&self, a: &Self, b: &Self, keys: &Keys) -> Result<Self> {
        let condition = self.flags()?;
        match (a, b) {
            (Self::Flags(a), Self::Flags(b)) => keys.select_flags(condition, a, b).map(Self::Flags),
            _ => computed!((a, b), (a, b) => keys.select(condition, a, b)),
        }
    }

    /// Conditions as integers of [`COUNT_BITS`], 0 or 1.
    ///
    /// # Errors
    /// Integers; the device fails.
    pub fn counts(&self, keys: &Keys) -> Result<Self> {
        keys.cast_flags(self.flags()?, COUNT_BITS).map(Self::Uint)
    }
}

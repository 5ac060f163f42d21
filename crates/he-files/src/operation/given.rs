//! Parameters as programs have them that read them from a command line.

use serde::de::value::{Error, SeqDeserializer};
use serde::de::{Deserializer, IntoDeserializer, Visitor};

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// A number.
    Number(f64),
    /// A whole number.
    Whole(u64),
    /// A text.
    Text(String),
    /// Several texts.
    Texts(Vec<String>),
}

impl IntoDeserializer<'_, Error> for Given {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Given {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Number(number) => visitor.visit_f64(number),
            Self::Whole(number) => visitor.visit_u64(number),
            Self::Text(text) => visitor.visit_string(text),
            Self::Texts(texts) => visitor.visit_seq(SeqDeserializer::new(texts.into_iter())),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

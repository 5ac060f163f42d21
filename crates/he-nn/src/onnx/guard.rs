//! Checks the fields, the nesting and the lengths of a file before the parser builds anything from
//! it.
//!
//! The parser passes over fields that it does not know, takes the last of several, and follows
//! messages inside messages as deep as a file says. This walk knows every field of a model: it
//! refuses fields whose content is not read, and graphs inside nodes where they start; every length
//! is compared with the rest of the file before anything of that length is made.

use crate::error::Error;

use rten_onnx::protobuf::varint::{MAX_VARINT_LEN, read_varint};
use rten_onnx::protobuf::{ErrorKind, FieldTypes, FieldValue, Fields, OwnedValues, ProtobufError, ReadValue};

/// The bytes of a file, as primitive values; nothing reaches beyond them.
pub struct Bytes<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Bytes<'a> {
    /// A reader at the start of a file.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ProtobufError> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let taken = rest.get(..length).ok_or_else(|| ProtobufError::new(ErrorKind::Eof))?;
        self.position += length;
        Ok(taken)
    }
}

impl ReadValue for Bytes<'_> {
    type Types = OwnedValues;

    fn read_i32(&mut self) -> Result<i32, ProtobufError> {
        let bytes = self.take(4)?;
        Ok(i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn read_i64(&mut self) -> Result<i64, ProtobufError> {
        let (low, high) = (self.read_i32()?, self.read_i32()?);
        Ok(i64::from(high) << 32 | i64::from(low as u32))
    }

    fn read_varint(&mut self) -> Result<u64, ProtobufError> {
        let mut rest = self.bytes.get(self.position..).unwrap_or_default();
        // After ten bytes that all announce a further one, the parser would wait for it for ever.
        if rest.len() >= MAX_VARINT_LEN && rest[..MAX_VARINT_LEN].iter().all(|byte| byte & 0x80 != 0) {
            return Err(ProtobufError::new(ErrorKind::InvalidVarint));
        }
        let before = rest.len();
        let value = read_varint(&mut rest)?;
        self.position += before - rest.len();
        Ok(value)
    }

    fn read_bytes(&mut self, length: usize) -> Result<<OwnedValues as FieldTypes>::Bytes, ProtobufError> {
        Ok(self.take(length)?.to_vec())
    }

    fn read_string(&mut self, length: usize) -> Result<<OwnedValues as FieldTypes>::String, ProtobufError> {
        let bytes = self.take(length)?.to_vec();
        String::from_utf8(bytes).map_err(|_| ProtobufError::new(ErrorKind::InvalidUtf8))
    }

    fn skip(&mut self, length: usize) -> Result<(), ProtobufError> {
        self.take(length).map(drop)
    }

    fn position(&self) -> u64 {
        self.position as u64
    }
}

/// The messages of a file.
#[derive(Clone, Copy, PartialEq)]
enum Message {
    Model,
    Opset,
    Property,
    Graph,
    Node,
    Attribute,
    Tensor,
    Value,
    Type,
    TensorType,
    SequenceType,
    ElementType,
    Shape,
    Dimension,
    /// Numbers and texts.
    Leaf,
}

/// The content that a field of a message may have.
enum Content {
    /// One message of this kind, at most.
    One(Message),
    /// Any number of messages of this kind.
    Many(Message),
    /// A field that is not read here: the fault and the remedy.
    Refused(&'static str, &'static str),
    Unknown,
}

const FLAT: &str = "export the model as one fixed graph: inline functions with onnx.inliner, and trace \
                    branches and loops";
const DENSE: &str = "export the model with dense weights, before any quantisation";

impl Message {
    fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Opset => "import of an opset",
            Self::Property => "property",
            Self::Graph => "graph",
            Self::Node => "node",
            Self::Attribute => "attribute",
            Self::Tensor => "tensor",
            Self::Value => "value",
            Self::Type | Self::TensorType | Self::SequenceType | Self::ElementType => "type",
            Self::Shape => "shape",
            Self::Dimension => "dimension",
            Self::Leaf => "number",
        }
    }

    /// The content of a field, as `onnx.proto` numbers them.
    fn field(self, field: u64) -> Content {
        use Content::{Many, One, Refused, Unknown};
        match (self, field) {
            (Self::Model, 1..=6) => One(Self::Leaf),
            (Self::Model, 7) => One(Self::Graph),
            (Self::Model, 8) => Many(Self::Opset),
            (Self::Model | Self::Graph | Self::Tensor, 14 | 16) if self.has_properties(field) => {
                Many(Self::Property)
            }
            (Self::Model, 20) => Refused("it says how to train it", "export the model for inference"),
            (Self::Model, 25) => Refused("it has functions of its own", FLAT),
            (Self::Model, 26) => Refused("it is divided among devices", "export the model for one device"),
            (Self::Graph, 1) => Many(Self::Node),
            (Self::Graph, 2 | 10) => One(Self::Leaf),
            (Self::Graph, 5) => Many(Self::Tensor),
            (Self::Graph, 11..=13) => Many(Self::Value),
            (Self::Graph, 14) => Refused("it says how its values are quantised", DENSE),
            (Self::Graph, 15) => Refused("it has sparse weights", DENSE),
            (Self::Node, 1 | 2) => Many(Self::Leaf),
            (Self::Node, 3 | 4 | 6 | 7) => One(Self::Leaf),
            (Self::Node, 5) => Many(Self::Attribute),
            (Self::Node, 8) => Refused("a node calls a function of the model", FLAT),
            (Self::Node, 9) => Many(Self::Property),
            (Self::Node, 10) => Refused("it is divided among devices", "export the model for one device"),
            (Self::Attribute, 1..=4 | 13 | 20) => One(Self::Leaf),
            (Self::Attribute, 5) => One(Self::Tensor),
            (Self::Attribute, 7..=9) => Many(Self::Leaf),
            (Self::Attribute, 6 | 11) => Refused("a node holds a graph of its own (If, Loop, Scan)", FLAT),
            (Self::Attribute, 10) => Refused("a node holds a list of tensors", FLAT),
            (Self::Attribute, 14 | 15) => Refused("a node holds a type", FLAT),
            (Self::Attribute, 21) => Refused("a node refers to an attribute of a function", FLAT),
            (Self::Attribute, 22 | 23) => Refused("a node holds sparse weights", DENSE),
            (Self::Tensor, 1 | 4..=7 | 10) => Many(Self::Leaf),
            (Self::Tensor, 2 | 8 | 9 | 12 | 14) => One(Self::Leaf),
            (Self::Tensor, 13) => Many(Self::Property),
            (Self::Tensor, 11) => Refused(
                "it lists integers without a sign in a field of their own",
                "write them as raw data, as onnx.numpy_helper.from_array does",
            ),
            (Self::Tensor, 3) => Refused("it keeps a tensor in segments", DENSE),
            (Self::Value, 1 | 3) => One(Self::Leaf),
            (Self::Value, 2) => One(Self::Type),
            (Self::Value, 4) => Many(Self::Property),
            (Self::Type | Self::ElementType, 1) => One(Self::TensorType),
            // Classifiers of scikit-learn leave lists of maps.
            (Self::Type, 4) => One(Self::SequenceType),
            (Self::SequenceType, 1) => One(Self::ElementType),
            (Self::ElementType, 5) => One(Self::Leaf),
            (Self::Type | Self::ElementType, 6) => One(Self::Leaf),
            (Self::Type | Self::ElementType, 4 | 5 | 8 | 9) => {
                Refused("a value is a map, an optional or a list of lists", "export the model with tensors")
            }
            (Self::TensorType, 1) => One(Self::Leaf),
            (Self::TensorType, 2) => One(Self::Shape),
            (Self::Shape, 1) => Many(Self::Dimension),
            (Self::Dimension, 1..=3) | (Self::Opset | Self::Property, 1 | 2) => One(Self::Leaf),
            _ => Unknown,
        }
    }

    fn has_properties(self, field: u64) -> bool {
        field == if self == Self::Model { 14 } else { 16 }
    }
}

/// Walks through all messages and their fields: each is known, and none that has one value is there
/// twice.
///
/// # Errors
/// [`Error::NotOnnx`] for a length beyond the end, an unknown field or a second value;
/// [`Error::Model`] for fields that are not read here.
pub fn check(bytes: &[u8]) -> Result<(), Error> {
    let mut reader = Bytes::new(bytes);
    walk(Fields::new(&mut reader, None), Message::Model, bytes.len() as u64)
}

fn bad(why: impl ToString) -> Error {
    Error::NotOnnx { why: why.to_string() }
}

fn walk(mut fields: Fields<'_, impl ReadValue>, message: Message, length: u64) -> Result<(), Error> {
    let mut seen = 0u32;
    while let Some(mut field) = fields.next().map_err(bad)? {
        let number = field.number();
        let inside = match message.field(number) {
            Content::Many(inside) => inside,
            Content::One(inside) => {
                // Fields that are known have small numbers.
                if seen & 1 << number != 0 {
                    return Err(bad(format!("field {number} of a {} is there twice", message.name())));
                }
                seen |= 1 << number;
                inside
            }
            Content::Refused(why, hint) => {
                return Err(Error::Model { why: format!("is not read: {why}"), hint });
            }
            Content::Unknown => {
                return Err(bad(format!("a {} has an unknown field {number}", message.name())));
            }
        };
        let FieldValue::Len(found) = field.value() else {
            // Groups, which nothing of ONNX uses, would hide the fields behind them.
            if matches!(field.value(), FieldValue::Sgroup | FieldValue::Egroup) {
                return Err(bad("it holds a group"));
            }
            continue;
        };
        if found > length {
            return Err(bad(format!("a field of {found} bytes in {length}")));
        }
        match inside {
            Message::Leaf => field.skip().map_err(bad)?,
            inside => walk(field.read_message(None).map_err(bad)?, inside, found)?,
        }
    }
    Ok(())
}

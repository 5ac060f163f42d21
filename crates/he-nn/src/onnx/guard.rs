//! Checks the nesting and the lengths of a file before the parser builds anything from it.
//!
//! The parser follows messages inside messages as deep as a file says, and graphs can hold graphs.
//! Models here have none inside their nodes, so this walk refuses them where they start; every
//! length is compared with what is left of the file before anything of that length is made.

use rten_onnx::protobuf::varint::{MAX_VARINT_LEN, read_varint};
use rten_onnx::protobuf::{ErrorKind, FieldTypes, FieldValue, Fields, OwnedValues, ProtobufError, ReadValue};

/// The bytes of a file, as primitive values; nothing reaches beyond them.
pub struct Bytes<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Bytes<'a> {
    /// At the start of a file.
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

/// The messages on the way to what may nest.
#[derive(Clone, Copy, PartialEq)]
enum Message {
    Model,
    Graph,
    Node,
    Attribute,
    Value,
    Type,
    /// Nothing inside it nests.
    Leaf,
}

impl Message {
    /// The message in a field; `Err` where it may nest without end.
    fn inside(self, field: u64) -> Result<Self, &'static str> {
        Ok(match (self, field) {
            (Self::Model, 7) => Self::Graph,
            (Self::Graph, 1) => Self::Node,
            (Self::Graph, 11..=13) => Self::Value,
            (Self::Node, 5) => Self::Attribute,
            (Self::Attribute, 6 | 11) => return Err("a node holds a graph of its own (If, Loop, Scan)"),
            (Self::Value, 2) => Self::Type,
            (Self::Type, 4 | 5 | 9) => return Err("a value is a sequence, a map or an optional"),
            _ => Self::Leaf,
        })
    }
}

/// Walks through all messages that may hold others.
///
/// # Errors
/// What is wrong: a length beyond the end, a message that nests.
pub fn check(bytes: &[u8]) -> Result<(), String> {
    let mut reader = Bytes::new(bytes);
    walk(Fields::new(&mut reader, None), Message::Model, bytes.len() as u64)
}

fn walk(mut fields: Fields<'_, impl ReadValue>, message: Message, length: u64) -> Result<(), String> {
    while let Some(mut field) = fields.next().map_err(|error| error.to_string())? {
        let FieldValue::Len(found) = field.value() else {
            // Groups, which nothing of ONNX uses, would hide what follows.
            if matches!(field.value(), FieldValue::Sgroup | FieldValue::Egroup) {
                return Err("it holds a group".to_owned());
            }
            continue;
        };
        if found > length {
            return Err(format!("a field of {found} bytes in {length}"));
        }
        match message.inside(field.number()).map_err(str::to_owned)? {
            Message::Leaf => field.skip().map_err(|error| error.to_string())?,
            inside => walk(field.read_message(None).map_err(|error| error.to_string())?, inside, found)?,
        }
    }
    Ok(())
}

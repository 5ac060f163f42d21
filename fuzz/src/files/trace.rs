//! Traces: lists of the operations of a computation, from whoever computed.
//!
//! Must hold: any bytes are refused or are the one encoding of a trace, every value of which is
//! there; a trace with another byte is refused; and its tree differs from that of another trace in
//! the operation in which they differ. Bytes are refused, or are the one encoding of an opening.
//!
//! Bytes: the trace without its root, which is made right, or an opening.

use he_files::audit::first_difference;
use he_files::error::{Error, TraceError};
use he_files::trace::{File, Opening, Operation, Parts, Program, Role, Trace, Value};

/// Where the root is.
const ROOT: std::ops::Range<usize> = 12..44;

pub fn run(data: &[u8]) {
    if let Ok(opening) = Opening::from_bytes(data) {
        assert_eq!(opening.to_bytes().expect("it was read"), data);
        assert!(opening.opened().iter().all(|opened| opening.find(opened.operation) == Some(opened)));
        return;
    }
    assert!(Trace::from_bytes(data).is_err() || data.len() > ROOT.end);
    let (Some(start), Some(rest)) = (data.get(..ROOT.start), data.get(ROOT.start..)) else { return };
    let with_root = |root: [u8; 32]| [start, &root, rest].concat();
    let Err(Error::Trace(TraceError::Root { expected, .. })) = Trace::from_bytes(&with_root([0; 32])) else {
        return;
    };
    let digit = |at: usize| u8::from_str_radix(&expected[2 * at..2 * at + 2], 16).expect("two digits");
    let bytes = with_root(std::array::from_fn(digit));
    let trace = Trace::from_bytes(&bytes).expect("the root is right");
    assert_eq!(trace.to_bytes().expect("it was read"), bytes);
    let values = trace.operations().iter().flat_map(|operation| &operation.of);
    assert!(values.chain(trace.result()).all(|&value| trace.digest(value).is_some()));
    let mut parts = trace.clone().into_parts();
    let Some(at) = parts.operations.len().checked_sub(1) else { return };
    parts.operations[at].results[0][0] ^= 1;
    let other = Trace::new(parts).expect("digests are any bytes");
    let found = first_difference(&trace, &other).expect("of one program").expect("they differ");
    assert_eq!(found.leaf, at);
}

fn trace(program: Program, operations: Vec<Operation>, result: Vec<Value>) -> Trace {
    let file = |role| File { role, frames: vec![[1; 32], [2; 32], [3; 32]] };
    let files = vec![file(Role::Input), file(Role::Key)];
    let parts = Parts { program, files, operations, head: [[4; 32], [5; 32]], result };
    Trace::new(parts).expect("a trace")
}

/// Without its root.
fn seed(trace: &Trace) -> Vec<u8> {
    let bytes = trace.to_bytes().expect("a trace");
    [&bytes[..ROOT.start], &bytes[ROOT.end..]].concat()
}

pub fn seeds() -> Vec<Vec<u8>> {
    let operation =
        |name: &str, of: Vec<Value>| Operation { name: name.to_owned(), of, results: vec![[6; 32], [7; 32]] };
    let (frame, made) = (Value::Frame { file: 0, frame: 2 }, Value::Result { operation: 0, part: 1 });
    let operations = vec![operation("add 0", vec![frame, frame]), operation("add 1", vec![made])];
    let model = trace(Program::Model([8; 32]), operations, vec![made]);
    let empty = trace(Program::Operation(r#"{"name":"add"}"#.to_owned()), Vec::new(), Vec::new());
    let opening = model.open(&[1]).and_then(|opening| opening.to_bytes()).expect("an opening");
    vec![seed(&model), seed(&empty), opening]
}

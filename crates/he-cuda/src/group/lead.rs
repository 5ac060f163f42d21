//! Operations of the lead alone, with buffers that are brought there.

use super::GroupBuf;
use super::buf::Parts;
use gpu::Buffer;
use he_core::Result;
use std::cell::RefCell;
use std::sync::Arc;

/// Keeps buffers alive while an operation refers to them, wherever they are moved meanwhile.
#[derive(Default)]
pub(super) struct Held(RefCell<Vec<Arc<Parts>>>);

impl Held {
    pub(super) fn keep(&self, parts: Arc<Parts>) -> &[Buffer] {
        let buffers: *const [Buffer] = parts.buffers();
        self.0.borrow_mut().push(parts);
        // SAFETY: nothing is taken off the list before it is dropped, what an `Arc` holds does not
        // move, and only a sole owner could change it.
        unsafe { &*buffers }
    }

    /// A buffer on the lead.
    pub(super) fn whole(&self, buf: &GroupBuf) -> Result<&Buffer> {
        Ok(&self.keep(buf.whole()?)[0])
    }
}

/// An argument as the lead takes it; the words for the kinds are those of
/// [`delegate`](he_core::backend::delegate).
macro_rules! lead_side {
    (value $arg:ident, $held:ident) => {
        $arg
    };
    (read $arg:ident, $held:ident) => {
        $arg.refer(&|buf: &GroupBuf| $held.whole(buf))?
    };
    (terms $arg:ident, $held:ident) => {
        &$arg.refer(&|buf: &GroupBuf| $held.whole(buf))?
    };
    (write $arg:ident, $held:ident) => {
        $arg.whole_mut()?
    };
    (fill $arg:ident, $held:ident) => {
        $arg.try_map(GroupBuf::whole_mut)?
    };
    (take $arg:ident, $held:ident) => {
        $arg.into_whole()?
    };
}

/// An operation of the whole ring on the lead.
macro_rules! on_lead {
    (fn $op:ident($($kind:ident $arg:ident: $type:ty),*) -> $outcome:ident $result:ty;) => {
        fn $op(&self, $($arg: $type),*) -> Result<$result> {
            #[allow(unused_variables, reason = "some operations read no buffers")]
            let held = Held::default();
            let done = self.lead().$op($(lead_side!($kind $arg, held)),*);
            he_core::own_outcome!($outcome, |buf| GroupBuf::on_lead(self.backend(), buf), done)
        }
    };
}

pub(super) use {lead_side, on_lead};

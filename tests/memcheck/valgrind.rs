//! Client requests to valgrind: instructions without an effect on a processor, which valgrind
//! recognises (`valgrind.h` and `memcheck.h`).
#![allow(unsafe_code)]

use std::arch::asm;

/// `VG_USERREQ__RUNNING_ON_VALGRIND`.
const RUNNING: usize = 0x1001;
/// `VG_USERREQ__COUNT_ERRORS`.
const COUNT_ERRORS: usize = 0x1201;
/// `VG_USERREQ__MAKE_MEM_UNDEFINED`.
const MAKE_UNDEFINED: usize = 0x4d43_0001;
/// `VG_USERREQ__MAKE_MEM_DEFINED`.
const MAKE_DEFINED: usize = 0x4d43_0002;

/// `VG_USERREQ__GET_VBITS`.
const GET_VBITS: usize = 0x4d43_0008;

/// The answer to a request; 0 without valgrind.
fn request(number: usize, arguments: [usize; 3]) -> usize {
    let [first, second, third] = arguments;
    let arguments = [number, first, second, third, 0, 0];
    let mut answer = 0usize;
    // SAFETY: the rotations of rdi sum to 128 bits, and rbx is exchanged with itself, so that no
    // register changes on a processor. Valgrind reads the arguments and answers in rdx. It changes
    // what it knows about memory, and of memory itself the vector of `is_secret` alone, which is
    // mutable and as long as it says.
    unsafe {
        asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}

/// Whether this program runs under valgrind.
pub fn is_running() -> bool {
    request(RUNNING, [0; 3]) != 0
}

/// The errors that memcheck has found so far.
pub fn errors() -> usize {
    request(COUNT_ERRORS, [0; 3])
}

fn mark<T>(what: usize, values: &[T]) {
    request(what, [values.as_ptr() as usize, size_of_val(values), 0]);
}

/// Whether something in these values is secret, as far as valgrind knows.
fn is_secret<T>(values: &[T]) -> bool {
    let mut bits = vec![0u8; size_of_val(values)];
    request(GET_VBITS, [values.as_ptr() as usize, bits.as_mut_ptr() as usize, bits.len()]);
    bits.iter().any(|&bits| bits != 0)
}

/// Makes values secret: nothing may depend on them but the results of arithmetic.
pub fn secret<T>(values: &mut [T]) {
    mark(MAKE_UNDEFINED, values);
}

/// The same value, as a secret.
pub fn secret_value<T>(mut value: T) -> T {
    secret(std::slice::from_mut(&mut value));
    value
}

/// Makes values public, as their user does who shows or sends them. They must have been secret:
/// otherwise the check would check nothing.
pub fn public<T>(values: &mut [T]) {
    assert!(!is_running() || is_secret(values), "these values do not depend on a secret");
    mark(MAKE_DEFINED, values);
}

/// The same value, made public.
pub fn public_value<T>(mut value: T) -> T {
    public(std::slice::from_mut(&mut value));
    value
}

/// byte + 1, so that a branch to it cannot be replaced by a selection.
#[inline(never)]
pub fn taken(byte: u8) -> u8 {
    // SAFETY: an instruction without operands and without an effect.
    unsafe { asm!("nop", options(nomem, nostack)) };
    byte + 1
}

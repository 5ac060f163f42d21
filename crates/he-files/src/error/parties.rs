//! Errors of several parties who decrypt together.

use super::errors;

/// The advice for a result that is not what it is said to be.
const EVIL: &str =
    "make no share of it: a share of a ciphertext that somebody chose is the secret key of the party";

errors! {
    /// Reasons for which a party makes no share of a decryption.
    pub enum PartyError {
        /// It is not a table.
        NotATable { name: String }: ("{name} is not a table"), ("parties decrypt tables together");
        /// The precision is out of range.
        [request] Precision { found: u32, lowest: u32, highest: u32 }:
            ("{found} bits of precision for several parties"),
            ("ask for {lowest} to {highest} bits");
        /// No parameters have room for products of this depth and the floods of decryptions.
        [request] Integers { depth: usize, modulus: u64, parties: u32, decryptions: u64, security_bits: u32, most: Option<usize> }:
            ("no parameters have room for products of depth {depth} modulo {modulus}, and for floods of {parties} parties that hide the noise of {decryptions} decryptions with {security_bits} bits of security"),
            ("ask for {}smaller integers, fewer decryptions or less security", most.map(|most| format!("a depth of at most {most}, ")).unwrap_or_default());
        /// The flood of a share hides the numbers of a table.
        NoRoom { name: String, needed_bits: u32, available_bits: u32 }:
            ("hiding the noise of {name} takes floods of {needed_bits} bits, and beside its numbers there is room for {available_bits}"),
            ("compute less before it is decrypted, or begin a session for a greater depth, fewer decryptions or less security, and encrypt again");
        /// An input is the result of a computation.
        NotFresh { name: String, found: String, fresh: String }:
            ("{name} is not an input, as encryption makes it: {found} in place of {fresh}"),
            ("give the tables as their parties encrypted them, and in the program what was computed from them");
        /// An input is not distributed like an encryption.
        Structured { name: String, polynomial: usize, found: usize, of: usize, most: usize }:
            ("{name} is no encryption: {found} of {of} words of c{polynomial} lie in the same 256th of a modulus, and no more than {most} do in one"),
            ("{EVIL}");
        /// There are no inputs, or no steps that compute a result from them.
        [request] NoResult { inputs: usize }:
            ("a result of {inputs} inputs without a program"),
            ("give the program that computes it from them");
        /// A step takes what is not there yet.
        [request] NoOperand { step: usize }:
            ("step {step} of the program takes a file that no step before it writes, and that is not an input"),
            ("name inputs and results of steps as the steps before it do");
        /// Something is not used.
        [request] Unused { what: String }:
            ("the program does not use {what}"), ("leave it out");
        /// Two inputs are the same.
        [request] SameInput { left: String, right: String }:
            ("{left} and {right} are the same input"),
            ("give each input once, with the party that encrypted it");
        /// The steps take an evaluation key.
        [request] NoKey: ("a program needs the evaluation key, and there is none"), ("combine the keys first");
        /// A file is not the result of a computation.
        OtherResult { name: String, what: String, found: String, expected: String }:
            ("{name} is not what the program computes from the inputs: its {what} is {found} and should be {expected}"),
            ("{EVIL}");
        /// It is not a transcript.
        NotATranscript { name: String, why: &'static str }:
            ("{name} is not a transcript: {why}"), ("give what party check wrote");
        /// There are no transcripts.
        [request] NoTranscript:
            ("no transcripts are given"), ("give those that the shares were made with");
        /// The party's own transcript is not there.
        NoOwn { party: u32 }:
            ("none of the transcripts is that of party {party}, which shares"),
            ("compute the result again with party check, and give its transcript too");
        /// There are two transcripts of one party.
        Twice { party: u32 }: ("two transcripts are of party {party}"), ("give one for each party");
        /// Two transcripts differ.
        Disagree { name: String, party: u32, what: &'static str, other: u32 }:
            ("{name}, of party {party}, differs from the transcript of party {other} in {what}"),
            ("make no share until all parties agree: one of them was given something else");
        /// A secret is sealed, and there is no passphrase.
        Sealed { name: String }:
            ("{name} is sealed, and no passphrase is given"),
            ("give the passphrase that the secrets of this party were sealed with");
        /// A second share of the same would be made.
        Shared { name: String }:
            ("{name} says that the party has made its share of this decryption"),
            ("use that share: two would reveal the difference of their errors. If it is lost, encrypt the inputs again");
        /// The list of the shares that were made cannot be understood.
        Ledger { name: String, line: usize }:
            ("line {line} of {name} is not one that he-cli wrote"),
            ("restore it from a copy that lacks nothing: it is all that is known of what the party has done");
        /// An input is not one that the party has encrypted.
        NotOwn { name: String, party: u32, list: String }:
            ("{name} is not a table that party {party} has encrypted, and {list} does not have it"),
            ("encrypt with party encrypt, and give the file that it wrote, from the own disk");
        /// An input of this party is given as one of another.
        OfOther { name: String, party: u32, own: u32 }:
            ("{name} was encrypted by this party, {own}, and not by party {party}"),
            ("somebody may want to see this party's numbers as their own: find out who said so");
    }
}

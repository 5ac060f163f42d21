//! Errors in the messages of several parties.

use super::{Digest, ProtocolKind, SessionId};
use crate::error::errors;

/// Numbers of parties as a list.
fn list(parties: &[u32]) -> String {
    parties.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

errors! {
    /// Shares that do not belong together, and parties that are not there.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum MheError {
        /// A share or a key of another session.
        ForeignSession {
            /// The object that does not belong.
            what: &'static str,
            /// Its session.
            found: SessionId,
            /// The session expected.
            expected: SessionId,
        }:
            ("the {what} belongs to session {found} where one of {expected} is needed"),
            ("use shares that all parties made in one session");
        /// A share of another protocol.
        WrongProtocol {
            /// The protocol of the share.
            found: ProtocolKind,
            /// The protocol expected.
            expected: ProtocolKind,
        }:
            ("a share of {found} where one of {expected} is needed");
        /// A share that concerns something else: another ciphertext, Galois element, first round,
        /// quorum, recipient or flood.
        WrongSubject {
            /// The party that made it.
            party: u32,
            /// The protocol.
            protocol: ProtocolKind,
        }:
            ("the share of party {party} is of {protocol}, but it concerns something else"),
            ("let all parties make their shares for the same input, quorum and options");
        /// A party that has no part in it.
        Outsider {
            /// The party.
            party: u32,
            /// The parties that take part.
            parties: Vec<u32>,
        }:
            ("party {party} takes no part, which {} do", list(parties));
        /// A second share of a party.
        Doubled {
            /// The party.
            party: u32,
        }:
            ("there is a second share of party {party}"),
            ("add one share per party");
        /// Parties whose shares are not there.
        Missing {
            /// The parties.
            parties: Vec<u32>,
        }:
            ("no share of party {}", list(parties)),
            ("get the shares of all parties that take part");
        /// Fewer parties than the threshold.
        SmallQuorum {
            /// The parties that take part.
            found: usize,
            /// The threshold.
            threshold: usize,
        }:
            ("a quorum of {found} where {threshold} parties are needed"),
            ("let more parties take part");
        /// A share that another party was to get.
        WrongRecipient {
            /// The party that it was made for.
            found: u32,
            /// The party that adds it.
            expected: u32,
        }:
            ("the share is for party {found} and not for party {expected}"),
            ("delete it, and send it to nobody else");
        /// A ciphertext that is not a result of the computation.
        NotAResult {
            /// Its digest.
            found: Digest,
            /// The computation.
            transcript: Digest,
        }:
            ("the ciphertext {found} is not a result of the computation {transcript}"),
            ("make no share of it, which could be the secret itself: recompute what it should be");
        /// A computation that this party has not recomputed.
        NotRecomputed {
            /// The computation.
            transcript: Digest,
        }:
            ("the results of the computation {transcript} were not recomputed here"),
            ("recompute them from the inputs before you make a share");
        /// A statement about another computation.
        OtherTranscript {
            /// The party that made it.
            party: u32,
            /// Its computation.
            found: Digest,
            /// The computation here.
            expected: Digest,
        }:
            ("party {party} states the computation {found}, and here it is {expected}"),
            ("compare inputs, their parties, evaluation keys, program and result, and make no share until all agree");
        /// Parties that have inputs in a computation, and have not stated it.
        Unstated {
            /// The parties.
            parties: Vec<u32>,
        }:
            ("inputs of party {}, and no statement that they are theirs", list(parties)),
            ("get the statements of these parties from themselves");
        /// A second statement of a party.
        DoubledStatement {
            /// The party.
            party: u32,
        }:
            ("there is a second statement of party {party}"),
            ("give one statement per party");
        /// A transcript that calls itself this party's own, and is not.
        WrongTag {
            /// The party.
            party: u32,
        }:
            ("party {party} did not make this transcript: its tag is not that of the party's secret"),
            ("recompute the results");
    }
}

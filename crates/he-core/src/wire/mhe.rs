//! Sessions, shares and keys of several parties, and keys of re-encryption, as frames.

use super::bytes::Fields;
use super::objects::{
    SEED, check_params, check_ring, decode_pairs, encode_pairs, frame, pack_ternary, take_poly,
    unpack_ternary_at, with_polys,
};
use super::residues::{pack, packed_len, unpack};
use super::{Frame, FrameKind, SchemeParams, Wire, WireError};
use crate::backend::RingOps;
use crate::error::{Error, Result};
use crate::mhe::{
    EphemeralKey, MheError, PartyKey, ProtocolKind, RecipientKey, ReencryptionKey, SecretShare, Session,
    SessionId, Share, ShareKind, ThresholdKey,
};
use crate::ring::{Eval, Poly, Ring, SecretPoly};
use crate::rlwe::SecretKey;
use crate::secret_words::SecretWords;
use std::marker::PhantomData;

/// The bytes of a session's identity.
const ID: usize = 32;
/// The bytes of a party's number.
const PARTY: usize = 4;
/// The bytes of a share before its polynomials: protocol, session, party, subject, primes, batch.
const SHARE_HEAD: usize = 1 + ID + PARTY + 32 + 2 + 4;
/// The greatest number of parties, whose numbers are below 2^16.
const MAX_PARTIES: u64 = (1 << 16) - 1;

/// The longest body of a frame of several parties, or of re-encryption, under these parameters;
/// shares on ciphertexts concern at most `max_batch` entries. 0 for all other kinds.
pub fn party_frame_limit(params: &impl SchemeParams, kind: FrameKind, max_batch: usize) -> u64 {
    let rlwe = params.rlwe();
    let (ring, span) = (rlwe.ring(), rlwe.key_span());
    let keys = packed_len(ring, span, 1) as u64;
    let digits = rlwe.digits().len() as u64;
    match kind {
        FrameKind::Session => (2 * PARTY + SEED) as u64 + PARTY as u64 * MAX_PARTIES,
        FrameKind::PartyShare => {
            let polys = packed_len(ring, crate::ring::Span::chain(span.q), 1) as u64;
            let of_ciphertexts = polys.saturating_mul(2).saturating_mul(max_batch as u64);
            (SHARE_HEAD as u64).saturating_add(of_ciphertexts.max(2 * digits * keys))
        }
        FrameKind::SecretShare => (ID + 2 * PARTY) as u64 + keys,
        FrameKind::ThresholdKey => (ID + PARTY) as u64 + keys,
        FrameKind::PartyKey | FrameKind::EphemeralKey => (ID + PARTY + ring.n() / 4) as u64,
        FrameKind::RecipientKey => SEED as u64 + keys,
        FrameKind::ReencryptionKey => 2 * digits * keys,
        _ => 0,
    }
}

/// The threshold, the numbers of the parties and the seed.
impl<P: SchemeParams> Wire<P> for Session {
    type Place<'a> = ();

    fn to_frame(&self, params: &P) -> Result<Frame> {
        check_params(params, self.params().fingerprint(), "session")?;
        let mut body = (self.threshold() as u32).to_le_bytes().to_vec();
        body.extend((self.parties().len() as u32).to_le_bytes());
        self.parties().iter().for_each(|party| body.extend(party.to_le_bytes()));
        body.extend(self.seed());
        Ok(frame(params, FrameKind::Session, body))
    }

    fn from_frame(params: &P, (): (), frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::Session, params.fingerprint())?;
        let mut fields = Fields::new(frame.kind, &frame.body);
        let threshold = fields.u32("threshold")? as usize;
        let count = fields.u32("number of parties")?;
        let mut parties = Vec::new();
        for _ in 0..count {
            parties.push(fields.u32("number of a party")?);
        }
        let seed = fields.seed()?.0;
        let wrong = fields.error("list of parties or threshold");
        fields.end()?;
        let ordered = parties.is_sorted();
        let session = Self::new(params.rlwe(), parties, threshold, seed);
        session.ok().filter(|_| ordered).ok_or(wrong.into())
    }
}

/// Protocol, session, party, subject, primes and batch, and the polynomials.
impl<P: SchemeParams, K: ShareKind, B: RingOps> Wire<P> for Share<K, B> {
    type Place<'a> = &'a Ring<B>;

    fn to_frame(&self, params: &P) -> Result<Frame> {
        let ring = self.polys.first().map(Poly::ring);
        ring.map_or(Ok(()), |ring| check_ring(params, ring))?;
        let (primes, batch) = match self.polys.first() {
            Some(first) if !K::KIND.of_keys() => (first.span().q, first.batch()),
            _ => (0, 0),
        };
        let batch = u32::try_from(batch).map_err(|_| Error::argument("batch", format!("{batch} entries")))?;
        let mut head = vec![K::KIND as u8];
        head.extend(self.session.0);
        head.extend(self.party.to_le_bytes());
        head.extend(self.subject);
        head.extend((primes as u16).to_le_bytes());
        head.extend(batch.to_le_bytes());
        Ok(frame(params, FrameKind::PartyShare, with_polys(params, &head, &self.polys)?))
    }

    fn from_frame(params: &P, ring: &Ring<B>, frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::PartyShare, params.fingerprint())?;
        let mut fields = Fields::new(frame.kind, &frame.body);
        let number = fields.u8("protocol")?;
        let protocol = ProtocolKind::from_number(number).ok_or(fields.error("protocol"))?;
        if protocol != K::KIND {
            return Err(MheError::WrongProtocol { found: protocol, expected: K::KIND }.into());
        }
        let session = SessionId(fields.seed()?.0);
        let party = fields.u32("party")?;
        let subject = fields.seed()?.0;
        let (primes, batch) = (usize::from(fields.u16("level")?), fields.u32("batch")? as usize);
        let chain = params.rlwe().ring().q().len();
        if protocol.of_keys() != (primes == 0) || primes > chain {
            return Err(fields.error("level").into());
        }
        if protocol.of_keys() != (batch == 0) {
            return Err(fields.error("batch").into());
        }
        let layout = protocol.layout(params.rlwe(), primes, batch);
        let one = |span| packed_len(params.rlwe().ring(), span, 1) as u64;
        let polys = layout.iter().map(|&(span, batch)| one(span).saturating_mul(batch as u64));
        let expected = polys.fold(SHARE_HEAD as u64, u64::saturating_add);
        let (kind, found) = (frame.kind, frame.body.len() as u64);
        if found != expected {
            return Err(WireError::Length { kind, found, expected }.into());
        }
        let mut rest = fields.rest();
        let mut polys = Vec::new();
        for (span, batch) in layout {
            let (bytes, after) = rest.split_at(packed_len(params.rlwe().ring(), span, batch));
            polys.push(take_poly(params, ring, kind, (span, batch), bytes)?);
            rest = after;
        }
        Ok(Self { session, party, subject, polys, kind: PhantomData })
    }
}

/// A head and a packed secret polynomial, of which no copy is left.
fn secret_body<B: RingOps>(
    params: &impl SchemeParams,
    head: &[u8],
    poly: &SecretPoly<Eval, B>,
) -> Result<Vec<u8>> {
    let (ring, poly) = (params.rlwe().ring(), poly.get());
    check_ring(params, poly.ring())?;
    let words = SecretWords::from(poly.to_words()?);
    let mut body = vec![0; head.len() + packed_len(ring, poly.span(), 1)];
    body[..head.len()].copy_from_slice(head);
    pack(ring, poly.span(), 1, &words, &mut body[head.len()..]);
    Ok(body)
}

/// The polynomial of such a body.
fn take_secret<B: RingOps>(
    params: &impl SchemeParams,
    ring: &Ring<B>,
    kind: FrameKind,
    bytes: &[u8],
) -> Result<SecretPoly<Eval, B>> {
    check_ring(params, ring)?;
    let span = params.rlwe().key_span();
    let words = SecretWords::from(unpack(kind, params.rlwe().ring(), span, 1, bytes)?);
    Ok(SecretPoly::new(Poly::from_words(ring, span, 1, &words)?))
}

/// The session in front of a secret, if it is this one.
fn take_session(session: &Session, fields: &mut Fields<'_>, what: &'static str) -> Result<()> {
    let (found, expected) = (SessionId(fields.seed()?.0), session.id());
    if found == expected { Ok(()) } else { Err(MheError::ForeignSession { what, found, expected }.into()) }
}

/// Session, sender, recipient, and the value over Q P.
impl<P: SchemeParams, B: RingOps> Wire<P> for SecretShare<B> {
    type Place<'a> = (&'a Session, &'a Ring<B>);

    fn to_frame(&self, params: &P) -> Result<Frame> {
        let head = [&self.session.id().0[..], &self.from.to_le_bytes(), &self.to.to_le_bytes()].concat();
        Ok(frame(params, FrameKind::SecretShare, secret_body(params, &head, &self.value)?))
    }

    fn from_frame(params: &P, (session, ring): (&Session, &Ring<B>), frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::SecretShare, params.fingerprint())?;
        let mut fields = Fields::new(frame.kind, &frame.body);
        take_session(session, &mut fields, "secret share")?;
        let (from, to) = (fields.u32("party")?, fields.u32("party")?);
        let value = take_secret(params, ring, frame.kind, fields.rest())?;
        Ok(Self { session: session.clone(), from, to, value })
    }
}

/// Session, party, and the value over Q P.
impl<P: SchemeParams, B: RingOps> Wire<P> for ThresholdKey<B> {
    type Place<'a> = (&'a Session, &'a Ring<B>);

    fn to_frame(&self, params: &P) -> Result<Frame> {
        let head = [&self.session.id().0[..], &self.party.to_le_bytes()].concat();
        Ok(frame(params, FrameKind::ThresholdKey, secret_body(params, &head, &self.value)?))
    }

    fn from_frame(params: &P, (session, ring): (&Session, &Ring<B>), frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::ThresholdKey, params.fingerprint())?;
        let mut fields = Fields::new(frame.kind, &frame.body);
        take_session(session, &mut fields, "threshold key")?;
        let party = fields.u32("party")?;
        if !session.parties().contains(&party) {
            return Err(fields.error("party").into());
        }
        let value = take_secret(params, ring, frame.kind, fields.rest())?;
        Ok(Self { session: session.clone(), party, value })
    }
}

/// Session, party, and two bits per coefficient.
fn ternary_body(session: SessionId, party: u32, secret: &SecretKey) -> Vec<u8> {
    let packed = zeroize::Zeroizing::new(pack_ternary(secret.expose_coefficients()));
    let mut body = Vec::with_capacity(ID + PARTY + packed.len());
    body.extend(session.0);
    body.extend(party.to_le_bytes());
    body.extend(packed.iter());
    body
}

/// The party and the secret of such a body.
fn take_ternary(
    params: &impl SchemeParams,
    session: &Session,
    frame: &Frame,
    what: &'static str,
) -> Result<(u32, SecretKey)> {
    let mut fields = Fields::new(frame.kind, &frame.body);
    take_session(session, &mut fields, what)?;
    let party = fields.u32("party")?;
    if !session.parties().contains(&party) {
        return Err(fields.error("party").into());
    }
    let coefficients = unpack_ternary_at(frame, ID + PARTY, params.rlwe().ring().n())?;
    let wrong = |_| Error::from(WireError::Field { kind: frame.kind, field: "coefficient" });
    Ok((party, SecretKey::from_coefficients(params.rlwe(), coefficients).map_err(wrong)?))
}

/// Constant time; reading is so for valid keys.
impl<P: SchemeParams> Wire<P> for PartyKey {
    type Place<'a> = &'a Session;

    fn to_frame(&self, params: &P) -> Result<Frame> {
        check_params(params, self.secret().params().fingerprint(), "secret of the party")?;
        let body = ternary_body(self.session().id(), self.party(), self.secret());
        Ok(frame(params, FrameKind::PartyKey, body))
    }

    fn from_frame(params: &P, session: &Session, frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::PartyKey, params.fingerprint())?;
        let (party, secret) = take_ternary(params, session, frame, "secret of the party")?;
        Self::from_secret(session, party, secret)
    }
}

/// Constant time; reading is so for valid secrets.
impl<P: SchemeParams> Wire<P> for EphemeralKey {
    type Place<'a> = &'a Session;

    fn to_frame(&self, params: &P) -> Result<Frame> {
        check_params(params, self.secret.params().fingerprint(), "ephemeral secret")?;
        let body = ternary_body(self.session, self.party, &self.secret);
        Ok(frame(params, FrameKind::EphemeralKey, body))
    }

    fn from_frame(params: &P, session: &Session, frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::EphemeralKey, params.fingerprint())?;
        let (party, secret) = take_ternary(params, session, frame, "ephemeral secret")?;
        Ok(Self { session: session.id(), party, secret })
    }
}

/// The seed of a, and b over Q P.
impl<P: SchemeParams, B: RingOps> Wire<P> for RecipientKey<B> {
    type Place<'a> = &'a Ring<B>;

    fn to_frame(&self, params: &P) -> Result<Frame> {
        check_params(params, self.params().fingerprint(), "recipient's key")?;
        let body = with_polys(params, &self.seed.0, [&self.b])?;
        Ok(frame(params, FrameKind::RecipientKey, body))
    }

    fn from_frame(params: &P, ring: &Ring<B>, frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::RecipientKey, params.fingerprint())?;
        let mut fields = Fields::new(frame.kind, &frame.body);
        let seed = fields.seed()?;
        let span = params.rlwe().key_span();
        let b = take_poly(params, ring, frame.kind, (span, 1), fields.rest())?;
        Self::from_body(params.rlwe(), seed, b)
    }
}

/// b_j and a_j over Q P, digit by digit.
impl<P: SchemeParams, B: RingOps> Wire<P> for ReencryptionKey<B> {
    type Place<'a> = &'a Ring<B>;

    fn to_frame(&self, params: &P) -> Result<Frame> {
        check_params(params, self.key.params().fingerprint(), "re-encryption key")?;
        let mut body = Vec::new();
        encode_pairs(params.rlwe(), &self.key, &mut body)?;
        Ok(frame(params, FrameKind::ReencryptionKey, body))
    }

    fn from_frame(params: &P, ring: &Ring<B>, frame: &Frame) -> Result<Self> {
        frame.expect(FrameKind::ReencryptionKey, params.fingerprint())?;
        let fields = Fields::new(frame.kind, &frame.body);
        Self::from_key(decode_pairs(params.rlwe(), ring, fields, frame.kind)?)
    }
}

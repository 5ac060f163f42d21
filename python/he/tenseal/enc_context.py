"""Contexts: parameters, keys, and what happens by itself after a product."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Generic, TypeVar

import he._he as _he
from he.tenseal.envelope import field, opened, sealed
from he.tenseal.errors import BytesError, MissingKeyError, OperandError, translated
from he.tenseal.parameters import SCHEME_TYPE, chain, is_allowed, parameters

__all__ = ["ENCRYPTION_TYPE", "SCHEME_TYPE", "Context", "GaloisKeys", "PublicKey", "RelinKeys", "SecretKey"]

_Key = TypeVar("_Key")


class ENCRYPTION_TYPE(Enum):
    """The key that a context encrypts with: a public one, or the secret one."""

    ASYMMETRIC = 0
    SYMMETRIC = 1


class _Holder(Generic[_Key]):
    """A key of the package, in ``data``."""

    def __init__(self, data: _Key) -> None:
        self.data = data


class SecretKey(_Holder[_he.SecretKey]):
    """The secret key, which decrypts."""


class PublicKey(_Holder[_he.PublicKey]):
    """The public key, which encrypts."""


class GaloisKeys(_Holder[_he.EvaluationKeys]):
    """The keys of rotations, which sums, inner products and products with matrices need."""


class RelinKeys(_Holder[_he.EvaluationKeys]):
    """The key of products of ciphertexts."""


_FLAGS = ("auto_relin", "auto_rescale", "auto_mod_switch")


class Context:
    """Parameters and keys of CKKS or BFV.

    Parameters
    ----------
    scheme : SCHEME_TYPE
        ``SCHEME_TYPE.CKKS`` or ``SCHEME_TYPE.BFV``.
    poly_modulus_degree : int
        The degree N of the ring, a power of two. A ciphertext has N / 2 slots under CKKS, and N
        under BFV.
    plain_modulus : int, optional
        BFV: the modulus t of integers, a prime that is 1 modulo 2N.
    coeff_mod_bit_sizes : sequence of int
        The widths of the primes in bits. The last is the special prime of key switching. Under CKKS
        the first is that of the lowest level, each in between is a level, and all of these have the
        width of the scale. Under BFV none stand for the widest secure ones.
    encryption_type : ENCRYPTION_TYPE
        Whether there is a public key, or the secret key encrypts.
    n_threads : int, optional
        Has no effect: ``RAYON_NUM_THREADS`` says how many threads compute.
    insecure : bool
        Accepts parameters below 128 bits of security by the table of 2024, which protect nothing.

    Raises
    ------
    ValueError
        For another scheme; for a degree, a modulus or widths that are not possible; for parameters
        below 128 bits of security that are not stated to be insecure.
    """

    _secret: _he.SecretKey | None
    _public: _he.PublicKey | None
    _scale: float | None

    def __init__(
        self,
        scheme: SCHEME_TYPE | None = None,
        poly_modulus_degree: int = 0,
        plain_modulus: int | None = None,
        coeff_mod_bit_sizes: Sequence[int] = (),
        encryption_type: ENCRYPTION_TYPE = ENCRYPTION_TYPE.ASYMMETRIC,
        n_threads: int | None = None,
        *,
        insecure: bool = False,
    ) -> None:
        if scheme not in (SCHEME_TYPE.BFV, SCHEME_TYPE.CKKS):
            raise OperandError("Invalid scheme type, use either SCHEME_TYPE.BFV or SCHEME_TYPE.CKKS")
        if scheme is SCHEME_TYPE.BFV and plain_modulus is None:
            raise OperandError("plain_modulus must be provided")
        bits = chain(scheme, poly_modulus_degree, coeff_mod_bit_sizes)
        params = parameters(scheme, poly_modulus_degree, plain_modulus, bits, insecure)
        self._prepare(params, ENCRYPTION_TYPE(encryption_type))
        keys = self._he.keygen(relinearisation=len(bits) > 1, sums=False)
        self._secret = keys.secret
        self._public = keys.public if self._encryption is ENCRYPTION_TYPE.ASYMMETRIC else None

    def _prepare(self, params: _he.Params, encryption: ENCRYPTION_TYPE) -> None:
        """A context without keys."""
        with translated():
            self._he = _he.Context(params, "cpu")
        self._encryption = encryption
        self._secret, self._public, self._scale = None, None, None
        self.auto_relin = self.auto_rescale = self.auto_mod_switch = True

    @property
    def he(self) -> _he.Context:
        """The context of the package that computes."""
        return self._he

    @property
    def scheme(self) -> SCHEME_TYPE:
        """The scheme."""
        return SCHEME_TYPE.CKKS if self._he.scheme == "ckks" else SCHEME_TYPE.BFV

    @property
    def global_scale(self) -> float:
        """The scale of new tensors of CKKS that state none.

        Raises
        ------
        ValueError
            If none is set.
        """
        if self._scale is None:
            raise OperandError("no global scale")
        return self._scale

    @global_scale.setter
    def global_scale(self, value: float) -> None:
        self._scale = float(value)

    def is_private(self) -> bool:
        """Whether there is a secret key."""
        return self._secret is not None

    def is_public(self) -> bool:
        """Whether there is no secret key."""
        return self._secret is None

    def has_secret_key(self) -> bool:
        """Whether there is a secret key."""
        return self._secret is not None

    def has_public_key(self) -> bool:
        """Whether there is a public key.

        Raises
        ------
        ValueError
            For symmetric encryption.
        """
        self._check_asymmetric("has_public_key")
        return self._public is not None

    def has_galois_keys(self) -> bool:
        """Whether there are keys of rotations."""
        keys = self._he.evaluation_keys
        return keys is not None and keys.galois_count > 0

    def has_relin_keys(self) -> bool:
        """Whether there is a key of products of ciphertexts."""
        keys = self._he.evaluation_keys
        return keys is not None and keys.has_relinearisation

    def _check_asymmetric(self, what: str) -> None:
        if self._encryption is ENCRYPTION_TYPE.SYMMETRIC:
            raise MissingKeyError(f"{what} is not supported for symmetric encryption")

    def secret_key(self) -> SecretKey:
        """The secret key.

        Raises
        ------
        ValueError
            If there is none.
        """
        if self._secret is None:
            raise MissingKeyError("the current context is public, it doesn't hold a Secret key")
        return SecretKey(self._secret)

    def public_key(self) -> PublicKey:
        """The public key.

        Raises
        ------
        ValueError
            If there is none, and for symmetric encryption.
        """
        self._check_asymmetric("public_key")
        if self._public is None:
            raise MissingKeyError("the current context doesn't hold a Public key")
        return PublicKey(self._public)

    def galois_keys(self) -> GaloisKeys:
        """The keys of rotations, for others to compute with.

        Raises
        ------
        ValueError
            If there are none.
        """
        keys = self._he.evaluation_keys
        if keys is None or not keys.galois_count:
            raise ValueError("the current context doesn't hold a Galois keys")
        return GaloisKeys(keys.part(galois=True))

    def relin_keys(self) -> RelinKeys:
        """The key of products of ciphertexts, for others to compute with.

        Raises
        ------
        ValueError
            If there is none.
        """
        keys = self._he.evaluation_keys
        if keys is None or not keys.has_relinearisation:
            raise ValueError("the current context doesn't hold Relinearization keys")
        return RelinKeys(keys.part(relinearisation=True))

    def evaluation_keys(self, *, relinearisation: bool = False, galois: bool = False) -> _he.EvaluationKeys:
        """The keys to compute with, among which those that are named.

        Raises
        ------
        ValueError
            If one of these is missing.
        """
        keys = self._he.evaluation_keys
        if keys is None or (relinearisation and not keys.has_relinearisation):
            raise MissingKeyError("the current context doesn't hold Relinearization keys")
        if galois and not keys.galois_count:
            raise MissingKeyError("the current context doesn't hold a Galois keys")
        return keys

    def _given(self, secret_key: SecretKey | None) -> _he.SecretKey:
        if secret_key is None:
            if self._secret is None:
                raise MissingKeyError("you need to provide a secret_key")
            return self._secret
        if not isinstance(secret_key, SecretKey):
            raise TypeError(f"incorrect type: {type(secret_key)} != SecretKey")
        return secret_key.data

    def _add(self, keys: _he.EvaluationKeys) -> None:
        known = self._he.evaluation_keys
        with translated():
            self._he.evaluation_keys = keys if known is None else known.merged(keys)

    def generate_galois_keys(self, secret_key: SecretKey | None = None) -> None:
        """Make the keys of rotations, by the secret key of the context or by a given one: those of
        all powers of two in both directions, which compose any other.

        Raises
        ------
        ValueError
            If there is no secret key, and for one of another key set.
        """
        steps = [-(1 << bit) for bit in range((self._he.params.log_n or 2) - 2)]
        key = self._given(secret_key)
        self._add(key.evaluation_keys(relinearisation=False, sums=True, rotations=steps))

    def generate_relin_keys(self, secret_key: SecretKey | None = None) -> None:
        """Make the key of products of ciphertexts, likewise.

        Raises
        ------
        ValueError
            If there is no secret key, and for one of another key set.
        """
        self._add(self._given(secret_key).evaluation_keys(relinearisation=True, sums=False))

    def make_context_public(
        self, generate_galois_keys: bool = False, generate_relin_keys: bool = False
    ) -> None:
        """Remove the secret key, which is wiped with the last reference to it.

        Parameters
        ----------
        generate_galois_keys, generate_relin_keys : bool
            Whether keys to compute with that are missing are made before.

        Raises
        ------
        ValueError
            For symmetric encryption, where nothing could be encrypted any more.
        """
        if self._secret is None:
            return
        self._check_asymmetric("make_context_public")
        if generate_galois_keys and not self.has_galois_keys():
            self.generate_galois_keys()
        if generate_relin_keys and not self.has_relin_keys():
            self.generate_relin_keys()
        self._secret = None

    def encryptor(self) -> _he.SecretKey | _he.PublicKey:
        """The key that tensors are encrypted with.

        Raises
        ------
        ValueError
            If the context does not have it.
        """
        key = self._secret if self._encryption is ENCRYPTION_TYPE.SYMMETRIC else self._public
        if key is None:
            raise MissingKeyError("this context doesn't support encryption")
        return key

    def decryptor(self) -> _he.SecretKey:
        """The key that tensors are decrypted with.

        Raises
        ------
        ValueError
            If the context does not have it.
        """
        if self._secret is None:
            raise MissingKeyError(
                "the current context of the tensor doesn't hold a secret_key, please provide one as argument"
            )
        return self._secret

    def copy(self) -> Context:
        """A context with the same keys, which changes apart from this one."""
        other = Context.__new__(Context)
        other._prepare(self._he.params, self._encryption)
        other._he.evaluation_keys = self._he.evaluation_keys
        other._take(self._secret_bytes(), None if self._public is None else self._public.to_bytes())
        other._scale = self._scale
        for name in _FLAGS:
            setattr(other, name, getattr(self, name))
        return other

    def __copy__(self) -> Context:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Context:
        return self.copy()

    def _secret_bytes(self) -> bytearray | None:
        return None if self._secret is None else self._secret.to_bytes()

    def _take(
        self, secret: bytearray | memoryview | None, public: bytes | memoryview | None
    ) -> None:
        """Keys from their bytes; those of the secret key are overwritten where they can be."""
        with translated():
            if secret is not None:
                self._secret = _he.SecretKey.from_bytes(self._he, secret)
            if public is not None:
                self._public = _he.PublicKey.from_bytes(self._he, public)
        if isinstance(secret, bytearray):
            secret[:] = bytes(len(secret))

    def serialize(
        self,
        save_public_key: bool = True,
        save_secret_key: bool = False,
        save_galois_keys: bool = True,
        save_relin_keys: bool = True,
    ) -> bytes:
        """The context as bytes, with the keys that are named and that it has.

        The format is that of this package, which TenSEAL does not read.
        """
        keys = self._he.evaluation_keys
        relin, galois = save_relin_keys and self.has_relin_keys(), save_galois_keys and self.has_galois_keys()
        evaluation = b""
        if keys is not None and (relin or galois):
            whole = relin == self.has_relin_keys() and galois == self.has_galois_keys()
            evaluation = (keys if whole else keys.part(relinearisation=relin, galois=galois)).to_bytes()
        public = self._public.to_bytes() if save_public_key and self._public is not None else b""
        secret = bytes(self._secret_bytes() or b"") if save_secret_key else b""
        description = {
            "encryption": self._encryption.name,
            "scale": self._scale,
            "insecure": self._he.params.security == 0,
            **{name: bool(getattr(self, name)) for name in _FLAGS},
        }
        return sealed("context", description, [self._he.params.to_bytes(), public, secret, evaluation])

    @classmethod
    def load(cls, data: bytes, n_threads: int | None = None, *, insecure: bool = False) -> Context:
        """A context from the bytes of `serialize`.

        Raises
        ------
        TypeError
            For anything but bytes.
        ValueError
            For bytes that are not those of a context, and for parameters below 128 bits of security
            that are not stated to be insecure.
        """
        if not isinstance(data, bytes):
            raise TypeError(f"Invalid input type: {type(data)}")
        description, parts = opened("context", data)
        if len(parts) != 4:
            raise BytesError(f"failed to parse: {len(parts)} parts of a context, where 4 are expected")
        params, public, secret, evaluation = parts
        scale = field(description, "scale", float, optional=True)
        encryption = field(description, "encryption", str)
        if encryption not in ENCRYPTION_TYPE.__members__:
            raise BytesError(f"failed to parse: the encryption type {encryption!r}")
        with translated():
            read = _he.Params.from_bytes(params, insecure=is_allowed(insecure))
        if read.scheme not in ("ckks", "bfv"):
            raise BytesError(f"failed to parse: parameters of the scheme {read.scheme}")
        context = cls.__new__(cls)
        context._prepare(read, ENCRYPTION_TYPE[encryption])
        context._take(secret if len(secret) else None, public if len(public) else None)
        if len(evaluation):
            with translated():
                context._he.evaluation_keys = _he.EvaluationKeys.from_bytes(context._he, evaluation)
        context._scale = None if scale is None else float(scale)
        for name in _FLAGS:
            setattr(context, name, field(description, name, bool))
        return context

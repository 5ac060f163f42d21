"""Several parties who compute on their tables together, and decrypt together what they agreed on.

The secret key is a sum of secrets that no party gives away: nobody can decrypt alone. The files
are those of ``he-cli party``, with its checks, so that parties can use either. The scheme is CKKS
for real numbers, and BFV or BGV for integers and categories.

A party that decrypts a ciphertext which somebody chose gives its secret away. Therefore it makes a
share of a result alone that it has computed again from the inputs, and that all parties whose
inputs are in it state in the same words (`Party.check`, `Party.share`); and it makes it once.

Examples
--------
>>> a = he.Party.create("a/", 1, parties=2)
>>> b = he.Party.create("b/", 2, session=a.session)
>>> first = [a.share_keys(), b.share_keys()]
>>> second = [a.share_relinearisation(first), b.share_relinearisation(first)]
>>> a.combine_keys(first, second), b.combine_keys(first, second)
>>> mine, yours = a.encrypt({"x": [1.0, 2.0]}), b.encrypt({"x": [3.0, 6.0]})
>>> total = lambda mine, yours: mine.add(yours)
>>> result = a.compute(total, mine, yours)
>>> inputs = [(1, mine), (2, yours)]
>>> transcripts = [a.check(total, inputs, result), b.check(total, inputs, result)]
>>> shares = [a.share(result, transcripts), b.share(result, transcripts)]
>>> a.combine(result, transcripts, shares)["x"].round(2)
array([4., 8.])
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

import numpy.typing as npt

from he._he import Params, _Party
from he.files import EncryptedFile, Place, _kept, encoded, requested

__all__ = ["Party", "Step"]

Encrypted = Union[EncryptedFile, Place]


class Step:
    """An input or a result of a program, which is recorded while it is written down.

    It has the methods of `EncryptedFile` that compute on tables, without keys. The program is
    public: all parties state it.
    """

    def __init__(self, steps: list[dict[str, Any]], operand: dict[str, int]) -> None:
        self._steps = steps
        self._operand = operand

    def evaluate(
        self,
        operation: str,
        other: Step | None = None,
        *,
        otherwise: Step | None = None,
        **parameters: Any,
    ) -> Step:
        """Compute an operation of `EncryptedFile.evaluate`."""
        files = [file for file in (self, other, otherwise) if file is not None]
        for file in files:
            if not isinstance(file, Step) or file._steps is not self._steps:
                raise TypeError("a program computes on its own inputs and results alone")
        request = requested(operation, parameters)
        self._steps.append({"operation": request, "of": [file._operand for file in files]})
        return Step(self._steps, {"step": len(self._steps) - 1})

    def add(self, other: Step, **parameters: Any) -> Step:
        """Add two tables, number by number."""
        return self.evaluate("add", other, **parameters)

    def sub(self, other: Step, **parameters: Any) -> Step:
        """Subtract another table, number by number."""
        return self.evaluate("sub", other, **parameters)

    def mul(self, other: Step, **parameters: Any) -> Step:
        """Multiply two tables, number by number."""
        return self.evaluate("mul", other, **parameters)

    def sum(self, **parameters: Any) -> Step:
        """Add up each column."""
        return self.evaluate("sum", **parameters)

    def mean(self, **parameters: Any) -> Step:
        """Compute the mean of each column."""
        return self.evaluate("mean", **parameters)

    def variance(self, **parameters: Any) -> Step:
        """Compute the variance of each column."""
        return self.evaluate("variance", **parameters)

    def covariance(self, **parameters: Any) -> Step:
        """Compute the covariance of each pair of columns."""
        return self.evaluate("covariance", **parameters)

    def count(self, **parameters: Any) -> Step:
        """Count the categories of each column of words."""
        return self.evaluate("count", **parameters)

    def dot(
        self,
        other: Step | None = None,
        *,
        columns: tuple[str, str] | None = None,
        **parameters: Any,
    ) -> Step:
        """Compute inner products: of two columns, or with the columns of another table."""
        two = None if columns is None else list(columns)
        return self.evaluate("dot", other, columns=two, **parameters)


#: What is computed: a function of the inputs, or None for the one input as it is.
Program = Union[Callable[..., Step], None]


def _steps(program: Program, inputs: int) -> list[dict[str, Any]]:
    if program is None:
        return []
    steps: list[dict[str, Any]] = []
    result = program(*(Step(steps, {"input": at}) for at in range(inputs)))
    if not isinstance(result, Step) or result._steps is not steps:
        raise TypeError(f"the program returns {result!r}, where a result of its own is expected")
    if steps and result._operand != {"step": len(steps) - 1}:
        raise ValueError("the last step of the program does not compute what it returns")
    return steps


def _place(file: Encrypted) -> Place:
    return file.source if isinstance(file, EncryptedFile) else file


class Party:
    """A party of a session: a folder with its secret, its messages and what it has done.

    `create` makes it, `open` opens it again. Messages are paths or bytes. The folder is the memory
    of the party: it lists the tables that it has encrypted and the shares that it has made, and
    must not be restored from a copy that lacks some.
    """

    def __init__(self, party: _Party) -> None:
        self._party = party

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        party: int,
        *,
        parties: int | None = None,
        session: Place | None = None,
        threshold: int | None = None,
        scheme: str = "ckks",
        depth: int | None = None,
        precision_bits: int | None = None,
        range_bits: int | None = None,
        slots: int | None = None,
        bits: int | None = None,
        plain_modulus: int | None = None,
        decryptions: int = 1024,
        statistical_security: int = 40,
        passphrase: str | None = None,
    ) -> Party:
        """Begin a session of several parties, or join one.

        Parameters
        ----------
        folder : path
            Where the files of the party go; it is made if it is not there.
        party : int
            The number of this party, from 1 on.
        parties : int, optional
            How many there are, to begin a session.
        session : path or bytes, optional
            The `session` of the party that has begun it, to join it.
        threshold : int, optional
            How many decrypt together; by default all of them. With fewer than all, each party also
            deals its secret (`share_secret`).
        scheme : str
            ``"ckks"`` for real numbers, ``"bfv"`` or ``"bgv"`` for integers and categories.
        depth : int, optional
            Products in a row (2).
        precision_bits, range_bits, slots : int, optional
            Under CKKS: bits of precision of decrypted results (25, or as many as possible), bits
            before their point (4), and the least number of slots.
        bits, plain_modulus : int, optional
            Under BFV and BGV: results stay below 2^bits in magnitude (32), or the plaintext modulus
            itself.
        decryptions : int
            The vectors that the parties will ever decrypt together.
        statistical_security : int
            Bits of statistical security that all of them keep together.
        passphrase : str, optional
            What seals the secrets in the folder.

        Raises
        ------
        FileExistsError
            If the folder holds a session.
        ParameterError
            If no parameters satisfy the needs.
        """
        if (parties is None) == (session is None):
            raise ValueError("give parties to begin a session, or session to join one")
        real, integers = (precision_bits, range_bits, slots), (bits, plain_modulus)
        given = [value is not None for value in (threshold, depth, *real, *integers)]
        if session is not None and (any(given) or scheme != "ckks"):
            raise ValueError("what the parties agree on is in the session, which this party joins")
        if any(value is not None for value in (integers if scheme == "ckks" else real)):
            of = "bits and plain_modulus are" if scheme == "ckks" else "precision, range and slots are"
            raise ValueError(f"{of} not for the scheme {scheme}")
        if bits is not None and plain_modulus is not None:
            raise ValueError("give bits or plain_modulus, which bits would choose")
        return cls(
            _Party.create(
                os.fspath(folder),
                party,
                session,
                parties or 0,
                threshold,
                scheme,
                depth,
                *real,
                *integers,
                decryptions,
                statistical_security,
                passphrase,
            )
        )

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        *,
        passphrase: str | None = None,
        allow_cost: bool = False,
    ) -> Party:
        """Open the folder of a party, or one with the file of a session alone, which combines.

        Parameters
        ----------
        folder : path
            The folder.
        passphrase : str, optional
            What opens its secrets, if they are sealed.
        allow_cost : bool
            As for `he.files.encrypt`.
        """
        return cls(_Party.open(os.fspath(folder), passphrase, allow_cost))

    @property
    def session(self) -> str:
        """The file of the session, for the other parties."""
        return os.fspath(self._party.path("session.he"))

    @property
    def public_key(self) -> str:
        """The file of the collective public key, by which anybody encrypts."""
        return os.fspath(self._party.path("public.key"))

    @property
    def evaluation_key(self) -> str:
        """The file of the collective evaluation key, by which anybody computes."""
        return os.fspath(self._party.path("eval.key"))

    @property
    def parties(self) -> list[int]:
        """The numbers of all parties."""
        return self._party.parties

    @property
    def threshold(self) -> int:
        """How many parties decrypt together."""
        return self._party.threshold

    @property
    def params(self) -> Params:
        """The parameters."""
        return self._party.params

    def __repr__(self) -> str:
        count = len(self.parties)
        return f"<he.Party of {count}, any {self.threshold} of whom decrypt: {self._party.key_set}>"

    def __reduce__(self) -> Any:
        raise TypeError("a party holds a secret and is not pickled; open its folder where it is")

    def share_keys(self) -> str:
        """Make the first message of key generation, for all parties; return its path."""
        return self._party.share_keys()[0]

    def share_relinearisation(self, first: Sequence[Place]) -> str:
        """Make the second message, from the first ones of all parties; return its path."""
        return self._party.share_relinearisation(list(first))[0]

    def combine_keys(self, first: Sequence[Place], second: Sequence[Place]) -> None:
        """Make the collective keys, from both messages of all parties."""
        self._party.combine_keys(list(first), list(second))

    def share_secret(self) -> dict[int, str]:
        """Deal the secret of this party, for a threshold below all; return paths by parties.

        Send each to its party alone, confidentially, and delete it then.
        """
        return dict(zip(self.parties, self._party.share_secret(), strict=True))

    def combine_secret(self, shares: Sequence[Place]) -> None:
        """Make the threshold key of this party, from what all parties dealt to it."""
        self._party.combine_secret(list(shares))

    def encrypt(
        self,
        source: Place | Mapping[str, npt.ArrayLike],
        *,
        columns: Sequence[str] = (),
        categories: Sequence[str] = (),
        output: str | os.PathLike[str] | None = None,
    ) -> EncryptedFile:
        """Encrypt a table under the collective key, and note it as one of this party.

        Parameters
        ----------
        source : path, bytes or mapping
            A CSV table, or arrays of one axis by the names of their columns.
        columns : sequence of str
            The columns of a file, by name or number from 1 on; all if none is named.
        categories : sequence of str
            Under BFV and BGV: columns of words, as for `he.files.encrypt`.
        output : path, optional
            The file to write; without one the result is in memory.
        """
        to = None if output is None else os.fspath(output)
        table = dict(source) if isinstance(source, Mapping) else source
        return EncryptedFile(_kept(self._party.encrypt(table, to, list(columns), list(categories)), to))

    def compute(
        self, program: Callable[..., Step], *inputs: EncryptedFile, device: str = "auto"
    ) -> EncryptedFile:
        """Compute a program by the collective evaluation key.

        Parameters
        ----------
        program : callable
            A function of the inputs, such as ``lambda a, b: a.add(b).mean()``.
        inputs : EncryptedFile
            The tables of the parties, in this order.
        device : str
            Where it is computed.
        """
        results: list[EncryptedFile] = []
        for step in _steps(program, len(inputs)):
            operation = dict(step["operation"])
            name = operation.pop("name")
            files = [
                inputs[of["input"]] if "input" in of else results[of["step"]] for of in step["of"]
            ]
            others = dict(zip(("other", "otherwise"), files[1:], strict=False))
            results.append(
                files[0].evaluate(name, self.evaluation_key, device=device, **others, **operation)
            )
        return results[-1] if results else inputs[0]

    def check(
        self,
        program: Program,
        inputs: Sequence[tuple[int, Encrypted]],
        result: Encrypted,
        *,
        output: str | os.PathLike[str] | None = None,
    ) -> Place:
        """Compute a result again and write down what it is: the transcript of this party.

        Every word of the result is compared. Take the transcripts of others from themselves.

        Parameters
        ----------
        program : callable or None
            What was computed, as for `compute`; None if the result is the one input.
        inputs : sequence of (int, EncryptedFile)
            The tables, each with the party that encrypted it. Those of this party must be what its
            own `encrypt` returned.
        result : EncryptedFile
            What is said to be the result.
        output : path, optional
            The file to write; without one the transcript is returned as bytes.

        Raises
        ------
        Error
            If the result is not what the program computes, or an input is not what it is said to
            be: make no share of it.
        """
        to = None if output is None else os.fspath(output)
        given = [(party, _place(file)) for party, file in inputs]
        steps = encoded(_steps(program, len(given)))
        return _kept(self._party.check(given, steps, _place(result), to), to)

    def share(
        self,
        result: Encrypted,
        transcripts: Sequence[Place],
        *,
        quorum: Sequence[int] = (),
        output: str | os.PathLike[str] | None = None,
    ) -> Place:
        """Make the share of a decryption, once: it is counted in the folder.

        Parameters
        ----------
        result : EncryptedFile
            What is decrypted.
        transcripts : sequence of path or bytes
            What `check` wrote: of this party, and of all whose inputs are in the result.
        quorum : sequence of int
            The parties that decrypt together; all by default.
        output : path, optional
            The file to write; without one the share is returned as bytes.

        Raises
        ------
        Error
            If the transcripts differ, one is missing, the result is another one, or this party has
            made its share of it.
        """
        to = None if output is None else os.fspath(output)
        made = self._party.share(_place(result), list(transcripts), list(quorum), to)
        return _kept(made, to)

    def combine(
        self,
        result: Encrypted,
        transcripts: Sequence[Place],
        shares: Sequence[Place],
        *,
        quorum: Sequence[int] = (),
    ) -> Any:
        """Decrypt a result from the shares of a quorum: a dict of the columns.

        This takes no secret: anybody does it who has the session, the transcripts and the shares.
        """
        return self._party.combine(
            _place(result), list(transcripts), list(shares), list(quorum)
        )

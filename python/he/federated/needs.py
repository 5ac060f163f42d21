"""What a session of federated averaging needs."""

from __future__ import annotations

from typing import Any

#: The fewest slots of parameters with room for floods.
_SLOTS = 2048


def needs(
    clients: int,
    *,
    numbers: int,
    threshold: int | None = None,
    rounds: int = 1000,
    precision_bits: int = 20,
) -> dict[str, Any]:
    """The arguments of `he.Party.create` for the client that begins the session.

    Parameters
    ----------
    clients : int
        How many clients there are, at least 2.
    numbers : int
        The numbers of the model: the sizes of all its arrays.
    threshold : int, optional
        How many decrypt together, more than half of them; by default as few as that allows. All
        others may drop out. Fewer than that many learn nothing together.
    rounds : int
        How many sums are ever decrypted.
    precision_bits : int
        Bits of precision of the sums, whose terms are at most 1.

    Raises
    ------
    ValueError
        For counts out of range.
    """
    least = clients // 2 + 1
    chosen = least if threshold is None else threshold
    if clients < 2 or numbers < 1 or rounds < 1:
        raise ValueError(
            f"{clients} clients, {numbers} numbers and {rounds} rounds, where at least 2, 1 and 1 are expected"
        )
    if not least <= chosen <= clients:
        # Two quorums then have a client in common, which helps to decrypt one sum of a round alone.
        raise ValueError(f"threshold: {chosen}, where {least} to {clients} of {clients} clients are expected")
    vectors = -(-(numbers + 2) // _SLOTS)
    return {
        "parties": clients,
        "threshold": None if chosen == clients else chosen,
        "depth": 0,
        "precision_bits": precision_bits,
        "range_bits": clients.bit_length() + 1,
        "decryptions": rounds * vectors,
    }

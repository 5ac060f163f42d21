"""All of a federation in one folder, for simulations and tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Union

from he.federated.needs import needs
from he.party import Party


def simulated(folder: Union[str, os.PathLike[str]], clients: int, **agreed: Any) -> dict[int, Party]:
    """Make the keys of a session whose clients all live here, who thus have no secrets.

    The clients are in the folders ``1``, ``2`` and so on, and ``server`` is for `Server`.

    Parameters
    ----------
    folder : path
        Where to.
    clients : int
        How many clients there are.
    agreed
        What else `needs` takes.
    """
    within = Path(folder)
    first = Party.create(within / "1", 1, **needs(clients, **agreed))
    parties = {1: first}
    for number in range(2, clients + 1):
        parties[number] = Party.create(within / str(number), number, session=first.session)
    messages = [party.share_keys() for party in parties.values()]
    seconds = [party.share_relinearisation(messages) for party in parties.values()]
    for party in parties.values():
        party.combine_keys(messages, seconds)
    if first.threshold < clients:
        dealt = [party.share_secret() for party in parties.values()]
        for number, party in parties.items():
            party.combine_secret([secrets[number] for secrets in dealt])
    (within / "server").mkdir()
    for path in (first.session, first.evaluation_key):
        (within / "server" / Path(path).name).write_bytes(Path(path).read_bytes())
    return parties

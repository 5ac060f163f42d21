"""Federated averaging of encrypted models, by clients who decrypt together.

Each client encrypts its weights under the collective key of a session of `he.Party`, and the server
adds them up. Nobody can decrypt an update alone: a quorum of clients decrypts the sum, each after
it has computed it again. Clients that drop out before are left out of the sum, or out of the quorum.
`he.federated.flower` and `he.federated.nvflare` do this inside of Flower and of NVIDIA FLARE.

The average of the weight vectors w_i with weights f_i is sum f_i w_i / sum f_i, where both sums
are encrypted. With p bits of precision (`needs`), it differs from the exact one by less than
2^(4 - p) bound / sum f_i in every number.

Examples
--------
>>> from he import federated
>>> parties = federated.simulated("here", 3, numbers=4)
>>> common = secrets.token_bytes(32)                      # never to the server
>>> clients = {i: federated.Client(party, i, common) for i, party in parties.items()}
>>> server = federated.Server("here/server")              # with session.he and eval.key
>>> updates = {i: clients[i].update([np.full((2, 2), float(i))]) for i in (1, 3)}
>>> def ask(step, numbers, files, quorum):
...     return {i: clients[i].answer(step, files, quorum) for i in numbers}
>>> server.average(updates, ask, [(2, 2)])[0].round(3)
array([[2., 2.],
       [2., 2.]])
"""

from he.federated.client import Client
from he.federated.needs import needs
from he.federated.server import Ask, RoundFailed, Server
from he.federated.simulation import simulated

__all__ = ["Ask", "Client", "RoundFailed", "Server", "needs", "simulated"]

"""The service: everything that can be asked of one vault, by noun.

Whoever hosts it, the HTTP API or an embedded client, hands in the caller's identity with each
request; nothing here trusts a request for more than that identity may do.
"""

from msgspec import Struct

from onceward.ports import Spawner
from onceward_controller.service.attempts import Attempts
from onceward_controller.service.credentials import Credentials
from onceward_controller.service.heads import Heads
from onceward_controller.service.listing import Listing
from onceward_controller.service.payloads import Payloads
from onceward_controller.service.rows import RowWriter
from onceward_controller.service.transact import Transactor
from onceward_controller.service.workflows import Workflows
from onceward_controller.vault.vault import Vault


class Service(Struct, frozen=True):
    """The nouns of one vault."""

    vault: Vault
    workflows: Workflows
    attempts: Attempts
    payloads: Payloads
    listing: Listing
    credentials: Credentials
    rows: RowWriter

    def close(self) -> None:
        """Write what is still to be written and let go of the store."""
        self.rows.flush()
        self.vault.close()


def assemble(vault: Vault, spawner: Spawner) -> Service:
    """Return the service of ``vault``."""
    heads = Heads(vault.time)
    rows = RowWriter(vault.index, spawner)
    transactor = Transactor(vault, heads, rows)
    payloads = Payloads(vault, transactor)
    return Service(
        vault=vault,
        workflows=Workflows(vault, heads, rows, transactor, payloads),
        attempts=Attempts(vault, transactor),
        payloads=payloads,
        listing=Listing(vault, rows, transactor),
        credentials=Credentials(vault),
        rows=rows,
    )

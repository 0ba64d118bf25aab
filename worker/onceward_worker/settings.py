"""Which controller, and with what credential.

The token comes from the environment and from nowhere else: what stands in ``argv`` can be read by
every user of the machine. It is taken out of the environment before the user's tools are imported,
so that neither they nor the programs they start are handed it.
"""

from collections.abc import MutableMapping
from dataclasses import dataclass

from onceward.client import SPOOL_KEY_VARIABLE
from onceward.wire.secrets import Secret

URL_VARIABLE = "ONCEWARD_URL"
TOKEN_VARIABLE = "ONCEWARD_TOKEN"
WORKSPACE_VARIABLE = "ONCEWARD_WORKSPACE"
URL_DEFAULT = "http://127.0.0.1:8686"
"""Where ``onceward up`` listens."""


class SettingsError(Exception):
    """Something that this process cannot do without was not given."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Where to ask, and as whom.

    Attributes:
        url: The controller's address.
        token: The credential.
        workspace: The workflow's workspace; where large results are stored.
        spool_key: What seals the spool; None for the key that lies in it.
    """

    url: str
    token: Secret[str]
    workspace: str
    spool_key: Secret[str] | None


def take(
    environment: MutableMapping[str, str], *, url: str | None, workspace: str | None
) -> Settings:
    """Return the settings, and leave no secret in ``environment``.

    Args:
        environment: Of this process; changed.
        url: From the command line; it wins over the environment.
        workspace: Likewise.

    Raises:
        SettingsError: There is no token.
    """
    token = environment.pop(TOKEN_VARIABLE, "").strip()
    spool_key = environment.pop(SPOOL_KEY_VARIABLE, "")
    if not token:
        raise SettingsError(
            f"no credential: put a worker's token into {TOKEN_VARIABLE}\n"
            "  next: onceward credential create --role worker --workflow ID --token-only"
        )
    return Settings(
        url=url or environment.get(URL_VARIABLE) or URL_DEFAULT,
        token=Secret(token),
        workspace=workspace or environment.get(WORKSPACE_VARIABLE) or "default",
        spool_key=Secret(spool_key) if spool_key else None,
    )

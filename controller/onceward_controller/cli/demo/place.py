"""The folder in which everything of a demo lies.

    README.md      what is published, unless --document names another file
    vault/         the controller's store and the key that opens it
    published/     where documents are published
    outbox/        where letters are posted
    copies/        where copies of letters are filed
    credentials/   the demo's own tokens, 0600, valid for a week
    logs/          what controller and workers had to say

It can be deleted whole. Nothing outside it is written.
"""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from onceward.exit_codes import ExitCode
from onceward.wire.identifiers import WorkflowId
from onceward.wire.limits import DAY_MS
from onceward.wire.messages import CreateCredential
from onceward.wire.problems import DeniedError
from onceward.wire.tokens import Role
from onceward_controller import bootstrap
from onceward_controller.cli import private_file
from onceward_controller.cli.demo import tools
from onceward_controller.cli.invocation import DEFAULT_WORKSPACE
from onceward_controller.cli.refusal import Refusal

CREDENTIAL_MS = 7 * DAY_MS

_DOCUMENT = """\
# The document that `onceward demo crash` publishes

A worker writes it into `published/`, and is killed before it can say so. Nobody knows then whether
it is there. Publishing it again might publish it twice; giving up might leave it out. So the next
worker asks the directory first, finds it, and writes the receipt that was lost.

| here | lies |
| --- | --- |
| `vault/` | what the controller wrote down, encrypted, and the key |
| `published/` | this document, once |
| `outbox/`, `copies/` | letters of `onceward demo lost-receipt`, and their copies |
| `credentials/` | the demo's own tokens |
| `logs/` | what the processes said |

The folder can be deleted at any time.
"""


@dataclass(frozen=True, slots=True)
class Place:
    """The folder; ``prepare`` makes one."""

    root: Path

    @property
    def vault(self) -> Path:
        """The controller's store."""
        return self.root / "vault"

    @property
    def logs(self) -> Path:
        """What processes had to say."""
        return self.root / "logs"

    @property
    def published(self) -> Path:
        """Where documents are published."""
        return self.root / tools.PUBLISHED

    @property
    def outbox(self) -> Path:
        """Where letters are posted."""
        return self.root / tools.OUTBOX

    @property
    def copies(self) -> Path:
        """Where copies of letters are filed."""
        return self.root / tools.COPIES

    @property
    def document(self) -> Path:
        """The demo's own document."""
        return self.root / "README.md"

    def token(self, role: Role, workflow: WorkflowId | None = None) -> str:
        """Return a token for this demo's controller, made now unless there is a good one.

        Whoever can read the vault's key may do so: it is what `onceward credential create` does
        on the controller's host.

        Args:
            role: Operator or worker.
            workflow: The one that a worker is confined to.

        Raises:
            PrivateFileError: The file that keeps it is not fit for use.
            ProblemError: The vault could not be read or written.
            UnlockError: The key file does not open the vault.
        """
        file = self.root / "credentials" / f"{workflow or role.value}.token"
        kept = private_file.read(file)
        with closing(bootstrap.open_embedded_service(self.vault)) as service:
            if kept is not None:
                try:
                    service.credentials.authenticate(kept.strip())
                except DeniedError:
                    pass
                else:
                    return kept.strip()
            body = CreateCredential(
                role=role,
                principal=f"demo-{role.value}",
                ttl_ms=CREDENTIAL_MS,
                workspace=DEFAULT_WORKSPACE,
                workflow=workflow,
            )
            made = service.credentials.create(bootstrap.HOST, body)
        private_file.write(file, f"{made.token}\n", replace=True)
        return made.token


def prepare(root: Path) -> Place:
    """Return the demo's folder, made now if it is not there.

    Raises:
        Refusal: The folder holds something else, or cannot be made.
    """
    place = Place(root.absolute())
    if root.exists() and not place.vault.is_dir() and any(root.iterdir()):
        raise Refusal(
            ExitCode.USAGE,
            f"the folder holds something that is not a demo's: `{root}`",
            "name another one, or one that is not there yet: --dir DIR",
        )
    for folder in (
        place.root,
        place.vault,
        place.logs,
        place.published,
        place.outbox,
        place.copies,
    ):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not place.document.exists():
        place.document.write_text(_DOCUMENT, encoding="utf-8")
    return place

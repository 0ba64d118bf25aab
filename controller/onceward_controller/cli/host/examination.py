"""What ``doctor`` looks at, one finding each, with its fix.

    key file   ours alone, whole            versions   what is installed, and what is missing
    disk       room for what is written     store      every promise of the probe
    vault      there, and the key opens it  clock      the store's against this host's

The store is the last to be asked, since a store that does not answer takes its time to do so.
"""

import shutil
import sys
from collections.abc import Callable
from importlib import metadata

from msgspec import Struct

from onceward.sealing import IntegrityError
from onceward.system import SystemClock, SystemEntropy, ThreadSpawner
from onceward.wire import limits
from onceward_controller import bootstrap
from onceward_controller.cli.host import place
from onceward_controller.cli.terminal import moments
from onceward_controller.settings import FolderStore, Settings
from onceward_controller.vault.keys import keyring
from onceward_controller.vault.keys.key_file import UnlockError, read_key_file
from onceward_controller.vault.keys.unlockers import FileUnlocker
from onceward_controller.vault.probe import examine as examine_store
from onceward_controller.vault.store import Store, StoreError

FREE_BYTES_MIN = 1024 * limits.MIB
"""Below this a vault in a file is near the point where nothing can be granted any more."""

_PACKAGES = (
    "onceward",
    "apscheduler",
    "argon2-cffi",
    "boto3",
    "cryptography",
    "litestar",
    "msgspec",
    "typer",
    "urllib3",
    "uvicorn",
)


class Finding(Struct, frozen=True):
    """One thing that was looked at.

    Attributes:
        name: What.
        seen: How it is.
        fix: What to do about it; empty when it is well.
    """

    name: str
    ok: bool
    seen: str
    fix: str = ""


class Report(Struct, frozen=True):
    """Everything that was looked at."""

    store: str
    findings: tuple[Finding, ...]


def examine(where: Settings) -> Report:
    """Look at everything that this host and ``where`` need in order to be trusted."""
    findings = [_versions(), _key_file(where)]
    if isinstance(where.store, FolderStore):
        folder = where.store.folder
        if not where.store.file.exists():
            init = f"make one: onceward init --store {folder}"
            findings.append(Finding("vault", ok=False, seen=f"none in {folder}", fix=init))
            return Report(store=place.name_of(where), findings=tuple(findings))
        free = shutil.disk_usage(folder).free
        findings.append(_disk(free))
    findings += _of_the_store(where)
    return Report(store=place.name_of(where), findings=tuple(findings))


def clock_finding(store_ms: int, local_ms: int) -> Finding:
    """Return how far the store's clock and this host's are apart, and whether leases can bear it.

    Args:
        store_ms: The store's time in one of its answers, Unix milliseconds.
        local_ms: This host's at the same moment.
    """
    apart_ms = store_ms - local_ms
    seen = f"store and host {moments.duration(abs(apart_ms))} apart"
    if abs(apart_ms) <= limits.CLOCK_ERROR_MS:
        return Finding("clock", ok=True, seen=seen)
    behind = "behind" if apart_ms > 0 else "ahead of"
    return Finding(
        "clock",
        ok=False,
        seen=f"this host is {moments.duration(abs(apart_ms))} {behind} the store",
        fix="let a time service set this host's clock: timedatectl set-ntp true",
    )


def _versions() -> Finding:
    seen = [f"python {sys.version.split()[0]}"]
    missing = []
    for name in _PACKAGES:
        try:
            seen.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        fix = 'pip install "onceward[controller]"'
        return Finding("versions", ok=False, seen=f"missing: {', '.join(missing)}", fix=fix)
    return Finding("versions", ok=True, seen=", ".join(seen))


def _key_file(where: Settings) -> Finding:
    try:
        read_key_file(where.key_file)
    except UnlockError as error:
        fix = "make it so, or name the right file: --key-file FILE"
        return Finding("key file", ok=False, seen=str(error), fix=fix)
    return Finding("key file", ok=True, seen=f"{where.key_file}, 0600, ours")


def _disk(free: int) -> Finding:
    seen = f"{free // limits.MIB:,} MiB free"
    if free >= FREE_BYTES_MIN:
        return Finding("disk", ok=True, seen=seen)
    return Finding("disk", ok=False, seen=seen, fix="free some: a full disk grants nothing")


def _of_the_store(where: Settings) -> list[Finding]:
    try:
        store = bootstrap.open_store(where.store)
    except StoreError as error:
        return [_unusable("store", error)]
    try:
        found = [
            _asked("clock", lambda: _clock(store)),
            _asked("vault", lambda: _vault(store, where)),
        ]
        try:
            report = examine_store(store, SystemEntropy(), ThreadSpawner())
        except StoreError as error:
            return [*found, _unusable("store", error)]
    finally:
        store.close()
    return found + [
        Finding(f"store: {each.name}", ok=each.ok, seen=each.seen, fix=each.advice)
        for each in report.findings
    ]


def _asked(name: str, look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except StoreError as error:
        return _unusable(name, error)


def _clock(store: Store) -> Finding:
    clock = SystemClock()
    began_ms = clock.wall_ms()
    store_ms = store.list("", limit=1).time_ms
    return clock_finding(store_ms, (began_ms + clock.wall_ms()) // 2)


def _vault(store: Store, where: Settings) -> Finding:
    try:
        keyring.open_keyring(store, FileUnlocker(where.key_file))
    except keyring.NoVaultError as error:
        return Finding("vault", ok=False, seen=str(error), fix="onceward init --help")
    except UnlockError as error:
        return Finding("vault", ok=False, seen=str(error), fix="name its key file: --key-file FILE")
    except IntegrityError as error:
        fix = "stop what writes to the store, and restore the keyring from a backup"
        return Finding("vault", ok=False, seen=f"damaged: {error}", fix=fix)
    return Finding("vault", ok=True, seen="there, and the key file opens it")


def _unusable(name: str, error: StoreError) -> Finding:
    fix = "check the address, the credentials, the bucket and the network"
    return Finding(name, ok=False, seen=str(error), fix=fix)

"""Another process on the same SQLite file: ``python -m tests.support.sqlite_process VERB PATH``.

race    says ``ready``; for each line it reads, tries to create that name and says won or lost
write   creates names from four threads without end, and says each name once it is acknowledged
cramp   may write no file beyond the size it reads; creates until that fails, and says how
fork    opens the file, forks, and says what the child is told
"""

import os
import resource
import signal
import sys
import threading
from functools import partial
from pathlib import Path

from onceward.system import SystemClock, ThreadSpawner
from onceward_controller.vault.sqlite import SqliteStore
from onceward_controller.vault.store import ConflictError, StoreError

BODY_BYTES = 1200
CRAMPED_BYTES = 64 * 1024


def main(verb: str, path: Path) -> None:
    store = SqliteStore(path, SystemClock())
    match verb:
        case "race":
            _race(store)
        case "write":
            _write(store)
        case "cramp":
            _cramp(store, int(input()))
        case "fork":
            _fork(store)
        case _:
            raise SystemExit(f"unknown verb: {verb}")
    store.close()


def body_of(name: str) -> bytes:
    return name.encode().ljust(BODY_BYTES, b".")


def _race(store: SqliteStore) -> None:
    _say("ready")
    for line in sys.stdin:
        try:
            store.create(line.strip(), str(os.getpid()).encode())
        except ConflictError:
            _say("lost")
        else:
            _say("won")


def _write(store: SqliteStore) -> None:
    voice = threading.Lock()

    def run(thread: int) -> None:
        number = 0
        while True:
            name = f"w/{thread}/{number:08}"
            store.create(name, body_of(name))
            number += 1
            with voice:
                _say(name)

    spawner = ThreadSpawner()
    tasks = [spawner.spawn("writer", partial(run, thread)) for thread in range(4)]
    for task in tasks:
        task.join()


def _cramp(store: SqliteStore, file_bytes_max: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes_max, resource.RLIM_INFINITY))
    number = 0
    while True:
        name = f"w/{number:08}"
        try:
            store.create(name, name.encode().ljust(CRAMPED_BYTES, b"."))
        except StoreError as error:
            _say(f"{type(error).__name__} {name}")
            break
        _say(name)
        number += 1
    sys.stdout.flush()
    os._exit(0)


def _fork(store: SqliteStore) -> None:
    child = os.fork()
    if child == 0:
        for call in (lambda: store.create("a/1", b"x"), lambda: store.get("a/1")):
            try:
                call()
                _say("accepted")
            except StoreError as error:
                _say(type(error).__name__)
        store.close()
        os._exit(0)
    os.waitpid(child, 0)
    store.create("a/1", b"parent")
    _say("parent wrote")


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

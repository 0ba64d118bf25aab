"""The floor: a row of a sealed revision's size into SQLite (WAL, FULL) and a commit, each step."""

import sqlite3
import threading

from benchmarks.systems.measure import CHAIN, measure, request

BODY = b"\x55" * 1155


def main() -> None:
    """Measure what the command line asks for."""
    asked = request()
    connection = sqlite3.connect(
        asked.folder / "raw.db", isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE objects (name TEXT PRIMARY KEY, body BLOB) WITHOUT ROWID")
    lock = threading.Lock()

    def run(key: str) -> None:
        for number in range(CHAIN):
            with lock:
                connection.execute("INSERT INTO objects VALUES (?, ?)", (f"{key}/{number}", BODY))

    measure(asked, run, connection.close)


if __name__ == "__main__":
    main()

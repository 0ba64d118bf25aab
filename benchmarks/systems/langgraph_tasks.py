"""LangGraph's functional API: one ``@task`` a step, ``SqliteSaver``, ``durability="sync"``."""

import sqlite3
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task

from benchmarks.systems.measure import CHAIN, RESULT, measure, request


def main() -> None:
    """Measure what the command line asks for."""
    asked = request()
    connection = sqlite3.connect(asked.folder / "checkpoints.db", check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()

    @task
    def step(number: int) -> dict[str, str]:
        return RESULT

    @entrypoint(checkpointer=saver)
    def chain(length: int) -> int:
        for number in range(length):
            step(number).result()
        return length

    def run(key: str) -> None:
        config: Any = {"configurable": {"thread_id": key}}
        assert chain.invoke(CHAIN, config, durability="sync") == CHAIN

    measure(asked, run, connection.close)


if __name__ == "__main__":
    main()

"""DBOS on SQLite: one ``@DBOS.step`` a step."""

import logging

from dbos import DBOS, DBOSConfig, SetWorkflowID

from benchmarks.systems.measure import CHAIN, RESULT, measure, request


def main() -> None:
    """Measure what the command line asks for."""
    asked = request()
    config: DBOSConfig = {
        "name": "bench",
        "system_database_url": f"sqlite:///{asked.folder / 'dbos.sqlite'}",
    }
    logging.disable(logging.WARNING)
    DBOS(config=config)

    @DBOS.step()
    def step(number: int) -> dict[str, str]:
        return RESULT

    @DBOS.workflow()
    def chain(length: int) -> int:
        for number in range(length):
            step(number)
        return length

    DBOS.launch()

    def run(key: str) -> None:
        with SetWorkflowID(key):
            assert chain(CHAIN) == CHAIN

    measure(asked, run, DBOS.destroy)


if __name__ == "__main__":
    main()

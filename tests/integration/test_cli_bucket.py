"""A vault in a bucket: made, examined, let into and served by the program."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.moto_server import running_moto_server
from tests.support.operator_program import Program


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[Program]:
    """The program, told of a bucket and its key file by the environment alone."""
    with running_moto_server() as settings:
        assert settings.endpoint_url is not None
        yield Program(tmp_path).telling(
            ONCEWARD_STORE=f"s3://{settings.bucket}/team/vault",
            ONCEWARD_S3_ENDPOINT_URL=settings.endpoint_url,
            ONCEWARD_S3_ADDRESSING="path",
            ONCEWARD_KEY_FILE=str(tmp_path / "keys" / "vault.key"),
            AWS_ACCESS_KEY_ID="tests",
            AWS_SECRET_ACCESS_KEY="tests",
        )


def test_a_bucket_holds_a_vault_that_serve_serves(bucket: Program) -> None:
    missing = bucket.run("serve", "--port", "0")
    assert (missing.code, "no vault in this store" in missing.err) == (6, True)

    made = bucket.run("init")
    assert made.code == 0, made.err
    assert made.data["store"].startswith("s3://")
    assert f"onceward serve --store {made.data['store']} --key-file " in made.err

    examined = bucket.run("doctor")
    assert examined.code == 0, examined.err
    local = bucket.run("credential", "create", "--role", "operator", "--store", made.data["store"])
    assert local.data["token"].startswith("owo_")

    with subprocess.Popen(
        [sys.executable, "-m", "onceward_controller", "serve", "--port", "0"],
        cwd=bucket.home,
        env=bucket.environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            url = process.stderr.readline().split()[1].rstrip(",")
            operator = bucket.telling(ONCEWARD_URL=url, ONCEWARD_TOKEN=local.data["token"])
            assert operator.run("status").data["store"] == "reachable"
        finally:
            process.terminate()
        assert process.wait(30) == 0

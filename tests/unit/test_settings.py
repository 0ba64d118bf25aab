"""Settings: what a controller process is told, and what it says when that means nothing."""

from pathlib import Path

import pytest

from onceward_controller.settings import (
    LOOPBACK_HOSTS,
    PORT_DEFAULT,
    BucketStore,
    FolderStore,
    SettingsError,
    read_settings,
)

FOLDER = {"ONCEWARD_STORE": "vault"}
BUCKET = {"ONCEWARD_STORE": "s3://records/onceward", "ONCEWARD_KEY_FILE": "/keys/vault.key"}


def test_a_folder_alone_is_enough_and_is_served_on_loopback() -> None:
    settings = read_settings(FOLDER)

    assert settings.store == FolderStore(Path("vault"))
    assert settings.key_file == Path("vault/vault.key")
    assert (settings.host, settings.port) == ("127.0.0.1", PORT_DEFAULT)
    assert settings.allowed_hosts == LOOPBACK_HOSTS


def test_a_bucket_is_told_with_all_that_reaching_it_takes() -> None:
    settings = read_settings(
        BUCKET
        | {
            "ONCEWARD_S3_ENDPOINT_URL": "http://127.0.0.1:8333",
            "ONCEWARD_S3_REGION": "eu-central-1",
            "ONCEWARD_S3_ADDRESSING": "path",
            "ONCEWARD_S3_INSTANCE_METADATA": "yes",
        }
    )

    assert settings.store == BucketStore(
        bucket="records",
        prefix="onceward/",
        endpoint_url="http://127.0.0.1:8333",
        region="eu-central-1",
        addressing="path",
        instance_metadata=True,
    )
    assert settings.key_file == Path("/keys/vault.key")


@pytest.mark.parametrize(
    ("store", "prefix"),
    [
        ("s3://records", ""),
        ("s3://records/", ""),
        ("s3://records/a", "a/"),
        ("s3://records/a/b/", "a/b/"),
    ],
)
def test_a_prefix_ends_in_a_slash_or_is_empty(store: str, prefix: str) -> None:
    settings = read_settings(BUCKET, store=store)

    assert isinstance(settings.store, BucketStore)
    assert settings.store.prefix == prefix


def test_a_flag_wins_over_the_environment() -> None:
    settings = read_settings(
        FOLDER | {"ONCEWARD_PORT": "9000", "ONCEWARD_HOST": "::1"}, store="other", port=0
    )

    assert settings.store == FolderStore(Path("other"))
    assert (settings.host, settings.port) == ("::1", 0)


def test_an_empty_variable_counts_as_not_set() -> None:
    assert read_settings(FOLDER | {"ONCEWARD_PORT": "", "ONCEWARD_KEY_FILE": ""}) == read_settings(
        FOLDER
    )


def test_hosts_are_compared_in_lower_case() -> None:
    settings = read_settings(
        FOLDER
        | {
            "ONCEWARD_HOST": "0.0.0.0",  # noqa: S104  # only text here
            "ONCEWARD_ALLOWED_HOSTS": "Onceward.Example.com, 10.0.0.7,[fd00::1]",
        }
    )

    assert settings.allowed_hosts == ("onceward.example.com", "10.0.0.7", "[fd00::1]")


@pytest.mark.parametrize(
    ("environment", "variable"),
    [
        ({}, "ONCEWARD_STORE"),
        ({"ONCEWARD_STORE": "https://records"}, "ONCEWARD_STORE"),
        ({"ONCEWARD_STORE": "s3://"}, "ONCEWARD_STORE"),
        ({"ONCEWARD_STORE": "s3://Records"}, "ONCEWARD_STORE"),
        ({"ONCEWARD_STORE": "s3://records/a b"}, "ONCEWARD_STORE"),
        ({"ONCEWARD_STORE": "s3://records"}, "ONCEWARD_KEY_FILE"),
        (BUCKET | {"ONCEWARD_S3_ENDPOINT_URL": "minio:9000"}, "ONCEWARD_S3_ENDPOINT_URL"),
        (BUCKET | {"ONCEWARD_S3_ENDPOINT_URL": "ftp://minio"}, "ONCEWARD_S3_ENDPOINT_URL"),
        (BUCKET | {"ONCEWARD_S3_ENDPOINT_URL": "http://minio:9000"}, "ONCEWARD_S3_PLAIN_HTTP"),
        (BUCKET | {"ONCEWARD_S3_ADDRESSING": "dns"}, "ONCEWARD_S3_ADDRESSING"),
        (BUCKET | {"ONCEWARD_S3_INSTANCE_METADATA": "1"}, "ONCEWARD_S3_INSTANCE_METADATA"),
        (FOLDER | {"ONCEWARD_PORT": "http"}, "ONCEWARD_PORT"),
        (FOLDER | {"ONCEWARD_PORT": "65536"}, "ONCEWARD_PORT"),
        (FOLDER | {"ONCEWARD_PORT": "9" * 5_000}, "ONCEWARD_PORT"),
        (FOLDER | {"ONCEWARD_PORT": "000000099999"}, "ONCEWARD_PORT"),
        (FOLDER | {"ONCEWARD_PORT": "-1"}, "ONCEWARD_PORT"),
        (FOLDER | {"ONCEWARD_HOST": "0.0.0.0"}, "ONCEWARD_ALLOWED_HOSTS"),  # noqa: S104  # only text
        (FOLDER | {"ONCEWARD_ALLOWED_HOSTS": "*"}, "ONCEWARD_ALLOWED_HOSTS"),
        (FOLDER | {"ONCEWARD_ALLOWED_HOSTS": "https://a.example"}, "ONCEWARD_ALLOWED_HOSTS"),
        (FOLDER | {"ONCEWARD_ALLOWED_HOSTS": "a.example:8686"}, "ONCEWARD_ALLOWED_HOSTS"),
    ],
)
def test_what_means_nothing_is_refused_by_the_name_of_the_variable(
    environment: dict[str, str], variable: str
) -> None:
    with pytest.raises(SettingsError, match=variable):
        read_settings(environment)


def test_plain_http_to_another_machine_is_used_where_it_is_asked_for() -> None:
    settings = read_settings(
        BUCKET | {"ONCEWARD_S3_ENDPOINT_URL": "http://minio:9000", "ONCEWARD_S3_PLAIN_HTTP": "yes"}
    )

    assert isinstance(settings.store, BucketStore)
    assert settings.store.endpoint_url == "http://minio:9000"


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    address = "https://user:hunter2@minio:9000"

    with pytest.raises(SettingsError) as refused:
        read_settings(BUCKET | {"ONCEWARD_S3_ENDPOINT_URL": address})

    assert "hunter2" not in str(refused.value)

"""The few S3 calls that snapshots need, and their errors in our words.

Nothing is tried again here: whoever calls knows how long a thing is worth trying. Every object is
put with its SHA-256, which the server compares with what it received and repeats in the answer to
a HEAD; so a HEAD proves contents without a download, on any S3 server that knows checksums.
"""

from __future__ import annotations

import base64
import binascii
import functools
import hashlib
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
from urllib3.exceptions import HTTPError

from tasks.snapshots.errors import StoreError, StoreRefused, StoreUnavailable

_DELETES_A_CALL = 1000
_BUSY = {"SlowDown", "Throttling", "RequestTimeout", "ServiceUnavailable", "InternalError", "RequestTimeTooSkewed"}

_opening = threading.Lock()  # a session may be shared by threads, but not while it makes a client


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where snapshots go. Keys are found as boto3 always finds them, and are never in here.

    Attributes:
        endpoint: the address of the S3 server, such as http://127.0.0.1:8333.
        bucket: it must exist.
        prefix: what all keys start with; everything of our form below it belongs to one target.
        part_bytes: the size of an object; a part must be taken within `connect_timeout_s`.
        connect_timeout_s: the bound of a connection, and of sending one part over it.
        read_timeout_s: the bound of an answer.
    """

    endpoint: str
    bucket: str
    prefix: str
    part_bytes: int = 8 * 2**20
    region: str = "us-east-1"
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 20.0

    def __post_init__(self) -> None:
        if not self.prefix.strip("/") or self.prefix != self.prefix.strip("/"):
            raise ValueError(f"prefix {self.prefix!r} must be a path without a slash at its start or end")
        if self.part_bytes < 1:
            raise ValueError(f"part_bytes is {self.part_bytes}, and must be at least 1")


@dataclass(frozen=True, slots=True)
class Head:
    """What the server says of an object; its SHA-256 in hexadecimal, None where it has none."""

    size: int
    sha256: str | None


class Bucket:
    """One bucket; safe to use from several threads."""

    def __init__(self, settings: StoreSettings, keys: Mapping[str, str] | None, connections: int) -> None:
        """Prepare to talk to the server, without doing so.

        Args:
            settings: where it is.
            keys: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of our own server; None takes boto3's chain.
            connections: how many calls there may be at a time without a new connection for each.
        """
        self.settings = settings
        with self._translated("", "opening"), _opening:
            self._client: Any = _session().client(
                "s3",
                endpoint_url=settings.endpoint,
                region_name=settings.region,
                aws_access_key_id=keys["AWS_ACCESS_KEY_ID"] if keys else None,
                aws_secret_access_key=keys["AWS_SECRET_ACCESS_KEY"] if keys else None,
                config=_config(settings, connections),
            )

    def create(self) -> None:
        """Make the bucket, unless it is there."""
        try:
            with self._translated("", "CREATE"):
                self._client.create_bucket(Bucket=self.settings.bucket)
        except _Exists:
            return

    def put(self, key: str, data: bytes | bytearray, sha256: bytes) -> str | None:
        """Write an object; the server refuses what has another SHA-256. Returns the one that it repeats."""
        with self._translated(key, "PUT"):
            answer = self._client.put_object(
                Bucket=self.settings.bucket, Key=key, Body=data, ChecksumSHA256=base64.b64encode(sha256).decode()
            )
        return _hexadecimal(answer)

    def head(self, key: str) -> Head | None:
        """What the server says of an object; None where there is none."""
        try:
            with self._translated(key, "HEAD"):
                answer = self._client.head_object(Bucket=self.settings.bucket, Key=key, ChecksumMode="ENABLED")
        except _NoSuchKey:
            return None
        return Head(answer["ContentLength"], _hexadecimal(answer))

    def get(self, key: str) -> bytes | None:
        """An object's bytes; None where there is none."""
        try:
            with self._translated(key, "GET"):
                data: bytes = self._client.get_object(Bucket=self.settings.bucket, Key=key)["Body"].read()
        except _NoSuchKey:
            return None
        return data

    def sizes(self, prefix: str, page: int = 1000) -> dict[str, int]:
        """Every key that starts with a prefix, with its size in bytes, whatever the paging."""
        found: dict[str, int] = {}
        arguments: dict[str, Any] = {"Bucket": self.settings.bucket, "Prefix": prefix, "MaxKeys": page}
        while True:
            with self._translated(prefix, "LIST"):
                answer = self._client.list_objects_v2(**arguments)
            found.update({item["Key"]: int(item["Size"]) for item in answer.get("Contents", ())})
            if not answer.get("IsTruncated"):
                return found
            arguments["ContinuationToken"] = answer["NextContinuationToken"]

    def delete(self, keys: Sequence[str]) -> None:
        """Remove objects, in this order; some that are not there are no error."""
        for start in range(0, len(keys), _DELETES_A_CALL):
            some = keys[start : start + _DELETES_A_CALL]
            with self._translated(some[0], "DELETE"):
                answer = self._client.delete_objects(
                    Bucket=self.settings.bucket,
                    Delete={"Objects": [{"Key": key} for key in some], "Quiet": True},
                )
            for problem in answer.get("Errors", ()):
                raise StoreUnavailable(self.message(problem.get("Key", some[0]), "DELETE", problem.get("Message", "")))

    def try_out(self, key: str) -> None:
        """Write an object, read it again and remove it.

        Raises:
            StoreError: it cannot be done, or the server does not vouch for what it took.
        """
        data = secrets.token_bytes(16)
        sha256 = hashlib.sha256(data)
        vouched = self.put(key, data, sha256.digest())
        if self.get(key) != data or vouched != sha256.hexdigest():
            problem = "what was written could not be read again with its checksum"
            mend = "use an S3 server that keeps x-amz-checksum-sha256"
            raise StoreRefused(self.message(key, "PUT", problem, mend))
        self.delete([key])

    def message(self, key: str, call: str, problem: str, mend: str = "see that the server runs, or try later") -> str:
        """An error's text: where, what and how to mend it."""
        place = f"{self.settings.endpoint}/{self.settings.bucket}/{key}"
        return f"{place}: {call}: {problem} ({mend})"

    @contextmanager
    def _translated(self, key: str, call: str) -> Iterator[None]:
        try:
            yield
        except ClientError as error:
            raise self._of_answer(error, key, call) from error
        except NoCredentialsError as error:
            mend = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or another source that boto3 reads"
            raise StoreRefused(self.message(key, call, "there are no keys", mend)) from error
        except RecursionError as error:  # boto3 follows redirects without an end
            mend = "name the address of an S3 server in the settings"
            raise StoreRefused(self.message(key, call, "redirected again and again", mend)) from error
        except ValueError as error:
            raise StoreRefused(self.message(key, call, str(error), "mend the endpoint in the settings")) from error
        except (BotoCoreError, HTTPError, OSError) as error:
            raise StoreUnavailable(self.message(key, call, str(error))) from error

    def _of_answer(self, error: ClientError, key: str, call: str) -> StoreError:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = error.response.get("Error", {}).get("Code", "")
        text = f"{status} {code}: {error.response.get('Error', {}).get('Message', '')}".rstrip(": ")
        if status == 404 and call not in ("GET", "HEAD") and code != "NoSuchBucket":
            mend = "name the address of an S3 server in the settings"
            return StoreRefused(self.message(key, call, f"{text}: this is no S3 server", mend))
        if status == 404 and code != "NoSuchBucket":
            return _NoSuchKey(self.message(key, call, text, "suspend the sandbox again"))
        if code in ("BucketAlreadyOwnedByYou", "BucketAlreadyExists"):
            return _Exists(self.message(key, call, text, "take another bucket"))
        if status in (408, 429) or status >= 500 or code in _BUSY:
            return StoreUnavailable(self.message(key, call, text))
        if code in ("BadDigest", "XAmzContentChecksumMismatch"):
            return StoreUnavailable(self.message(key, call, f"{text} (damaged on its way)", "it is tried again"))
        if code == "NoSuchBucket":
            return StoreRefused(self.message(key, call, text, "create the bucket, or mend its name in the settings"))
        return StoreRefused(self.message(key, call, text, "mend the keys, their permissions, or the settings"))


class _NoSuchKey(StoreRefused):
    """There is no such object."""


class _Exists(StoreRefused):
    """There is such a bucket already."""


@functools.cache
def _session() -> Any:
    """One for all buckets: it takes a tenth of a second to read what S3 is, each time."""
    return boto3.session.Session()


def _config(settings: StoreSettings, connections: int) -> Config:
    return Config(
        connect_timeout=settings.connect_timeout_s,
        read_timeout=settings.read_timeout_s,
        max_pool_connections=connections,
        retries={"total_max_attempts": 1},
        # The SHA-256 of a part is in a signed header, and the server compares it with what it
        # receives. So boto3 need not hash the same bytes twice more, for the signature and for a CRC.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": "path", "payload_signing_enabled": False},
    )


def _hexadecimal(answer: Mapping[str, Any]) -> str | None:
    try:
        return base64.b64decode(answer.get("ChecksumSHA256", ""), validate=True).hex() or None
    except binascii.Error:
        return None

"""The keys of the log: a secret for keyed digests and an Ed25519 pair for the signed head.

They lie in one directory (0700), the secrets readable by their owner only (0600). They are made
once by `counterfoil init` and never overwritten; a missing or loose one is an error, not a default.
"""

from __future__ import annotations

import hmac
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from gateway.errors import RecordError
from gateway.kit import canon
from gateway.model.names import Json

HMAC_FILE: Final = "log.hmac"
HEAD_FILE: Final = "head.key"
PUBLIC_FILE: Final = "head.pub"
HMAC_BYTES: Final = 32
_MAX_BYTES: Final = 65_536
_REMEDY: Final = "run `counterfoil init` (or `counterfoil audit keygen`) once"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogKeys:
    """`secret` keys the digests of values; `head` signs checkpoints."""

    secret: bytes = field(repr=False)
    head: Ed25519PrivateKey = field(repr=False)

    @property
    def public(self) -> bytes:
        """The raw public key of the head (32 bytes)."""
        return self.head.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def digest(self, field_name: str, value: Json) -> str:
        """Return `hmac-sha256:<hex>` of a value under its field's name; its type counts too.

        A text may be a file name that is not valid Unicode.
        """
        if isinstance(value, str):
            return self.digest_bytes(f"{field_name}\0str", value.encode("utf-8", "surrogatepass"))
        message = canon.dumps([field_name, type(value).__name__, value])
        return "hmac-sha256:" + hmac.digest(self.secret, message, "sha256").hex()

    def digest_bytes(self, field_name: str, value: bytes) -> str:
        """Return the keyed digest of bytes under their field's name."""
        message = field_name.encode() + b"\0bytes\0" + value
        return "hmac-sha256:" + hmac.digest(self.secret, message, "sha256").hex()

    def seal(self, body: bytes) -> str:
        """Return the keyed digest that seals a file of our own."""
        return self.digest_bytes("seal", body)


def create(directory: Path, random: Callable[[int], bytes] = os.urandom) -> list[Path]:
    """Make the keys that are missing; return the files made.

    Raises:
        RecordError: the directory cannot be made or written, or a key that is there is not right.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = []
        if not (directory / HMAC_FILE).exists():
            made.append(_write(directory / HMAC_FILE, random(HMAC_BYTES)))
        if not (directory / HEAD_FILE).exists():
            private = Ed25519PrivateKey.from_private_bytes(random(32))
            pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            made.append(_write(directory / HEAD_FILE, pem))
        if not (directory / PUBLIC_FILE).exists():
            public = load(directory).head.public_key()
            pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
            made.append(_write(directory / PUBLIC_FILE, pem))
    except OSError as error:
        raise RecordError(f"{error.filename or directory}: {error.strerror}") from None
    return made


def load(directory: Path) -> LogKeys:
    """Read the keys.

    Raises:
        RecordError: one is missing, readable by others, or not what it should be.
    """
    secret = _read(directory / HMAC_FILE)
    if len(secret) != HMAC_BYTES:
        raise RecordError(f"{directory / HMAC_FILE}: not {HMAC_BYTES} bytes; restore it")
    try:
        head = load_pem_private_key(_read(directory / HEAD_FILE), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        head = None
    if not isinstance(head, Ed25519PrivateKey):
        raise RecordError(f"{directory / HEAD_FILE}: not an Ed25519 private key in PEM; restore it")
    return LogKeys(secret=secret, head=head)


def load_public(path: Path) -> bytes:
    """Read the public key of a head (PEM); return it raw.

    Raises:
        RecordError: it is missing or no Ed25519 key.
    """
    try:
        data = path.read_bytes()
        key = load_pem_public_key(data)
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}; {_REMEDY}") from None
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise RecordError(f"{path}: not an Ed25519 public key in PEM")
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def _read(path: Path) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(fd, "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise RecordError(f"{path}: not a regular file")
            if found.st_mode & 0o077:
                raise RecordError(f"{path}: others may read it; chmod 0600 {path}")
            return file.read(_MAX_BYTES)
    except FileNotFoundError:
        raise RecordError(f"{path}: missing; {_REMEDY}") from None
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from None


def _write(path: Path, data: bytes) -> Path:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return path

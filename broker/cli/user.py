"""`user add|list|disable`. A password comes from a prompt or from standard input, never argv."""

from __future__ import annotations

import getpass
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from broker.cli import options
from broker.config import NAME
from broker.errors import AdminError
from broker.grants.login import MAX_PASSWORD
from broker.store import users

if TYPE_CHECKING:
    import argparse

MIN_PASSWORD = 8


def add(commands: options.Commands) -> None:
    """Add the commands."""
    group = options.add_group(
        commands, "user", text="manage the people who log in", example="user add alice"
    )
    parser = options.add_command(
        group, "add", add_user, text="add a user", example="user add alice --password-stdin <file"
    )
    parser.add_argument("name", help="a short lower-case name")
    parser.add_argument(
        "--password-stdin", action="store_true", help="read the password's line from standard input"
    )
    options.add_command(
        group, "list", list_users, text="list the users", example="user list --json"
    )
    parser = options.add_command(
        group,
        "disable",
        disable,
        text="shut a user out; sessions and live tokens end at once",
        example="user disable alice",
    )
    parser.add_argument("name")


def add_user(arguments: argparse.Namespace) -> int:
    """Add one user."""
    if not NAME.fullmatch(arguments.name):
        raise AdminError(f"name: must fit {NAME.pattern}")
    _, store = options.open_store(arguments)
    hashed = users.hash_password(_password(from_stdin=arguments.password_stdin))
    with store.write() as connection:
        if not users.add(connection, name=arguments.name, password_hash=hashed, now=options.now()):
            raise AdminError(f"user {arguments.name} exists already")
    store.close()
    options.show(arguments, {"user": arguments.name}, [f"added user {arguments.name}"])
    return 0


def list_users(arguments: argparse.Namespace) -> int:
    """List every user."""
    _, store = options.open_store(arguments)
    with store.read() as connection:
        found = users.all_users(connection)
    store.close()
    lines = [f"{user.name}  {'enabled' if user.enabled else 'disabled'}" for user in found]
    options.show(arguments, [asdict(user) for user in found], lines)
    return 0


def disable(arguments: argparse.Namespace) -> int:
    """Shut one user out."""
    _, store = options.open_store(arguments)
    with store.write() as connection:
        if not users.disable(connection, arguments.name):
            raise AdminError(f"user {arguments.name}: no such user")
    store.close()
    options.show(arguments, {"user": arguments.name}, [f"disabled user {arguments.name}"])
    return 0


def _password(*, from_stdin: bool) -> str:
    if from_stdin:
        password = sys.stdin.readline().rstrip("\n")
    else:
        password = getpass.getpass("Password: ")
        if getpass.getpass("Again: ") != password:
            raise AdminError("password: the two differ")
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        raise AdminError(f"password: must have {MIN_PASSWORD} to {MAX_PASSWORD} characters")
    return password

"""Arguments of Salt's states that several state functions ignore or refuse, as groups for `**_: Unpack[Group]`.

A group of one function stands beside it. The engine, lint and the documentation read them through the signatures.
"""

from __future__ import annotations

from typing import Annotated, TypedDict

from minion.arguments.types import Ignored, Unsupported, Value, WindowsOnly

NoOutput = Annotated[Value, Ignored("the output of a command stands in the result, and nowhere else")]
OldOption = Annotated[Value, Ignored("the program has no such option any more")]
UseTheFile = Annotated[Value, Unsupported("write it into the requirements file or pip's own configuration")]
LocalOnly = Annotated[Value, Unsupported("useradd and groupadd know the local files alone")]
MountAsRoot = Annotated[Value, Unsupported("mount as root")]
AbsentKey = Annotated[Value, Unsupported("take the file of the key away with file.absent")]
PackageHold = Annotated[Value, Ignored("the hold is on the package, whatever its version")]
WholeKey = Annotated[Value, Ignored("keys are compared as a whole, not by fingerprints")]


class WindowsOwner(TypedDict, total=False):
    """Owner and access control of Windows."""

    win_owner: WindowsOnly
    win_perms: WindowsOnly
    win_deny_perms: WindowsOnly
    win_inheritance: WindowsOnly
    win_perms_reset: WindowsOnly


class GitOptions(TypedDict, total=False):
    """What all states of git have."""

    output_encoding: Annotated[Value, Ignored("the output of git is read as UTF-8")]
    password: Annotated[Value, Unsupported("keep the credentials in the URL's store, or use identity")]


class CommandOptions(TypedDict, total=False):
    """What all states that run a command have."""

    password: WindowsOnly
    output_loglevel: NoOutput
    use_vt: NoOutput


class LocalAccounts(TypedDict, total=False):
    """What all states of users and groups have."""

    local: LocalOnly

"""The version of the client is that of the workspace, defined only in its Cargo.toml.

A source distribution is outside the workspace; there, its own PKG-INFO has the version.
"""

import tomllib
from email.parser import Parser
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).resolve().parent


def version() -> str:
    """The version, as MAJOR.MINOR.PATCH."""
    workspace = HERE.parents[1] / "Cargo.toml"
    if workspace.exists():
        return str(tomllib.loads(workspace.read_text("utf-8"))["workspace"]["package"]["version"])
    return str(Parser().parsestr((HERE / "PKG-INFO").read_text("utf-8"))["Version"])


setup(version=version())

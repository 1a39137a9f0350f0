# SPDX-License-Identifier: MIT
"""The version of the package. pyproject.toml has the rest."""
import pathlib

from setuptools import setup

HERE = pathlib.Path(__file__).resolve().parent

setup(version=(HERE.parent.parent / "VERSION").read_text().strip())

# SPDX-License-Identifier: MIT
"""The version, and the tag of a wheel with libannex.so. pyproject.toml has the rest."""
import pathlib

from setuptools import Distribution, setup

HERE = pathlib.Path(__file__).resolve().parent
options = {"version": (HERE.parent.parent / "VERSION").read_text().strip()}

if (HERE / "annex" / "libannex.so").exists():
    from setuptools.command.bdist_wheel import bdist_wheel

    class AnyPython(bdist_wheel):
        """ctypes opens the library, so it serves every Python of its machine."""

        def get_tag(self):
            return "py3", "none", super().get_tag()[2]

    class OneMachine(Distribution):
        def has_ext_modules(self):
            return True

    options.update(cmdclass={"bdist_wheel": AnyPython}, distclass=OneMachine)

setup(**options)

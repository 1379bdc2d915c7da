"""The wheel's tag: any Python 3, but one platform, as the C++ core is loaded with ctypes."""

import os

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class WithLibraries(Distribution):
    """A package whose compiled libraries setuptools doesn't build itself."""

    def has_ext_modules(self):
        """The package belongs to one platform."""
        return True


class PlatformWheel(bdist_wheel):
    """A wheel with compiled libraries that don't depend on Python's version."""

    def get_tag(self):
        """Any Python, this platform or the one that was asked for."""
        _, _, here = super().get_tag()
        return "py3", "none", os.environ.get("FEWLABELS_WHEEL", here)


setup(distclass=WithLibraries, cmdclass={"bdist_wheel": PlatformWheel})

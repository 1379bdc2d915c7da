"""The wheel's tag: any Python 3, but one platform, as the C++ core is loaded with ctypes."""

import os

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel


class PlatformWheel(bdist_wheel):
    """A wheel with compiled libraries that don't depend on Python's version."""

    def finalize_options(self):
        """Let the wheel be one for a platform."""
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        """Any Python, this platform or the one that was asked for."""
        _, _, here = super().get_tag()
        return "py3", "none", os.environ.get("FEWLABELS_WHEEL", here)


setup(cmdclass={"bdist_wheel": PlatformWheel})

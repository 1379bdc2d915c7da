"""The build backend: setuptools', after compiling the C++ core.

An installed compiler is used. Without one, the build requests the ``ziglang`` wheel, which
brings one. ``FEWLABELS_WHEEL`` names the platform of the wheel, one of ``compile.WHEELS``.
"""

import os
import shutil
import sys
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import (  # noqa: F401 - hooks that need no change
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

sys.path.insert(0, str(Path(__file__).parent))
import compile as core

sys.path.pop(0)


def _compiler():
    return [] if core.find_compiler(_target()) else ["ziglang>=0.13"]


def _target():
    platform = os.environ.get("FEWLABELS_WHEEL")
    return core.WHEELS[platform] if platform else core.Target()


def get_requires_for_build_wheel(config_settings=None):
    """What setuptools needs, and a compiler if there is none."""
    return build_meta.get_requires_for_build_wheel(config_settings) + _compiler()


def get_requires_for_build_editable(config_settings=None):
    """What setuptools needs, and a compiler if there is none."""
    return build_meta.get_requires_for_build_editable(config_settings) + _compiler()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Compile the core for the wheel's platform, and build the wheel."""
    # setuptools would add the libraries of an earlier build, for another platform.
    for folder in Path("build").glob("lib*/fewlabels/_core"):
        shutil.rmtree(folder)
    core.build(target=_target(), only=True)
    return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Compile the core into the source tree, and install a link to that."""
    core.build()
    return build_meta.build_editable(wheel_directory, config_settings, metadata_directory)

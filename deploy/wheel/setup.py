"""The wheel holds programs of this machine, for any Python 3."""

import os

import setuptools
from setuptools.command.bdist_wheel import bdist_wheel


class Programs(setuptools.Distribution):
    def has_ext_modules(self):
        return True


class Wheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setuptools.setup(
    version=os.environ["TRAINCTL_VERSION"],
    distclass=Programs,
    cmdclass={"bdist_wheel": Wheel},
    options={"bdist_wheel": {"compression": "stored"}},  # auditwheel packs all anew
)

"""Builds the extension with CMake and installs it beside the package.

NCEMU_BUILD names a build directory to use and keep (default: a temporary one, which builds everything anew)."""

import os
import pathlib
import shutil
import subprocess
import sys

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


class CMakeBuild(build_ext):
    def build_extension(self, extension):
        target = pathlib.Path(self.get_ext_fullpath(extension.name)).resolve()
        build = pathlib.Path(os.environ.get("NCEMU_BUILD") or pathlib.Path(self.build_temp) / "cmake").resolve()
        if not (build / "CMakeCache.txt").exists():
            subprocess.run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                            "-DNCEMU_TESTS=OFF", "-DNCEMU_BENCH=OFF", f"-DNCEMU_PYTHON={sys.executable}"], check=True)
        subprocess.run(["cmake", "--build", build, "--target", "ncemu_python"], check=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(next((build / "python").glob("_ncemu*.so")), target)


packages = [p for p in find_packages(HERE) if p.split(".")[0] in ("ncemu", "neuronxcc", "nki")]
setup(packages=packages, package_dir={"": "."}, package_data={"ncemu": ["**/*.json"]},
      ext_modules=[Extension("_ncemu", sources=[])], cmdclass={"build_ext": CMakeBuild})

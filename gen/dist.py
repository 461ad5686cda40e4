# SPDX-License-Identifier: MIT
"""What `meson dist` adds to a tarball: the generated headers, so that it builds without Jinja2, and the single header
for projects that copy it. Meson runs this; both are made by the tarball's own generator."""
import os
import subprocess
import sys

root = os.environ["MESON_DIST_ROOT"]
sys.exit(subprocess.run([sys.executable, "-B", f"{root}/gen/__main__.py", "--out", f"{root}/include/iris/gen",
                         "--single", f"{root}/single/iris/iris.h"]).returncode)

# SPDX-License-Identifier: MIT
"""Sphinx's configuration. docs/build.py runs it on a copy of this folder that also holds the reference's pages."""
import os
import pathlib
import re

from docutils import nodes

_root = pathlib.Path(os.environ["IRIS_ROOT"])  # set by build.py

project = "Iris in C"
release = re.search(r"version: '([\d.]+)'", (_root / "meson.build").read_text(encoding="utf-8"))[1]
version = release
copyright = "the authors of Iris in C, MIT licence"

extensions = ["breathe", "myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
nitpicky = False

breathe_projects = {"iris": os.environ["IRIS_XML"]}
breathe_default_project = "iris"
breathe_domain_by_extension = {"h": "c"}
breathe_default_members = ("members",)
c_id_attributes = ["__restrict__"]

exclude_patterns = ["performance/*.md"]  # tables that performance.md includes

html_theme = "alabaster"
html_theme_options = dict(
    description="Several GPUs programmable as one, from inside a kernel",
    fixed_sidebar=True, page_width="80rem", body_max_width="none", sidebar_width="16rem", show_powered_by=False)
html_sidebars = {"**": ["about.html", "navigation.html", "searchbox.html"]}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False


def _name_parameters(app, doctree):
    """Sphinx words the parameters of a function itself; those of a family's contract come as "param x"."""
    for name in doctree.traverse(nodes.field_name):
        text = name.astext()
        if text.startswith("param "):
            name.replace_self(nodes.field_name("", "", nodes.literal("", text[6:])))
        elif text == "return":
            name.replace_self(nodes.field_name("", "returns"))


def setup(app):
    app.connect("doctree-read", _name_parameters)

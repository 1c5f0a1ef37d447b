"""How Sphinx makes HTML of the gathered pages; why Sphinx, docs/writing-documentation.md says."""

project = "exportlint"
author = "the authors of exportlint"
copyright = author  # noqa: A001 (Sphinx's name for it)
html_title = "exportlint"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 3  # as on GitHub, so that a link with an anchor works in both places
nitpicky = True
smartquotes = False  # options begin with two dashes
html_theme = "furo"
html_copy_source = html_show_sourcelink = False  # what is gathered is not what people edit
html_show_sphinx = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {
    "footer_icons": [
        {
            "name": "Repository",
            "url": "https://github.com/exportlint/exportlint",
            "html": "Repository",
            "class": "",
        }
    ],
    "navigation_with_keys": True,
}

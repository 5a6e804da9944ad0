"""How Sphinx shows the pages that `build_site.py` has collected."""

from pathlib import Path

project = "Whorl"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "Whorl"
html_favicon = "pictures/icon.svg"
html_logo = "pictures/icon.svg"
html_static_path = ["static"]
html_css_files = ["whorl.css"]
html_copy_source = False
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_show_copyright = False
html_show_sphinx = False
# Headings are linked to by the names that GitHub gives them.
myst_heading_anchors = 4
# Blocks without a language are commands and drawings. Stock SPARQL lexers stumble over window clauses.
highlight_language = "none"
suppress_warnings = ["misc.highlighting_failure"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0c7a70", "color-brand-content": "#0c7a70"},
    "dark_css_variables": {"color-brand-primary": "#3cc4b4", "color-brand-content": "#3cc4b4"},
}

"""The page of a suite: `index.html` in its folder, one file that needs no network."""

from tilesmith.suite.page.writing import write_suite_page

__all__ = ["write_suite_page"]

"""The generated pages say what the source says."""

import pytest
from scripts.reference import PAGES, WRITTEN


@pytest.mark.parametrize("name", WRITTEN)
def test_the_page_is_the_one_that_the_source_makes(name: str):
    assert (PAGES / name).read_text() == WRITTEN[name](), "run `make docs-reference`"

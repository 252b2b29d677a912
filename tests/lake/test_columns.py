"""What is published of a lake's tables is what the code writes."""

from tests.lake.columns import PAGE, render_page


def test_the_page_of_tables_is_what_the_code_says():
    page = PAGE.read_text("utf-8")
    assert page == render_page(page), "run scripts/tables, and read the difference"

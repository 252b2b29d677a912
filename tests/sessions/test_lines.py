"""Lines as numbers."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.types.lines import hash_line, hash_lines, hash_text_lines, unpack_hashes
from tests.tables import each_row

TOLD = st.text(min_size=4, alphabet=st.characters(categories=["Lu", "Ll", "Nd"], max_codepoint=0x24F))


@pytest.mark.parametrize(
    "other",
    [
        "total = price + tax",
        "\ttotal  =  price+tax",
        "    total = price + tax   ",
        "total = price + tax\r",
        "total=price+tax",
    ],
)
def test_white_space_makes_no_difference(other: str) -> None:
    assert hash_line(other) == hash_line("total = price + tax")


def test_everything_else_does() -> None:
    lines = ["total = price", "Total = price", "total = price;", "# total = price", "price = total", "total = pricé"]
    assert len({hash_line(line) for line in lines}) == len(lines)


@each_row("line", ["", "}", "end", "});", "-" * 70, "─" * 70, "x = 1", "// ==== //", "«…»"])
def test_a_line_with_fewer_than_four_letters_tells_nothing(line: str) -> None:
    assert hash_line(line) is None
    assert hash_lines([line]) == b""


@pytest.mark.parametrize("line", ["elif", "x = 100", "价格总计", "щука", "    self.a", "a1b2"])
def test_letters_of_every_script_tell(line: str) -> None:
    assert hash_line(line) is not None


def test_the_number_is_the_same_on_every_machine_and_in_every_version() -> None:
    assert hash_line("total = price + tax") == 11041684910216485299
    said = "from assay.types.lines import hash_line; print(hash_line('total = price + tax'))"
    other = subprocess.run([sys.executable, "-c", said], capture_output=True, check=True, text=True)  # other str hashes
    assert int(other.stdout) == 11041684910216485299


@given(st.lists(st.text()))
def test_packed_lines_come_back_in_order_and_are_never_more(lines: list[str]) -> None:
    numbers = [number for line in lines if (number := hash_line(line)) is not None]
    assert list(unpack_hashes(hash_lines(lines))) == numbers
    assert len(numbers) <= len(lines)


@given(st.lists(TOLD))
def test_a_text_has_the_hashes_of_its_lines(lines: list[str]) -> None:
    assert hash_text_lines("\n".join(lines).encode()) == hash_lines(lines)
    assert hash_text_lines("\r\n".join(lines).encode()) == hash_lines(lines)

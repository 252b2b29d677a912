"""Lines as numbers."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.sessions.lines import hash_of, packed, packed_text, unpacked
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
    assert hash_of(other) == hash_of("total = price + tax")


def test_everything_else_does() -> None:
    lines = ["total = price", "Total = price", "total = price;", "# total = price", "price = total", "total = pricé"]
    assert len({hash_of(line) for line in lines}) == len(lines)


@each_row("line", ["", "}", "end", "});", "-" * 70, "─" * 70, "x = 1", "// ==== //", "«…»"])
def test_a_line_with_fewer_than_four_letters_tells_nothing(line: str) -> None:
    assert hash_of(line) is None
    assert packed([line]) == b""


@pytest.mark.parametrize("line", ["elif", "x = 100", "价格总计", "щука", "    self.a", "a1b2"])
def test_letters_of_every_script_tell(line: str) -> None:
    assert hash_of(line) is not None


def test_the_number_is_the_same_on_every_machine_and_in_every_version() -> None:
    assert hash_of("total = price + tax") == 11041684910216485299
    said = "from assay.sessions.lines import hash_of; print(hash_of('total = price + tax'))"
    other = subprocess.run([sys.executable, "-c", said], capture_output=True, check=True, text=True)  # other str hashes
    assert int(other.stdout) == 11041684910216485299


@given(st.lists(st.text()))
def test_packed_lines_come_back_in_order_and_are_never_more(lines: list[str]) -> None:
    numbers = [number for line in lines if (number := hash_of(line)) is not None]
    assert list(unpacked(packed(lines))) == numbers
    assert len(numbers) <= len(lines)


@given(st.lists(TOLD))
def test_a_text_has_the_hashes_of_its_lines(lines: list[str]) -> None:
    assert packed_text("\n".join(lines).encode()) == packed(lines)
    assert packed_text("\r\n".join(lines).encode()) == packed(lines)

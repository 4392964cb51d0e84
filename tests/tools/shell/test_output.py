"""The two ends of what a program puts out."""

from hypothesis import given
from hypothesis import strategies as st

from pollux.tools.shell.output import listen


async def kept(chunks: list[bytes], limit: int) -> tuple[str, bool]:
    async with listen("stdout", limit, on_output=None, stop=lambda: None) as output:
        for chunk in chunks:
            output.data_received(chunk)
        return output.text, output.is_truncated


async def test_what_fits_is_kept_whole():
    assert await kept([b"abc", b"def"], 6) == ("abcdef", False)


async def test_what_does_not_fit_loses_its_middle():
    assert await kept([b"abcdefghij"], 4) == ("ab\n[6 bytes left out]\nij", True)
    assert await kept([b"a", b"b", b"c", b"d", b"e"], 3) == ("a\n[2 bytes left out]\nde", True)
    assert await kept([b"abc"], 0) == ("\n[3 bytes left out]\n", True)


async def test_a_character_is_left_out_whole():
    assert await kept(["ää€€€ää".encode()], 6) == ("ä\n[13 bytes left out]\nä", True)


@given(st.lists(st.binary(max_size=40)), st.integers(0, 60))
async def test_the_pieces_in_which_it_arrives_make_no_difference(chunks: list[bytes], limit: int):
    assert await kept(chunks, limit) == await kept([b"".join(chunks)], limit)


@given(st.text(max_size=40), st.integers(1, 60))
async def test_text_is_never_cut_inside_a_character(text: str, limit: int):
    shown, _ = await kept([text.encode()], limit)
    assert "\ufffd" not in shown or "\ufffd" in text

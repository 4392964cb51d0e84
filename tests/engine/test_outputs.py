"""The end of what a tool at work has shown: bounded, in order, from the beginning of a line."""

from pollux.core.ids import ActionId
from pollux.engine.outputs import MOST, PIECE, Output, Outputs

ONE, TWO = ActionId("one"), ActionId("two")


def text(outputs: Outputs, action_id: ActionId = ONE) -> str:
    return "".join(each.text for each in outputs if each.action_id == action_id)


def test_small_pieces_are_joined_and_streams_stay_apart_in_their_order():
    outputs = Outputs()
    for stream, said in (("stdout", "a"), ("stdout", "b"), ("stderr", "c"), ("stdout", "d")):
        outputs.add(Output(ONE, stream, said))
    assert [(each.stream, each.text) for each in outputs] == [("stdout", "ab"), ("stderr", "c"), ("stdout", "d")]


def test_of_very_much_the_end_is_kept_from_the_beginning_of_a_line():
    outputs = Outputs()
    for number in range(100_000):
        outputs.add(Output(ONE, "stdout", f"{number:05}\n"))
    lines = text(outputs).splitlines()
    assert lines == [f"{number:05}" for number in range(100_000 - len(lines), 100_000)]
    assert MOST - PIECE - 10 < len(text(outputs)) <= MOST
    assert len(list(outputs)) < 2 * MOST / PIECE


def test_a_single_giant_piece_is_cut_and_does_not_touch_what_another_tool_shows():
    outputs = Outputs()
    outputs.add(Output(TWO, "stdout", "short"))
    outputs.add(Output(ONE, "stdout", "x" * 1_000_000))
    assert (text(outputs), text(outputs, TWO)) == ("x" * MOST, "short")

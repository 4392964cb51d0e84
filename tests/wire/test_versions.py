"""Which version an event needs: one that knows everything it says, and no newer one."""

from dataclasses import replace
from typing import Literal

import pytest

from pollux.core.events import ActionDecided, ModelReplied, RunClaimed, RunStarted, ToolObserved
from pollux.core.frozen import frozen
from pollux.core.messages import Message, Text
from pollux.testing.store_lab import EVERY_EVENT, EVERY_THREAD_EVENT
from pollux.wire.versions import Versions

CLAIMED = RunClaimed(epoch=1, driver="drv_1", at=1.0)
STARTED = next(event for event in EVERY_EVENT if isinstance(event, RunStarted))
REPLIED = next(event for event in EVERY_EVENT if isinstance(event, ModelReplied))
DECIDED = next(event for event in EVERY_EVENT if isinstance(event, ActionDecided))
OBSERVED = next(event for event in EVERY_EVENT if isinstance(event, ToolObserved))
PLAIN = replace(REPLIED, message=Message("assistant", (Text("hi"),)), stop="end")


@frozen(kw_only=True)
class Painted:
    colour: Literal["red", "green"] | None = None
    layers: tuple[str, ...] = ()


@pytest.mark.parametrize("event", [*EVERY_EVENT, *EVERY_THREAD_EVENT], ids=lambda event: type(event).__name__)
def test_where_nothing_was_added_everybody_can_read_it(event: object):
    assert Versions({}).of(event) == 1
    assert Versions({"RunTeleported": 2, "Rule.colour": 3, "RunClaimed.driver": 1}).of(event) == 1


def test_a_new_kind_of_event_needs_the_version_that_brought_it():
    assert Versions({"RunClaimed": 2}).of(CLAIMED) == 2


def test_a_new_field_counts_where_it_says_something():
    versions = Versions({"Painted.layers": 2, "Painted.colour": 3})
    assert versions.of(Painted()) == 1
    assert versions.of(Painted(layers=("under",))) == 2
    assert versions.of(Painted(layers=("under",), colour="red")) == 3


def test_a_new_word_counts_where_it_is_said():
    versions = Versions({"Painted.colour=green": 2})
    assert [versions.of(Painted(colour=colour)) for colour in (None, "red", "green")] == [1, 1, 2]


@pytest.mark.parametrize("name", ["Limits.compress_at", "Rule", "Rule.subjects", "Parent", "Compressed", "Blob.name"])
def test_what_is_new_counts_however_deep_it_lies(name: str):
    assert Versions({name: 2}).of(STARTED) == 2
    assert Versions({name: 2}).of(CLAIMED) == 1


def test_a_new_kind_of_part_counts_in_the_messages_that_have_it():
    versions = Versions({"Thought": 2, "ModelReplied.stop=other": 3})
    assert [versions.of(event) for event in (PLAIN, replace(PLAIN, message=REPLIED.message), REPLIED)] == [1, 2, 3]
    assert Versions({"Action.repeat=keyed": 2}).of(DECIDED) == 2


def test_what_a_tool_asked_for_or_an_agent_did_needs_version_3_and_what_the_model_asked_for_does_not():
    plain = replace(DECIDED.action, asker="", asked=0, observed=0)
    asked = replace(plain, asker="act_1_0.0")
    assert [Versions().of(replace(DECIDED, action=action)) for action in (plain, asked)] == [1, 3]
    assert Versions().of(OBSERVED) == 3

"""A scene is never changed: each block leaves a new one to the next."""

from pollux.runbooks.documents import Runbook
from pollux.runbooks.scene import Scene, Variable

START = Scene(runbook=Runbook("r", "A"), directory="/tmp")


def test_a_scene_begins_with_nothing() -> None:
    assert (START.workspace, START.env, START.variables, START.outputs, START.executed) == ("", {}, {}, {}, ())


def test_what_a_block_leaves_is_in_the_next_scene_and_not_in_the_one_before() -> None:
    after = START.with_output("a", {"x": 1}).with_env("E", "e").with_variable("v", Variable("w")).with_directory("/d")
    assert (after.outputs, after.env, after.directory) == ({"a": {"x": 1}}, {"E": "e"}, "/d")
    assert after.variables == {"v": Variable("w", frozenset())}
    assert Scene(runbook=Runbook("r", "A"), directory="/tmp") == START


def test_a_block_that_ran_again_counts_once_and_last() -> None:
    scene = START.with_output("a", {"n": 1}).with_output("b", {}).with_output("a", {"n": 2})
    assert scene.executed == ("b", "a") and scene.outputs["a"] == {"n": 2}


def test_a_variable_that_is_set_anew_forgets_where_it_came_from() -> None:
    scene = START.with_env("E", "made", frozenset({"a"}))
    assert scene.env_sources["E"] == {"a"}
    assert scene.with_env("E", "plain").env_sources["E"] == frozenset()

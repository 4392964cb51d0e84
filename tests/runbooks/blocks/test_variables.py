"""Blocks that say what later blocks shall know: variables, environment, directories, choices and texts."""

from pathlib import Path
from typing import Any

import pytest
from tests.runbooks.blocks.at_work import ID, Told, block, preview, run, scene

from pollux.core.errors import ToolError, ValidationError
from pollux.runbooks.blocks.directory import Directory
from pollux.runbooks.blocks.dropdown import Dropdown
from pollux.runbooks.blocks.editor import Editor
from pollux.runbooks.blocks.env import Env
from pollux.runbooks.blocks.local_var import LocalVar
from pollux.runbooks.blocks.show import VarDisplay
from pollux.runbooks.blocks.standard import standard_blocks, tools_of
from pollux.runbooks.blocks.var import Var
from pollux.runbooks.scene import Scene, Variable

VAR, LOCAL_VAR, ENV, DIRECTORY, DROPDOWN, EDITOR = Var(), LocalVar(), Env(), Directory(), Dropdown(), Editor()
OTHER = "22222222-2222-4222-8222-222222222222"


async def after(kind: Any, made: Any, before: Scene) -> Scene:
    # As `progress_of` does it: what the call is made of is a fact of it.
    words = before.with_words(made.id, kind.call(made, before).sources)
    return kind.after(words, made, await run(kind, made, before))


def tainted(name: str, value: str) -> Scene:
    return scene().with_variable(name, Variable(value, frozenset({OTHER})))


async def test_a_variable_is_set_with_its_templates_filled_in():
    found = await after(
        VAR, block("var", name="greeting", value="hello {{ var.who }}"), scene(variables={"who": "you"})
    )
    assert found.variables["greeting"] == Variable("hello you", frozenset())


async def test_a_variable_remembers_which_outputs_it_is_made_of():
    found = await after(VAR, block("var", name="b", value="{{ var.a }}!"), tainted("a", "x"))
    assert found.variables["b"] == Variable("x!", frozenset({OTHER}))


async def test_what_a_value_holds_is_not_rendered_again():
    found = await after(VAR, block("var", name="b", value="{{ var.a }}"), scene(variables={"a": "{{ var.b }}"}))
    assert found.variables["b"].value == "{{ var.b }}"


@pytest.mark.parametrize("name", ["", "two words", "a-b", "a!"])
def test_a_variable_needs_a_name_of_letters_digits_and_underscores(name: str):
    for kind, type_ in ((VAR, "var"), (LOCAL_VAR, "local-var"), (DROPDOWN, "dropdown")):
        with pytest.raises(ValidationError, match=rf"^name .* id {ID}, line 7\)$"):
            kind.call(block(type_, name=name, value="x"), scene())


async def test_a_local_variable_comes_from_whoever_runs_it_and_never_from_the_document():
    given = scene(variables={"token": "geheim"})
    made = block("local-var", name="token", value="written")
    assert (await after(LOCAL_VAR, made, given)).variables["token"].value == "geheim"
    assert "geheim" not in str(LOCAL_VAR.call(made, given))
    with pytest.raises(ValidationError, match="Give it one: --var token=VALUE"):
        LOCAL_VAR.call(made, scene())


async def test_the_environment_is_set_for_what_follows():
    found = await after(ENV, block("env", name="A_{{ var.x }}", value="{{ var.x }}"), scene(variables={"x": "b"}))
    assert dict(found.env) == {"A_b": "b"}


async def test_a_block_that_nobody_has_filled_in_sets_nothing():
    assert dict((await after(ENV, block("env", name="", value="x"), scene())).env) == {}


@pytest.mark.parametrize(("name", "value"), [("A=B", "x"), ("A\0", "x"), ("A", "x\0")])
def test_an_environment_that_no_program_could_be_given_is_refused(name: str, value: str):
    with pytest.raises(ValidationError, match="line 7"):
        ENV.call(block("env", name=name, value=value), scene())


async def test_a_directory_is_where_later_blocks_work(tmp_path: Path):
    (tmp_path / "inside").mkdir()
    for path in ("inside", "./inside/../inside", str(tmp_path / "inside"), "{{ var.where }}"):
        found = await after(DIRECTORY, block("directory", path=path), scene(tmp_path, variables={"where": "inside"}))
        assert found.directory == str(tmp_path / "inside")


async def test_a_directory_may_be_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert (await after(DIRECTORY, block("directory", path="~"), scene())).directory == str(tmp_path)


async def test_a_directory_must_exist(tmp_path: Path):
    (tmp_path / "file").touch()
    for path, found in (("gone", "nothing"), ("file", "a file")):
        with pytest.raises(ToolError, match=f"{path} must be a directory, found {found}"):
            await run(DIRECTORY, block("directory", path=path), scene(tmp_path))
    with pytest.raises(ValidationError, match="path is missing"):
        DIRECTORY.call(block("directory"), scene())


async def test_a_local_directory_comes_from_whoever_runs_it(tmp_path: Path):
    made = block("local-directory")
    given = scene(variables={"local_directory": str(tmp_path)})
    assert (await after(DIRECTORY, made, given)).directory == str(tmp_path)
    with pytest.raises(ValidationError, match="Give it: --var local_directory=PATH"):
        DIRECTORY.call(made, scene())


def dropdown(**props: Any):
    return block(
        "dropdown", **({"name": "size", "optionsType": "fixed", "fixedOptions": "Small:s, Large:l\nHuge"} | props)
    )


async def test_a_choice_is_given_or_kept_in_the_document():
    assert (await after(DROPDOWN, dropdown(), scene(variables={"size": "l"}))).variables["size"].value == "l"
    assert (await after(DROPDOWN, dropdown(value="s"), scene())).variables["size"].value == "s"
    assert (await after(DROPDOWN, dropdown(value="s"), tainted("size", "l"))).variables["size"].value == "s"


@pytest.mark.parametrize("given", [{}, {"size": "xxl"}])
def test_without_a_choice_the_options_are_named(given: dict[str, str]):
    with pytest.raises(ValidationError, match=r"--var size=VALUE, where VALUE is one of s, l, Huge \(.* line 7\)$"):
        DROPDOWN.call(dropdown(), scene(variables=given))


def test_options_may_be_in_a_variable_or_where_older_documents_have_them():
    by_variable = dropdown(optionsType="variable", fixedOptions="", variableOptions="sizes")
    with pytest.raises(ValidationError, match=r"one of a, b \("):
        DROPDOWN.call(by_variable, scene(variables={"sizes": "a\nb"}))
    with pytest.raises(ValidationError, match=r"there are none yet \("):
        DROPDOWN.call(by_variable, scene())
    with pytest.raises(ValidationError, match=r"one of 1, 2 \("):
        DROPDOWN.call(dropdown(fixedOptions="", options="a=1, b=2", delimiter="="), scene())


def test_a_command_that_lists_options_is_named_and_not_run():
    made = dropdown(optionsType="command", fixedOptions="", commandOptions="gh release list")
    with pytest.raises(ValidationError, match=r"one of those that this command lists: gh release list \("):
        DROPDOWN.call(made, scene())
    assert DROPDOWN.call(made, scene(variables={"size": "v1"})).args["value"] == "v1"


def test_a_long_list_of_options_is_cut():
    with pytest.raises(ValidationError, match=r"19 and 80 more \("):
        DROPDOWN.call(dropdown(fixedOptions=",".join(map(str, range(100)))), scene())


async def test_an_editor_keeps_its_text_in_a_variable():
    made = block("editor", variableName="note", code="dear {{ var.who }}")
    found = await after(EDITOR, made, scene(variables={"who": "you"}))
    assert found.variables["note"].value == "dear you"
    assert dict((await after(EDITOR, block("editor", code="x"), scene())).variables) == {}


async def test_an_editor_in_step_with_its_variable_shows_it_and_leaves_it():
    made = block("editor", variableName="note", code="", syncVariable=True)
    found = await after(EDITOR, made, tainted("note", "as it was"))
    assert found.variables["note"] == Variable("as it was", frozenset({OTHER}))


async def test_a_variable_is_shown():
    told = Told()
    await run(VarDisplay(), block("var_display", name="a"), scene(variables={"a": "b"}), told=told)
    await run(VarDisplay(), block("var_display", name="c"), scene(), told=told)
    assert told.all() == "a = b\nc has no value yet\n"


def test_nobody_is_asked_about_what_only_says_something():
    quiet = {tool.spec.name for tool in tools_of(standard_blocks()) if not tool.spec.side_effect}
    assert quiet == {
        "runbook_var", "runbook_local_var", "runbook_env", "runbook_directory", "runbook_dropdown", "runbook_editor",
        "runbook_show", "runbook_pause",
    }  # fmt: skip
    assert preview(VAR, VAR.call(block("var", name="a", value="geheim"), scene())) == "Set a variable: a"

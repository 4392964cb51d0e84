"""Tools that a configuration file names, and tools of installed packages: found, checked, and never uninvited."""

import sys
from collections.abc import Iterable, Iterator
from importlib import invalidate_caches
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from pollux.core.errors import ValidationError
from pollux.core.ids import ActionId, RunId, ThreadId, UserId
from pollux.core.policy import Facts, PolicyRequest, decide
from pollux.core.tools import Reconciled, ToolContext
from pollux.tools.registered import GROUP, registered_tools

CONTEXT = ToolContext(UserId("ada"), "", RunId("run_1"), ActionId("act_1_1.0"), ThreadId("thr_1"))

MODULE = '''
from dataclasses import dataclass
from pollux import SessionContext, ToolDefinition, tool

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return f"rain in {city}"

async def tell(ctx, args):
    return f"{ctx.uid}: sun in {args['city']}"

forecast = ToolDefinition(
    name="forecast", description="Look ahead.", input_schema=SCHEMA, side_effect=False, execute=tell
)
storm = {
    "name": "storm", "description": "Warn.", "inputSchema": SCHEMA, "sideEffect": True,
    "defaultApproval": "not_required", "execute": tell,
}
broken = {**storm, "sideEffect": "yes"}
ALL = [weather, forecast, storm]
TWICE = (storm, storm)

@tool
def spy(city: str, context: SessionContext) -> str:
    """Look around."""
    return ""

def plain(city: str) -> str:
    """Not marked."""
    return ""

class Box:
    tool = weather
'''


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that Python imports from, with a module of tools. What a test imported from there is forgotten."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "tools_of_mine.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    invalidate_caches()
    yield folder
    for name in [name for name in sys.modules if name.startswith("tools_")]:
        del sys.modules[name]


def install(site: Path, entry_points: str, *, name: str = "theirs") -> None:
    """A package as an installer leaves it: its metadata, and its module."""
    metadata = site / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{entry_points}\n")
    (site / f"tools_of_{name}.py").write_text(MODULE)


def nothing() -> Iterable[EntryPoint]:
    return ()


def use(target: str, **more: Any) -> dict[str, Any]:
    return {"use": target, **more}


# What a file names


@pytest.mark.parametrize("name", ["weather", "forecast", "storm"])
@pytest.mark.parametrize("attribute", ["", "ALL"])
async def test_a_tool_is_found_where_the_file_says(site: Path, name: str, attribute: str):
    tools = registered_tools({name: use(f"tools_of_mine:{attribute or name}")})
    assert list(tools) == [name] and tools[name].spec.name == name
    assert "in Rome" in await tools[name].run(CONTEXT, {"city": "Rome"})


def test_an_attribute_may_lie_deeper(site: Path):
    assert list(registered_tools({"weather": use("tools_of_mine:Box.tool")})) == ["weather"]


def test_without_tables_and_wishes_nothing_is_looked_for():
    def unexpected() -> Iterable[EntryPoint]:
        raise AssertionError("nobody asked")

    assert registered_tools({}, entry_points=unexpected) == {}
    assert registered_tools({}, wanted=["demo_mail"], own=["demo_mail"], entry_points=unexpected) == {}


async def test_a_file_may_make_a_tool_ask(site: Path):
    tools = registered_tools({"storm": use("tools_of_mine:storm"), "weather": use("tools_of_mine:weather")})
    strict = registered_tools(
        {
            "storm": use("tools_of_mine:storm", approval="required"),
            "weather": use("tools_of_mine:weather", approval="required"),
        }
    )
    assert [mode(tools[name]) for name in ("storm", "weather")] == ["allow", "allow"]
    assert [mode(strict[name]) for name in ("storm", "weather")] == ["require_approval", "require_approval"]
    storm, args = strict["storm"], {"city": "Rome"}
    assert storm.prepare(args) == args
    assert (storm.subjects(args), storm.preview(args)) == (frozenset(), "storm(city='Rome')")
    assert await storm.run(CONTEXT, args) == "ada: sun in Rome"
    assert await storm.reconcile(CONTEXT, args) == Reconciled("unknown")
    assert storm.spec.schema_hash == tools["storm"].spec.schema_hash


def mode(tool: Any) -> str:
    facts = Facts(user=UserId("ada"), interface="http", profile="default")
    return decide(PolicyRequest(tool.spec, {}, facts), [], []).mode


@pytest.mark.parametrize(
    ("name", "table", "said"),
    [
        ("weather", {}, '[tools.weather] must say where the tool is: use = "package.module:attribute"'),
        ("weather", {"command": "./x"}, "[tools.weather] holds 'command', which means nothing there. Known:"),
        ("weather", use("tools_of_mine"), 'use of [tools.weather] must be "package.module:attribute"'),
        ("weather", use("tools_of_mine:"), "must be"),
        ("weather", use(":weather"), "must be"),
        ("weather", use("./tools.py:weather"), "must be"),
        ("weather", use(".tools_of_mine:weather"), "must be"),
        ("weather", use("a:b:c"), "must be"),
        ("weather", use("tools_of mine:weather"), "must be"),
        ("weather", use("tools_of_mine:weather[x]"), "must be"),
        ("weather", {"use": 7}, "must be"),
        ("weather", use("tools_of_mine:weather", approval="not_required"), 'approval of [tools.weather] may only'),
        ("weather", use("tools_of_mine:weather", approval=True), "write a rule that allows it"),
        ("weather", use("no_such.place:weather"), "finds no module no_such (ModuleNotFoundError). Install its"),
        ("weather", use("json.nowhere:weather"), "Python finds no module json.nowhere (ModuleNotFoundError)"),
        ("weather", use("no_such:weather"), "the configuration file's own folder is not searched"),
        ("weather", use("tools_of_mine:wether"), "module tools_of_mine has no 'wether' (AttributeError)"),
        ("weather", use("tools_of_mine:forecast"), "no tool is called 'weather'; found: forecast. The name here"),
        ("snow", use("tools_of_mine:ALL"), "no tool is called 'snow'; found: forecast, storm, weather."),
        ("storm", use("tools_of_mine:TWICE"), "tools_of_mine:TWICE holds two tools called 'storm'"),
        ("storm", use("tools_of_mine:broken"), "use of [tools.storm]: tool storm: sideEffect must be True or False"),
        ("plain", use("tools_of_mine:plain"), "found function. Mark the function with @tool"),
        ("plain", use("tools_of_mine:SCHEMA"), "there is no member 'type'"),
        ("plain", use("tools_of_mine:MODULE"), "has no 'MODULE'"),
        ("system", use("os:system"), "use of [tools.system]: expected os:system to be a tool"),
        ("path", use("os:path"), "found module. Make it with @tool or ToolDefinition"),
        ("kind", use("pollux.tools.define:FunctionTool"), "found type"),
        ("files", use("pollux:files"), "found ToolSet"),
        ("spy", use("tools_of_mine:spy"), "tool 'spy' asks for a SessionContext, which only an Agent gives"),
        ("demo_mail", use("tools_of_mine:weather"), "[tools.demo_mail] takes the name of a tool that Pollux brings"),
    ],
)  # fmt: skip
def test_a_mistake_is_said_with_its_place(site: Path, name: str, table: dict[str, Any], said: str):
    with pytest.raises(ValidationError) as refused:
        registered_tools({name: table}, own=["demo_mail"], entry_points=nothing)
    assert said in str(refused.value)
    assert f"[tools.{name}]" in str(refused.value)
    assert refused.value.code == "config"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("raise RuntimeError('canary')", "RuntimeError"),
        ("import sys; sys.exit('canary')", "SystemExit"),
        ("import canary_that_is_not_there", "ModuleNotFoundError"),
        ("canary = (", "SyntaxError"),
    ],
)
def test_a_module_that_fails_is_named_with_the_kind_of_failure_and_no_more(site: Path, body: str, kind: str):
    (site / "tools_that_fail.py").write_text(body)
    with pytest.raises(ValidationError) as refused:
        registered_tools({"x": use("tools_that_fail:x")})
    assert f"use of [tools.x]: importing tools_that_fail failed ({kind})" in str(refused.value)
    assert "python -c 'import tools_that_fail'" in str(refused.value)
    assert "canary" not in str(refused.value)


def test_a_module_s_own_getattr_may_raise_what_it_likes(site: Path):
    (site / "tools_that_fail.py").write_text("def __getattr__(name): raise RuntimeError('canary')")
    with pytest.raises(ValidationError, match=r"has no 'x' \(RuntimeError\)"):
        registered_tools({"x": use("tools_that_fail:x")})


# What packages offer


async def test_an_installed_package_offers_its_tools_by_name(site: Path):
    install(site, "weather = tools_of_theirs:weather\nstorm = tools_of_theirs:ALL [extra]\nother = tools_of_theirs:x")
    tools = registered_tools({}, wanted=["weather", "storm", "demo_mail", "unknown"], own=["demo_mail"])
    assert list(tools) == ["storm", "weather"]
    assert await tools["weather"].run(CONTEXT, {"city": "Rome"}) == "rain in Rome"


def test_being_installed_widens_nothing_and_runs_nothing(site: Path):
    install(site, "weather = tools_of_theirs:weather")
    assert registered_tools({}, wanted=["something"]) == {}
    assert list(registered_tools({"storm": use("tools_of_mine:storm")})) == ["storm"]
    assert "tools_of_theirs" not in sys.modules


def test_a_package_cannot_take_the_place_of_our_own_tools(site: Path):
    install(site, "demo_mail = tools_of_theirs:weather")
    assert registered_tools({}, wanted=["demo_mail"], own=["demo_mail"]) == {}
    assert "tools_of_theirs" not in sys.modules


def test_two_sources_of_one_name_are_refused_before_either_is_imported(site: Path):
    install(site, "weather = tools_of_theirs:weather")
    with pytest.raises(ValidationError) as refused:
        registered_tools({"weather": use("tools_of_mine:weather")})
    for place in ("use of [tools.weather] (tools_of_mine:weather)", "the entry point 'weather' of theirs"):
        assert place in str(refused.value)
    assert not {"tools_of_mine", "tools_of_theirs"} & sys.modules.keys()


def test_two_packages_that_offer_one_name_are_refused_only_where_it_is_wanted(site: Path):
    install(site, "weather = tools_of_theirs:weather")
    install(site, "weather = tools_of_others:weather", name="others")
    assert registered_tools({}, wanted=["storm"]) == {}
    with pytest.raises(ValidationError, match="tool 'weather' has more than one source"):
        registered_tools({}, wanted=["weather"])


def test_a_table_that_points_to_what_a_package_offers_names_the_same_tool(site: Path):
    install(site, "weather = tools_of_theirs:weather")
    tools = registered_tools({"weather": use("tools_of_theirs:weather", approval="required")}, wanted=["weather"])
    assert tools["weather"].spec.default_approval == "required"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("weather = tools_of_theirs", "the entry point 'weather' of theirs (group pollux.tools) must be"),
        ("weather = tools_of_theirs:forecast", "the entry point 'weather' of theirs (group pollux.tools) leads to"),
        ("weather = gone:weather", "Python finds no module gone (ModuleNotFoundError)"),
        ("weather", "the entry points of the installed packages cannot be read"),
    ],
)
def test_a_mistake_of_a_package_is_said_with_its_name(site: Path, written: str, said: str):
    install(site, written)
    with pytest.raises(ValidationError) as refused:
        registered_tools({}, wanted=["weather"])
    assert said in str(refused.value) and refused.value.code == "config"

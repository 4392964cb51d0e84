"""An agent block is read with the defaults of its first specification, and refused by its words."""

import pytest
from tests.runbooks.documents.parts import agent, document, uuid

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.runbooks.documents import AcpSource, AgentBlock, AgentCapabilities, InternalSource, ModelSelection, agent_of


def told(**props: JSON) -> AgentBlock:
    return agent_of(document(agent(**props)).blocks[0])


def refusal(**props: JSON) -> str:
    with pytest.raises(ValidationError) as caught:
        document(agent(name="Analyze", **props))
    return str(caught.value)


def test_what_is_not_given_has_its_default() -> None:
    block = told()
    assert (block.name, block.prompt, block.system_prompt, block.timeout_seconds) == ("Agent", "", None, None)
    assert block.source == InternalSource(None) and block.working_directory is None
    assert set(block.capabilities.as_json().values()) == {False}


def test_everything_that_is_given_is_read() -> None:
    source = {"type": "acp", "command": "claude", "args": ["--x"], "env": {"A": "b"}}
    flags = {"readFiles": True, "alwaysAllowTools": True}
    block = told(
        name="N",
        source=source,
        prompt="P",
        systemPrompt="S",
        capabilities=flags,
        timeoutSeconds=60,
        workingDirectory="/w",
    )
    assert block == AgentBlock(
        uuid(1),
        "N",
        AcpSource("claude", ("--x",), {"A": "b"}),
        "P",
        "S",
        AgentCapabilities(read_files=True, always_allow_tools=True),
        60,
        "/w",
    )


def test_a_name_or_prompt_of_the_wrong_type_counts_as_not_given_and_is_warned_about() -> None:
    block = told(name=5, prompt=["x"], systemPrompt=1, workingDirectory=None)
    assert (block.name, block.prompt, block.system_prompt) == ("Agent", "", None)
    words = " ".join(str(notice) for notice in document(agent(name=5, prompt=["x"])).warnings)
    assert "name: expected text" in words and "prompt: expected text" in words


@pytest.mark.parametrize("seconds", [1, 300, 10_000_000, None])
def test_a_time_out_is_a_whole_number_of_seconds(seconds: JSON) -> None:
    read = document(agent(timeoutSeconds=seconds))
    assert read.hazard is None and agent_of(read.blocks[0]).timeout_seconds == seconds


@pytest.mark.parametrize("written", [0, -1, "abc", "300", 10**10, 1.5, True, []])
def test_nothing_is_run_of_a_document_with_a_time_out_that_is_none(written: JSON) -> None:
    hazard = document(agent(name="Analyze", timeoutSeconds=written)).hazard
    assert hazard is not None and hazard.text.startswith("timeoutSeconds must be a whole number of seconds above 0")
    assert "'Analyze'" in hazard.text and "line 6" in hazard.text


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (None, "expected an object, found null"),
        ("acp", "expected an object, found text"),
        ({}, "missing field `type`"),
        ({"type": "hub"}, "unknown variant `hub`"),
        ({"type": 5}, "unknown variant a number"),
        ({"type": "acp"}, "missing field `command`"),
        ({"type": "acp", "command": 5}, "`command`"),
        ({"type": "acp", "command": "x", "args": None}, "`args`"),
        ({"type": "acp", "command": "x", "args": [1]}, "`args`"),
        ({"type": "acp", "command": "x", "env": []}, "`env`"),
        ({"type": "acp", "command": "x", "env": {"A": 1}}, "`env`"),
        ({"type": "acp", "command": "x", "env": {"A=B": "1"}}, "`env`"),
        ({"type": "internal", "model": 5}, "`model`"),
        ({"type": "internal", "model": {"type": "bard", "data": {"model": "x"}}}, "unknown variant `bard`"),
        ({"type": "internal", "model": {"type": "claude"}}, "`data`"),
        ({"type": "internal", "model": {"type": "claude", "data": {}}}, "missing field `model`"),
        ({"type": "internal", "model": {"type": "ollama", "data": {"model": "x", "uri": 1}}}, "`uri`"),
    ],
)
def test_a_wrong_source_is_refused_with_block_and_line(source: JSON, words: str) -> None:
    refused = refusal(source=source)
    assert refused.startswith("Invalid source: ") and words in refused
    assert "'Analyze'" in refused and uuid(1) in refused and "line 6" in refused


def test_a_source_must_be_there() -> None:
    block = agent(name="Analyze")
    del block["props"]["source"]
    with pytest.raises(ValidationError, match=r"^Missing source \(agent block 'Analyze', id .*, line 6\)"):
        document(block)


@pytest.mark.parametrize("flags", [None, [], "all", {"readFiles": "yes"}, {"writeFiles": 1}, {"readFiles": None}])
def test_wrong_capabilities_are_refused(flags: JSON) -> None:
    assert refusal(capabilities=flags).startswith("Invalid capabilities: ")


def test_a_capability_that_nobody_knows_is_warned_about() -> None:
    [notice] = document(agent(capabilities={"readfiles": True})).warnings
    assert "'readfiles' is no capability" in str(notice)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (None, ""),
        ("gemini-x", "gemini-x"),
        ({"type": "claude", "data": {"model": "claude-x"}}, "claude-x"),
        ({"type": "openAI", "data": {"model": "gpt-x"}}, "gpt-x"),
        ({"type": "openAI", "data": {"model": "m", "uri": "http://h/v1/"}}, "openai:http://h/v1/m"),
        ({"type": "ollama", "data": {"model": "llama"}}, "ollama/llama"),
        ({"type": "ollama", "data": {"model": "llama", "uri": "http://h:1"}}, "openai:http://h:1/v1/llama"),
    ],
)
def test_a_model_is_named_in_atuins_form_or_in_ours(model: JSON, name: str) -> None:
    source = told(source={"type": "internal", "model": model}).source
    assert isinstance(source, InternalSource) and source.model_name() == name


def test_a_model_of_the_hub_is_read_and_refused_only_when_it_is_asked_for() -> None:
    source = told(source={"type": "internal", "model": {"type": "atuinHub", "data": {"model": "m"}}}).source
    assert isinstance(source, InternalSource) and source.model == ModelSelection("m", "atuinHub")
    with pytest.raises(ValidationError, match="Atuin Hub"):
        source.model_name()

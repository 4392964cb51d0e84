"""A model's own service reads the web for it: from that answer on, what the model asks for may be the web's wish."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.http.site import site

from pollux.cli.sessions.as_json import SessionCopy, copy_of, document_of
from pollux.config import ConfigError, load_project, read_settings
from pollux.config.profiles import profiles_of
from pollux.core.errors import ModelError, ValidationError
from pollux.core.hosted import WEB, hosted_sources
from pollux.core.messages import JSON, Message, Text, user
from pollux.core.policy import Rule
from pollux.core.profile import Limits, Profile
from pollux.core.thread import sources_of
from pollux.emulator.server import run_emulator
from pollux.engine.model import Done
from pollux.page import history
from pollux.providers.anthropic_reply import AnthropicFold
from pollux.providers.gemini import GeminiProvider
from pollux.providers.gemini_reply import GeminiFold
from pollux.providers.openai_reply import OpenAIFold
from pollux.tools.demo_mail import demo_mail

MAIL: dict[str, JSON] = {"to": "bob@example.com", "subject": "The address", "body": "It is in Elm Street."}
SEND = f"call demo_mail {json.dumps(MAIL)}"
SEARCH: dict[str, JSON] = {"tools": [{"googleSearch": {}}]}
SHOWN: dict[str, JSON] = {**SEARCH, "toolConfig": {"includeServerSideToolInvocations": True}}
NO_WEB = Rule("deny", tool="demo_mail", provenance=("web",), tier="user", reason="no mail after the web", name="no web")


def profiles(extra: dict[str, JSON]) -> dict[str, Profile]:
    limits = Limits(model_calls=3)
    return {
        "default": Profile(tools=("demo_mail",), extra=extra, limits=limits),
        "plain": Profile("plain", tools=("demo_mail",), limits=limits),
    }


@pytest.mark.parametrize("extra", [SEARCH, SHOWN], ids=["beside the answer", "among its parts"])
async def test_a_mail_asked_for_in_the_very_turn_that_searched_shows_the_web(tmp_path: Path, extra: dict[str, JSON]):
    outbox = tmp_path / "outbox.jsonl"
    async with run_emulator() as emulator:
        model = GeminiProvider("key", emulator.url)
        async with site(tmp_path, model, tools=[demo_mail(outbox)], profiles=profiles(extra)) as here:
            asked = await here.ada.run(f"Search the web for Bob's address, then {SEND}")
            (approval,) = asked["approvals"]
            assert approval["provenance"] == ["user", "web"]

            got = await here.ada.resolve(approval["id"])
            assert got.body["run"]["status"] == "completed"

            # The thread remembers, also under a profile that cannot search.
            later = await here.ada.run(SEND, threadId=asked["threadId"], profile="plain")
            assert later["approvals"][0]["provenance"] == ["tool:demo_mail", "user", "web"]

            fresh = await here.ada.run(SEND, profile="plain")
            assert fresh["approvals"][0]["provenance"] == ["user"]
        await model.close()


async def test_a_rule_that_denies_words_from_the_web_denies_them_by_a_search_too(tmp_path: Path):
    outbox = tmp_path / "outbox.jsonl"
    async with run_emulator() as emulator:
        model = GeminiProvider("key", emulator.url)
        tools, searching = [demo_mail(outbox)], profiles(SEARCH)
        async with site(tmp_path, model, tools=tools, profiles=searching, rules=[NO_WEB]) as here:
            told = await here.ada.run(f"Search the web for Bob's address, then {SEND}")
            (action,) = told["actions"]
            assert (action["state"], action["errorCode"]) == ("rejected", "policy_denied")
            assert not outbox.exists()
        await model.close()


async def test_a_search_that_the_answer_does_not_mention_is_known_from_the_request(tmp_path: Path):
    async with run_emulator() as emulator:
        model = GeminiProvider("key", emulator.url)
        tools = [demo_mail(tmp_path / "outbox.jsonl")]
        async with site(tmp_path, model, tools=tools, profiles=profiles({"tools": [{"url_context": {}}]})) as here:
            asked = await here.ada.run(SEND)
            assert asked["approvals"][0]["provenance"] == ["user", "web"]
        await model.close()


# What each service may put into an answer for which it read, searched or ran something.

CALL = {"functionCall": {"name": "demo_mail", "args": MAIL}}
GEMINI: list[dict[str, Any]] = [
    {"candidates": [{"groundingMetadata": {"webSearchQueries": ["bob"]}}]},
    {"candidates": [{"groundingMetadata": {}}]},
    {"candidates": [{"grounding_metadata": {"grounding_chunks": []}}]},
    {"candidates": [{"urlContextMetadata": {"urlMetadata": [{"retrievedUrl": "https://a.example"}]}}]},
    {"candidates": [{"url_context_metadata": {}}]},
    {"candidates": [{"index": 1, "groundingMetadata": {}}]},
    {"candidates": [{"content": {"parts": [{"executableCode": {"language": "PYTHON", "code": "1"}}]}}]},
    {"candidates": [{"content": {"parts": [{"code_execution_result": {"outcome": "OUTCOME_OK", "output": "1"}}]}}]},
    {"candidates": [{"content": {"parts": [{"toolCall": {"toolType": "URL_CONTEXT"}}]}}]},
    {"candidates": [{"content": {"parts": [{"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB"}}]}}]},
    {"candidates": [{"content": {"parts": [{"tool_response": {}, "thoughtSignature": "c2ln"}]}}]},
    {"candidates": [{"content": {"parts": [{"text": "x", "toolResponse": {}}]}}]},
    {"candidates": [{"content": {"parts": [{"somethingNew": {"said": "by whom?"}}]}}]},
    {"usageMetadata": {"promptTokenCount": 3, "toolUsePromptTokenCount": 700}},
]


@pytest.mark.parametrize("evidence", GEMINI, ids=lambda each: json.dumps(each)[:60])
@pytest.mark.parametrize("is_first", [True, False], ids=["first", "last"])
def test_gemini_s_own_tools_taint_the_answer(evidence: dict[str, Any], is_first: bool):
    said = {"candidates": [{"content": {"parts": [CALL]}, "finishReason": "STOP"}]}
    assert gemini(said) == ()
    assert gemini(*((evidence, said) if is_first else (said, evidence))) == WEB


def test_what_gemini_says_without_its_own_tools_does_not():
    signed = {"thoughtSignature": "c2ln"}
    parts = [{"text": "Hm.", "thought": True}, signed, {"inlineData": {"mimeType": "image/png", "data": ""}}, CALL]
    usage = {"promptTokenCount": 3, "toolUsePromptTokenCount": 0}
    chunk = {"candidates": [{"content": {"parts": parts}, "groundingMetadata": None}], "usageMetadata": usage}
    assert gemini(chunk) == ()


CITED = {"type": "web_search_result_location", "url": "https://a.example", "cited_text": "x"}
ANTHROPIC: list[dict[str, Any]] = [
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
    {"type": "web_fetch_tool_result", "tool_use_id": "s1", "content": {}},
    {"type": "code_execution_tool_result", "tool_use_id": "s1", "content": {}},
    {"type": "bash_code_execution_tool_result", "tool_use_id": "s1", "content": {}},
    {"type": "mcp_tool_use", "id": "m1", "name": "look", "server_name": "s", "input": {}},
    {"type": "mcp_tool_result", "tool_use_id": "m1", "content": []},
    {"type": "container_upload", "file_id": "f"},
    {"type": "something_new"},
    {"type": "text", "text": "x", "citations": [CITED]},
    {"type": "text", "text": "x", "citations": [{"type": "search_result_location"}]},
]


@pytest.mark.parametrize("block", ANTHROPIC, ids=lambda each: str(each["type"]))
@pytest.mark.parametrize("is_streamed", [True, False], ids=["streamed", "whole"])
def test_anthropic_s_own_tools_taint_the_answer(block: dict[str, Any], is_streamed: bool):
    assert anthropic([block], is_streamed=is_streamed) == WEB


def test_citations_that_arrive_in_pieces_and_counted_searches_do_so_too():
    fold = AnthropicFold({}, no_error)
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "x"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": CITED}},
        {"type": "message_stop"},
    ]
    fold.add([json.dumps(event).encode() for event in events])
    assert sources(fold.finish()) == WEB
    assert anthropic([], usage={"server_tool_use": {"web_search_requests": 1}}) == WEB


def test_what_anthropic_says_without_its_own_tools_does_not():
    filed = {"type": "text", "text": "x", "citations": [{"type": "page_location", "document_index": 0}]}
    call = {"type": "tool_use", "id": "t1", "name": "demo_mail", "input": MAIL}
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    blocks = [thought, {"type": "redacted_thinking", "data": "x"}, filed, call]
    assert anthropic(blocks, usage={"server_tool_use": {"web_search_requests": 0}}) == ()


OPENAI: list[dict[str, Any]] = [
    {"choices": [{"delta": {"annotations": [{"type": "url_citation"}]}}]},
    {"choices": [{"delta": {"content": [{"type": "text", "text": "x", "annotations": [{"type": "url_citation"}]}]}}]},
    {"choices": [{"delta": {"content": [{"type": "reference", "reference_ids": [1]}]}}]},
    {"choices": [{"delta": {"executed_tools": [{"type": "search"}]}}]},
    {"choices": [{"delta": {"tool_calls": [{"index": 9, "type": "web_search"}]}}]},
    {"citations": ["https://a.example"]},
    {"search_results": [{"url": "https://a.example"}]},
]


@pytest.mark.parametrize("evidence", OPENAI, ids=lambda each: json.dumps(each)[:60])
def test_what_openai_s_kind_of_server_searched_for_taints_the_answer(evidence: dict[str, Any]):
    said: dict[str, Any] = {"choices": [{"delta": {"content": "Hello.", "annotations": []}, "finish_reason": "stop"}]}
    assert openai(said) == ()
    assert openai(evidence, said) == WEB


# What `extra` may switch on.

READERS: list[dict[str, JSON]] = [
    {"tools": [{"googleSearch": {}}]},
    {"tools": [{"google_search": {}}, {"urlContext": {}}]},
    {"tools": ({"googleSearchRetrieval": {}},)},
    {"tools": [{"codeExecution": {}}]},
    {"tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 3}]},
    {"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]},
    {"tools": [{"type": "web_search_preview"}]},
    {"tools": [{"type": "file_search", "vector_store_ids": ["v"]}]},
    {"Tools": [{"retrieval": {"vertexAiSearch": {"datastore": "d"}}}]},
    {"web_search_options": {}},
    {"plugins": [{"id": "web"}]},
    {"extra_body": {"search_parameters": {"mode": "auto"}}},
    {"cachedContent": "cachedContents/1"},
    {"code_execution": {}},
    {"google_search": {}},
    {"web_fetch": True},
    {"enable_enhancement": True},
    {"search_domain_filter": ["a.example"]},
    {"documents": [{"text": "x"}]},
    {"models": ["hub/other:online"]},
    {"plugins": [{"id": "web", "max_results": 3}, {"id": "file-parser", "pdf": {"engine": "native"}}]},
    {"web_search_options": {"user_location": {"type": "approximate", "approximate": {"country": "AT"}}}},
    # Of a name that nobody knows, nobody knows what it brings in.
    {"something_new": "on"},
    {"something_new": False},
    {"generationConfig": {"somethingNew": 1}},
    {"ｔemperature": 1},
]


@pytest.mark.parametrize("extra", READERS, ids=lambda each: json.dumps(each)[:60])
def test_settings_that_let_a_service_read_taint_each_answer(extra: dict[str, JSON]):
    assert hosted_sources(Profile(extra=extra).extra) == WEB


ACTORS: list[tuple[dict[str, JSON], str]] = [
    ({"mcp_servers": [{"url": "https://a.example"}]}, "extra.mcp_servers"),
    ({"mcpServers": []}, "extra.mcpServers"),
    ({"MCP-Server": {}}, "extra.MCP-Server"),
    ({"ｍcp_servers": []}, "extra.ｍcp_servers"),
    ({"ＭＣＰ＿ＳＥＲＶＥＲＳ－１": []}, "extra.ＭＣＰ＿ＳＥＲＶＥＲＳ－１"),
    ({"ſhell": {}}, "extra.ſhell"),
    ({"m\u0301cp\u200b_servers": []}, "servers"),
    ({"extra_body": [{"ｅnvironment": "remote"}]}, "extra.extra_body.ｅnvironment"),
    ({"ｍetadata": {"agent": "a"}}, "extra.ｍetadata.agent"),
    ({"ｔools": [{"googleSearch": {"𝓂cpServers": []}}]}, "extra.ｔools[0].googleSearch.𝓂cpServers"),
    ({"tools": [{"ｇoogleSearch": {}}]}, "extra.tools[0].ｇoogleSearch"),
    ({"environment": "remote"}, "extra.environment"),
    ({"container": {"skills": []}}, "extra.container"),
    ({"agent": "antigravity-preview-09-2026"}, "extra.agent"),
    ({"extra_body": {"deep": [{"mcp_server": {}}]}}, "extra.extra_body.deep.mcp_server"),
    ({"previous_interaction_id": "v1_x"}, "extra.previous_interaction_id"),
    ({"tools": [{"mcpServers": [{"name": "x"}]}]}, "extra.tools[0].mcpServers"),
    ({"tools": [{"googleSearch": {}, "mcpServers": []}]}, "extra.tools[0].mcpServers"),
    ({"tools": [{"googleSearch": {"mcp_server": {}}}]}, "extra.tools[0].googleSearch.mcp_server"),
    ({"tools": [{"type": "mcp_server", "url": "https://a.example"}]}, "extra.tools[0].mcp_server"),
    ({"tools": [{"type": "mcp", "connector_id": "mail"}]}, "extra.tools[0].mcp"),
    ({"tools": [{"type": "web_search", "mcp_servers": []}]}, "extra.tools[0].mcp_servers"),
    ({"tools": [{"computerUse": {"environment": "ENVIRONMENT_BROWSER"}}]}, "extra.tools[0].computerUse"),
    ({"tools": [{"type": "computer_20250124"}]}, "extra.tools[0].computer_20250124"),
    ({"tools": [{"type": "computer_use_preview"}]}, "extra.tools[0].computer_use_preview"),
    ({"tools": [{"type": "local_shell"}]}, "extra.tools[0].local_shell"),
    ({"tools": [{"type": "bash_20250124"}]}, "extra.tools[0].bash_20250124"),
    ({"tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]}, "extra.tools[0].code_interpreter"),
    ({"tools": [{"type": "builtin_function", "function": {"name": "$web_search"}}]}, "extra.tools[0].function"),
    ({"tools": [{"type": "builtin_function"}]}, "extra.tools[0].builtin_function"),
    ({"tools": [{"type": "somethingNew"}]}, "extra.tools[0].somethingNew"),
    ({"tools": [{"somethingNew": {}}]}, "extra.tools[0].somethingNew"),
    ({"tools": [{"retrieval": {"externalApi": {"endpoint": "https://a.example"}}}]}, "externalApi"),
    ({"tools": [{"functionDeclarations": [{"name": "f"}]}]}, "extra.tools[0].functionDeclarations"),
    ({"tools": [{"type": "web_search", "function": {"name": "f"}}]}, "extra.tools[0].function"),
    ({"tools": [{"name": "f", "input_schema": {}}]}, "extra.tools[0].name"),
    ({"tools": {"googleSearch": {}}}, "extra.tools"),
    ({"tools": ["web_search"]}, "extra.tools[0]"),
    ({"tools": [{}]}, "extra.tools[0]"),
    ({"generationConfig": {"tools": [{"computer_use": {}}]}}, "extra.generationConfig.tools[0].computer_use"),
    ({"tool_ids": ["server:mcp:github"]}, "extra.tool_ids"),
    ({"tool_servers": [{"url": "https://a.example"}]}, "extra.tool_servers"),
    ({"integrations": [{"type": "ephemeral_mcp"}]}, "extra.integrations"),
    ({"server_tools": []}, "extra.server_tools"),
    ({"mcp_config": {}}, "extra.mcp_config"),
    ({"mcpServersConfig": []}, "extra.mcpServersConfig"),
    ({"remote_mcp": []}, "extra.remote_mcp"),
    ({"agent_id": "a"}, "extra.agent_id"),
    ({"bot_id": "b"}, "extra.bot_id"),
    ({"prompt": {"id": "p"}}, "extra.prompt"),
    ({"toolsets": ["mail"]}, "extra.toolsets"),
    ({"skills": []}, "extra.skills"),
    ({"reasoning_engine": "r"}, "extra.reasoning_engine"),
    ({"model": "other"}, "extra.model"),
    ({"extra_body": {"model": "other"}}, "extra.extra_body.model"),
    ({"functions": [{"name": "f"}]}, "extra.functions"),
    ({"builtin_tools": True}, "extra.builtin_tools"),
    ({"somethingNew": {}}, "extra.somethingNew"),
    ({"somethingNew": ["on"]}, "extra.somethingNew"),
    ({"generationConfig": {"somethingNew": {"a": 1}}}, "extra.generationConfig.somethingNew"),
    ({"thinking": {"type": "enabled", "skill": 1}}, "extra.thinking.skill"),
    ({"plugins": [{"id": "mail"}]}, "extra.plugins[0]"),
    ({"plugins": ["web"]}, "extra.plugins[0]"),
    ({"plugins": {"id": "web"}}, "extra.plugins"),
    ({"plugins": [{"id": "web", "mcp": {}}]}, "extra.plugins[0].mcp"),
]  # fmt: skip


@pytest.mark.parametrize(("extra", "place"), ACTORS, ids=lambda each: json.dumps(each)[:60])
def test_settings_that_let_a_service_act_are_refused_by_name(extra: dict[str, JSON], place: str):
    with pytest.raises(ValidationError) as refused:
        Profile(extra=extra)
    assert place in str(refused.value)


def test_a_configuration_that_lets_a_service_act_is_refused_with_its_place(tmp_path: Path):
    file = tmp_path / "own.toml"
    file.write_text('[profiles.desk.extra]\nenvironment = "remote"\n')
    home = {"HOME": str(tmp_path), "POLLUX_HOME": str(tmp_path)}
    rights = load_project(read_settings(home, cwd=tmp_path, flags={"config": str(file)})).rights
    with pytest.raises(ConfigError, match=r"extra of .*desk.*extra\.environment lets"):
        profiles_of(rights, model="gemini-3.8-flash", defaults=Limits(), tools=())


SCHEMA = {"type": "object", "properties": {"environment": {"type": "string"}, "tools": {"type": "array"}}}
PLAIN: list[dict[str, JSON]] = [
    {
        "labels": {"environment": "production"},
        "metadata": {"agent": "desk"},
        "tools": [],
        "web_search": False,
        "seed": 7,
    },
    # Gemini
    {"generationConfig": {"topK": 3, "topP": 0.9, "responseJsonSchema": SCHEMA, "stopSequences": ["END"]}},
    {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0, "includeThoughts": True}, "candidateCount": 1}},
    {"generationConfig": {"speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}}}}},
    {"safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}]},
    {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}, "serviceTier": "flex"},
    # Anthropic
    {"thinking": {"type": "enabled", "budget_tokens": 2048}, "service_tier": "auto", "metadata": {"user_id": "u"}},
    {"output_config": {"effort": "low"}, "cache_control": {"type": "ephemeral", "ttl": "1h"}, "stop_sequences": ["x"]},
    # OpenAI
    {"reasoning_effort": "low", "verbosity": "low", "n": 1, "logit_bias": {"50256": -100}, "top_logprobs": 3},
    {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}, "store": False},
    {"stream_options": {"include_usage": True}, "parallel_tool_calls": False, "prompt_cache_key": "k", "user": "u"},
    {"tool_choice": {"type": "function", "function": {"name": "f"}}, "prediction": {"type": "content", "content": "x"}},
    # OpenRouter
    {"provider": {"order": ["a"], "allow_fallbacks": False, "max_price": {"prompt": 1}}, "route": "fallback"},
    {"transforms": ["middle-out"], "reasoning": {"effort": "high", "exclude": True}, "usage": {"include": True}},
    # Ollama and llama.cpp
    {"options": {"num_ctx": 8192, "mirostat": 2, "repeat_penalty": 1.1}, "keep_alive": "5m", "think": True},
    {"format": {"type": "object", "properties": {}}, "grammar": "root ::= x", "cache_prompt": True},
    # vLLM
    {"guided_json": SCHEMA, "guided_choice": ["a", "b"], "min_p": 0.1, "stop_token_ids": [1], "use_beam_search": True},
    {"chat_template_kwargs": {"enable_thinking": False}, "structured_outputs": {"regex": "x"}, "ignore_eos": None},
    {"something_new": None},
]


@pytest.mark.parametrize("extra", PLAIN, ids=lambda each: json.dumps(each)[:60])
def test_settings_of_generation_are_passed_on(extra: dict[str, JSON]):
    assert hosted_sources(Profile(extra=extra).extra) == ()


# The source stays with the words, wherever they go.

READ = Message("assistant", (Text("Bob lives in Elm Street."),), sources=WEB)


def test_a_session_that_is_exported_and_imported_keeps_the_source():
    written = json.loads(json.dumps(document_of(SessionCopy(session_id="s", messages=(user("Where?"), READ)))))
    assert sources_of(copy_of(written).messages) == {"web"}


def test_a_session_file_claims_no_other_source():
    written = document_of(SessionCopy(session_id="s", messages=(READ,)))
    written["messages"][0]["sources"] = ["user", "trusted", "tool:nothing"]
    with pytest.raises(ValidationError):
        copy_of(json.loads(json.dumps(written)))
    assert sources_of([Message("assistant", (Text("x"),), sources=("user", "trusted"))]) == set()


def test_a_page_s_history_keeps_the_source_also_where_it_is_cut():
    for read in (READ, Message("assistant", (Text("long " * 200_000),), sources=WEB)):
        kept = history.recent([user("Where?"), read])
        assert sources_of(history.read(json.loads(json.dumps(history.write(kept))))) == {"web"}


def no_error(error: JSON) -> ModelError:
    raise AssertionError(error)


def sources(events: Any) -> tuple[str, ...]:
    done = events[-1]
    assert isinstance(done, Done)
    return done.message.sources


def gemini(*chunks: dict[str, Any]) -> tuple[str, ...]:
    fold = GeminiFold({}, no_error)
    fold.add([json.dumps(chunk).encode() for chunk in chunks])
    return sources(fold.finish())


def anthropic(
    blocks: list[dict[str, Any]], *, is_streamed: bool = False, usage: dict[str, Any] | None = None
) -> tuple[str, ...]:
    fold = AnthropicFold({}, no_error)
    whole = {"type": "message", "content": blocks, "stop_reason": "end_turn", "usage": usage or {}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {}}]
    for index, block in enumerate(blocks):
        events += [
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_stop", "index": index},
        ]
    events.append({"type": "message_stop"})
    fold.add([json.dumps(event).encode() for event in (events if is_streamed else [whole])])
    return sources(fold.finish())


def openai(*chunks: dict[str, Any]) -> tuple[str, ...]:
    fold = OpenAIFold({}, no_error)
    fold.add([*(json.dumps(chunk).encode() for chunk in chunks), b"[DONE]"])
    return sources(fold.finish())

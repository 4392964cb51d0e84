"""Templates: the texts of a block with what other blocks gave out put in. What was put in is never rendered again.

`var`, `env`, `workspace` and `doc` as Atuin has them. `doc.previous` is the block that stands before the one that is
rendered, whatever its type.
"""

from typing import TYPE_CHECKING

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.runbooks.templates.engine import OUTPUT_LIMIT, Filled, Payload, fill
from pollux.runbooks.templates.simple import has_tags, is_simple

if TYPE_CHECKING:
    from pollux.runbooks.documents.model import Block
    from pollux.runbooks.scene import Scene

__all__ = ["OUTPUT_LIMIT", "Rendered", "render"]

# What is the content of these in an editor is their code in the document.
_CODE = frozenset({"editor", "run", "terminal"})


@frozen
class Rendered:
    """A text, and the ids of the blocks whose outputs it was made from."""

    text: str
    sources: frozenset[str] = frozenset()


def render(template: str, scene: "Scene", *, block: "Block | None" = None) -> Rendered:
    """The template filled in for this scene. `block` is the one it belongs to.

    A template with loops, calls or arithmetic is rendered in a process of its own, which takes some hundredths of a
    second.

    Raises:
        ValidationError: the template is wrong, names something that is not there, or takes too much time or memory.
    """
    if not has_tags(template):
        return Rendered(template)
    filled = _filled(template, payload_of(scene, block))
    if filled.problem:
        raise _refused(filled, block)
    # With an output come the words that its block had put into what ran.
    passed_on = (scene.output_sources.get(each, ()) for each in filled.sources)
    return Rendered(filled.text, frozenset(filled.sources).union(*passed_on))


def payload_of(scene: "Scene", block: "Block | None") -> Payload:
    """What a template sees."""
    return {
        "blocks": [_seen(each, scene) for each in scene.runbook.blocks],
        "previous": _before(scene, block),
        "var": {name: [variable.value, sorted(variable.sources)] for name, variable in scene.variables.items()},
        "env": {name: [value, sorted(scene.env_sources.get(name, ()))] for name, value in scene.env.items()},
        "workspace": {"root": scene.workspace or None},
    }


def _filled(template: str, payload: Payload) -> Filled:
    if is_simple(template):
        return fill(template, payload)
    from pollux.runbooks.templates.apart import fill_apart

    return fill_apart(template, payload)


def _seen(block: "Block", scene: "Scene") -> dict[str, object]:
    name, code = block.props.get("name"), block.props.get("code")
    seen: dict[str, object] = {
        "id": block.id,
        "name": name if isinstance(name, str) else None,
        "block_type": block.type,
        "content": (code if isinstance(code, str) else "") if block.type in _CODE else block.content,
        "props": dict(block.props),
    }
    if block.id in scene.outputs:
        seen["output"] = dict(scene.outputs[block.id])
        seen["may_lack"] = block.type == "agent" or block.id in scene.passed_over
    return seen


def _before(scene: "Scene", block: "Block | None") -> int | None:
    if block is None:
        return None
    positions = (index for index, each in enumerate(scene.runbook.blocks) if each.id == block.id)
    index = next(positions, 0)
    return index - 1 if index else None


def _refused(filled: Filled, block: "Block | None") -> ValidationError:
    from pollux.runbooks.documents.model import place_of

    line = f"line {filled.line}: " if filled.line else ""
    place = f" {place_of(block)}" if block is not None else ""
    return ValidationError(f"the template cannot be rendered: {line}{filled.problem}{place}")

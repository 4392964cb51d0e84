"""Skills: folders with a `SKILL.md` that says what a model should know for one kind of task, and files to go with it.

The model sees names and descriptions in its instructions, takes up a skill with `activate_skill`, and reads the skill's
files with `read_skill_file`: those beneath the skill's own folder, and no others.
"""

import logging
import mimetypes
import os
import re
import stat
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Final, cast

from pollux.core.errors import PolicyError, PolluxError, ToolError, ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.core.tools import Tool, ToolContext, ToolSpec
from pollux.tools.define import Args, FunctionTool
from pollux.tools.files.root import Root
from pollux.tools.front_matter import FrontMatter, read_front_matter

logger = logging.getLogger(__name__)

FILE: Final = "SKILL.md"
LARGEST_FILE: Final = 1 << 20
MOST_SKILLS: Final = 500
MOST_RESOURCES: Final = 200
MOST_WALKED: Final = 5_000
LONGEST_NAME: Final = 64
LONGEST_DESCRIPTION: Final = 1024
LONGEST_COMPATIBILITY: Final = 500

_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_ALLOWED: Final = re.compile(r"[^\s,(]+(?:\([^)]*\))?")
_UNSEEN: Final = frozenset({"node_modules", "__pycache__"})


@frozen
class SkillDir:
    """A folder with a skill in it, or with folders that each hold one."""

    path: Path


@frozen
class Skill:
    """One skill. `resources` are its other files, relative to its folder; `is_cut` says that there are more."""

    name: str
    description: str
    location: Path
    body: str
    license: str = ""
    compatibility: str = ""
    metadata: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    allowed_tools: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    is_cut: bool = False

    @property
    def folder(self) -> Path:
        return self.location.parent


def skill_dir(path: str | os.PathLike[str]) -> SkillDir:
    """Where skills are: a folder with a `SKILL.md`, or one whose folders have them. Looked at when they are loaded."""
    try:
        return SkillDir(Path(path))
    except TypeError:
        raise ValidationError(f"expected the path of a folder with skills, found {path!r:.100}") from None


def load_skills(dirs: Iterable[SkillDir]) -> tuple[Skill, ...]:
    """Every skill in these folders, in order. Raises ValidationError that names the file, the line and what to do."""
    skills: dict[str, Skill] = {}
    for directory in dirs:
        for skill in _skills_in(directory.path):
            if (other := skills.get(skill.name)) is None:
                skills[skill.name] = skill
            # The same folder may be given twice, once by itself and once with its neighbours.
            elif other.location != skill.location:
                raise ValidationError(
                    f"two skills are called {skill.name!r}: {other.location} and {skill.location}. Rename one of them"
                )
    return tuple(skills.values())


def skills_prompt(skills: Sequence[Skill]) -> str:
    """The part of the instructions that tells the model which skills there are. Empty without any."""
    if not skills:
        return ""
    listed = "\n".join(f"- {skill.name}: {_on_one_line(skill.description)} ({skill.location})" for skill in skills)
    return (
        "# Skills\n\n"
        "These are instructions and files for particular kinds of tasks. When a task fits a description, first call"
        " `activate_skill` with the skill's name and follow the instructions that it returns; `read_skill_file` reads"
        f" the files that they mention.\n\n{listed}"
    )


def skill_tools(skills: Sequence[Skill]) -> list[Tool]:
    """The tools with which a model takes up skills and reads their files. None without any skill."""
    if not skills:
        return []
    by_name = {skill.name: skill for skill in skills}
    named = {"type": "string", "enum": list(by_name)}

    def activate(context: ToolContext, args: Args) -> JSON:
        skill = by_name[args["name"]]
        taken = {"name": skill.name, "instructions": skill.body, "resources": list(skill.resources)}
        return taken | {"more_resources": True} if skill.is_cut else taken

    def read(context: ToolContext, args: Args) -> JSON:
        return {"content": _read_text(by_name[args["name"]], args["path"])}

    return [
        FunctionTool(
            ToolSpec(
                "activate_skill",
                "Take up a skill: returns its instructions and the list of its files.",
                _object(name={**named, "description": "Which skill"}),
            ),
            activate,
        ),
        FunctionTool(
            ToolSpec(
                "read_skill_file",
                "Read a text file of a skill.",
                _object(
                    name={**named, "description": "Which skill"},
                    path={"type": "string", "description": "The file, relative to the skill's folder"},
                ),
            ),
            read,
        ),
    ]


def _skills_in(path: Path) -> list[Skill]:
    try:
        root = Root(path)
    except ValidationError:
        raise ValidationError(f"expected a folder with skills at {path}, found none. Check the path") from None
    with closing(root):
        places = [root.path, *(root.path / name for name in _folders(root))]
    skills = [skill for place in places if (skill := _skill_at(place))]
    if not skills:
        raise ValidationError(f"{root.path} holds no skill. Expected a file {FILE} in it, or in folders in it")
    return skills


def _folders(root: Root) -> list[str]:
    """The folders in a folder that hold skills. Raises ValidationError for a link to one elsewhere."""
    names = [
        entry.name
        for entry in root.list()
        if entry.type in ("directory", "link")
        and _is_seen(entry.name)
        and os.path.exists(root.path / entry.name / FILE)
    ]
    if len(names) > MOST_SKILLS:
        raise ValidationError(f"{root.path} holds more than {MOST_SKILLS} skills; give the folder of each instead")
    for name in names:
        with _told_of(root.path / name):
            root.stat(name)
    return names


def _skill_at(folder: Path) -> Skill | None:
    root = Root(folder)
    with closing(root), _told_of(root.path / FILE):
        found = root.stat(FILE)
        if found is None:
            return None
        if not stat.S_ISREG(found.st_mode):
            raise ValidationError("expected a regular file, found something else")
        if found.st_size > LARGEST_FILE:
            raise ValidationError(
                f"expected at most {LARGEST_FILE >> 20} MB, found {found.st_size / (1 << 20):.1f} MB. Move what is not"
                " always needed to files beside it"
            )
        content = root.read(FILE, limit=LARGEST_FILE) or b""
        try:
            text = content.decode()
        except UnicodeDecodeError as problem:
            line = content.count(b"\n", 0, problem.start) + 1
            raise ValidationError(f"line {line}: expected text in UTF-8. Save the file as UTF-8") from None
        resources, is_cut = _resources(root)
    skill = _skill(read_front_matter(text, name=str(root.path / FILE)), root.path / FILE)
    if skill.name != root.path.name:
        logger.warning("the skill %r lies in a folder of another name, %r", skill.name, root.path.name)
    return replace(skill, resources=resources, is_cut=is_cut)


@contextmanager
def _told_of(place: Path) -> Generator[None]:
    """Inside the block, what is wrong with a file is said of this one."""
    try:
        yield
    except PolluxError as problem:
        if isinstance(problem, PolicyError) and place.is_symlink():
            problem = "a link that leads out of its folder. Put a copy of what it leads to in its place"
        raise ValidationError(f"{place}, {problem}") from None


def _resources(root: Root) -> tuple[tuple[str, ...], bool]:
    walked = list(root.walk(limit=MOST_WALKED, enter=lambda names: _is_seen(names[-1])))
    files = [entry.path for entry in walked if entry.type == "file" and _is_seen(entry.name) and entry.path != FILE]
    # A folder in it with a skill of its own is that skill's.
    others = {path.removesuffix(FILE) for path in files if path.count("/") == 1 and path.endswith(f"/{FILE}")}
    own = sorted(path for path in files if path.partition("/")[0] + "/" not in others)
    return tuple(own[:MOST_RESOURCES]), len(own) > MOST_RESOURCES or len(walked) == MOST_WALKED


def _is_seen(name: str) -> bool:
    return not name.startswith(".") and name not in _UNSEEN


def _skill(head: FrontMatter, location: Path) -> Skill:
    def wrong(key: str, expected: str) -> ValidationError:
        found = "which is not there" if key not in head.lines else f"found {head.fields.get(key)!r:.80}"
        return ValidationError(f"{location}, line {head.lines.get(key, 1)}: expected `{key}` {expected}, {found}")

    def text(key: str, *, most: int = LARGEST_FILE) -> str:
        value = head.fields.get(key, "")
        if not isinstance(value, str) or len(value.strip()) > most:
            raise wrong(key, f"to be text of at most {most} characters")
        return value.strip()

    name, description = text("name"), text("description", most=LONGEST_DESCRIPTION)
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise wrong("name", f"to be 1 to {LONGEST_NAME} of a-z, 0-9 and single hyphens between them")
    if not description:
        raise wrong("description", "to say what the skill is for and when to use it")
    metadata: JSON = head.fields.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise wrong("metadata", "to be fields of its own, such as `author: …`")
    allowed = head.fields.get("allowed-tools", "")
    if isinstance(allowed, list):
        allowed = " ".join(str(tool) for tool in cast("list[object]", allowed))
    if not isinstance(allowed, str):
        raise wrong("allowed-tools", "to be names of tools with spaces between them")
    return Skill(
        name=name,
        description=description,
        location=location,
        body=head.body,
        license=text("license"),
        compatibility=text("compatibility", most=LONGEST_COMPATIBILITY),
        metadata=cast("dict[str, JSON]", metadata),
        allowed_tools=tuple(_ALLOWED.findall(allowed)),
    )


def _read_text(skill: Skill, path: str) -> str:
    try:
        root = Root(skill.folder)
    except ValidationError:
        raise ToolError(f"the folder of the skill {skill.name!r} is not there any more") from None
    with closing(root):
        if root.path != skill.folder:
            raise PolicyError(
                f"the folder of the skill {skill.name!r} has become a link to another place", code="outside_root"
            )
        content = root.read(path, limit=LARGEST_FILE)
    if content is None:
        known = ", ".join(skill.resources[:20]) or "none"
        raise ToolError(f"the skill {skill.name!r} has no file {path[:200]!r}; its files are: {known}")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        kind = mimetypes.guess_type(path)[0] or "a binary file"
        raise ToolError(f"expected a text file, found {kind} of {len(content)} bytes, which cannot be shown as text")
    return text


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _object(**properties: JSON) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}

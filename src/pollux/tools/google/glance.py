"""What a person sees before deciding: whom it reaches, where its links lead, how it begins, how much more there is.

Nothing is left out without a number for it. What cannot be seen, or would reorder what can, is written as its code.
Every function takes time in proportion to its input: the texts are the model's.
"""

import html
import re
from collections.abc import Sequence

from pollux.tools.google.address import Address, parse
from pollux.tools.google.header import is_invisible

LIMIT = 2_000
"""Characters of a preview: the engine keeps no more."""
_PEOPLE = 240
_SHOWN = 120
_LINKS = 240
_LINES = 12
_NOTE = 40
# A slash and a host, or a scheme that browsers complete by themselves: "https:host" leads there as well.
_HOST = r"""([^\s"'<>()/\\?#]+)"""
_LINK = re.compile(rf"(?:(?:https?|ftp):[/\\]*|[/\\]{{2}}){_HOST}", re.IGNORECASE)
_VALUE = re.compile(r"""=[ \t\n]*(["']).*?\1""", re.DOTALL)
# Only what a browser takes for a tag: "a < b > c" is text.
_TAG = re.compile(r"<[a-zA-Z/!?][^<>]*>")
# No character's number has more digits than these. Python refuses to read thousands of them, where browsers do.
_NUMBER = re.compile(r"&#0*([0-9]{1,8})[0-9]*")


def visible(text: str) -> str:
    """The text with what cannot be seen written as its code; line feeds and tabs stay."""
    odd = {char for char in set(text) if char not in "\n\t" and is_invisible(char)}
    return text.translate({ord(char): f"⟨U+{ord(char):04X}⟩" for char in odd}) if odd else text


def people(label: str, addresses: Sequence[str]) -> str:
    """One line of canonical addresses, or as many of them as fit. Of every domain one is shown before a second is."""
    if not addresses:
        return ""
    known = [parse(address) for address in addresses]
    firsts = dict[str, Address]()
    for each in known:
        firsts.setdefault(each.domain, each)
    picked, used = list[str](), 0
    for each in dict.fromkeys((*firsts.values(), *known)):
        entry = each.shown if len(each.shown) <= _SHOWN else str(each)
        used += len(entry) + 2
        if picked and used > _PEOPLE:
            break
        picked.append(entry)
    if len(picked) == len(known):
        picked = [each.shown if len(each.shown) <= _SHOWN else str(each) for each in known]
    more = _more(len(known) - len(picked), domains=len(firsts) - len(picked))
    return f"{label}: {', '.join(picked)}{more}"


def links(*texts: str) -> str:
    """One line that names the hosts which these texts link to. Empty if there are none."""
    hosts = list(dict.fromkeys(host for text in texts for host in _hosts(text)))
    if not hosts:
        return ""
    picked, used = list[str](), 0
    for host in hosts:
        entry = _both_forms(visible(host)[:_SHOWN])
        used += len(entry) + 2
        if picked and used > _LINKS:
            break
        picked.append(entry)
    hidden = len(hosts) - len(picked)
    return f"Links lead to: {', '.join(picked)}" + (f", +{hidden} more hosts" if hidden else "")


def excerpt(text: str, *, limit: int) -> str:
    """How a text begins, within so many characters, and how much more of it there is."""
    text = visible(_without_gaps(text))
    begun = "\n".join(text.split("\n", _LINES)[:_LINES])[: max(limit - _NOTE, 0)]
    if len(begun) == len(text):
        return text
    return f"{begun.rstrip()}\n… +{len(text) - len(begun):,} more characters"


def words(markup: str) -> str:
    """The words of some HTML, tags taken off. Styles and comments may stay: better too much than something hidden."""
    spaced = _unescaped(_TAG.sub(" ", markup))
    return " ".join(spaced.split())


def fitted(parts: Sequence[str]) -> str:
    """The parts that say something, one below the other."""
    return "\n".join(part for part in parts if part)[:LIMIT]


def _without_gaps(text: str) -> str:
    """The text without long stretches of nothing, which would push the rest of it out of sight."""
    kept = list[str]()
    for line in text.split("\n"):
        line = re.sub(r"\s{9,}", "  ", line.rstrip())
        if line or (kept and kept[-1]):
            kept.append(line)
    return "\n".join(kept).rstrip("\n")


def _more(people: int, *, domains: int) -> str:
    if not people:
        return ""
    return f", +{people} more, {f'also at {domains} other domains' if domains > 0 else 'at the same domains'}"


def _hosts(text: str) -> list[str]:
    """Hosts in the order they come, also where a link is written as character references or broken by newlines."""
    plain = _VALUE.sub(lambda value: re.sub(r"[\t\n]", "", value[0]), _unescaped(text)) if "<" in text else text
    hosts = (found[1].rpartition("@")[2].rstrip(".,;:!").lower() for found in _LINK.finditer(plain))
    return [host for host in hosts if "." in host or ":" in host or host == "localhost"]


def _unescaped(text: str) -> str:
    """The text with its character references read."""
    return html.unescape(_NUMBER.sub(r"&#\1", text))


def _both_forms(host: str) -> str:
    import idna

    name = host.partition(":")[0]
    try:
        coded = idna.encode(name, uts46=True).decode()
        plain = idna.decode(coded)
    except UnicodeError:
        return host
    return host if coded == plain else f"{plain} ({coded})"

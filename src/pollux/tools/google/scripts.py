"""Whether a domain's label reads as what it is: one script, and not one that passes for ASCII.

IDNA lets every letter of every script into a name. A person who is to approve a recipient sees shapes, so a label is
refused when it mixes scripts, uses a script or letters that hardly any name needs, or is written in look-alikes from
end to end under a top-level domain of another script: "аррӏе.com" in Cyrillic. Accented letters stay: they can be seen,
and a preview shows such a name in both of its forms.
"""

import unicodedata

# Japanese, Korean and Taiwanese write with several scripts at once.
_TOGETHER = (
    frozenset({"CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"CJK", "HANGUL"}),
    frozenset({"CJK", "BOPOMOFO"}),
)
# Scripts in everyday use. Cherokee, Lisu and the historic ones are full of ASCII's shapes, and name no mail server.
_EVERYDAY = frozenset(
    "ARABIC ARMENIAN BENGALI BOPOMOFO CJK CYRILLIC DEVANAGARI ETHIOPIC GEORGIAN GREEK GUJARATI GURMUKHI HANGUL HEBREW "
    "HIRAGANA KANNADA KATAKANA KHMER LAO LATIN MALAYALAM MYANMAR ORIYA SINHALA TAMIL TELUGU THAANA THAI TIBETAN".split()
)
_ALIASES = {"IDEOGRAPHIC": "CJK", "EXTENDED": "ARABIC"}
# Latin beyond these is phonetic notation, made to differ from ASCII by a hair: "ɑ", "ɡ", "ɩ".
_LATIN = ((0x61, 0x7A), (0xDF, 0x17E), (0x1A1, 0x1A1), (0x1B0, 0x1B0), (0x1CE, 0x1DC), (0x218, 0x21B), (0x259, 0x259),
          (0x1E00, 0x1EFF))  # fmt: skip
_LOOKALIKES = {
    "LATIN": frozenset("ıĸ"),
    "CYRILLIC": frozenset("асеорухѕіјһӏԁԛԝьгпѵѡҽԍү"),
    "GREEK": frozenset("αγικνορτυχωη"),
    "ARMENIAN": frozenset("օոսցհզյքլրղգ"),
    "HEBREW": frozenset("וןסחם"),
}
_NEUTRAL = frozenset("0123456789-·")  # The dot of Catalan l·l: IDNA allows it nowhere else.


def doubt(labels: list[str]) -> str:
    """What is doubtful about these labels of one domain, in Unicode and lower case. Empty if nothing is."""
    home = None if labels[-1].isascii() else _scripts(labels[-1])
    for label in labels:
        if label.isascii():
            continue
        scripts = _scripts(label)
        if len(scripts) > 1 and not any(scripts <= together for together in _TOGETHER):
            return "it mixes scripts within one word of the domain"
        if not scripts <= _EVERYDAY or not all(_is_plain(char) for char in label):
            return "it holds letters that few could tell from others"
        if scripts != home and _passes_for_ascii(label, scripts):
            return "its domain is made of letters that pass for ASCII ones"
    return ""


def _scripts(label: str) -> frozenset[str]:
    return frozenset(_script(char) for char in label if char not in _NEUTRAL)


def _script(char: str) -> str:
    """The script by the character's name, which begins with it. The standard library has no better source."""
    first = unicodedata.name(char, "UNKNOWN").replace("-", " ").split()[0]
    return _ALIASES.get(first, first)


def _is_plain(char: str) -> bool:
    return _script(char) != "LATIN" or any(low <= ord(char) <= high for low, high in _LATIN)


def _passes_for_ascii(label: str, scripts: frozenset[str]) -> bool:
    """Whether every letter that is not ASCII looks like one that is."""
    lookalikes = frozenset[str]().union(*(_LOOKALIKES.get(script, frozenset()) for script in scripts))
    foreign = {char for char in label if not char.isascii() and char not in _NEUTRAL}
    return bool(foreign) and foreign <= lookalikes

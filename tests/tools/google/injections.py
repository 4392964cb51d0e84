"""Attempts to make a header, a recipient or a line out of a field's text. Data only, by the field they go into."""

from base64 import b64encode


def _b(text: str, charset: str = "utf-8") -> str:
    return f"=?{charset}?b?{b64encode(text.encode('utf-8')).decode()}?="


def _q(text: str, charset: str = "utf-8") -> str:
    return f"=?{charset}?q?{''.join(f'={byte:02X}' for byte in text.encode())}?="


BCC = "\r\nBcc: eve@example.net"

# Each goes into every field that is one line.
LINES = [
    # As they are.
    f"Hi{BCC}", "Hi\nBcc: eve@example.net", "Hi\rBcc: eve@example.net", "Hi\n\rBcc: eve@example.net",
    "\r\nBcc: eve@example.net", "\nBcc: eve@example.net", "Hi\r\n Bcc: eve@example.net",
    "Hi\r\n\tBcc: eve@example.net", "Hi\r\n\r\n<b>new body</b>", "Hi\n\nnew body",
    "Hi\r\n.\r\nMAIL FROM:<eve@example.net>", "Hi\r\n", "Hi\n", "Hi\r", "Hi\0", "Hi\0Bcc: eve@example.net",
    "Hi\x0bBcc: eve@example.net", "Hi\x0cBcc: eve@example.net", "Hi\x1cBcc: eve@example.net", "Hi\x1dBcc: x",
    "Hi\x1eBcc: x", "Hi\x85Bcc: eve@example.net", "Hi\u2028Bcc: eve@example.net", "Hi\u2029Bcc: eve@example.net",
    "Hi\x08\x08", "Hi\x1b[2K", "Hi\x7f", "Hi\x9b2K", "Hi\tBcc: eve@example.net",
    # As bytes that some decoder would turn into a line break.
    "Hi\u560d\u560aBcc: eve@example.net", "Hi%0d%0aBcc: eve@example.net", "Hi\\r\\nBcc: eve@example.net",
    "Hi&#13;&#10;Bcc: x", "Hi=0D=0ABcc: eve@example.net", "Hi\udc0aBcc: eve@example.net", "Hi\ud800",
    "Hi\uff0d\uff0aBcc: x", "Hi␍␊Bcc: x",
    # As encoded words.
    _q(f"Hi{BCC}"), _b(f"Hi{BCC}"), _q("Hi\nBcc: eve@example.net"), _b("Hi\nBcc: eve@example.net"), _q("Hi\rBcc: x"),
    _b("Hi\rx"), "=?utf-8?q?Hi=0ABcc:_eve@example.net?=", "=?UTF-8?Q?Hi=0d=0aBcc:_eve?=", "=?us-ascii?q?Hi=0A?=",
    "=?iso-8859-1?q?Hi=85x?=", "=?utf-8*en?q?Hi=0ABcc:_eve?=", _q("Hi\u2028Bcc: x"), _b("Hi\u2028Bcc: x"),
    _q("Hi\0x"), _b("Hi\0x"), _b("Hi\u202ex"), f"Hi {_b(BCC)} there", f"Hi{_b(BCC)}there", f"{_b('Hi')} {_b(BCC)}",
    f"{_b('Hi')}{_b(BCC)}", f"Re: {_q(BCC)}",
    # Nested, split and joined up again.
    _q(_q(BCC)), _b(_b(BCC)), _b(_q(BCC)), _q(_b(BCC)), _b(_b(_b(BCC))), _q(_b(_q(_b(BCC)))),
    _b(_b(_b(_b(_b(_b("deep")))))), "=?utf-8?q?=3D=3Futf-8=3Fq=3FHi=3D0ABcc=3F=3D?=",
    f"{_b('=?utf-8?q?Hi')} {_b('=0ABcc?=')}", "=?utf-8?q?=3D?=?utf-8?q?=0A?=", "=?utf-8?q?Hi?==?utf-8?q?=0ABcc?=",
    "=?utf-8?q?Hi?= \u00a0 =?utf-8?q?=0ABcc?=", "=?=?utf-8?q?=0A?=?=",
    # Charsets and codings of every kind.
    "=?utf-7?q?Hi+AA0ACg-Bcc:_eve?=", "=?utf-7?b?SGkrQUEwQUNnLUJjYw==?=", "=?unicode_escape?q?Hi=5CnBcc?=",
    "=?rot13?q?Uv?=", "=?raw_unicode_escape?q?Hi=5Cu000aBcc?=", "=?utf-16?b?SABpAAoA?=", "=?utf-32?b?CgAAAA==?=",
    "=?hex?q?0a?=", "=?idna?q?Hi?=", "=?iso-2022-jp?q?=1B$B?=", "=?hz?q?Hi~=0A?=", "=?cp037?q?=25?=",
    "=?none-such?q?Hi=0A?=", "=??q?Hi=0A?=", "=?utf-8?x?Hi=0A?=", "=?utf-8?b?SGkK====?=", "=?utf-8?b?SGk?=",
    "=?utf-8?b?!!!?=", "=?utf-8?q?Hi=0?=", "=?utf-8?q?Hi=ZZ?=", "=?utf-8?q?=FF=FE?=", "=?utf-8?q?Hi=0A",
    "?utf-8?q?Hi=0A?=", "=?utf-8?q?Hi there=0A?=", "=?utf-8?q?Hi\n=0A?=", "=?gb2312?b?fnsKfn0=?=",
    # Seen by nobody, or turning what is seen around.
    "Hi\u202eten.elpmaxe@eve", "Hi\u2066x\u2069", "Hi\u200bthere", "Hi\u200e", "Hi\ufeff", "Hi\u00ad",
    "Hi\U000e0042\U000e0063", "Hi\U000e0100", "Hi\u3164", "Hi\ue000", "Hi" + "\u0301" * 500,
    # Long.
    "x" * 2_000, "é" * 2_000, _b("x" * 3_000), "x" * 900 + BCC, "=?utf-8?q?" * 400, "?=" * 400,
    " " * 3_000 + "Bcc: x",
    # What looks like more than one thing and is one text.
    "Hi Bcc: eve@example.net", "Bcc: eve@example.net", "To: eve@example.net", "Subject: x", "--=_boundary",
    "Content-Type: x/y", '"; Bcc: eve', "Hi, eve@example.net", "<eve@example.net>", ".", "a  b   c", "Привет, мир",
    "你好" * 50, "👩‍👩‍👧 and 🏳️‍🌈",
]  # fmt: skip

# Each goes into every list of addresses; what follows the address is the attempt.
TAILS = [
    BCC, "\nBcc: eve@example.net", "\rBcc: eve@example.net", "\0", "\u2028x", ", eve@example.net",
    "; eve@example.net", " eve@example.net", "> <eve@example.net", "(x)", "\r\n eve@example.net", "%0aBcc:eve",
    "\x85", "?bcc=eve@example.net", " ", _q(BCC), _b(BCC), f" {_b(BCC)}", ",", "\t", "\x0b", "\x00.example.net",
    "@example.net", ":25", "\u202e", "\u200b",
]  # fmt: skip

THREADS = [
    "18c2f1a0b3d4e5f6\r\nBcc: eve", "18c2f1a0b3d4e5f6\n", "18c2 f1a0", "../drafts", "18c2/../x", "18c2?alt=media",
    "18c2#x", "18c2%2f..", "xyz", "١٢٣", "１８ｃ２", "18c2\0", "f" * 33, _b("18c2"), "<18c2@mail.example.com>", "-1",
    "18c2\u200b", "0x18c2",
]  # fmt: skip

TIMES = [
    "2027-03-01T14:00\r\n", "2027-03-01T14:00\n", "2027-03-01T14:00:00+01:00\0", "２０２７-03-01T14:00:00Z",
    "2027-03-01T14:00:00Z;x", "2027-03-01T14:00:00[Europe/Berlin]", "2027-03-01T14:00:00\u202fZ", "2027-W09-1T14:00",
    "20270301T140000Z", "tomorrow at noon",
]  # fmt: skip

ZONES = [
    "Europe/Berlin\n", "../../etc/passwd", "/etc/localtime", "Europe", "posix/Europe/Berlin", "right/UTC",
    "localtime", "Factory", "Europe/Berlin\0", "CET-1CEST", "Europe/Atlantis", "+01:00", "GMT+1", "Local",
    "\u202eUTC", "tzdata", "Europe\\Berlin", ".",
]  # fmt: skip

"""Which names speak of a visitor's secrets: passwords, numbers of cards and accounts, one-time codes."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

WORDS: Final = (
    "password", "pass word", "passwd", "pass code", "pass phrase", "pwd", "pin", "pin code", "ssn", "iban",
    "cvc", "cvv", "csc", "card number", "card num", "card no", "card code", "cc number", "cc num", "cc no", "cc cvc",
    "cc cvv", "cc csc", "cc exp", "security code", "otp", "totp", "one time code", "one time password",
    "one time passcode", "verification code", "sms code", "mfa code", "tan",
    "seed phrase", "seed words", "recovery phrase", "recovery code", "recovery key", "backup code", "backup phrase",
    "mnemonic", "mnemonic phrase", "wallet key", "security answer", "secret answer", "social security number",
    "passwort", "kennwort", "kartennummer", "karten nummer", "kartennr", "kreditkartennummer", "kartenprufnummer",
    "kartenpruefnummer", "prufnummer", "pruefnummer", "prufziffer", "pruefziffer", "kontrollziffer", "kontrollnummer",
    "sicherheitscode", "sicherheits code", "geheimzahl", "einmalcode", "einmal code", "einmalpasswort",
    "einmalkennwort",
    "mot de passe", "numero de carte", "numero carte", "numero de la carte", "carte bancaire", "code de securite",
    "cryptogramme", "code a usage unique", "code secret",
    "contrasena", "tarjeta", "codigo de seguridad", "codigo de verificacion",
    "carta di credito", "numero carta", "numero della carta", "codice di sicurezza", "codice segreto",
    "senha", "numero do cartao", "numero cartao", "cartao de credito", "codigo de seguranca",
    "wachtwoord", "kaartnummer", "beveiligingscode", "losenord", "kortnummer", "sakerhetskod", "adgangskode", "kodeord",
    "passord", "sikkerhedskode", "sikkerhetskode", "salasana", "kortin numero", "korttinumero", "turvakoodi",
    "haslo", "hasło", "numer karty", "kod zabezpieczajacy", "kod zabezpieczający", "heslo", "cislo karty",
    "jelszo", "kartyaszam", "parola", "sifre", "kart numarasi", "kart numarası", "guvenlik kodu",
    "пароль", "номер карты", "номер картки", "код безопасности", "одноразовыи код",
    "κωδικος προσβασης", "αριθμος καρτας", "סיסמה", "סיסמא", "מספר כרטיס", "كلمة المرور", "كلمة السر", "رقم البطاقة",
    "mat khau", "kata sandi", "nomor kartu",
)  # fmt: skip
"""What fields that hold a secret are called, all over the world. The browser's list is the same. Small letters without
accents; a space stands where some put a hyphen and some nothing."""
SIGNS: Final = (
    "パスワード", "暗証番号", "カード番号", "セキュリティコード", "ワンタイム", "認証コード",
    "密码", "密碼", "卡号", "卡號", "安全码", "安全碼", "验证码", "驗證碼",
    "비밀번호", "카드번호", "카드 번호", "보안코드", "보안 코드", "인증번호", "รหัสผ่าน", "หมายเลขบัตร", "पासवर्ड",
)  # fmt: skip
"""Where nothing parts the words: they count wherever they stand."""

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_LETTERS: Final = re.compile(r"[\W_]+")
_LONGEST: Final = 200
_MOST_WORDS: Final = 8
"""From the end: no word above and what may follow it has more."""
_LOOKALIKES: Final = str.maketrans("асеорхуіѕјһԁԛԝѡκοαρτυινɑɡıʏ", "aceopxyisjhdqwwkoaptuivagiy")
"""Letters of other alphabets that nobody can tell from ours."""
_STAND_INS: Final = str.maketrans("034578@$", "oeastbas"), str.maketrans("1!|", "iii"), str.maketrans("1!|", "lll")
"""What is written in place of letters: `p4ssw0rd`."""
_STANDS_IN: Final = re.compile(r"[0134578@$!|][A-Za-z]")


def names_secret(name: str) -> bool:
    """Whether a field of this name holds a secret."""
    return _names_secret(name[-_LONGEST:])


@lru_cache(1_000)
def _names_secret(end: str) -> bool:
    words, signs = _patterns()
    if any(words.fullmatch(_last_words(kebab(each))) for each in (end, *_in_letters(end))):
        return True
    if end.isascii():
        return False
    bare = _bare(end)
    for folded in (bare, bare.translate(_LOOKALIKES)):
        folded = _LETTERS.sub("-", folded).strip("-")
        if words.fullmatch(_last_words(folded)) or signs.search(folded):
            return True
    return False


def _in_letters(text: str) -> Iterator[str]:
    """The text with letters where something else stands in for them. A number at the end of a word does not."""
    if not _STANDS_IN.search(text):
        return
    common, *others = _STAND_INS
    for other in others:
        yield text.translate(common).translate(other)


def _last_words(folded: str) -> str:
    return "-".join(folded.split("-")[-_MOST_WORDS:])


def kebab(name: str) -> str:
    """`messageInput`, `message_input` and `MessageInput` are all `message-input`."""
    # What is kept is short: others choose the names.
    return _short_kebab(name) if len(name) <= _LONGEST else _kebab(name)


def _kebab(name: str) -> str:
    return _HUMP.sub("-", name).strip("-").lower()


_short_kebab = lru_cache(1_000)(_kebab)


def _bare(text: str) -> str:
    """In small letters, without accents and what nobody sees."""
    return "".join(
        sign
        for sign in unicodedata.normalize("NFKD", text.lower())
        if unicodedata.category(sign)[0] != "M" and unicodedata.category(sign) != "Cf"
    )


def _one_of(words: tuple[str, ...]) -> str:
    return "|".join(_bare(word).replace(" ", "-?") for word in words)


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Names that end in one of the words, and signs anywhere. Made when they are needed: they are long."""
    after = r"(?:-(?:confirm|confirmation|again|repeat|input|value|text|field|box|code))?-?[0-9]*"
    others = (
        "pass|cc-[a-z-]+|credit-card|secret|token|private-key|(?:access|refresh|session|auth|csrf|api)-(?:token|key)"
    )
    return re.compile(rf"(?:.+-)?(?:{_one_of(WORDS)}|{others}){after}"), re.compile(_one_of(SIGNS))

/**
 * What fields that hold a secret are called, all over the world: passwords, codes, numbers of cards and accounts. The
 * server's list is the same. Small letters without accents; a space stands where some put a hyphen and some nothing.
 */

// biome-ignore format: a table
export const WORDS: readonly string[] = [
  "password", "pass word", "passwd", "pass code", "pass phrase", "pwd", "pin", "pin code", "ssn", "iban",
  "cvc", "cvv", "csc", "card number", "card num", "card no", "card code", "cc number", "cc num", "cc no", "cc cvc",
  "cc cvv", "cc csc", "cc exp", "security code", "otp", "totp", "one time code", "one time password",
  "one time passcode", "verification code", "sms code", "mfa code", "tan",
  "seed phrase", "seed words", "recovery phrase", "recovery code", "recovery key", "backup code", "backup phrase",
  "mnemonic", "mnemonic phrase", "wallet key", "security answer", "secret answer", "social security number",
  "passwort", "kennwort", "kartennummer", "karten nummer", "kartennr", "kreditkartennummer", "kartenprufnummer",
  "kartenpruefnummer", "prufnummer", "pruefnummer", "prufziffer", "pruefziffer", "kontrollziffer", "kontrollnummer",
  "sicherheitscode", "sicherheits code", "geheimzahl", "einmalcode", "einmal code", "einmalpasswort", "einmalkennwort",
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
];

/** Where nothing parts the words: they count wherever they stand. */
// biome-ignore format: a table
export const SIGNS: readonly string[] = [
  "パスワード",
  "暗証番号",
  "カード番号",
  "セキュリティコード",
  "ワンタイム",
  "認証コード",
  "密码",
  "密碼",
  "卡号",
  "卡號",
  "安全码",
  "安全碼",
  "验证码",
  "驗證碼",
  "비밀번호",
  "카드번호",
  "카드 번호",
  "보안코드",
  "보안 코드",
  "인증번호",
  "รหัสผ่าน",
  "หมายเลขบัตร",
  "पासवर्ड",
];

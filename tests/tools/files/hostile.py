"""Paths that try to get out, or at what is protected. Data only; `{root}` and the like stand for the world's places."""

TRAVERSAL = [
    "..", "../", "../..", "../../..", "../outside", "../outside/secret.txt", "./../outside/secret.txt",
    "src/../../outside/secret.txt", "src/deep/../../../outside/secret.txt", "src/./.././../outside/secret.txt",
    "empty/../../outside/secret.txt", "..//outside//secret.txt", ".././outside/./secret.txt",
    "../root/../outside/secret.txt", "../root-evil/secret.txt", "../" * 40 + "etc/passwd",
    "src/" + "../" * 20 + "etc/passwd", "../outside/folder/secret.txt", "notes.txt/../../outside/secret.txt",
    "missing/../../outside/secret.txt", "../outside/new.txt", "../new.txt", "src/../../root-evil/secret.txt",
    "../outside/./folder/../secret.txt", "./.././../outside", "../root/../../etc/passwd",
]  # fmt: skip

ABSOLUTE = [
    "/", "//", "/etc/passwd", "//etc/passwd", "///etc/passwd", "/./etc/passwd", "/../etc/passwd", "{outside}",
    "{outside}/secret.txt", "{outside}/new.txt", "/{outside}/secret.txt", "{root}/../outside/secret.txt",
    "{root}/./../outside/secret.txt", "{root}/src/../../outside/secret.txt", "{root}//..//outside/secret.txt",
    "{root}/out/secret.txt", "{root}/abs_out/secret.txt", "{evil}/secret.txt", "{root}-evil/secret.txt",
    "{root}/../root-evil/secret.txt", "{outside}/../outside/secret.txt", "{root}/../root/../outside/secret.txt",
    "/proc/self/root{outside}/secret.txt", "/proc/self/cwd/../../outside/secret.txt", "/proc/self/environ",
    "/proc/self/mem", "/proc/1/root{outside}/secret.txt", "/proc/thread-self/root{outside}/secret.txt", "/dev/fd/0",
    "/dev/stdin", "/dev/zero", "/dev/null", "/dev/tty", "/proc/self/fd/3", "/sys/kernel",
    "/tmp/../{outside}/secret.txt",
]  # fmt: skip

LINKED = [
    "out", "out/", "out/.", "out/secret.txt", "out/new.txt", "out/folder/secret.txt", "out/../outside/secret.txt",
    "out/../root/out/secret.txt", "out/./secret.txt", "out//secret.txt", "out_file", "out_file/",
    "src/out/secret.txt", "src/deep/out/secret.txt", "src/deep/out/new/er.txt", "chain1/secret.txt",
    "chain2/secret.txt", "src/chain3/secret.txt", "up/outside/secret.txt", "up", "up_up",
    "up/root/../outside/secret.txt", "here/out/secret.txt", "here/here/here/out/secret.txt",
    "here/../outside/secret.txt", "winding/secret.txt", "through", "long/secret.txt", "inner/out/secret.txt",
    "inner/../../outside/secret.txt", "inner_up/../../../outside/secret.txt", "inner_up/../out/secret.txt",
    "inner_up/../../out/secret.txt", "abs_out/secret.txt", "abs_file", "abs_evil/secret.txt",
    "abs_in/../../outside/secret.txt", "abs_in/out/secret.txt", "etc/passwd", "slash/etc/passwd",
    "slash{outside}/secret.txt", "proc/root{outside}/secret.txt", "proc/environ", "proc/cwd/out/secret.txt",
    "proc_root{outside}/secret.txt", "proc_cwd/secret.txt", "proc_cwd", "fds", "fds/0", "dev/zero", "dev_fd/0",
    "zero", "tty", "dangling", "dangling_in", "loop1", "loop1/secret.txt", "self", "self/self/secret.txt",
    "many49/secret.txt", "many39/secret.txt", "many38/secret.txt", "many5/secret.txt",
]  # fmt: skip

ODD_FILES = [
    "fifo", "fifo/", "./fifo", "fifo/secret.txt", "socket", "device", "hard", "./hard", "inner/../hard",
    "src/hard_key", "src", "src/", ".", "./", "src/..", "empty", "inner", "inner/deep",
]  # fmt: skip

SPELLING = [
    "", " ", "\t", "\n", "\0", "..\0", "../outside\0/secret.txt", "notes.txt\0.png", "out/secret.txt\0",
    "\0../outside", "notes\n.txt", "../outside\n/secret.txt", "a\rb", "a\x1bb", "a\x7fb", "a\x85b", "a\u2028b",
    "a\u202etxt.exe", "\ud800", "a/\udcff/b", "\udc2e\udc2e/outside/secret.txt", "x" * 256, "x" * 5000, "a/" * 3000,
    "../" * 1365, "é" * 128, "~", "~/secret.txt", "~root/.ssh/id_rsa", "$HOME/secret.txt",
    "${PWD}/../outside/secret.txt", "$(cat ../outside/secret.txt)", "`cat ../outside/secret.txt`",
    "..\\outside\\secret.txt", "..\\..\\outside", "\\\\server\\share", "C:\\Windows\\win.ini", "C:/Windows/win.ini",
    "c:secret.txt", "file:///etc/passwd", "file://{outside}/secret.txt", "http://localhost/secret.txt",
    "%2e%2e/outside/secret.txt", "..%2foutside%2fsecret.txt", "%2e%2e%2foutside", "..%252foutside",
    "..%c0%afoutside/secret.txt", "..%00/outside", "\u2024\u2024/outside/secret.txt",
    "\uff0e\uff0e/outside/secret.txt", "\uff0e\uff0e\uff0foutside\uff0fsecret.txt", "\u2025/outside/secret.txt",
    "..\u2215outside\u2215secret.txt", "..\u2044outside\u2044secret.txt", "...", "..../outside",
    ".../outside/secret.txt", ".. /outside/secret.txt", " ../outside/secret.txt", "..;/outside/secret.txt",
    "....//outside/secret.txt", "..../..../outside", "-rf", "--help", "*", "**/secret.txt", "../**",
    "../*/secret.txt", "[.][.]/outside/secret.txt", "{{..,src}}/outside/secret.txt", "{..,..}/outside/*",
    "?./outside/secret.txt", "ou?/secret.txt", "out/*", "**/out/*", "up/*/secret.txt", "abs_out/**", "fds/*",
    "notes.txt ", "notes.txt.", "notes.txt/", "notes.txt/.", "CON", "nul.txt", "a:b", "notes.txt::$DATA",
    "cafe\u0301", "caf\u00e9", "\ufb01le", "\u200b", "\ufeffnotes.txt",
]  # fmt: skip

PROTECTED = [
    ".env", "./.env", "src/.env", "src/../.env", ".env/", ".ENV", ".Env", ".eNv", ".env.", ".env ", ".env. .",
    ".e\u200bnv", "\uff0eenv", ".\uff45nv", "\u2024env", "inner/.env", "here/.env", "here/here/.env", "key_link",
    "./key_link", "here/key_link", "{root}/.env", "{root}/src/.env", ".env/x", "new/.env", "new/.ENV", ".env/../.env",
    "up/root/.env", "state/pollux", "state/pollux/seal.key", "state/pollux/new.key", "state/POLLUX/seal.key",
    "STATE/pollux/seal.key", "key_home", "key_home/seal.key", "here/state/pollux/seal.key", "{home}/seal.key",
    "{home}", "state/./pollux/./seal.key", "state/../state/pollux/seal.key", "key_home/../pollux/seal.key",
]  # fmt: skip

UNWRITABLE = [
    "pollux.toml", "./pollux.toml", "POLLUX.TOML", "Pollux.toml", "pollux.toml.", "pollux.toml ", "src/pollux.toml",
    "new/pollux.toml", "here/pollux.toml", "settings", "src/../pollux.toml", "{root}/pollux.toml",
    "pollux\u200c.toml", "\uff50ollux.toml", "pollux.toml/x", "config/.gemini.yaml", "CONFIG/.GEMINI.YAML",
    "config/./.gemini.yaml", "config_link/.gemini.yaml", "new/config/.gemini.yaml", ".git", ".GIT", ".git/config",
    ".Git/Config", ".git/hooks/pre-commit", ".git/hooks/new", ".git/HOOKS/post-checkout", ".g\u200cit/config",
    ".git./hooks/new", ".git /config", "git_link/config", "git_link/hooks/new", "hooks/pre-commit", "hooks/new",
    "src/.git/hooks/new", "src/.git", "new/.git/config", ".git/info/attributes", ".git/modules/x/config",
    "{root}/.git/config", "src/../.git/config",
]  # fmt: skip

ALL = [*TRAVERSAL, *ABSOLUTE, *LINKED, *ODD_FILES, *SPELLING, *PROTECTED, *UNWRITABLE]

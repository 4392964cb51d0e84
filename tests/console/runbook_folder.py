"""A folder of runbooks for the tests of the console: one of YAML with an agent, one with values, one that fails."""

import shutil
from pathlib import Path

from tests.runbooks.lab import agent, block, document, script
from tests.runbooks.test_foreign_agents import worker

EXAMPLES = Path(__file__).parents[2] / "examples/runbooks"
SLOW = "while ! test -e go; do printf '\\033[32mtick\\033[0m\\n'; sleep 0.1; done; echo last"
LONG = "a-name-without-any-place-to-break-it-" * 4


def fill(folder: Path) -> None:
    """Put every document there."""
    shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
    choice = block("dropdown", "where", fixedOptions="Staging:staging, Production:prod")
    put = {
        "deploy": document(choice, script("go", "echo to {{ var.where }} by {{ var.who }}"), name="Deploy"),
        # For those who trust it at once.
        "trusted": document(choice, script("go", "echo to {{ var.where }} by {{ var.who }}"), name="Trusted"),
        "slow": document(script("wait", SLOW), name="Slow"),
        "fails": document(
            script("one", "echo one >> log"), script("two", "test -f there"), script("three", "echo three >> log"),
            name="Fails",
        ),
        "asks": document(
            worker("work", "append one.txt 1", "append two.txt 2", "peek x.txt", "say **done**"), name="Asks"
        ),
        "careful": document(script("first", "touch first"), script("second", "touch second"), name="Careful"),
        "rights": document(
            agent("free", "Do\u202e it.", capabilities={"alwaysAllowTools": True}, workingDirectory="/srv"),
            name="Rights",
        ),
        "odd": document(
            script(LONG, f"echo {LONG} שלום 🦉"), block("ssh-connect", "elsewhere", userHost="root@there"), name=LONG
        ),
    }  # fmt: skip
    for name, text in put.items():
        (folder / f"{name}.atrb").write_text(text)
    (folder / "broken.atrb").write_text("id: x\ncontent: [")

"""Files and commands under a policy: what `07_policy.toml` allows runs, what it forbids does not, the rest would ask.

Run it: `python examples/07_files_and_shell.py`. It works in a directory of its own.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from pollux import Agent, files, shell

POLICY = Path(__file__).with_name("07_policy.toml")
PROMPTS = (
    "read the file notes.txt",
    'write "milk and bread" to drafts/shopping.txt',
    'write "all mine" to notes.txt',
    "run `wc -w notes.txt`",
    "run `rm notes.txt`",
)

if __name__ == "__main__":
    with TemporaryDirectory() as work:
        (Path(work) / "notes.txt").write_text("buy milk\n")
        agent = Agent("You keep notes.", tools=[files, shell], cwd=work, policy=POLICY)
        for prompt in PROMPTS:
            for use in agent.send_sync(prompt).tool_calls:
                print(f"{prompt} -> {use.error or use.result}")
        print("in the end:", *sorted(str(path.relative_to(work)) for path in Path(work).rglob("*.txt")))
        agent.close()

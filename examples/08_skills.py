"""Skills: instructions and files for one kind of task, which the model takes up when the task comes.

Run it: `python examples/08_skills.py`. The skill lies beside it, in `skills/release-notes`.
"""

import asyncio
from pathlib import Path

from pollux import Agent, skill_dir

SKILLS = Path(__file__).parent / "skills"
PROMPT = (
    "Write release notes. First activate_skill, then read_skill_file references/voice.md."
    ' The change: "Sessions can be forked."'
)


async def main() -> None:
    async with Agent("You help with releases.", skills=[skill_dir(SKILLS)]) as agent:
        print("tools:", *(tool.spec.name for tool in agent.tools))
        result = await agent.send(PROMPT)
    for use in result.tool_calls:
        print(f"{use.name}({use.args})")
        print(f"  {use.error or use.result}")


if __name__ == "__main__":
    asyncio.run(main())

"""Sessions: go on tomorrow, branch off, look back, forget. They are kept in a file; nothing has to be saved.

Run it: `python examples/06_sessions.py`
"""

import asyncio

from pollux import Agent, SessionNotFound


async def main() -> None:
    async with Agent("Be brief.") as agent:
        await agent.send("Say hello Ada")
    session = agent.session_id

    # Another day, another process: the id is all it takes.
    async with Agent("Be brief.", session_id=session) as again:
        await again.send("Say welcome back")
        for message in await again.history():
            print(f"{message.role}: {message.text}")
        fork = await again.fork_session(upto=2)

    async with Agent("Be brief.", session_id=fork) as other:
        await other.send("Say goodbye Ada")
        for info in await other.list_sessions(limit=2):
            which = "the fork" if info.session_id == fork else "the first"
            print(f"{which}: {info.message_count} messages, about {info.summary!r}")
        await other.delete_session(session)

    gone = Agent("Be brief.", session_id=session)
    try:
        await gone.send("Are you there?")
    except SessionNotFound as problem:
        print(problem.code)
    await gone.aclose()


if __name__ == "__main__":
    asyncio.run(main())

"""Events as they happen: the answer piece by piece, every tool call, and what it all used.

Run it: `python examples/03_stream.py`
"""

import asyncio

from pollux import Agent, tool


@tool
async def get_weather(city: str) -> str:
    """Get the weather in a city."""
    return f"18 degrees in {city}"


async def main() -> None:
    async with Agent("You know the weather.", tools=[get_weather]) as agent:
        async for event in agent.send_stream("What is the weather in Paris?"):
            match event.type:
                case "model_info":
                    print(f"[{event.model}]")
                case "tool_call_request":
                    print(f"[calls {event.name} with {event.args}]")
                case "tool_call_response":
                    print(f"[{event.name}: {event.error or event.result}]")
                case "content":
                    print(event.text, end="", flush=True)
                case "error":
                    print(f"[{event.code}: {event.message}]")
                case "finished":
                    print(f"\n[{event.reason}, {event.usage.total} tokens]")


if __name__ == "__main__":
    asyncio.run(main())

"""Typed tools: what the model may pass follows from the hints, and what it reads of a failure is yours to say.

Run it: `python examples/02_tools.py`
"""

from typing import Literal

from pollux import Agent, ToolError, define_tool, tool

FORECAST = {"Paris": 18, "Rome": 24}


@tool
def get_weather(city: str, units: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Get the weather in a city.

    Args:
        city: The city's name in English.
        units: Which scale to answer in.
    """
    if city not in FORECAST:
        # The model reads this text, and may try another city.
        raise ToolError(f"there is no station in {city}; there are: {', '.join(FORECAST)}")
    degrees = FORECAST[city] if units == "celsius" else round(FORECAST[city] * 9 / 5 + 32)
    return f"{degrees} degrees {units}"


# The same without a function to read hints from: a JSON Schema and an action.
convert = define_tool(
    "miles_to_km",
    "Convert miles to kilometres.",
    {"type": "object", "properties": {"miles": {"type": "number"}}, "required": ["miles"]},
    lambda params: round(params["miles"] * 1.609344, 1),
)


if __name__ == "__main__":
    agent = Agent("Answer with what your tools say.", tools=[get_weather, convert])
    for prompt in (
        "What is the weather in Paris and in Rome?",
        "What is the weather in Oslo?",
        "Convert 26.2 miles to km.",
    ):
        result = agent.send_sync(prompt)
        for use in result.tool_calls:
            print(f"{use.name}({use.args}) -> {use.error or use.result}")
        print(result.last_text)

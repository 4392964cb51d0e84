"""An answer with a type: the model is held to its schema, and you get an object instead of a text.

Run it: `python examples/05_structured_output.py`
"""

from dataclasses import dataclass
from datetime import date
from typing import Literal

from pollux import Agent


@dataclass
class Ticket:
    """What a mail to the support desk comes to."""

    email: str
    printers: int
    since: date
    urgency: Literal["whenever", "soon", "urgent"]


MAIL = "Our 3 printers have been down since 2027-01-08, and it is urgent! Please write to ada@example.com."

if __name__ == "__main__":
    agent = Agent("You turn mails into tickets.")
    result = agent.send_sync(MAIL, output_type=Ticket)
    print(f"the model wrote: {result.text}")
    ticket = result.output
    print(f"{ticket.urgency}: {ticket.printers} printers of {ticket.email}, since {ticket.since:%A}")

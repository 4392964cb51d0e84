"""A side effect asks first: the mail goes out only if you say yes, and exactly as you were shown it.

Run it: `python examples/04_approval.py`. Answer y, or say why not: the model reads your reason.
"""

from pollux import Agent, ApprovalRequired, Approve, Reject, tool

SENT: list[str] = []


@tool(side_effect=True, subjects=lambda args: args["to"], preview=lambda args: f"To {args['to']}: {args['body']}")
def send_mail(to: str, body: str) -> str:
    """Send an e-mail."""
    SENT.append(to)
    return "sent"


def ask(question: ApprovalRequired) -> Approve | Reject:
    """Called for every side effect that no rule allows. Here at a terminal; it may be async."""
    answer = input(f"{question.preview}\nSend it? [y or a reason] ")
    return Approve() if answer.strip().lower() == "y" else Reject(answer)


if __name__ == "__main__":
    agent = Agent("You write mails.", tools=[send_mail], on_approval=ask)
    result = agent.send_sync("Send an email to bob@example.com saying the report is ready")
    print(f"\nthe model read: {result.tool_calls[0].result}")
    print(f"sent to: {', '.join(SENT) or 'nobody'}")

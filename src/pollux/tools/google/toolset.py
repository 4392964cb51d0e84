"""Google's tools, for whoever has connected an account."""

from typing import Final

from pollux.tools.google.api import GoogleApi
from pollux.tools.google.calendar import CalendarEventCreate
from pollux.tools.google.gmail import GmailSend
from pollux.tools.google.personal import Accounts

GMAIL_BASE: Final = "https://gmail.googleapis.com"
CALENDAR_BASE: Final = "https://www.googleapis.com"


def google_tools(gmail: GoogleApi, calendar: GoogleApi, *, accounts: Accounts) -> tuple[GmailSend, CalendarEventCreate]:
    """`gmail_send` and `calendar_event_create`, offered to those who have an account."""
    return GmailSend(gmail, accounts=accounts), CalendarEventCreate(calendar, accounts=accounts)

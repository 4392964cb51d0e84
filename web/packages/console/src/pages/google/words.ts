/** What Google's names mean. */

const SCOPES: Readonly<Record<string, string>> = {
  "gmail.compose": "make drafts and send them",
  "gmail.send": "send mail",
  "gmail.metadata":
    "see the headers of mails, to find out after a crash whether one was sent; never their text",
  "calendar.events": "make events and look whether they are there",
  openid: "know which account it is",
  email: "know its address",
  "userinfo.email": "know its address",
};

export function scopeWords(scope: string): string {
  return SCOPES[scope.replace("https://www.googleapis.com/auth/", "")] ?? scope;
}

const TOOLS: Readonly<Record<string, string>> = {
  gmail_send: "send a mail",
  calendar_event_create: "make an event",
};

export function toolWords(tool: string): string {
  return TOOLS[tool] ?? tool;
}

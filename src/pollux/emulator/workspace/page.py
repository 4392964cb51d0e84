"""The pages of the emulator: one shell, one style, no script. Every text that comes from outside is escaped."""

from html import escape

from pollux.emulator.answer import Answer

_STYLE = """\
:root{color-scheme:light dark;--line:#d5d9e0;--soft:#f4f6f9;--dim:#5b6472;--go:#0b57d0;--on:#fff}
@media(prefers-color-scheme:dark){:root{--line:#3b424d;--soft:#1e232b;--dim:#a3adba;--go:#a8c7fa;--on:#062e6f}
body{background:#14181e;color:#e6e9ee}}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:46rem;padding:1rem 1.25rem 4rem}
header{border-bottom:1px solid var(--line);display:flex;flex-wrap:wrap;gap:.25rem 1rem;padding-bottom:.5rem}
header strong{margin-right:auto}h1{font-size:1.5rem;line-height:1.25;margin:1.5rem 0 .5rem}
h2{font-size:1.15rem;margin:1.5rem 0 .5rem}time{white-space:nowrap}
a{color:var(--go)}.dim{color:var(--dim)}.badge{background:var(--soft);border:1px solid var(--line);border-radius:1rem;
font-size:.8rem;padding:.1rem .6rem;white-space:nowrap}
.box{background:var(--soft);border:1px solid var(--line);border-radius:.5rem;margin:1rem 0;padding:.75rem 1rem}
pre{margin:0;overflow-wrap:anywhere;white-space:pre-wrap}pre,code{font:.9rem/1.5 ui-monospace,monospace}
code{overflow-wrap:anywhere}
ol.rows{list-style:none;margin:1rem 0;padding:0}ol.rows>li{border-bottom:1px solid var(--line);padding:.6rem 0}
.row{display:flex;gap:.75rem;justify-content:space-between}.row>:first-child{min-width:0;overflow-wrap:anywhere}
dl{display:grid;gap:.15rem 1rem;grid-template-columns:max-content 1fr}dt{color:var(--dim)}
dd{margin:0;min-width:0;overflow-wrap:anywhere}
fieldset{border:0;margin:1rem 0;padding:0}legend{font-weight:600;padding:0}
label{display:block}label.check{align-items:flex-start;display:flex;gap:.6rem;padding:.35rem 0}
input[type=checkbox]{flex:none;height:1.1rem;margin:.2rem 0 0;width:1.1rem}
input[type=email]{background:transparent;border:1px solid var(--dim);border-radius:.35rem;color:inherit;font:inherit;
padding:.45rem .6rem;width:100%}
.buttons{display:flex;gap:.75rem;justify-content:flex-end;margin-top:1.5rem}
button{background:transparent;border:1px solid var(--go);border-radius:1.5rem;color:var(--go);cursor:pointer;
font:inherit;font-weight:600;padding:.5rem 1.5rem}
button[value=allow]{background:var(--go);color:var(--on)}
:focus-visible{outline:3px solid var(--go);outline-offset:2px}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; form-action "


def page(title: str, body: str, *, status: int = 200, forms: str = "'none'") -> Answer:
    """One page. `body` is HTML, `title` is text, `forms` is where a form of it may lead."""
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)} · Workspace emulator</title><style>{_STYLE}</style></head><body>"
        '<header><strong>Workspace emulator</strong><a href="/">Start</a><a href="/outbox">Outbox</a>'
        '<span class="badge">not Google: nothing leaves this machine</span></header>'
        f"<main><h1>{escape(title)}</h1>{body}</main></body></html>"
    )
    headers = {
        "Content-Security-Policy": _POLICY + forms,
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "same-origin",
        "Cache-Control": "no-store",
    }
    # What stands in a mail may not decide what a browser makes of the page.
    content = text.encode("utf-8", "replace")
    return Answer(status, (content,), "text/html; charset=utf-8", headers=headers)

"""How the demo model drives a page: words of a prompt against roles, names and containers of the page's outline."""

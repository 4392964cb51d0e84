"""An example site: a shop with a catalogue, a cart, a checkout and orders, whose pages have an agent on them."""

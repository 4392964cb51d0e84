"""JSON as one line, whatever a reader takes for its end."""

import json

from pollux.wire.breaks import json_line


def test_a_line_is_one_line_for_every_reader_and_says_the_same():
    value = {"text": "a\u2028b\u2029c\x85d\n\u2027\u202aé"}
    line = json_line(json.dumps(value, ensure_ascii=False).encode())
    assert json.loads(line) == value
    assert line.endswith(b"\n") and len(line.decode().splitlines()) == 1

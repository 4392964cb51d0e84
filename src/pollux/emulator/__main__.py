"""`python -m pollux.emulator gemini --port 8643`."""

import sys

from pollux.emulator.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

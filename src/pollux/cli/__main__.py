"""`python -m pollux.cli` is `pollux`."""

import sys

from pollux.cli import main

sys.exit(main())

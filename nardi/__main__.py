"""`python -m nardi`: the same as the command `nardi`."""

import sys

from nardi.cli import main

sys.exit(main())

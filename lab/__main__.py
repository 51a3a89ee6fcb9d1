"""`python -m lab`: the exit code of lab.cli.main, or 130 after Ctrl-C, be it in the middle of the imports."""

import sys

try:
    from lab.cli.main import main

    code = main()
except KeyboardInterrupt:
    print("lab: interrupted", file=sys.stderr)
    code = 130
raise SystemExit(code)

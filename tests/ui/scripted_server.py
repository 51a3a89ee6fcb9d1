"""`python tests/ui/scripted_server.py OPTIONS`: `streamlit run app.py OPTIONS` with a scripted engine.

$UNSEEN_SECONDS is how long a run that nobody looks at may go on, where that is not the lab's own limit.
"""

import os
import sys
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from streamlit.web.cli import main  # noqa: E402

import lab.run.line  # noqa: E402
import lab.ui.device  # noqa: E402
from lab.run.engine_process import EngineProcess  # noqa: E402
from lab.run.messages import Load  # noqa: E402
from lab.run.visitors import Device  # noqa: E402

HOST = (sys.executable, str(ROOT / "tests" / "run" / "scripted_host.py"))

if __name__ == "__main__":
    lab.ui.device.new_device = lambda: Device(Load("scripted"), partial(EngineProcess, command=HOST))
    if "UNSEEN_SECONDS" in os.environ:
        lab.run.line.RUNNING_UNSEEN = float(os.environ["UNSEEN_SECONDS"])
    main(["run", str(ROOT / "app.py"), *sys.argv[1:]])

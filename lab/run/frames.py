"""Length-prefixed JSON between two processes of this lab: four bytes of length, then one JSON value.

The JSON is Python's own (it writes Infinity, for an unlimited delay); neither side is anybody else. A frame
has a largest size, so that a broken peer cannot fill this side's memory. Knows nothing of what frames mean.
"""

from __future__ import annotations

import json
from typing import IO, Any

MOST_BYTES = 256 * 1024 * 1024
_HEADER = 4


class FrameError(OSError):
    """What came through the pipe is not a frame."""


def write_frame(pipe: IO[bytes], value: Any) -> None:
    """Write one value at once. Raises ValueError where it is larger than a frame may be."""
    body = json.dumps(value, separators=(",", ":")).encode()
    if len(body) > MOST_BYTES:
        raise ValueError(f"a frame of {len(body):,} bytes; at most {MOST_BYTES:,} may be sent")
    pipe.write(len(body).to_bytes(_HEADER, "big") + body)
    pipe.flush()


def read_frame(pipe: IO[bytes]) -> Any:
    """The next value. Raises EOFError at a clean end of the stream, FrameError at any other trouble."""
    header = pipe.read(_HEADER)
    if not header:
        raise EOFError("the stream has ended")
    size = int.from_bytes(header, "big")
    if len(header) < _HEADER or size > MOST_BYTES:
        raise FrameError(f"a frame cannot begin with {header!r}")
    body = pipe.read(size)
    if len(body) < size:
        raise FrameError(f"a frame of {size:,} bytes ends after {len(body):,}")
    try:
        return json.loads(body)
    except ValueError as error:
        raise FrameError(f"a frame is not JSON: {error}") from None

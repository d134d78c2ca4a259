"""TensorBoard's file of a run: the metrics of each update as scalars.

The records are TensorBoard's own, but they are written in the run's thread. `SummaryWriter` writes in another one, where a full
disk ends in a traceback that no caller can catch.
"""

from __future__ import annotations

import io
import itertools
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from bombay_env.files import atomic
from bombay_training.learners.runs import run_files

VERSION: Final = "brain.Event:2"
NUMBERS: Final = itertools.count()  # tell apart the files that a process begins in one second


class EventFile:
    """A new file of events.

    Args:
        folder: the run's folder.
        first_step: the first step to come; earlier files' events from this step on are discarded.
    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, folder: Path, first_step: int) -> None:
        # TensorBoard reads files in the order of their names.
        place = f"{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(NUMBERS)}"
        self.path = folder / run_files.EVENTS.replace("*", str(place))
        self._add(Event(file_version=VERSION), first_step)
        self._add(Event(session_log=SessionLog(status=SessionLog.START)), first_step)

    def add(self, metrics: Mapping[str, float], step: int) -> None:
        """Write the metrics of a step. Raises OSError if that fails."""
        values = [Summary.Value(tag=name, simple_value=value) for name, value in metrics.items()]
        self._add(Event(summary=Summary(value=values)), step)

    def _add(self, event: Event, step: int) -> None:
        event.wall_time, event.step = time.time(), step
        record = io.BytesIO()
        RecordWriter(record).write(event.SerializeToString())
        atomic.append_bytes(self.path, record.getvalue())

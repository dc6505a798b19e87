"""A stock Python producer as a ducktape service: an implementation that is not ours, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from ducktape.services.service import Service

from harness.errors import RackspanError
from harness.home import project_root
from harness.results import RunFolder, arrow_schema
from harness.runner.cluster import CLIENT, nodes_by_type
from harness.services.load import Acks

Client = Literal["kafka-python", "confluent-kafka"]


class PythonProducer(Service):  # type: ignore[misc]  # ducktape has no types
    """Sends some records to one partition and waits for all answers."""

    logs = {  # noqa: RUF012  # ducktape reads a class attribute
        "log": {"path": "client.log", "collect_default": True},
        "answers": {"path": "answers.jsonl", "collect_default": False},
    }

    def __init__(
        self,
        context: Any,
        client: Client,
        name: str,
        bootstrap: str,
        topic: str,
        run: RunFolder,
        *,
        records: int = 20,
        partition: int = 0,
        delivery_timeout_ms: int = 60000,
        request_timeout_ms: int = 30000,
        retries: int | None = None,
        acks: str = "all",
    ) -> None:
        super().__init__(context, cluster_spec=nodes_by_type([CLIENT]))
        self.name = name
        self.run = run
        options = {
            "client": client,
            "bootstrap": bootstrap,
            "topic": topic,
            "producer": name,
            "records": records,
            "partition": partition,
            "delivery-timeout-ms": delivery_timeout_ms,
            "request-timeout-ms": request_timeout_ms,
            "retries": retries,
            "acks": acks,
        }
        flags = [text for key, v in options.items() if v is not None for text in (f"--{key}", str(v))]
        self._command = [sys.executable, "-m", "harness.services.python_client", *flags]
        self._folder = Path(self.local_scratch_dir)
        host = self.nodes[0].account.host
        self.nodes[0].account.bind(type(host)(name, host.address, str(self._folder)), name)
        self._process: subprocess.Popen[bytes] | None = None

    def start_node(self, node: Any, **unused: Any) -> None:
        """Starts the client."""
        answers, log = self._folder / "answers.jsonl", self._folder / "client.log"
        with answers.open("wb") as out, log.open("wb") as err:
            self._process = subprocess.Popen(
                node.account.host.argv(self._command),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=project_root(),
                start_new_session=True,
            )

    def stop_node(self, node: Any, **unused: Any) -> None:
        """Ends a client that is still waiting."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def clean_node(self, node: Any, **unused: Any) -> None:
        """Leaves nothing: the scratch folder goes with the service."""

    def so_far(self) -> Acks:
        """Answers until now."""
        lines = (self._folder / "answers.jsonl").read_text(encoding="utf-8").splitlines()
        return Acks(sorted((json.loads(line) for line in lines), key=lambda r: int(r["seq"])))

    def finish(self, seconds: float = 90.0) -> Acks:
        """Waits for the client's end, files its records, and returns them. Raises RackspanError."""
        assert self._process is not None, "the service was not started"
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        if code != 0:
            log = (self._folder / "client.log").read_text(encoding="utf-8", errors="replace").splitlines()
            raise RackspanError(
                f"the Python client {self.name} failed",
                seen=f"{'no end' if code is None else f'exit code {code}'}, last line {log[-1:]}",
                do="read client.log among the collected logs",
            )
        acks = self.so_far()
        self.run.add_acks(pa.Table.from_pylist(acks.rows, arrow_schema("acks")), self.name)
        return acks

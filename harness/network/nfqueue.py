"""Delaying packets that netfilter queues: raw netlink (NFQUEUE), packets themselves stay in the kernel.

One queue has one delay, so packets leave in the order in which they came; one verdict releases all that are due.
"""

from __future__ import annotations

import ctypes
import random
import socket
import struct
import time
from collections import deque
from dataclasses import dataclass, field

_NETFILTER = 12
_QUEUE = 3 << 8  # netlink message types of the queue subsystem
_PACKET, _VERDICT, _CONFIG, _BATCH = 0, 1, 2, 3
_REQUEST_ACK = 5
_ACCEPT, _DROP = 1, 0
_MESSAGE = struct.Struct("=IHHIIBBH")
_VERDICT_MESSAGE = struct.Struct("=IHHIIBBHHHII")
_SO_RCVBUFFORCE = 33
_LENGTH = 65536


@dataclass
class Queue:
    """Packets on their way in one queue. Times are ns; `loss` is the share of packets dropped, 0 to 1."""

    delay: int = 0
    jitter: int = 0
    loss: float = 0.0
    last: int = 0
    waiting: deque[tuple[int, int, bool]] = field(default_factory=deque)  # due, packet id as it came, dropped


class DelayQueues:
    """All queues of this process' network. Raises OSError where the kernel has no NFQUEUE."""

    def __init__(self) -> None:
        self.queues: dict[int, Queue] = {}
        self.early = 0  # ns by which packets are let go before they are due, to make up for waking late
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETFILTER)
        self.socket.bind((0, 0))
        self.socket.setsockopt(270, 5, 1)  # SOL_NETLINK, NETLINK_NO_ENOBUFS
        try:
            self.socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 32 << 20)
        except OSError:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.socket.setblocking(False)
        ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)  # timer slack 1 ns: sleep as long as requested, not 50 us more

    def set(self, number: int, delay: int, jitter: int = 0, loss: float = 0.0) -> None:
        """Delay (ns, one way) of a queue from now on; packets under way keep theirs. Raises OSError."""
        if number not in self.queues:
            self._bind(number)
            self.queues[number] = Queue()
        queue = self.queues[number]
        queue.delay, queue.jitter, queue.loss = delay, jitter, loss

    def release(self) -> float | None:
        """Lets everything go that is due; returns the seconds until the next packet is, None if none waits."""
        now = time.monotonic_ns() + self.early
        first: int | None = None
        for number, queue in self.queues.items():
            waiting = queue.waiting
            last: int | None = None
            while waiting and waiting[0][0] <= now:
                _, packet, dropped = waiting.popleft()
                if dropped:
                    if last is not None:
                        self._verdict(number, last, _BATCH, _ACCEPT)
                        last = None
                    self._verdict(number, packet, _VERDICT, _DROP)
                else:
                    last = packet
            if last is not None:
                self._verdict(number, last, _BATCH, _ACCEPT)
            if waiting and (first is None or waiting[0][0] < first):
                first = waiting[0][0]
        return None if first is None else max(0.0, (first - self.early - time.monotonic_ns()) / 1e9)

    def receive(self) -> None:
        """Takes in what the kernel has queued, at most 64 packets: what is due meanwhile must not wait long."""
        for _ in range(64):
            try:
                message = self.socket.recv(65536)
            except BlockingIOError:
                return
            self._take(message)

    def _take(self, message: bytes) -> None:
        _, kind, _, _, _, _, _, number = _MESSAGE.unpack_from(message)
        if kind != _QUEUE | _PACKET:
            return
        queue = self.queues[socket.ntohs(number)]
        due = time.monotonic_ns() + queue.delay
        if queue.jitter:
            due += random.randint(-queue.jitter, queue.jitter)
        queue.last = max(queue.last, due)
        dropped = queue.loss > 0 and random.random() < queue.loss
        queue.waiting.append((queue.last, struct.unpack_from("=I", message, 24)[0], dropped))

    def _bind(self, number: int) -> None:
        self._config(number, _attribute(1, struct.pack(">BBH", 1, 0, socket.AF_INET)))
        metadata = _attribute(2, struct.pack(">IB", 0, 1))  # no bytes of the packet
        length = _attribute(3, struct.pack(">I", _LENGTH))
        open_and_complete = 1 | 4  # a full queue lets packets pass; segments stay in one piece
        flags = _attribute(4, struct.pack(">I", open_and_complete)) + _attribute(
            5, struct.pack(">I", open_and_complete)
        )
        self._config(number, metadata + length + flags)

    def _config(self, number: int, body: bytes) -> None:
        message = struct.pack("=BBH", 0, 0, socket.htons(number)) + body
        self.socket.send(struct.pack("=IHHII", 16 + len(message), _QUEUE | _CONFIG, _REQUEST_ACK, 0, 0) + message)
        self.socket.setblocking(True)
        try:
            while True:
                answer = self.socket.recv(65536)
                if struct.unpack_from("=H", answer, 4)[0] == 2:  # NLMSG_ERROR, also where there was none
                    break
                self._take(answer)
        finally:
            self.socket.setblocking(False)
        error: int = struct.unpack_from("=i", answer, 16)[0]
        if error:
            raise OSError(-error, f"NFQUEUE {number}: error {-error} of the kernel")

    def _verdict(self, number: int, packet: int, kind: int, verdict: int) -> None:
        # The packet's id is kept in network order, as it came, and so is the verdict.
        message = _VERDICT_MESSAGE.pack(
            32, _QUEUE | kind, 1, 0, 0, 0, 0, socket.htons(number), 12, 2, socket.htonl(verdict), packet
        )
        self.socket.send(message)


def _attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)

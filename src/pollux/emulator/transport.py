"""Send an answer, or break it on the way: resets, cuts, silence, slowness, split characters.

Law: every wait ends, after a minute at most, and at once when the emulator closes or the client leaves.
"""

import asyncio
import socket
import struct
from itertools import pairwise

from aiohttp import web

from pollux.emulator.answer import Answer
from pollux.emulator.faults import Fault

_PATIENCE = 60.0


async def send(
    request: web.Request, answer: Answer, *, fault: Fault | None, closing: asyncio.Event
) -> web.StreamResponse:
    """Write the answer the way the fault wants it."""
    kind = fault.kind if fault else ""
    if kind == "reset":
        return _reset(request)
    if kind == "silent":
        await _wait(closing, _PATIENCE)
        return _reset(request)
    response = web.StreamResponse(status=answer.status, headers=answer.headers)
    response.headers["Content-Type"] = answer.content_type
    if not answer.streamed:
        response.content_length = sum(len(frame) for frame in answer.frames)
    await response.prepare(request)
    if request.method == "HEAD":
        # A body that nobody waits for would be read as the beginning of the next answer.
        await response.write_eof()
        return response
    frames = answer.frames if answer.streamed else _halves(answer.frames, cut=kind in _CUTTING)
    if fault is not None and kind in _CUTTING:
        return await _cut_short(request, response, frames, fault, closing)
    await _write_all(response, frames, fault, closing)
    await response.write_eof()
    return response


_CUTTING = ("reset-mid", "truncated", "idle")


async def _write_all(
    response: web.StreamResponse, frames: tuple[bytes, ...], fault: Fault | None, closing: asyncio.Event
) -> None:
    for frame in frames:
        if fault is not None and fault.kind == "slow":
            await _wait(closing, fault.number("every", 200) / 1000)
        for piece in _split_characters(frame) if fault is not None and fault.kind == "split-utf8" else (frame,):
            await response.write(piece)
            await asyncio.sleep(0)


async def _cut_short(
    request: web.Request, response: web.StreamResponse, frames: tuple[bytes, ...], fault: Fault, closing: asyncio.Event
) -> web.StreamResponse:
    after = min(fault.number("after", 1), len(frames) - 1)
    for frame in frames[:after]:
        await response.write(frame)
    match fault.kind:
        case "reset-mid":
            # Let the client read what came before: a reset may discard it.
            await asyncio.sleep(0.01)
            return _reset(request)
        case "truncated":
            await response.write(frames[after][: len(frames[after]) // 2])
        case _:
            await _wait(closing, _PATIENCE)
    if request.transport is not None:
        request.transport.close()
    return response


def _reset(request: web.Request) -> web.StreamResponse:
    transport = request.transport
    if transport is not None:
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    return web.Response()


async def _wait(closing: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(closing.wait(), seconds)
    except TimeoutError:
        pass


def _halves(frames: tuple[bytes, ...], *, cut: bool) -> tuple[bytes, ...]:
    """A whole answer has one frame; to be cut short it needs two."""
    if not cut:
        return frames
    whole = b"".join(frames)
    return whole[: len(whole) // 2], whole[len(whole) // 2 :]


def _split_characters(frame: bytes) -> tuple[bytes, ...]:
    """Cut inside every character of more than one byte."""
    cuts = [at for at in range(1, len(frame)) if frame[at] & 0xC0 == 0x80]
    edges = [0, *cuts, len(frame)]
    return tuple(frame[start:end] for start, end in pairwise(edges))

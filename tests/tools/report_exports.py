"""Reads exports back and compares them with the log: report_exports.py FOLDER LOG.

The protobuf, record and pickle readers here know the formats and nothing of what wrote them. Where they are installed,
TensorFlow's and TensorBoard's own readers and Perfetto's protobuf classes are asked as well: each is skipped without a
word but the last line, which says who read.
"""

import csv
import glob
import json
import math
import os
import pickletools
import pickle
import struct
import sys

folder, log = sys.argv[1], os.path.join(sys.argv[1], sys.argv[2])
lines = [json.loads(text) for text in open(log, encoding="utf-8")]
steps = [line for line in lines if line["event"] == "step"]
device = next(line["device"] for line in lines if line["event"] == "begin")
memory = [line for line in lines if line["event"] == "memory" and line["device"] == device]
all_memory = [line for line in lines if line["event"] == "memory"]


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def f32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


# ---------------------------------------------------------------------------- protobuf

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of a message: whole numbers, 8 or 4 bytes, or bytes."""
    at, found = 0, []
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = data[at:at + 8], at + 8
        elif key & 7 == 5:
            value, at = data[at:at + 4], at + 4
        else:
            check(key & 7 == 2, f"a field of kind {key & 7}")
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            check(len(value) == size, "a field goes beyond its message")
        found.append((key >> 3, value))
    return found


def one(message, number, default=None):
    return next((value for key, value in message if key == number), default)


# --------------------------------------------------------------------------- TensorBoard

def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


(event_file,) = glob.glob(os.path.join(folder, "tb", "finished.jsonl", "events.out.tfevents.*"))
data, at, scalars, version = open(event_file, "rb").read(), 0, {}, None
while at < len(data):
    (size, check_size) = struct.unpack_from("<QI", data, at)
    body = data[at + 12:at + 12 + size]
    (check_body,) = struct.unpack_from("<I", data, at + 12 + size)
    check(check_size == masked(data[at:at + 8]) and check_body == masked(body), "a checksum of TensorBoard's file")
    at += 16 + size
    event = fields(body)
    version = version or one(event, 3)
    if (summary := one(event, 5)) is not None:
        value = fields(one(fields(summary), 1))
        tag = one(value, 1).decode()
        scalars.setdefault(tag, []).append((one(event, 2, 0), struct.unpack("f", one(value, 2))[0]))
check(version == b"brain.Event:2", "TensorBoard's version")
check(scalars["train/loss"] == [(line["step"], f32(line["loss"])) for line in steps], "losses for TensorBoard")
check([value for _, value in scalars[f"memory_MiB/{device}/used"]] == [f32(line["used"] / 2**20) for line in memory], "memory for TensorBoard")
metrics = [f32(line["value"]) for line in lines if line["event"] == "metric" and line["name"] == "validation_accuracy"]
check([value for _, value in scalars.get("epoch/validation_accuracy", [])] == metrics, "metrics for TensorBoard")
readers = ["our own"]
try:
    import tensorflow as tf

    seen = {}
    for event in tf.compat.v1.train.summary_iterator(event_file):
        for value in event.summary.value:
            seen.setdefault(value.tag, []).append((event.step, value.simple_value))
    check(seen == scalars, "TensorFlow reads other numbers")
    readers.append("TensorFlow's")
except ImportError:
    pass
try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    board = EventAccumulator(os.path.dirname(event_file), size_guidance={"scalars": 0})
    board.Reload()
    seen = {tag: [(event.step, event.value) for event in board.Scalars(tag)] for tag in board.Tags()["scalars"]}
    check(seen == scalars, "TensorBoard reads other numbers")
    readers.append("TensorBoard's")
except ImportError:
    pass

# ------------------------------------------------------------------------------ Perfetto

tracks, slices, counters, open_slices = {}, {}, {}, {}
for number, packet in fields(open(os.path.join(folder, "run.pftrace"), "rb").read()):
    check(number == 1, "a trace is packets")
    packet = fields(packet)
    if (descriptor := one(packet, 60)) is not None:
        descriptor = fields(descriptor)
        tracks[one(descriptor, 1)] = (one(descriptor, 2) or b"").decode()
        continue
    time, event = one(packet, 8), fields(one(packet, 11))
    name = tracks[one(event, 11)]
    kind = one(event, 9)
    if kind == 1:
        open_slices.setdefault(name, []).append((one(event, 23).decode(), time))
    elif kind == 2:
        what, begin = open_slices[name].pop()
        check(begin <= time, f"{what} ends before it begins")
        slices.setdefault(name, []).append(what)
    elif kind == 4:
        double = one(event, 44)
        counters.setdefault(name, []).append(struct.unpack("d", double)[0] if double else one(event, 30))
check(all(not left for left in open_slices.values()), "a slice is not ended")
check(slices["steps"] == [f"step {line['step']}" for line in steps], "steps for Perfetto")
check(counters["loss"] == [line["loss"] for line in steps], "losses for Perfetto")
check(counters[f"{device} used"] == [line["used"] for line in memory], "memory for Perfetto")
ended = sum(line["event"] == "epoch" for line in lines)
check(len(slices["epochs"]) in (ended, ended + 1), "epochs for Perfetto")
pauses = sum(line["event"] in ("validation", "checkpoint") for line in lines)
check(len(slices.get("validation and checkpoints", [])) == pauses, "validation and checkpoints for Perfetto")
plan = [line for line in lines if line["event"] == "plan"][0]
ops = next(found for name, found in slices.items() if name.startswith("ops of a step"))
check(len(ops) == len(plan["timeline"]["tasks"]), "ops for Perfetto")

try:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

    trace = Trace()
    trace.ParseFromString(open(os.path.join(folder, "run.pftrace"), "rb").read())
    names = {packet.track_descriptor.uuid: packet.track_descriptor.name for packet in trace.packet if packet.HasField("track_descriptor")}
    events = [packet.track_event for packet in trace.packet if packet.HasField("track_event")]
    seen = [event.name for event in events if event.type == TrackEvent.TYPE_SLICE_BEGIN and names[event.track_uuid] == "steps"]
    check(seen == slices["steps"], "Perfetto reads other steps")
    for track in ("loss", f"{device} used"):
        seen = [event.double_counter_value if event.HasField("double_counter_value") else event.counter_value
                for event in events if event.type == TrackEvent.TYPE_COUNTER and names[event.track_uuid] == track]
        check(seen == counters[track], f"Perfetto reads other values of {track}")
    readers.append("Perfetto's")
except ImportError:
    pass

# ----------------------------------------------------------------- PyTorch's memory viewer

ALLOWED = {"PROTO", "EMPTY_DICT", "EMPTY_LIST", "MARK", "SETITEMS", "APPENDS", "BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1", "STOP"}
raw = open(os.path.join(folder, "run.pickle"), "rb").read()
used = {op.name for op, _, _ in pickletools.genops(raw)}
check(used <= ALLOWED, f"the viewer does not know {used - ALLOWED}")


class Plain(pickle.Unpickler):
    def find_class(self, *unused):
        sys.exit("FAILED: the snapshot names a class")


with open(os.path.join(folder, "run.pickle"), "rb") as file:
    snapshot = Plain(file).load()
last_plan = [line for line in lines if line["event"] == "plan"][-1]
live, most, now, allocs = {}, 0, 0, 0
for event in snapshot["device_traces"][0]:
    if event["action"] == "alloc":
        check(all(event["addr"] >= a + s or a >= event["addr"] + event["size"] for a, s in live.items()), "two blocks at one place")
        live[event["addr"]] = event["size"]
        now += event["size"]
        allocs += 1
    elif event["action"] == "free_completed":
        check(live.pop(event["addr"]) == event["size"], "a block is freed with another size")
        now -= event["size"]
    most = max(most, now)
check(not live, "the step leaves something behind")
check(allocs == len(last_plan["timeline"]["values"]), "values of the plan")
check(0 < most <= last_plan["plan"]["range"], f"{most} bytes in a range of {last_plan['plan']['range']}")
for segment in snapshot["segments"]:
    check(sum(block["size"] for block in segment["blocks"]) == segment["total_size"], "blocks tile their segment")
persistent = sum(segment["active_size"] for segment in snapshot["segments"])
check(persistent == sum(last_plan["plan"]["persistent"].values()), "state of the plan")

# ------------------------------------------------------------------------------ CSV, JSON

with open(os.path.join(folder, "tables", "steps.csv"), newline="", encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
check([(int(row["step"]), float(row["loss"]), int(row["used"])) for row in rows] == [(line["step"], line["loss"], line["used"]) for line in steps], "steps.csv")
with open(os.path.join(folder, "tables", "memory.csv"), newline="", encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
check([int(row["bytes"]) for row in rows if row["what"] == "used" and row["device"] == device] == [line["used"] for line in memory], "memory.csv")
check(sum(int(row["bytes"]) for row in rows if row["what"] == "held") == sum(sum(line["holders"][1::2]) for line in all_memory), "holders in memory.csv")
whole = json.load(open(os.path.join(folder, "run.json"), encoding="utf-8"))
check(whole["runs"][0]["steps"]["loss"] == [line["loss"] for line in steps], "run.json")
check(math.isclose(whole["runs"][0]["seconds"], lines[-1]["time"]), "the time in run.json")
print(f"exports read back; readers: {', '.join(readers)}")

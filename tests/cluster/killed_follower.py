"""A process that follows a topic for a group, and keeps what it reads and commits in files until it is killed."""

import json
import sys
import threading

import numpy as np
import pyarrow as pa

from kcodec import kafka

address, topic, place = sys.argv[1:]
is_over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), is_over.set()), daemon=True).start()
follower = kafka.follow(
    topic, servers=address, group="killed", start="earliest", columns=["partition", "offset", "value"]
)
with follower, open(f"{place}.rows", "ab", 0) as rows, open(f"{place}.positions", "a", 1) as told:
    told.write(json.dumps(follower.positions[topic]) + "\n")
    while True:
        is_last = is_over.is_set()
        batch = follower.poll(3 if is_last else 0.5)
        if batch is not None:
            columns = batch["partition"], batch["offset"], batch["value"].cast(pa.string())
            rows.write(np.stack([each.cast(pa.int64()).to_numpy() for each in columns], 1).tobytes())
            # Before it is committed, as it may be killed in between.
            told.write(json.dumps(follower.positions[topic]) + "\n")
            follower.commit()
        elif is_last and not follower.lag:
            break

"""Threads of the caller: each decodes the whole column, so the time should stay that of one."""

from concurrent.futures import ThreadPoolExecutor

from .avro_records import array, codec, payloads


class Threads:
    """One and two threads."""

    params = (["flat", "nested"], [1, 2])
    param_names = ("schema", "threads")

    def setup(self, schema: str, threads: int) -> None:
        self.codec, self.values, self.array = codec(schema), payloads(schema), array(schema)
        self.pool = ThreadPoolExecutor(threads)
        list(self.pool.map(lambda _: self.codec.decode(self.values), range(threads)))

    def teardown(self, schema: str, threads: int) -> None:
        self.pool.shutdown()

    def time_decode(self, schema: str, threads: int) -> None:
        list(self.pool.map(lambda _: self.codec.decode(self.values), range(threads)))

    def time_encode(self, schema: str, threads: int) -> None:
        list(self.pool.map(lambda _: self.codec.encode(self.array), range(threads)))

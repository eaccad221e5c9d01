"""Threads of the caller, each of which decodes the whole column, and threads that share one."""

from concurrent.futures import ThreadPoolExecutor

from .avro_records import array, codec, payloads


class Threads:
    """One and two threads of the caller: the time should stay that of one."""

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


class Shared:
    """One call, on the caller's thread and on all cores."""

    params = (["flat", "nested"], [False, True])
    param_names = ("schema", "use_threads")

    def setup(self, schema: str, use_threads: bool) -> None:
        self.codec, self.values, self.array = codec(schema), payloads(schema), array(schema)
        self.codec.decode(self.values, use_threads=use_threads)

    def time_decode(self, schema: str, use_threads: bool) -> None:
        self.codec.decode(self.values, use_threads=use_threads)

    def time_encode(self, schema: str, use_threads: bool) -> None:
        self.codec.encode(self.array, use_threads=use_threads)

"""AWS Glue on loopback, as moto answers for it."""

import functools
import uuid
from contextlib import contextmanager

import boto3
import botocore.session
from moto.server import ThreadedMotoServer

REGION = "us-east-1"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_EC2_METADATA_DISABLED": "true",
}
# Each registry has a session of its own, which would read what AWS says of Glue anew.
botocore.session.create_loader = functools.cache(botocore.session.create_loader)


class Glue:
    """A server, with registries that are made as they are asked for."""

    def __init__(self, endpoint):
        self.endpoint = endpoint
        self.client = boto3.client("glue", region_name=REGION, endpoint_url=endpoint)
        self.config = {"endpoint.url": endpoint, "max.retries": 0}

    @contextmanager
    def registry(self):
        """Make an empty registry for a while; give its URL."""
        name = f"r{uuid.uuid4().hex}"
        self.client.create_registry(RegistryName=name)
        yield f"glue://{REGION}/{name}"
        # There may be ten.
        self.client.delete_registry(RegistryId={"RegistryName": name})


@contextmanager
def glue_server():
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield Glue(f"http://{host}:{port}")
    finally:
        server.stop()

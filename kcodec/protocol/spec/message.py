"""Message definitions as users hold them: read, checked, described."""

from kcodec.errors import check_kind
from kcodec.protocol.spec.grammar import grammar
from kcodec.protocol.spec.model import MessageModel
from kcodec.protocol.spec.parse import parse
from kcodec.protocol.spec.validation import validate


class MessageSpec(MessageModel):
    """A message definition.

    Attributes
    ----------
    name : str
        Such as ``MetadataRequest``.
    type : str
        One of `MESSAGE_TYPES`.
    struct : StructSpec
        The message's own fields; its versions are the valid versions.
    flexible_versions : Versions
        Those with compact forms and tagged fields.
    api_key : int or None
        Number of the API or record type.
    common_structs : tuple of StructSpec
        Those that any field may refer to.
    listeners : tuple of str
        Where a request is served.
    latest_version_unstable : bool
        Whether the highest version of a request may still change.
    header_versions : tuple of (Versions, int), or None
        Header version of each range of versions, where the definition says so itself.
    file : str
        Where it was read from.

    Examples
    --------
    >>> spec = MessageSpec.parse('''{"type": "data", "name": "Marker", "validVersions": "0-1",
    ...   "flexibleVersions": "1+", "fields": [{"name": "Epoch", "type": "int32", "versions": "0+"}]}''')
    >>> spec.valid_versions, [field.name for field in spec.fields]
    (Versions(lowest=0, highest=1), ['Epoch'])
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str, file: str = "", *, retired: bool = False) -> "MessageSpec":
        """Read and check a definition.

        Parameters
        ----------
        text : str
            JSON, with ``//`` and ``/* */`` comments.
        file : str
            Its name, for errors.
        retired : bool
            Whether there may be no valid version, as in Kafka since 4.0 where an API is gone.

        Raises
        ------
        SpecError
            If Kafka's generator refuses it: see `kcodec.protocol.spec.validation`.
        """
        check_kind(str, "text", text=text)
        spec = parse(text, file, cls)
        if not (retired and spec.valid_versions.empty):
            validate(spec)
        return spec

    def describe(self, version: int) -> str:
        """Print the grammar of a version: what a reader finds on the wire, in order.

        A name in brackets is an array. Types are those of Kafka's protocol guide; ``BYTES`` and ``RECORDS`` are told
        apart although they are the same on the wire.

        Raises
        ------
        ConfigError
            If the version is not a valid one.
        """
        return grammar(self, version)

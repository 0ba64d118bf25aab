"""A JSON body as its shape, decoded by our rules and not by the framework's.

Litestar would decode leniently: the last of two equal names wins, ``NaN`` and huge integers pass,
``"1"`` serves as a number. Its own extension point for bodies hands the bytes over instead; the
same annotation still draws the OpenAPI schema.
"""

from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from litestar.dto import MsgspecDTO
from litestar.openapi.spec import Reference, Schema
from litestar.typing import FieldDefinition
from typing_extensions import override

from onceward.wire import codec, limits

if TYPE_CHECKING:
    # Private to Litestar, and yet in the signature of its extension point.
    from litestar._openapi.schema_generation import SchemaCreator


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a request that has nothing to say: ``{}``, or no bytes at all."""


NOTHING = Nothing()


class StrictJson(MsgspecDTO[Any]):
    """Decodes ``data`` of every handler that has it."""

    _shapes: ClassVar[dict[str, Any]] = {}
    """By the id of the handler, which is its name and module."""

    @classmethod
    @override
    def create_for_field_definition(
        cls, field_definition: FieldDefinition, handler_id: str, backend_cls: object = None
    ) -> None:
        """Remember the shape of a handler's body."""
        cls._shapes[handler_id] = field_definition.annotation

    @classmethod
    @override
    def create_openapi_schema(
        cls, field_definition: FieldDefinition, handler_id: str, schema_creator: "SchemaCreator"
    ) -> Reference | Schema:
        """Return the schema of the shape itself."""
        return schema_creator.for_field_definition(field_definition)

    @override
    def decode_bytes(self, value: bytes) -> object:
        """Return the body as the shape that the handler declares.

        Raises:
            InvalidError: It is not JSON as every reader would read it, or has another shape.
        """
        shape = self._shapes[self.asgi_connection.route_handler.handler_id]
        return codec.decode(value, shape, bytes_max=limits.BODY_BYTES_MAX)

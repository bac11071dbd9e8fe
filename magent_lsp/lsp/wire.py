"""JSON-RPC as we speak it: where pygls' protocol is too lenient, too chatty or too trusting."""

import asyncio
import concurrent.futures
import hmac
import logging
import uuid
from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any

from cattrs import Converter
from lsprotocol import types
from pygls.exceptions import (
    FeatureRequestError,
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcRequestCancelled,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
    default_converter,
    lsp_method,
)

from magent_lsp.core.errors import CallerError, MagentError
from magent_lsp.lsp.documents import DocumentsProtocol
from magent_lsp.lsp.habits import habits_of
from magent_lsp.lsp.looks import Looks
from magent_lsp.lsp.pace import WAITED_FOR, Pace
from magent_lsp.lsp.readable import Readable
from magent_lsp.lsp.registrations import announce

if TYPE_CHECKING:
    from magent_lsp.lsp.server import MagentServer

logger = logging.getLogger(__name__)

REQUEST_FAILED = -32803
"""LSP's RequestFailed: the request was good, and could not be fulfilled."""


def plain_converter() -> Converter:
    """Pygls' converter, but the content of custom messages stays plain JSON."""
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]

    def request(data: dict[str, Any], _: Any) -> JsonRPCRequestMessage:
        return JsonRPCRequestMessage(
            id=data["id"], method=data["method"], jsonrpc="2.0", params=data.get("params")
        )

    def notification(data: dict[str, Any], _: Any) -> JsonRPCNotification:
        return JsonRPCNotification(method=data["method"], jsonrpc="2.0", params=data.get("params"))

    def response(data: dict[str, Any], _: Any) -> JsonRPCResponseMessage:
        return JsonRPCResponseMessage(id=data["id"], jsonrpc="2.0", result=data.get("result"))

    converter.register_structure_hook(JsonRPCRequestMessage, request)
    converter.register_structure_hook(JsonRPCNotification, notification)
    converter.register_structure_hook(JsonRPCResponseMessage, response)
    return converter


class Wire(DocumentsProtocol):
    """The protocol object of one connection."""

    _server: "MagentServer"

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._commands: set[Any] = set()
        """Ids of the commands that are not answered yet."""
        self._pace: Pace | None = None
        """Set for a client that wants what follows an answer it waits for to come alone."""
        self._waited_for: set[Any] = set()
        """Ids of requests whose answers such a client waits for."""
        self._when_sent: dict[str, Callable[[], None]] = {}
        """Told when the request of this id goes, which may be held back."""
        self._looks = Looks(self._ask_nothing, self._forget)
        """By which we find out whether it has read such an answer."""

    def set_writer(self, writer: Any, include_headers: bool = True) -> None:
        """Write to this."""
        super().set_writer(Readable(writer), include_headers)

    def heard(self, body: bytes | str) -> None:
        """Learn from a message of the client what it can read."""
        if isinstance(self.writer, Readable):
            self.writer.heard(body.encode() if isinstance(body, str) else body)

    def flush(self) -> None:
        """Give the writer all that is held back."""
        if self._pace is not None:
            self._pace.flush()

    def _send_now(self, data: Any) -> None:
        super()._send_data(data)
        if self._when_sent and _is_ours(data) and (tell := self._when_sent.pop(_id_of(data), None)):
            tell()

    def _send_data(self, data: Any) -> None:
        send = partial(self._send_now, data)
        if self._pace is None or _id_of(data) in self._looks:
            send()
        else:
            id, ours = _id_of(data), _is_ours(data)
            waited_for = not ours and id in self._waited_for
            if not ours:
                self._waited_for.discard(id)
            self._pace.take(send, waited_for=waited_for, id=id if ours else None)

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Leave the parsed JSON as it is; pygls would take any object with a `jsonrpc` key for a message."""
        return data

    def handle_message(self, message: Any) -> None:
        """Take one message; what cannot be understood is answered if it asks for an answer."""
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            logger.warning("ignored something that is no JSON-RPC message")
            return
        if not _is_id(message.get("id")) or not isinstance(message.get("method", ""), str):
            logger.warning("ignored a message whose id or method is none")
            known = message.get("id") if _is_id(message.get("id")) else None
            if "method" in message and "id" in message:
                self.refuse(known, JsonRpcInvalidRequest("An id or a method of this type is none."))
            return
        refusal = self._refusal(message)
        if refusal is not None:
            if "id" in message:
                self.refuse(message["id"], refusal)
            return
        try:
            structured = self._structured(message)
        except Exception as error:
            self._misunderstood(message, error)
            return
        super().handle_message(structured)

    def _structured(self, message: dict[str, Any]) -> Any:
        """The message as an object of the class that belongs to its method."""
        kind: Any
        if message.get("method") == types.WORKSPACE_EXECUTE_COMMAND:
            params = message.get("params")
            if isinstance(params, dict) and isinstance(params.get("arguments"), dict):
                params["arguments"] = [params["arguments"]]  # some clients forget the list
        if "method" in message:
            fallback = JsonRPCRequestMessage if "id" in message else JsonRPCNotification
            kind = self.get_message_type(message["method"]) or fallback
        elif message.get("error") is not None:
            kind = types.ResponseErrorMessage
        else:
            kind = self._result_types.get(message["id"]) or JsonRPCResponseMessage
        return self._converter.structure(message, kind)

    def _refusal(self, message: dict[str, Any]) -> JsonRpcException | None:
        """Why a message must not be handled now, or None."""
        method = message.get("method")
        if method == types.EXIT or method is None:
            return None
        if not self._server.admitted:
            if method != types.INITIALIZE or not self._admit(message):
                self._server.disconnect()
                return JsonRpcInvalidRequest(
                    "This server asks for a token: put the content of its token file into "
                    "initializationOptions.magent.token."
                )
            self._server.admitted = True
        if self._shutdown:
            return JsonRpcInvalidRequest("The server is shutting down.")
        if self._workspace is None and method != types.INITIALIZE:
            return JsonRpcServerNotInitialized("Send `initialize` first.")
        if self._workspace is not None and method == types.INITIALIZE:
            return JsonRpcInvalidRequest("The server is initialized already.")
        return None

    def _admit(self, message: dict[str, Any]) -> bool:
        """Check the token of an `initialize` request, and take it out of the options."""
        params = message.get("params")
        options = params.get("initializationOptions") if isinstance(params, dict) else None
        ours = options.get("magent") if isinstance(options, dict) else None
        token = ours.pop("token", "") if isinstance(ours, dict) else ""
        expected = self._server.token or ""
        return isinstance(token, str) and hmac.compare_digest(token.encode(), expected.encode())

    def _misunderstood(self, message: dict[str, Any], error: Exception) -> None:
        """Answer a request that does not have the shape of its method; settle a response that has not."""
        method, message_id = message.get("method"), message.get("id")
        logger.warning("%s has not the shape that LSP gives it", repr(method) if method else "a response")
        if method is None and message_id is not None:
            wrong = JsonRpcException(f"The client's response has a wrong shape: {error}")
            self._settle(message_id, None, wrong)
        elif method is not None and message_id is not None:
            wrong = JsonRpcInvalidParams(
                f"The parameters of {method!r} do not have the shape LSP gives them."
            )
            self.refuse(message_id, wrong)

    def refuse(self, message_id: Any, error: JsonRpcException) -> None:
        """Answer a request with an error; None stands for an id that could not be told."""
        if message_id is None:
            body = {"code": error.code, "message": error.message}
            self._send_data({"jsonrpc": "2.0", "id": None, "error": body})
        else:
            self._send_response(message_id, error=error.to_response_error())

    def plain(self, value: Any) -> Any:
        """An LSP value as plain JSON."""
        return self._converter.unstructure(value)

    def _handle_request(self, msg_id: Any, method_name: str, params: Any) -> None:
        if method_name not in self.fm.builtin_features and method_name not in self.fm.features:
            # No fault of anybody's, and no line of a log: Kate asks all servers for everything, at every key.
            self.refuse(msg_id, JsonRpcMethodNotFound.of(method_name))
            return
        if method_name == types.WORKSPACE_EXECUTE_COMMAND:
            self._commands.add(msg_id)
        if self._pace is not None and method_name in WAITED_FOR:
            self._waited_for.add(msg_id)
        super()._handle_request(msg_id, method_name, params)

    def _run_generator(self, future: Any, *, gen: Any, result_future: Any) -> None:
        """Go on with a request of several steps; one whose step was cancelled is answered all the same."""
        if future is not None and future.cancelled():
            gen.close()
            result_future.cancel()
            return
        super()._run_generator(future, gen=gen, result_future=result_future)

    def _handle_cancel_notification(self, msg_id: Any) -> None:
        """Cancel a request of the client; what is no id cannot belong to one.

        A command goes on and is answered all the same, as it soon is: pygls could not stop it, and a client
        that does not learn the id of the run it has started could not cancel that. Our own requests, which
        vim-lsp cancels after its answer, are not the client's to cancel.
        """
        if _is_id(msg_id) and msg_id not in self._commands and msg_id not in self._result_types:
            super()._handle_cancel_notification(msg_id)

    def _handle_response(
        self, msg_id: Any, result: Any | None = None, error: types.ResponseError | None = None
    ) -> None:
        """Settle one of our requests; a late answer to one that was given up is ignored."""
        self._settle(msg_id, result, JsonRpcException.from_error(error) if error is not None else None)

    def _settle(self, msg_id: Any, result: Any, error: JsonRpcException | None) -> None:
        self._result_types.pop(msg_id, None)
        future = self._request_futures.pop(msg_id, None)
        if future is None or future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)

    def _send_handler_result(self, future: concurrent.futures.Future[Any], *, msg_id: Any) -> None:
        """Answer a request; only what is our fault leaves a traceback in the log."""
        self._request_futures.pop(msg_id, None)
        self._commands.discard(msg_id)
        if future.cancelled():
            cancelled = JsonRpcRequestCancelled(f"The request {msg_id!r} was cancelled.")
            self._send_response(msg_id, error=cancelled.to_response_error())
            return
        error = future.exception()
        if error is None:
            self._send_response(msg_id, result=future.result())
            return
        if not isinstance(error, JsonRpcException):
            error = as_rpc_error(error)
        self._send_response(msg_id, error=error.to_response_error())

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """As before us, but completion and hover are for our own kinds of files alone."""
        result = yield from super().lsp_initialize(params)
        announce(result, params)
        if habits_of(params.client_info, params.capabilities).stops_at_answers:
            workspace = params.capabilities.workspace
            self._pace = Pace(self._looks.look if workspace and workspace.configuration else None)
        return result

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        """End all work, then answer; after this only `exit` is taken."""
        if (handler := self.fm.features.get(types.SHUTDOWN)) is not None:
            yield handler, args, None
        self._shutdown = True
        self.give_up()
        self.flush()

    @lsp_method(types.EXIT)
    def lsp_exit(self, *args: Any) -> Generator[Any, Any, None]:
        """End the connection; the owner of the message loop ends the rest."""
        self._server.exit_code = 0 if self._shutdown else 1
        self._server.disconnect()
        yield from ()

    @lsp_method(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def lsp_work_done_progress_cancel(self, params: types.WorkDoneProgressCancelParams) -> Any:
        """Pass a cancel on to our handler; we keep the tokens ourselves."""
        if (handler := self.fm.features.get(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)) is not None:
            yield handler, (params,), None

    def give_up(self) -> None:
        """Fail all of our requests that the client has not answered."""
        self._looks.clear()
        for msg_id in list(self._result_types):
            self._settle(msg_id, None, JsonRpcException("The connection to the client ended."))

    def _ask_nothing(self, msg_id: str) -> "concurrent.futures.Future[Any]":
        """Ask the client for no settings at all."""
        nothing = types.ConfigurationParams(items=[])
        future: concurrent.futures.Future[Any] = self.send_request(
            types.WORKSPACE_CONFIGURATION, nothing, msg_id=msg_id
        )
        return future

    def take_back(self, msg_id: str) -> bool:
        """Do not send a request that is held back; whether it was."""
        held = self._pace is not None and self._pace.withdraw(msg_id)
        if held:
            self._forget(msg_id)
        return held

    def _forget(self, msg_id: str) -> bool:
        """Wait no more for the answer to a request of ours; whether it was waited for."""
        self._result_types.pop(msg_id, None)
        return self._request_futures.pop(msg_id, None) is not None

    async def call(
        self,
        method: str,
        params: Any = None,
        *,
        seconds: float | None,
        msg_id: str | None = None,
        sent: Callable[[], None] | None = None,
    ) -> Any:
        """Send a request to the client and wait for the answer.

        `sent` is called when it goes. `seconds` bounds the wait; None waits for a person. A request that is
        given up, by time or by cancellation, is cancelled at the client, and its late answer is ignored.
        Raises TimeoutError and JsonRpcException.
        """
        msg_id = msg_id or str(uuid.uuid4())
        if sent is not None:
            self._when_sent[msg_id] = sent
        future: concurrent.futures.Future[Any] = self.send_request(method, params, msg_id=msg_id)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(future)
        finally:
            self._when_sent.pop(msg_id, None)
            if self._forget(msg_id) and (self._pace is None or not self._pace.withdraw(msg_id)):
                self.notify(types.CANCEL_REQUEST, types.CancelParams(id=msg_id))


def _id_of(data: Any) -> Any:
    """The id of a message; None if it has none."""
    return data.get("id") if isinstance(data, dict) else getattr(data, "id", None)


def _is_ours(data: Any) -> bool:
    """Whether a message is our own request or notification, and no answer."""
    return "method" in data if isinstance(data, dict) else hasattr(data, "method")


def _is_id(value: Any) -> bool:
    """Whether a value may stand for a message: JSON-RPC's ids, and nothing that could not be looked up."""
    return value is None or (isinstance(value, str | int | float) and not isinstance(value, bool))


def as_rpc_error(error: BaseException) -> JsonRpcException:
    """The JSON-RPC error for an exception of a handler; unexpected ones are logged."""
    if isinstance(error, CallerError):
        return JsonRpcInvalidParams(str(error))
    if isinstance(error, MagentError):
        return JsonRpcException(str(error), code=REQUEST_FAILED)
    logger.error("a request failed unexpectedly", exc_info=error)
    if isinstance(error, FeatureRequestError):
        return JsonRpcInternalError(str(error))
    return JsonRpcInternalError(f"Internal error: {type(error).__name__}: {error}; the log says more.")

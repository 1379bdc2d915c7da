"""Serve the page and its calls over HTTP, for this computer alone, as long as it is wanted."""

from __future__ import annotations

import base64
import contextlib
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Iterable
from http import HTTPStatus
from importlib.resources import files
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar
from urllib.parse import urlsplit

from .._util.extras import require
from .._util.messages import UserError, as_arguments, ref
from .._util.paths import is_regular_file
from ..pipeline.options.flags import as_flags
from ..report.page.style import PICTURE_STYLE
from ..tables.answers.file import AnswerEntry
from .model_fit import ModelFit
from .overview import LabelledSession, overview
from .progress import add_pictures
from .requests import (
    AnswerRequest,
    ClassRequest,
    FinishRequest,
    Request,
    UndoRequest,
    check_text,
    rate_of,
    row_of,
)
from .rows import PICTURES, SessionRows
from .session import Session

try:
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.datastructures import Headers, MutableHeaders
    from starlette.middleware import Middleware
    from starlette.requests import ClientDisconnect
    from starlette.responses import FileResponse, HTMLResponse, JSONResponse
    from starlette.routing import Mount, Route
except ImportError:  # said when a page is asked for
    Starlette = None  # type: ignore[misc, assignment]

if TYPE_CHECKING:
    from starlette.requests import Request as HTTPRequest
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

RequestT = TypeVar("RequestT", bound=Request)

# Bytes of a request; an answer needs a few hundred.
_MAX_REQUEST_BYTES = 65_536


class _RefusedRequest(Exception):
    """A request that is refused, with a status and a sentence."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status, self.words = status, words


def check_extra() -> tuple[ModuleType, ModuleType]:
    """Refuse to continue without the libraries of the page."""
    require("labelling in the browser", "starlette", "uvicorn")
    import starlette
    import uvicorn

    return starlette, uvicorn


class PageSession(LabelledSession, Protocol):
    """Session as the page needs it: to show rows and to record answers."""

    lock: threading.Condition
    curve: list[dict[str, Any]]
    notes: list[str]
    trouble: str

    @property
    def rows(self) -> SessionRows: ...

    @property
    def n_labels(self) -> int: ...

    def card(self, annotator: str) -> dict[str, Any] | None: ...

    def make_card(self, row: int, why: str = "") -> dict[str, Any]: ...

    def answer(
        self, *, id: str, annotator: str, row: int, kind: str, label: str | None = None
    ) -> AnswerEntry: ...

    def undo(self, *, id: str, annotator: str) -> AnswerEntry | None: ...

    def add_class(self, name: str) -> None: ...


def make_app(
    session: PageSession,
    token: str,
    urls: Iterable[str],
    framed: bool = False,
    finishing: ModelFit | None = None,
) -> Starlette:
    """Return the application for a session, which ``finishing`` ends.

    ``token`` is the first part of every path, ``urls`` the addresses under which the page is
    reached; all others are refused. ``framed``: whether pages of this computer may show it in a
    frame, as notebooks do.
    """
    check_extra()
    page = _PageHandlers(session, framed, finishing or ModelFit(session))
    routes = [
        Route("/", page.page, methods=["GET"]),
        Route("/api/state", page.state, methods=["GET"]),
        Route("/api/overview", page.overview, methods=["GET"]),
        Route("/api/row/{row}", page.row, methods=["GET"]),
        Route("/api/search", page.search, methods=["GET"]),
        Route("/api/picture/{row}/{name}", page.picture, methods=["GET"]),
        Route("/api/answer", page.answer, methods=["POST"]),
        Route("/api/undo", page.undo, methods=["POST"]),
        Route("/api/class", page.new_class, methods=["POST"]),
        Route("/api/finish", page.finishing, methods=["GET"]),
        Route("/api/finish", page.finish, methods=["POST"]),
        Route("/report", page.model_report, methods=["GET"]),
    ]
    return Starlette(
        routes=[Mount(f"/{token}", routes=routes)],
        middleware=[Middleware(_PrivacyHeaders), Middleware(_AccessCheck, token=token, urls=urls)],
        exception_handlers={
            _RefusedRequest: lambda request, stop: _error_response(stop),
            ClientDisconnect: lambda request, stop: _error_response(
                _RefusedRequest(HTTPStatus.BAD_REQUEST, "The request ended too early.")
            ),
            UserError: lambda request, error: _error_response(
                _RefusedRequest(HTTPStatus.BAD_REQUEST, str(error))
            ),
            OSError: lambda request, error: _error_response(
                _RefusedRequest(
                    HTTPStatus.INSUFFICIENT_STORAGE,
                    f"Nothing was saved: {error}. Free some space, then label the row again.",
                )
            ),
        },
    )


class _PrivacyHeaders:
    """Middleware that adds headers to every response which keep the page to itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)


class _AccessCheck:
    """Middleware that checks every request."""

    def __init__(self, app: ASGIApp, token: str, urls: Iterable[str]) -> None:
        self._app, self._token = app, token
        self._origins = {f"{u.scheme}://{u.netloc}" for u in map(urlsplit, urls)}
        self._hosts = {urlsplit(url).netloc for url in urls}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http":
            try:
                self._check(scope["path"], scope["method"], Headers(scope=scope))
            except _RefusedRequest as stop:
                app = _error_response(stop)
        await app(scope, receive, send)

    def _check(self, path: str, method: str, headers: Headers) -> None:
        token = path.split("/")[1] if path.startswith("/") else ""
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            raise _RefusedRequest(
                HTTPStatus.FORBIDDEN,
                "This address has no valid token; open the one that 'fewlabels label' printed.",
            )
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self._hosts:
            message = (
                f"The page is not served as {host[:100]!r}; pass --url if it is behind a proxy."
            )
            raise _RefusedRequest(HTTPStatus.FORBIDDEN, message)
        is_cross_site = headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
        if (origin is not None and origin not in self._origins) or (
            is_cross_site and method != "GET"
        ):
            raise _RefusedRequest(HTTPStatus.FORBIDDEN, "Requests from other pages are refused.")
        length = headers.get("content-length", "0")
        # As text: a number of thousands of digits is no number for Python.
        if not length.isdigit() or len(length) > 9 or int(length) > _MAX_REQUEST_BYTES:
            raise _size_error()


def _error_response(stop: _RefusedRequest) -> JSONResponse:
    return JSONResponse({"error": stop.words}, stop.status)


def _size_error() -> _RefusedRequest:
    return _RefusedRequest(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"The request is larger than {_MAX_REQUEST_BYTES} bytes.",
    )


class _PageHandlers:
    """Handlers of the calls of the page; each refuses in a sentence what it can't do."""

    def __init__(self, session: PageSession, framed: bool, finishing: ModelFit) -> None:
        self.session, self.model_fit = session, finishing
        self.words = as_arguments if framed else as_flags
        self.ancestors = "http://localhost:* http://127.0.0.1:*" if framed else "'none'"

    async def page(self, request: HTTPRequest) -> HTMLResponse:
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src "
            f"'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
            f"frame-ancestors {self.ancestors}"
        )
        return HTMLResponse(build_page(nonce), headers={"content-security-policy": policy})

    # -- reading ----------------------------------------------------------------------------------

    async def state(self, request: HTTPRequest) -> JSONResponse:
        return await self._respond(self._state, request.query_params.get("annotator", "me"))

    async def overview(self, request: HTTPRequest) -> JSONResponse:
        def call() -> dict[str, Any]:
            rate = rate_of(request.query_params.get("rate", "0.1"))
            with self.session.lock:
                figures, points = overview(self.session, rate), list(self.session.curve)
            return add_pictures(figures, points)

        return await self._respond(call)

    def _row(self, request: HTTPRequest) -> int:
        return row_of(request.path_params["row"], len(self.session.rows))

    async def row(self, request: HTTPRequest) -> JSONResponse:
        return await self._respond(lambda: {"card": self.session.make_card(self._row(request))})

    async def search(self, request: HTTPRequest) -> JSONResponse:
        def call() -> dict[str, Any]:
            words = request.query_params.get("words", "").strip()
            rows = self.session.rows.search(words) if words else []
            return {"rows": [{"row": r, "text": self.session.rows.summarise(r)} for r in rows]}

        return await self._respond(call)

    async def picture(self, request: HTTPRequest) -> FileResponse:
        rows = self.session.rows
        cells = {c["name"]: c["text"] for c in rows.card(self._row(request))}
        path = rows.find_picture(cells.get(request.path_params["name"], ""))
        if path is None:
            raise _RefusedRequest(HTTPStatus.NOT_FOUND, "There is no such picture.")
        return FileResponse(path, media_type=PICTURES[path.suffix.lower()])

    async def finishing(self, request: HTTPRequest) -> JSONResponse:
        return await self._respond(self.model_fit.as_plain)

    async def model_report(self, request: HTTPRequest) -> FileResponse:
        model_fit = self.model_fit
        if model_fit.state != "done" or not is_regular_file(model_fit.report):
            raise _RefusedRequest(HTTPStatus.NOT_FOUND, "There is no report yet; finish first.")
        return FileResponse(model_fit.report, headers={"content-security-policy": _REPORT_POLICY})

    # -- changing ---------------------------------------------------------------------------------

    async def answer(self, request: HTTPRequest) -> JSONResponse:
        def call(given: AnswerRequest) -> dict[str, Any]:
            self.session.answer(
                id=given.id,
                annotator=given.annotator,
                row=given.row,
                kind=given.kind,
                label=given.label,
            )
            return self._state(given.annotator)

        return await self._apply_request(request, AnswerRequest, call)

    async def undo(self, request: HTTPRequest) -> JSONResponse:
        def call(given: UndoRequest) -> dict[str, Any]:
            undone = self.session.undo(id=given.id, annotator=given.annotator)
            return {**self._state(given.annotator), "undone": undone is not None}

        return await self._apply_request(request, UndoRequest, call)

    async def new_class(self, request: HTTPRequest) -> JSONResponse:
        def call(given: ClassRequest) -> dict[str, Any]:
            self.session.add_class(given.name)
            return self._state(given.annotator)

        return await self._apply_request(request, ClassRequest, call)

    async def finish(self, request: HTTPRequest) -> JSONResponse:
        def call(given: FinishRequest) -> dict[str, str | int]:
            self.model_fit.start()
            return self.model_fit.as_plain()

        return await self._apply_request(request, FinishRequest, call)

    def _state(self, annotator: str) -> dict[str, Any]:
        return collect_state(self.session, annotator, self.words)

    async def _apply_request(
        self,
        request: HTTPRequest,
        kind: type[RequestT],
        call: Callable[[RequestT], object],
    ) -> JSONResponse:
        """Read a request of a ``kind``, do what it says, and respond."""
        if request.headers.get("content-type", "").split(";")[0] != "application/json":
            raise _RefusedRequest(HTTPStatus.BAD_REQUEST, "Send application/json.")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _MAX_REQUEST_BYTES:
                raise _size_error()
        return await self._respond(call, kind.of_json(body))

    async def _respond(self, call: Callable[..., object], *args: object) -> JSONResponse:
        """Return the result of a call as JSON; in a thread, as it may take a while."""
        return JSONResponse(await run_in_threadpool(call, *args))


# A report is a document of its own: it reaches nothing of the page.
_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
}


def collect_state(
    session: PageSession, annotator: str, words: Callable[[str], str] = as_arguments
) -> dict[str, Any]:
    """Return all that the page shows somebody next to its views, with options by ``words``."""
    check_text("annotator", annotator)
    with session.lock:
        counts = {name: 0 for name in session.classes}
        for label in session.labels.values():
            counts[label] += 1
        return {
            "data": str(session.rows.source),
            "target": session.target,
            "file": str(session.file.path),
            "classes": session.classes,
            "counts": counts,
            "n_rows": len(session.rows),
            "n_labels": session.n_labels,
            "n_known": len(session.labels),
            "notes": [words(note) for note in session.notes],
            "trouble": session.trouble,
            "can_undo": any(one.annotator == annotator for one in session.current_answers),
            "card": session.card(annotator),
        }


def build_page(nonce: str) -> str:
    """Return the page, with its style and its script inside."""
    folder = files(__package__) / "page"
    text = {
        name: (folder / name).read_text(encoding="utf-8")
        for name in ("page.html", "page.css", "page.js")
    }
    page = text["page.html"].replace("{{nonce}}", nonce)
    style = PICTURE_STYLE + text["page.css"]
    return page.replace("{{style}}", style).replace("{{script}}", text["page.js"])


def make_token() -> str:
    """Return a random token."""
    return base64.urlsafe_b64encode(secrets.token_bytes(24)).decode()


_HOST = "127.0.0.1"
# Seconds after which a fit lets a request have the interpreter.
_SWITCH_INTERVAL = 0.001


class PageServer:
    """Server of the page of a session on this computer, until :meth:`stop`.

    ``url`` is the address of the page, with its token. ``port`` 0 takes any free one, ``public``
    is an address under which another server passes requests on, ``framed`` lets notebooks show the
    page.
    """

    def __init__(
        self, session: Session, port: int = 0, public: str | None = None, framed: bool = False
    ) -> None:
        uvicorn = check_extra()[1]
        self.session, self.finishing, token = session, ModelFit(session), make_token()
        self._socket = _listen(port)
        local_url = f"http://{_HOST}:{self._socket.getsockname()[1]}"
        urls = [local_url, local_url.replace(_HOST, "localhost")] + ([public] if public else [])
        self.url = f"{(public or local_url).rstrip('/')}/{token}/"
        app = make_app(session, token, urls, framed, self.finishing)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            lifespan="off",
            ws="none",
            h11_max_incomplete_event_size=65_536,
        )
        self._server = uvicorn.Server(config)
        self._thread: threading.Thread | None = None

    def run(self) -> None:
        """Serve until Ctrl-C."""
        self.session.start()
        sys.setswitchinterval(_SWITCH_INTERVAL)
        with contextlib.suppress(KeyboardInterrupt):
            self._server.run(sockets=[self._socket])
        self.finishing.stop()
        self.session.close()

    def start(self) -> Self:
        """Serve from a thread of its own."""
        self.session.start()
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )
        self._thread.start()
        return self

    def stop(self) -> None:
        """End the page; answers are in their file."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(timeout=10)
        self._socket.close()
        self.finishing.stop()
        self.session.close()


def _listen(port: int) -> socket.socket:
    server_socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        server_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server_socket.bind((_HOST, port))
        server_socket.listen(128)  # a browser that is early waits, and is not sent away
    except (OSError, OverflowError) as error:
        server_socket.close()
        raise UserError(
            f"Port {port} can't be used ({error}); pass another {ref('port')}, or none."
        ) from error
    return server_socket

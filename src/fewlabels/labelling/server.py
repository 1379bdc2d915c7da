"""The page and its calls over HTTP, for this computer alone."""

import base64
import secrets
from importlib.resources import files
from urllib.parse import urlsplit

from .._util.extras import require
from .._util.messages import UserError, as_arguments
from ..pipeline.options.flags import as_flags
from .finishing import Finishing
from .names import check_text
from .overview import overview
from .requests import (
    AnswerRequest,
    ClassRequest,
    FinishRequest,
    UndoRequest,
    rate_of,
    row_of,
)
from .rows import PICTURES

try:
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.datastructures import Headers, MutableHeaders
    from starlette.middleware import Middleware
    from starlette.responses import FileResponse, HTMLResponse, JSONResponse
    from starlette.routing import Mount, Route
except ImportError:  # said when a page is asked for
    Starlette = None  # type: ignore[misc, assignment]

# Bytes of a request; of an answer a few hundred are needed.
_LARGEST = 65_536
_FORBIDDEN, _MISSING, _TOO_LARGE, _UNUSABLE, _FULL = 403, 404, 413, 400, 507


class _Stop(Exception):
    """A request that is refused: a status and a sentence."""

    def __init__(self, status, words):
        super().__init__(words)
        self.status, self.words = status, words


def check_extra():
    """Refuse to continue without the libraries of the page."""
    require("labelling in the browser", "starlette", "uvicorn")
    import starlette
    import uvicorn

    return starlette, uvicorn


def make_app(session, token, urls, framed=False, finishing=None):
    """The application for a session, which ``finishing`` ends.

    ``token`` is the first part of every path, ``urls`` the addresses under which the page is
    reached; all others are refused. ``framed``: whether pages of this computer may show it in a
    frame, as notebooks do.
    """
    check_extra()
    page = _Page(session, framed, finishing or Finishing(session))
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
        Route("/report", page.made_report, methods=["GET"]),
    ]
    return Starlette(
        routes=[Mount(f"/{token}", routes=routes)],
        middleware=[Middleware(_Private), Middleware(_Guarded, token=token, urls=urls)],
        exception_handlers={
            _Stop: lambda request, stop: _refused(stop),
            UserError: lambda request, error: _refused(_Stop(_UNUSABLE, str(error))),
            OSError: lambda request, error: _refused(
                _Stop(
                    _FULL,
                    f"Nothing was saved: {error}. Free some space, then label the row again.",
                )
            ),
        },
    )


class _Private:
    """Middleware: headers that keep the page to itself go with every answer."""

    def __init__(self, app):
        self._app = app

    async def __call__(self, scope, receive, send):
        async def sent(message):
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, sent)


class _Guarded:
    """Middleware: what every request has to pass."""

    def __init__(self, app, token, urls):
        self._app, self._token = app, token
        self._origins = {f"{u.scheme}://{u.netloc}" for u in map(urlsplit, urls)}
        self._hosts = {urlsplit(url).netloc for url in urls}

    async def __call__(self, scope, receive, send):
        app = self._app
        if scope["type"] == "http":
            try:
                self._check(scope["path"], scope["method"], Headers(scope=scope))
            except _Stop as stop:
                app = _refused(stop)
        await app(scope, receive, send)

    def _check(self, path, method, headers):
        token = path.split("/")[1] if path.startswith("/") else ""
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            raise _Stop(
                _FORBIDDEN,
                "This address has no valid token; open the one that 'fewlabels label' printed.",
            )
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self._hosts:
            said = f"The page is not served as {host[:100]!r}; pass --url if it is behind a proxy."
            raise _Stop(_FORBIDDEN, said)
        crossed = headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
        if (origin is not None and origin not in self._origins) or (crossed and method != "GET"):
            raise _Stop(_FORBIDDEN, "Requests from other pages are refused.")
        length = headers.get("content-length", "0")
        # As text: a number of thousands of digits is no number for Python.
        if not length.isdigit() or len(length) > 9 or int(length) > _LARGEST:
            raise _too_large()


def _refused(stop):
    return JSONResponse({"error": stop.words}, stop.status)


def _too_large():
    return _Stop(_TOO_LARGE, f"The request is larger than {_LARGEST} bytes.")


class _Page:
    """The calls; what can be refused is refused here, in a sentence."""

    def __init__(self, session, framed, finishing):
        self.session, self.ending = session, finishing
        self.words = as_arguments if framed else as_flags
        self.ancestors = "http://localhost:* http://127.0.0.1:*" if framed else "'none'"

    async def page(self, request):
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src "
            f"'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
            f"frame-ancestors {self.ancestors}"
        )
        return HTMLResponse(page_text(nonce), headers={"content-security-policy": policy})

    # -- reading ----------------------------------------------------------------------------------

    async def state(self, request):
        return await self._answered(self._state, request.query_params.get("annotator", "me"))

    async def overview(self, request):
        def call():
            rate = rate_of(request.query_params.get("rate", "0.1"))
            with self.session.lock:
                curve = self.session.curve[-500:]
                return {**overview(self.session, rate), "curve": curve}

        return await self._answered(call)

    def _row(self, request):
        return row_of(request.path_params["row"], len(self.session.rows))

    async def row(self, request):
        return await self._answered(lambda: {"card": self.session.shown(self._row(request))})

    async def search(self, request):
        def call():
            words = request.query_params.get("words", "").strip()
            rows = self.session.rows.search(words) if words else []
            return {"rows": [{"row": r, "text": self.session.rows.short(r)} for r in rows]}

        return await self._answered(call)

    async def picture(self, request):
        rows = self.session.rows
        cells = {c["name"]: c["text"] for c in rows.card(self._row(request))}
        path = rows.picture(cells.get(request.path_params["name"], ""))
        if path is None:
            raise _Stop(_MISSING, "There is no such picture.")
        return FileResponse(path, media_type=PICTURES[path.suffix.lower()])

    async def finishing(self, request):
        return await self._answered(self.ending.plain)

    async def made_report(self, request):
        ending = self.ending
        if ending.state != "done" or not ending.report.is_file():
            raise _Stop(_MISSING, "There is no report yet; finish first.")
        return FileResponse(ending.report, headers={"content-security-policy": _OF_REPORT})

    # -- changing ---------------------------------------------------------------------------------

    async def answer(self, request):
        def call(given):
            self.session.answer(
                id=given.id,
                annotator=given.annotator,
                row=given.row,
                kind=given.kind,
                label=given.label,
            )
            return self._state(given.annotator)

        return await self._changed(request, AnswerRequest, call)

    async def undo(self, request):
        def call(given):
            undone = self.session.undo(id=given.id, annotator=given.annotator)
            return {**self._state(given.annotator), "undone": undone is not None}

        return await self._changed(request, UndoRequest, call)

    async def new_class(self, request):
        def call(given):
            self.session.add_class(given.name)
            return self._state(given.annotator)

        return await self._changed(request, ClassRequest, call)

    async def finish(self, request):
        def call(given):
            self.ending.start()
            return self.ending.plain()

        return await self._changed(request, FinishRequest, call)

    def _state(self, annotator):
        return state_of(self.session, annotator, self.words)

    async def _changed(self, request, kind, call):
        """Read a request of a ``kind``, do what it says, and answer."""
        if request.headers.get("content-type", "").split(";")[0] != "application/json":
            raise _Stop(_UNUSABLE, "Send application/json.")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _LARGEST:
                raise _too_large()
        return await self._answered(call, kind.of_json(body))

    async def _answered(self, call, *args):
        """What a call gives as JSON; in a thread, as it may take a while."""
        return JSONResponse(await run_in_threadpool(call, *args))


# A report is a document of its own: it reaches nothing of the page.
_OF_REPORT = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
}


def state_of(session, annotator, words=as_arguments):
    """All that the page shows next to its views, for somebody. ``words`` renders the options."""
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
            "can_undo": any(one.annotator == annotator for one in session.standing),
            "card": session.card(annotator),
        }


def page_text(nonce):
    """The page, with its style and its script inside."""
    folder = files(__package__) / "page"
    text = {
        name: (folder / name).read_text(encoding="utf-8")
        for name in ("page.html", "page.css", "page.js")
    }
    page = text["page.html"].replace("{{nonce}}", nonce)
    return page.replace("{{style}}", text["page.css"]).replace("{{script}}", text["page.js"])


def new_token():
    """A token that nobody guesses."""
    return base64.urlsafe_b64encode(secrets.token_bytes(24)).decode()

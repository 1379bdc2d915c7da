"""The page and its calls over HTTP, for this machine alone."""

import base64
import json
import secrets
from functools import partial
from importlib.resources import files
from urllib.parse import urlsplit

from ..io.errors import UserError
from .finishing import Finishing
from .overview import overview
from .rows import PICTURES

try:
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import FileResponse, HTMLResponse, JSONResponse
    from starlette.routing import Mount, Route
except ImportError:  # said when a page is asked for
    Starlette = None  # type: ignore[misc, assignment]

# Bytes of a request; of an answer a few hundred are needed.
_LARGEST = 65_536
_FORBIDDEN, _TOO_LARGE, _UNUSABLE, _FULL = 403, 413, 400, 507


class _Stop(Exception):
    """A request that is refused: a status and a sentence."""

    def __init__(self, status, words):
        super().__init__(words)
        self.status, self.words = status, words


def check_extra():
    """Refuse to go on without the libraries of the page."""
    try:
        import starlette
        import uvicorn
    except ImportError as error:
        raise UserError(
            "Labelling in the browser takes starlette and uvicorn; pip install 'fewlabels[label]'."
        ) from error
    return starlette, uvicorn


def make_app(session, token, urls, framed=False, finishing=None):
    """The application for a session, which ``finishing`` ends.

    ``token`` is the first part of every path, ``urls`` the addresses under which the page is
    reached; all others are refused. ``framed``: whether pages of this machine may show it in a
    frame, as notebooks do.
    """
    check_extra()
    page = _Page(session, token, urls, framed, finishing or Finishing(session))
    routes = [
        Route("/", page.page, methods=["GET"]),
        Route("/api/state", page.state, methods=["GET"]),
        Route("/api/overview", page.overview, methods=["GET"]),
        Route("/api/row/{row:int}", page.row, methods=["GET"]),
        Route("/api/search", page.search, methods=["GET"]),
        Route("/api/picture/{row:int}/{name}", page.picture, methods=["GET"]),
        Route("/api/answer", page.answer, methods=["POST"]),
        Route("/api/undo", page.undo, methods=["POST"]),
        Route("/api/class", page.new_class, methods=["POST"]),
        Route("/api/finish", page.finishing, methods=["GET"]),
        Route("/api/finish", page.finish, methods=["POST"]),
        Route("/report", page.made_report, methods=["GET"]),
    ]
    return page.guarded(Starlette(routes=[Mount(f"/{token}", routes=routes)]))


class _Page:
    """The calls; what can be refused is refused here, in a sentence."""

    def __init__(self, session, token, urls, framed, finishing):
        self.session, self.token, self.ending = session, token, finishing
        self.origins = {f"{u.scheme}://{u.netloc}" for u in map(urlsplit, urls)}
        self.hosts = {urlsplit(url).netloc for url in urls}
        self.ancestors = "http://localhost:* http://127.0.0.1:*" if framed else "'none'"

    def guarded(self, app):
        """The application behind what every request has to pass."""

        async def run(scope, receive, send):
            if scope["type"] != "http":
                return await app(scope, receive, send)
            headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
            try:
                self._check(scope["path"], scope["method"], headers)
            except _Stop as stop:
                return await self._refused(stop)(scope, receive, send)
            return await app(scope, receive, partial(self._sent, send))

        return run

    def _check(self, path, method, headers):
        token = path.split("/")[1] if path.startswith("/") else ""
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            raise _Stop(_FORBIDDEN, "This address has no valid token; open the one that "
                        "'fewlabels label' printed.")  # fmt: skip
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self.hosts:
            raise _Stop(_FORBIDDEN, f"The page is not served as {host[:100]!r}; pass --url if it "
                        "stands behind another server.")  # fmt: skip
        crossed = headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
        if (origin is not None and origin not in self.origins) or (crossed and method != "GET"):
            raise _Stop(_FORBIDDEN, "Requests from other pages are refused.")
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > _LARGEST:
            raise _Stop(_TOO_LARGE, f"The request is larger than {_LARGEST} bytes.")

    async def _sent(self, send, message):
        """Pass on what is sent, with the headers that keep the page to itself."""
        if message["type"] == "http.response.start":
            headers = [(k, v) for k, v in message["headers"]]
            names = {k.lower() for k, _ in headers}
            for name, value in _HEADERS.items():
                if name.encode() not in names:
                    headers.append((name.encode(), value.encode()))
            message = {**message, "headers": headers}
        await send(message)

    def _refused(self, stop):
        return JSONResponse({"error": stop.words}, stop.status, headers=dict(_HEADERS))

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
            try:
                rate = float(request.query_params.get("rate", "0.1"))
            except ValueError:
                rate = -1.0
            if not 0 < rate < 1:
                raise UserError("The false discovery rate must be a number between 0 and 1.")
            with self.session.lock:
                curve = self.session.curve[-500:]
                return {**overview(self.session, rate), "curve": curve}

        return await self._answered(call)

    async def row(self, request):
        def call():
            row = request.path_params["row"]
            if row >= len(self.session.rows):
                raise UserError(f"There is no row {row}; rows are 0 to "
                                f"{len(self.session.rows) - 1}.")  # fmt: skip
            return {"card": self.session.shown(row)}

        return await self._answered(call)

    async def search(self, request):
        def call():
            words = request.query_params.get("words", "").strip()
            rows = self.session.rows.search(words) if words else []
            return {"rows": [{"row": r, "text": self.session.rows.short(r)} for r in rows]}

        return await self._answered(call)

    async def picture(self, request):
        rows, row = self.session.rows, request.path_params["row"]
        name = request.path_params["name"]
        cells = {} if row >= len(rows) else {c["name"]: c["text"] for c in rows.card(row)}
        path = rows.picture(cells.get(name, ""))
        if path is None:
            return self._refused(_Stop(404, "There is no such picture."))
        return FileResponse(path, media_type=PICTURES[path.suffix.lower()])

    async def finishing(self, request):
        return await self._answered(self.ending.plain)

    async def made_report(self, request):
        ending = self.ending
        if ending.state != "done" or not ending.report.is_file():
            return self._refused(_Stop(404, "There is no report yet; finish first."))
        return FileResponse(ending.report, headers={"content-security-policy": _OF_REPORT})

    # -- changing ---------------------------------------------------------------------------------

    async def answer(self, request):
        def call(given):
            self.session.answer(
                id=given.get("id"), annotator=given.get("annotator"), row=given.get("row"),
                kind=given.get("kind"), label=given.get("label"),
            )  # fmt: skip
            return self._state(given["annotator"])

        return await self._changed(request, call)

    async def undo(self, request):
        def call(given):
            undone = self.session.undo(id=given.get("id"), annotator=given.get("annotator"))
            return {**self._state(given["annotator"]), "undone": undone is not None}

        return await self._changed(request, call)

    async def new_class(self, request):
        def call(given):
            self.session.add_class(given.get("name"))
            return self._state(given.get("annotator", "me"))

        return await self._changed(request, call)

    async def finish(self, request):
        def call(given):
            self.ending.start()
            return self.ending.plain()

        return await self._changed(request, call)

    def _state(self, annotator):
        return state_of(self.session, annotator)

    async def _changed(self, request, call):
        """Read a request as JSON, do what it says, and answer."""
        if request.headers.get("content-type", "").split(";")[0] != "application/json":
            return self._refused(_Stop(_UNUSABLE, "Send application/json."))
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _LARGEST:
                return self._refused(
                    _Stop(_TOO_LARGE, f"The request is larger than {_LARGEST} bytes.")
                )
        try:
            given = json.loads(body)
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            return self._refused(_Stop(_UNUSABLE, "The request is no JSON object."))
        return await self._answered(call, given)

    async def _answered(self, call, *args):
        """What a call gives as JSON; in a thread, as it may take a while."""
        try:
            return JSONResponse(await run_in_threadpool(call, *args))
        except UserError as error:
            return self._refused(_Stop(_UNUSABLE, str(error)))
        except OSError as error:
            words = f"Nothing was saved: {error}. Make room, then answer again."
            return self._refused(_Stop(_FULL, words))


# A report is a document of its own: it reaches nothing of the page.
_OF_REPORT = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
}


def state_of(session, annotator):
    """All that the page shows beside its views, for somebody."""
    from .session import check_text

    check_text("annotator", annotator)
    with session.lock:
        counts = {name: 0 for name in session.classes}
        for label in session.labels.values():
            counts[label] += 1
        return {
            "data": str(session.rows.source), "target": session.target,
            "file": str(session.file.path), "classes": session.classes, "counts": counts,
            "n_rows": len(session.rows), "n_labels": session.n_labels,
            "n_known": len(session.labels),
            "notes": session.notes, "trouble": session.trouble,
            "can_undo": any(one.annotator == annotator for one in session.standing),
            "card": session.card(annotator),
        }  # fmt: skip


def page_text(nonce):
    """The page, with its style and its script inside."""
    folder = files(__package__) / "page"
    text = {name: (folder / name).read_text(encoding="utf-8")
            for name in ("page.html", "page.css", "page.js")}  # fmt: skip
    page = text["page.html"].replace("{{nonce}}", nonce)
    return page.replace("{{style}}", text["page.css"]).replace("{{script}}", text["page.js"])


def new_token():
    """A token that nobody guesses."""
    return base64.urlsafe_b64encode(secrets.token_bytes(24)).decode()

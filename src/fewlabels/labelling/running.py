"""A server for the page of a session."""

import contextlib
import socket
import sys
import threading
from typing import Self

from .._util.messages import UserError, ref
from .finishing import ModelFit
from .server import check_extra, make_app, make_token
from .session import Session

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

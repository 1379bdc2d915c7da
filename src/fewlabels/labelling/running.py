"""A server for a session, as long as it is wanted."""

import contextlib
import socket
import sys
import threading
from typing import Self

from .._util.messages import UserError, ref
from .finishing import Finishing
from .server import check_extra, make_app, new_token
from .session import Session

_HOST = "127.0.0.1"
# Seconds after which a fit lets a request have the interpreter.
_SWITCH = 0.001


class Running:
    """Server of the page of a session on this computer, until :meth:`stop`.

    ``url`` is the address of the page, with its token. ``port`` 0 takes any free one, ``public``
    is an address under which another server passes requests on, ``framed`` lets notebooks show the
    page.
    """

    def __init__(
        self, session: Session, port: int = 0, public: str | None = None, framed: bool = False
    ) -> None:
        uvicorn = check_extra()[1]
        self.session, self.finishing, token = session, Finishing(session), new_token()
        self._socket = _listening(port)
        own = f"http://{_HOST}:{self._socket.getsockname()[1]}"
        urls = [own, own.replace(_HOST, "localhost")] + ([public] if public else [])
        self.url = f"{(public or own).rstrip('/')}/{token}/"
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
        sys.setswitchinterval(_SWITCH)
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


def _listening(port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((_HOST, port))
        found.listen(128)  # a browser that is early waits, and is not sent away
    except (OSError, OverflowError) as error:
        found.close()
        raise UserError(
            f"Port {port} can't be used ({error}); pass another {ref('port')}, or none."
        ) from error
    return found

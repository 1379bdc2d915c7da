import pytest

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="session")
def client():
    """Two workers in this process."""
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as client:
        yield client

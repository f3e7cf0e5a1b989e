import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def one_thread():
    """Tiny models: threads that wait for one another cost more than they bring, above all on a busy machine."""
    with threadpool_limits(1):
        yield

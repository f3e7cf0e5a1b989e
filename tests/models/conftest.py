import pytest
from threadpoolctl import threadpool_limits

from shap_asv.models import readers


@pytest.fixture(autouse=True)
def one_thread():
    """Tiny models: threads that wait for one another cost more than they bring, above all on a busy machine."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def without_shaps_loader(monkeypatch):
    """So that it does not step in where another reader is wrong."""
    kept = tuple(reader for reader in readers.READERS if reader.name != "shap's loader")
    monkeypatch.setattr(readers, "READERS", kept)

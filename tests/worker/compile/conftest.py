"""An empty triton cache for all compile tests: a warm one would let them pass without compiling."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def empty_triton_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton_cache")))
        patch.delenv("TRITON_INTERPRET", raising=False)
        yield

"""What several test files use."""

import numpy as np
import pytest


@pytest.fixture
def random():
    return np.random.default_rng(7)

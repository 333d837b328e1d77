"""`manyview fit --engine dask`: the same folder, labels in parts."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from manyview import OMVCDR
from manyview.cli.folder import FILES
from manyview.datasets import make_multiview_blobs

pytest.importorskip("distributed")
clusters = pytest.importorskip("helpers.clusters")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask


def test_a_fit_on_a_cluster_writes_the_same_folder_with_labels_in_parts(command):
    data = make_multiview_blobs(9000, (6, 9), n_clusters=4, random_state=0).data
    for name, X in zip(("img", "txt"), data.views, strict=True):
        Path(name).mkdir()
        for part, rows in enumerate(np.array_split(X, 3)):
            table = pa.table({"vector": list(rows)})
            parquet.write_table(table, f"{name}/part-{part}.parquet")
    with clusters.local_cluster(1) as client:
        code, out, err = command(
            *["fit", "img/*.parquet::vector", "txt/*.parquet::vector", "--views", "img,txt"],
            *["--clusters", "4", "--starts", "1", "--scheduler", client.scheduler.address],
            *["--json", "--out", "run"],
        )
    assert code == 0, err
    assert "1 workers; dashboard: http" in err
    assert {path.name for path in Path("run").iterdir() if path.name[0] != "."} == set(FILES)
    labels = pd.read_parquet("run/labels.parquet")
    assert len(list(Path("run/labels.parquet").iterdir())) == 3
    assert labels["sample"].tolist() == list(range(9000))
    model = OMVCDR.load("run/model.mv")
    np.testing.assert_array_equal(model.predict(list(data.views)), labels["cluster"])
    assert json.loads(out)["n_samples"] == 9000

"""The command line: the whole job on a bundled network, on a .bif file with a CSV, and with wrong words."""

import subprocess
import sys

import pytest

from shap_asv import load_network, sample_rows
from shap_asv.__main__ import main


def test_cancer(tmp_path, capsys):
    assert main(["--rows", "40", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "SHAP and ASV of 40 rows" in text
    assert "latent: Cancer" in text
    page = (tmp_path / "index.html").read_text()
    for name in ("causal_graph", "comparison", "waterfalls", "beeswarms", "shap_beeswarm", "asv_beeswarm"):
        assert (tmp_path / f"{name}.png").stat().st_size > 5_000
        assert f'src="{name}.png"' in page


def test_own_network_and_data(tmp_path, capsys):
    network = load_network("asia")
    bif, csv = tmp_path / "mine.bif", tmp_path / "mine.csv"
    network.save(str(bif), filetype="bif")
    sample_rows(network, 300, seed=1).to_csv(csv, index=False)
    arguments = ["--network", str(bif), "--data", str(csv), "--target", "either", "--rows", "20"]
    assert main([*arguments, "--algorithm", "exact", "--out", str(tmp_path / "out")]) == 0
    assert "P(either = yes)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--network", "nowhere"], "nowhere"),
        (["--target", "Weather"], "target 'Weather' is not a node of the network"),
        (["--state", "maybe"], "state 'maybe' of Cancer"),
        (["--algorithm", "magic"], "unknown algorithm 'magic'"),
        (["--data", "missing.csv"], "missing.csv"),
    ],
)
def test_wrong_words(arguments, message, tmp_path, capsys):
    assert main([*arguments, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_help_and_bad_numbers():
    run = [sys.executable, "-m", "shap_asv"]
    assert "--algorithm" in subprocess.run([*run, "--help"], capture_output=True, text=True, check=True).stdout
    bad = subprocess.run([*run, "--rows", "0"], capture_output=True, text=True, check=False)
    assert bad.returncode == 2
    assert "--rows must be at least 1" in bad.stderr

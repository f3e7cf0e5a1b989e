"""A participant for the tests of ``benchmarks/peers/workers.py``: does what its options say."""

import os
import time

from benchmarks.peers.table_work import TableAnswer, serve

IMPORTED = os.getpid()
SEEN = []


def run(work, options):
    match options["do"]:
        case "burn":
            while True:
                pass
        case "sleep":
            time.sleep(600)
        case "fail":
            raise ValueError("no such row")
        case "fall over":
            os.abort()
        case "end it all":
            os.kill(os.getppid(), 9)
            os._exit(1)
    print("a library says hello")
    SEEN.append(options["do"])
    return TableAnswer("1", 0.0, 0.0, values=work.rows.tolist(), note=f"{IMPORTED} {os.getpid()} {len(SEEN)}")


if __name__ == "__main__":
    serve(run, ("json",))

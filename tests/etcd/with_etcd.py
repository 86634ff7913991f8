"""Runs a command beside an etcd of its own, with its address in TEST_ETCD.

Usage: with_etcd.py COMMAND... Exit code 77: etcd is not installed."""

import os
import shutil
import subprocess
import sys

from hosts import Cluster, is_missing


def main():
    if is_missing():
        return 77
    cluster = Cluster(1, "--unsafe-no-fsync=true")
    try:
        cluster.start()
        return subprocess.call(
            sys.argv[1:], close_fds=False, # make's are among them
            env=dict(os.environ, TEST_ETCD=cluster.urls()))
    finally:
        cluster.kill()
        shutil.rmtree(cluster.work)


sys.exit(main())

# SPDX-License-Identifier: MIT
"""Figures of two papers.

CXL-GPU: from its text. SkyByte: from its artifact (HieronZhang/SkyByte-Artifact, 7754b5f), whose
sizes are 16 times as large as in annex cxl simulate.
"""

# 9d's access patterns: vectors; trees and elimination; graphs.
PATTERNS = {
    "Seq": ["rsum", "vadd", "saxpy"],
    "Around": ["sort", "gauss"],
    "Rand": ["path", "bfs"],
}

CXL_GPU = {
    # 9a, percent by which CXL is slower, by the kind of workload
    "cxl_over_dram": {"compute": 2.3, "load": 19.7, "store": 6.8},
    # 9b, percent by which DS is faster
    "ds_over_sr": {"compute": 20.9, "load": 8.7, "store": 62.8},
    # 9c, times by which SR is faster than CXL, by media
    "sr_over_cxl_media": {"optane": 7.1, "znand": 8.8, "nand": 10.1},
    # 9d, percent of loads that hit in the endpoint's DRAM; "over 99" is 99
    "hits": {
        "Seq": {"cxl": 47.4, "naive": 88.4, "dynamic": 99},
        "Around": {"cxl": 31.2, "naive": 56, "dynamic": 57.4, "sr": 75.8},
        "Rand": {"cxl": 10, "naive": 32.1, "dynamic": 34},
    },
    # 9d, percent
    "dynamic_over_naive": {"Around": 10.6, "Rand": 5.7},
    # 9d, times as slow: pattern, configuration, reference
    "speeds": [("all", "naive", "dram", 6.6), ("all", "cxl", "naive", 1.9),
               ("Seq", "naive", "dynamic", 4.5), ("Around", "naive", "dynamic", 1.106),
               ("Rand", "naive", "dynamic", 1.057), ("Around", "dynamic", "sr", 2.1)],
}

# Columns of the two tables that follow; ideal is the artifact's DRAM only.
SKYBYTE_CONFIGS = ["p", "c", "w", "cp", "wp", "full", "ideal"]

# Figure 14: speed over base.
SKYBYTE_SPEED = {
    "bc": [6.55, 1.26, 2.54, 8.65, 6.64, 8.72, 10.14],
    "bfs-dense": [1.22, 1.76, 1.58, 1.92, 1.63, 3.03, 6.11],
    "dlrm": [1.31, 2.44, 8.28, 4.46, 9.92, 16.35, 24.53],
    "radix": [1.01, 1.63, 1.29, 1.61, 1.67, 4.06, 5.44],
    "srad": [1.07, 1.31, 1.58, 1.57, 1.72, 3.25, 3.66],
    "tpcc": [1.50, 1.36, 1.02, 1.60, 1.56, 1.61, 1.61],
    "ycsb": [3.59, 1.10, 2.84, 4.34, 3.99, 4.54, 5.05],
}

# Configurations with a write log: the artifact counts what a run leaves there as written (its
# warmup_write_log()).
LOGS = ("w", "wp", "full")

# Figure 18: pages of flash that base writes for each of a configuration.
SKYBYTE_WRITES = {
    "bc": [57.7, 1.00, 261, 59.7, 412, 410],
    "bfs-dense": [1.24, 1.00, 1.51, 1.58, 1.58, 1.58],
    "dlrm": [1.86, 1.00, 33.3, 1.75, 454, 129],
    "radix": [1.00, 1.00, 16.6, 1.00, 16.6, 16.6],
    "srad": [1.21, 1.00, 2.29, 1.20, 2.30, 1.57],
    "tpcc": [1.36, 1.00, 1.30, 1.36, 1.36, 1.37],
    "ycsb": [44.8, 0.95, 148, 39.9, 506, 436],
}

# Time over that of 8 threads, geometric mean.
SKYBYTE_THREADS = {"8": 1, "16": .712, "24": .645, "32": .621, "40": .605, "48": .600}
# Time with a threshold of 80 us over that with 2 us.
SKYBYTE_THRESHOLD = {"bc": 1.19, "srad": 1.79, "tpcc": 1.39}
# WP: time with other logs over that with 64 MiB, by 16 times our size; bc is flat.
SKYBYTE_LOG = {"tpcc": {"32K": 2.17}, "srad": {"32K": 1.74, "1M": .81}}
# WP: time with other media over that with ULL; of MLC beside nand.
SKYBYTE_MEDIA = {"dlrm": {"slc": 2.64, "nand": 9.23}, "bfs-dense": {"slc": 2.81, "nand": 7.60}}
# Time with host memory of 0.5 GB over that with 4 GB; others are flat.
SKYBYTE_HOST = {"bc": {"32M": 1.96}}

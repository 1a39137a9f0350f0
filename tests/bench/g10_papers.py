# SPDX-License-Identifier: MIT
"""G10's figures.

From the paper's text, or from example_results of its public artifact (platformxlab/G10, c42dfb1),
the data that the paper's plots are drawn from. Times there are cycles of 1.2 GHz.
"""

POLICIES = ["uvm", "flashneuron", "deepum", "g10-gds", "g10-host", "g10"]
# Policies of figures 12 and 14.
MAIN = ["uvm", "flashneuron", "deepum", "g10"]
# The networks of figure 11, by the names of their traces.
NETWORKS = ["bert-256", "vit-1280", "inceptionv3-1536", "resnet152-1280", "senet154-1024"]
TRANSFORMERS = ["bert-256", "vit-1280"]
# Larger and smaller batches of these that the artifact has results of.
BATCHES = NETWORKS + ["bert-512", "vit-1024"]

# Figures 11 and 15: seconds of the policies above, and the ideal; None: infeasible or not there.
SECONDS = {
    "bert-256": [19.65, 10.216, 9.16, 9.043, 7.989, 7.311, 7.285],
    "vit-1280": [24.6, None, 7.558, 6.576, 6.234, 5.54, 3.716],
    "inceptionv3-1536": [280.991, None, 88.669, 80.341, 65.37, 61.086, 59.694],
    "resnet152-1280": [468.908, 175.261, 132.024, 155.358, 115.705, 114.42, 112.589],
    "senet154-1024": [730.81, 249.386, 193.143, 168.643, 146.082, 142.29, 132.87],
    "bert-512": [80.876, 44.08, 15.817, None, None, 14.673, 9.833],
    "vit-1024": [14.972, 5.269, 5.781, None, None, 4.434, 3.266],
}

# Figure 12: percent of the time in which the GPU stalls.
STALLED = {
    "bert-256": [62.23, 28.68, 20.47, 0.35],
    "vit-1280": [84.91, None, 50.83, 32.92],
    "inceptionv3-1536": [84.94, None, 35.3, 3.38],
    "resnet152-1280": [81.29, 35.76, 14.72, 1.69],
    "senet154-1024": [85.59, 46.72, 31.47, 7.38],
}

# Figure 14: GiB of pages written to SSDs, and to host memory.
WRITTEN = {
    "bert-256": [[0.0, 10.1, 0.0, 2.2], [173.1, 0.0, 50.0, 6.8]],
    "vit-1280": [[23.4, None, 0.0, 4.9], [198.9, None, 63.1, 22.0]],
    "inceptionv3-1536": [[684.0, None, 0.0, 26.9], [191.2, None, 284.6, 77.1]],
    "resnet152-1280": [[1121.7, 248.1, 136.7, 108.8], [201.5, 0.0, 145.3, 136.7]],
    "senet154-1024": [[1829.3, 327.8, 210.6, 186.3], [194.4, 0.0, 181.7, 137.2]],
}

# Figures 16 and 17: seconds of g10, and on vit-1024 of its rivals, by GiB of host memory.
HOSTS = [0, 16, 32, 64, 128]
HOST = {
    "bert-256": [10.285, 7.311, 7.311, 7.311, 7.311],
    "bert-512": [42.738, 31.723, 23.978, 14.673, 14.673],
    "vit-1024": [5.302, 4.127, 4.434, 4.434, 4.434],
    "vit-1280": [14.958, 4.958, 5.54, 5.54, 5.54],
    "inceptionv3-1536": [114.824, 98.187, 70.333, 61.086, 61.086],
    "resnet152-1280": [239.407, 222.647, 205.521, 143.843, 114.42],
    "senet154-1024": [316.784, 301.997, 286.09, 246.794, 142.29],
}
POLICIES_BY_HOST = {
    "deepum": [24.176, 15.416, 6.133, 5.781, 5.781],
    "flashneuron": [5.269, 5.269, 5.269, 5.269, 5.269],
    "g10": [5.302, 4.127, 4.434, 4.434, 4.434],
}

# Figure 18: percent of the ideal, by GB/s of the SSD, with PCIe of 32 GB/s.
SSDS = [6.4, 12.8, 19.2, 25.6, 32]
SSD = {
    "bert-512": {
        "uvm": [20.1, 26.5, 28.3, 26.8, 43.1],
        "flashneuron": [37.9, 57.5, 69.1, 76.9, 82.4],
        "deepum": [84.1, 84.1, 84.1, 84.1, 84.1],
        "g10": [88.0, 94.0, 94.2, 94.2, 93.5],
    },
    "vit-1280": {
        "uvm": [26.5, 30.3, 30.4, 26.9, 33.8],
        "flashneuron": [None, None, None, None, None],
        "deepum": [75.3, 75.4, 75.3, 75.3, 75.3],
        "g10": [93.8, 89.3, 95.1, 95.6, 90.7],
    },
    "inceptionv3-1536": {
        "uvm": [33.7, 41.6, 42.7, 44.2, 50.3],
        "flashneuron": [None, None, None, None, None],
        "deepum": [82.8, 82.8, 82.8, 82.8, 82.8],
        "g10": [99.4, 96.0, 99.3, 99.3, 99.3],
    },
    "resnet152-1280": {
        "uvm": [38.6, 49.4, 50.6, 52.7, 63.3],
        "flashneuron": [85.8, 96.1, 98.1, 98.9, 99.2],
        "deepum": [98.2, 99.6, 99.6, 99.6, 99.6],
        "g10": [100.0, 99.6, 99.6, 99.7, 99.7],
    },
    "senet154-1024": {
        "uvm": [27.9, 35.0, 35.2, 34.2, 47.5],
        "flashneuron": [74.5, 89.4, 93.4, 95.0, 95.9],
        "deepum": [88.0, 94.5, 94.9, 95.0, 95.0],
        "g10": [98.3, 98.7, 98.0, 99.2, 99.3],
    },
}

# Figure 19: percent of the ideal, by the error of kernels' times in percent.
ERRORS = [0, 5, 10, 15, 20, 25]
NOISE = {
    "bert-256": [99.65, 99.65, 99.65, 99.65, 99.64, 99.64],
    "vit-1280": [67.08, 66.99, 66.91, 66.83, 66.74, 66.66],
    "inceptionv3-1536": [97.72, 97.69, 97.66, 97.64, 97.61, 97.58],
    "resnet152-1280": [98.4, 98.37, 98.35, 98.33, 98.3, 98.29],
    "senet154-1024": [93.38, 93.26, 93.06, 93.08, 93.15, 93.19],
}

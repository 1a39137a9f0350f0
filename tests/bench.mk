# SPDX-License-Identifier: MIT
# Benchmarks, each with the figures that it is to reach; included by the Makefile. What they printed
# is in docs/benchmarks*.md. SMOKE=1 asks for the smoke form: all measurements once, as small as
# they get, with their data verified and no figure judged. The check runs each target in that form.
figures = $(OUT)/bench$(if $(SMOKE),/smoke)

bench:
	@tests/deps.sh check
	@+$(MAKE) --no-print-directory all bench-build
	$(Q)tests/bench/run.sh $(OUT) storage
bench-plan:
	@tests/deps.sh demo
	@+$(MAKE) --no-print-directory all bench-build
	$(Q)tests/bench/run.sh $(OUT) plan
# G10's figures, on measured traces in TRACES or ../shared/traces.
figures-g10:
	@tests/deps.sh demo
	@+$(MAKE) --no-print-directory all
	$(Q)tests/bench/g10_figures.py $(OUT)
# TERAIO's figures, on generated traces.
figures-teraio:
	@tests/deps.sh demo
	@+$(MAKE) --no-print-directory all
	$(Q)tests/bench/teraio_figures.py $(OUT)
bench-ndp:
	@tests/deps.sh check
	@+$(MAKE) --no-print-directory all bench-build ndp-build
	$(Q)tests/bench/run.sh $(OUT) ndp
bench-migrate:
	@tests/deps.sh check
	@+$(MAKE) --no-print-directory all bench-build
	$(Q)tests/bench/run.sh $(OUT) migrate
# A served device, beside the same device opened directly.
bench-share:
	@tests/deps.sh demo
	@+$(MAKE) --no-print-directory all
	$(Q)tests/bench/share.py $(OUT) $(if $(ROUNDS),--rounds $(ROUNDS)) \
		$(if $(FILE),--file $(FILE))
	$(Q)tests/bench/met.py $(figures)/share.json
# Rows of a file larger than memory in Python: by annex.open(), numpy.memmap, and PyTorch Geometric
# if PYTHON= has it.
bench-rows:
	@tests/deps.sh check
	@+$(MAKE) --no-print-directory all
	$(Q)mkdir -p $(figures)
	$(Q)ANNEX_LIBRARY=$(abspath $(OUT))/libannex.so CC='$(CC)' \
		$(or $(PYTHON),/usr/bin/python3) tests/bench/rows_bench.py $(OUT)/bench/data \
		--json $(figures)/rows.json $(if $(ROUNDS),--rounds $(ROUNDS))
	$(Q)tests/bench/met.py $(figures)/rows.json
# A training in PyTorch: plain, by what else there is in as much memory, and by plan.
bench-torch:
	@tests/deps.sh check
	@+$(MAKE) --no-print-directory all
	$(Q)mkdir -p $(figures)
	$(Q)ANNEX_LIBRARY=$(abspath $(OUT))/libannex.so $(or $(PYTHON),/usr/bin/python3) \
		tests/bench/torch_bench.py $(OUT)/bench/data --json $(figures)/torch.json \
		--plot $(figures)/torch.svg --threads $(or $(THREADS),2) \
		--rounds $(or $(ROUNDS),1) $(addprefix --train ,$(TRAIN)) $(addprefix --way ,$(WAY))
	$(Q)tests/bench/met.py $(figures)/torch.json
# Simulated machines, against the figures of two papers.
bench-cxl:
	@tests/deps.sh demo
	@+$(MAKE) --no-print-directory all
	$(Q)PYTHONPATH=tests/bench tests/models/bench/cxl.py $(OUT) bench
	$(Q)tests/bench/met.py $(figures)/cxl.json
figures-cxl:
	@tests/deps.sh demo
	@+$(MAKE) --no-print-directory all
	$(Q)PYTHONPATH=tests/bench tests/models/bench/cxl.py $(OUT) figures
# BaM's figures, beside ours.
figures-bam:
	@tests/deps.sh check
	@+$(MAKE) --no-print-directory all bench-build
	$(Q)NVCC='$(NVCC)' tests/bench/bam_figures.py $(OUT)
# Both designs of the file system in virtual time; blocks of one beside the kernel's ext4; a mount
# in real time, beside a directory that FUSE passes through.
bench-fs:
	@tests/deps.sh check
	@+$(MAKE) --no-print-directory all bench-build
	$(Q)PYTHONPATH=tests/bench tests/models/bench/fs_bench.py $(OUT) bench
	$(Q)tests/bench/met.py $(figures)/fs.json
	$(Q)PYTHONPATH=tests/bench tests/models/bench/fs_kernel.py $(OUT)
	$(Q)tests/models/fs/real.sh $(OUT) $(ROUNDS)
figures-bytefs:
	@tests/deps.sh check
	@+$(MAKE) --no-print-directory all bench-build
	$(Q)PYTHONPATH=tests/bench tests/models/bench/fs_kernel.py $(OUT)
	$(Q)tests/models/fs/real.sh $(OUT) $(ROUNDS)
	$(Q)PYTHONPATH=tests/bench tests/models/bench/fs_bench.py $(OUT) figures
# Queries of annex query, beside DuckDB and Polars.
bench-query:
	@tests/deps.sh check
	@+$(MAKE) --no-print-directory all
	$(Q)BUILD='$(BUILD)' tests/models/bench/query.sh $(OUT) $(or $(SCALE),1) $(DEVICE)
# In guests, against the kernel's own driver there.
bench-qemu:
	@BUILD='$(BUILD)' tests/deps.sh qemu
	@+BUILD='$(BUILD)' MAKE='$(MAKE)' tests/bench/qemu.sh $(OUT)

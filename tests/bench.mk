# SPDX-License-Identifier: MIT
# Benchmarks, each with the figures that it is to reach; included by the Makefile. What they printed
# is in docs/benchmarks*.md.

bench:
	@tests/deps.sh check
	@+$(MAKE) --no-print-directory all bench-build
	$(Q)tests/bench/run.sh $(OUT) storage
bench-plan:
	@tests/deps.sh demo
	@+$(MAKE) --no-print-directory all bench-build
	$(Q)tests/bench/run.sh $(OUT) plan
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
	$(Q)tests/bench/share.py $(OUT) --rounds $(or $(ROUNDS),5) $(if $(FILE),--file $(FILE))
	$(Q)tests/bench/met.py $(OUT)/bench/share.json
# A training in PyTorch: plain, by what else there is in as much memory, and by plan.
bench-torch:
	@tests/deps.sh check
	@+$(MAKE) --no-print-directory all
	$(Q)ANNEX_LIBRARY=$(abspath $(OUT))/libannex.so $(or $(PYTHON),/usr/bin/python3) \
		tests/bench/torch_bench.py $(OUT)/bench/data --json $(OUT)/bench/torch.json \
		--plot $(OUT)/bench/torch.svg --threads $(or $(THREADS),2) \
		--rounds $(or $(ROUNDS),1) $(if $(QUICK),--quick) $(addprefix --train ,$(TRAIN))
	$(Q)tests/bench/met.py $(OUT)/bench/torch.json
# Simulated machines, against the figures of two papers.
bench-cxl:
	@tests/deps.sh demo
	@+$(MAKE) --no-print-directory all
	$(Q)mkdir -p $(OUT)/bench
	$(Q)tests/bench/cxl.py $(OUT) bench
	$(Q)tests/bench/met.py $(OUT)/bench/cxl.json
figures-cxl:
	@tests/deps.sh demo
	@+$(MAKE) --no-print-directory all
	$(Q)mkdir -p $(OUT)/bench
	$(Q)tests/bench/cxl.py $(OUT) figures
# Both designs of the file system in virtual time; blocks of one beside the kernel's ext4; a mount
# in real time, beside a directory that FUSE passes through.
bench-fs:
	@tests/deps.sh check
	@+$(MAKE) --no-print-directory all bench-build
	$(Q)tests/bench/fs_bench.py $(OUT) bench
	$(Q)tests/bench/met.py $(OUT)/bench/fs.json
	$(Q)tests/bench/fs_kernel.py $(OUT)
	$(Q)tests/fs/real.sh $(OUT) $(ROUNDS)
figures-bytefs:
	@tests/deps.sh check
	@+$(MAKE) --no-print-directory all bench-build
	$(Q)tests/bench/fs_kernel.py $(OUT)
	$(Q)tests/fs/real.sh $(OUT) $(ROUNDS)
	$(Q)tests/bench/fs_bench.py $(OUT) figures
# Queries of annex query, beside DuckDB and Polars.
bench-query:
	@tests/deps.sh check
	@+$(MAKE) --no-print-directory all
	$(Q)BUILD='$(BUILD)' tests/bench/query.sh $(OUT) $(or $(SCALE),1) $(DEVICE)
# In guests, against the kernel's own driver there.
bench-qemu:
	@BUILD='$(BUILD)' tests/deps.sh qemu
	@+BUILD='$(BUILD)' MAKE='$(MAKE)' tests/bench/qemu.sh $(OUT)

# SPDX-License-Identifier: MIT
# Steps of the check; included by the Makefile. Each is a target, check/NAME, which runs a command
# unless it has passed with the same inputs. make check runs those of the gate; make check-all the
# others too. CONTRIBUTING.md says what is proved where.

# $(call step,NAME,SECONDS,INPUTS,COMMAND)
step = @BUILD='$(BUILD)' MAKE='$(MAKE)' V='$(V)' tests/step.sh '$(1)' $(2) '$(3)' $(4)
submake := $(MAKE) --no-print-directory BUILD='$(BUILD)' V='$(V)'

# suites_ROOM are those of a program of unit tests, suites are all.
$(foreach room,$(UNIT_ROOMS),$(eval suites_$(room) := $(sort $(shell sed -n \
	's/^UNIT_SUITE.\([a-z0-9_]*\),.*/\1/p' $(wildcard $(unit_dirs:%=%/$(room)/*.c)) \
	$(if $(filter kernel,$(room)),$(SHIM_SRC)) 2>/dev/null))))
suites := $(foreach room,$(UNIT_ROOMS),$(suites_$(room)))
# One thread alone, threads that other suites have too and that take minutes under TSan, or children
# of fork() that start threads (forks), which it refuses.
not_threads := policy plan% simulate flash trace vitality generate sum rv_% elf uri prove health \
	cxl_% nvme_ctrl nvme_owner mapping span kernels_% bound recompute zero cache_layout \
	cache_groups gpu_warp gpu_elements gpu_faults gpu_replicas array_elements ndp_time \
	ndp_processes emu_far hdm_crash hdm_share fs_check% fs_cuts forks emu_locked reclaim \
	stalls deepum cxlssd cxlssd_cuts cxlssd_damage cxlssd_time
thread_rooms := $(foreach room,$(UNIT_ROOMS),$(if $(filter-out $(not_threads),$(suites_$(room))),\
	$(room)))
# What computes for minutes under sanitizers: the plain build has it; and what is larger there.
minutes := policy ndp_time
larger := simulate reclaim
long_rooms := $(foreach room,$(UNIT_ROOMS),$(if $(filter $(minutes) $(larger),$(suites_$(room))),\
	$(room)))
kernel_suites := kernels_array kernels_column kernels_graph kernels_kv kernels_model
# Under qemu, those whose kernels have all kinds of loads and stores.
qemu_suites := kernels_array kernels_column
# Parts of the tool tests that read what is hostile.
hostile := bad data input leftovers ndp_run plan_files query report same trace truncated warn
parts := $(wildcard tests/tool/part_*.sh tests/models/tool/part_*.sh)
friendly := $(filter-out $(hostile),$(sort $(patsubst part_%.sh,%,$(notdir $(parts)))))
part_file = $(filter %/part_$(1).sh,$(parts))
# Commands that have a folder of their name, which no other command uses but those in uses_NAME. A
# part of the tool tests that does not name one of them does not run it.
apart := cxl fs graph ndp plan query scan selftest serve trace
uses_cxl := plan
uses_plan := trace
named = $(sort $(foreach c,$(apart),$(if $(shell grep -lw $(c) $(part_file) \
	$(if $(filter concurrent,$(1)),tests/tool/pairs.py)),$(c) $(uses_$(c)))))
# Benchmarks run once in their smoke form: each target of tests/bench.mk is a step, with all of its
# groups. Step pytorch runs bench-torch's, by tests/torch/comparison.py, which has claims about it.
# A target without inputs here runs each time.
benches := $(filter-out bench-torch,$(shell sed -n \
	's/^\(bench[a-z-]*\|figures-[a-z0-9]*\):.*/\1/p' tests/bench.mk))
of_bench := bench/storage reached/graph
of_bench-plan := bench/plan reached/plan-trace
of_bench-ndp := bench/ndp ndp
of_bench-migrate := bench/migrate train
of_bench-share := reached/serve
of_bench-rows := reached/torch
of_bench-cxl := reached/cxl-plan
of_bench-fs := bench/fs fs/passthrough reached/fs
of_bench-query := reached/query
of_figures-g10 := reached/plan-trace
of_figures-teraio := reached/plan-trace
of_figures-bam := bench/warps reached/graph-scan-vadd
of_figures-cxl := $(of_bench-cxl)
of_figures-bytefs := $(of_bench-fs)
scripts_bench-share := tests/bench/share.py
scripts_figures-g10 := $(wildcard tests/bench/g10_*.py)
scripts_figures-teraio := tests/bench/teraio_figures.py $(scripts_figures-g10)
scripts_bench-rows := $(wildcard tests/bench/rows*) tests/bench/torch_runs.py tools/python/annex
scripts_bench-cxl := $(wildcard tests/models/bench/cxl*.py)
scripts_bench-fs := $(wildcard tests/models/bench/fs*.py tests/models/bench/cxl*.py) \
	tests/models/fs/real.sh tests/models/fs/measure.py
scripts_bench-query := tests/models/bench/query.sh tests/models/query
scripts_figures-bam := tests/bench/bam_figures.py tests/gpu/without/library tools/gpu include
scripts_figures-cxl := $(scripts_bench-cxl)
scripts_figures-bytefs := $(scripts_bench-fs)
bench_inputs = $(if $(of_$(1)),$(addprefix $(gcc)/,$(of_$(1))) $(scripts_$(1)) tests/bench.mk \
	tests/bench/run.sh tests/bench/met.py tests/bench/figures.py)
# The objects of such commands with all that these reach, linked but never run: steps whose inputs
# these are do not run again for what they cannot reach.
set_of = $(or $(subst $(space),-,$(call named,$(1))),shared)
sets := $(sort $(foreach part,$(hostile) $(friendly),$(call set_of,$(part))) ndp plan-trace \
	$(filter-out torch,$(notdir $(filter reached/%,\
	$(foreach bench,$(benches),$(of_$(bench)))))))
REACHED := $(sets:%=$(OUT)/reached/%)
# not_reached NAME - Objects of no command in the set.
not_reached = $(addprefix $(OUT)/tools/,commands.o package.o $(foreach c,$(filter-out \
	$(subst -, ,$(1)),$(apart)),$(c)/% models/$(c)/%))
reached: $(REACHED)
$(REACHED): $(OUT)/reached/%: $(TOOL_OBJ) $(OUT)/whole.a
	$(call say,LD)
	$(Q)mkdir -p $(@D)
	$(Q)$(LD) -o $@ -e 0 -z muldefs --unresolved-symbols=ignore-all \
		$(filter-out $(call not_reached,$*),$(TOOL_OBJ)) $(OUT)/whole.a
# What annex.offload reaches, by the names of functions in its files.
reached: $(OUT)/reached/torch
torch_files := $(wildcard tools/python/annex/*.[ch]pp tools/python/annex/*.py tests/torch/*.py)
$(OUT)/reached/torch: $(torch_files) $(OUT)/whole.a
	$(call say,LD)
	$(Q)mkdir -p $(@D)
	$(Q)$(LD) -o $@ -e 0 --unresolved-symbols=ignore-all $$(grep -ohE 'annex_[a-z0-9_]+' \
		$(torch_files) | sort -u | sed 's/^/-u /') $(OUT)/whole.a
# Files of other folders that a part reads are named in it.
read_by = $(wildcard $(shell grep -oE '(docs|lib|tests|tools)/[a-z0-9_./]*[a-z0-9]' \
	$(part_file)))
# $(call tool_inputs,OUT,PART)
tool_inputs = $(1)/reached/$(call set_of,$(2)) $(1)/tools/commands.o $(1)/tools/package.o \
	tests/tool/run.sh tests/tool/fixtures.sh $(call part_file,$(2)) tests/tool/*.py \
	tests/tool/*.c tests/models/tool/rv $(call read_by,$(2))
gcc := $(BUILD)
sane := $(BUILD)/clang-san-fuzzer
asan := $(BUILD)/san-address-undefined
tsan := $(BUILD)/san-thread
# ThreadSanitizer of this age cannot place its shadow under strong address randomisation.
fixed := $(shell setarch -R true 2>/dev/null && echo setarch -R)
python := $(or $(PYTHON),/usr/bin/python3)
# What guests of the gate run.
guest_inputs = Kbuild docs/ABI kernel include/uapi tests/qemu $(BUILD)/qemu/kernel/$(1)/release \
	$(gcc)/unit-nvme $(gcc)/unit-cache $(gcc)/guest/annex $(filter-out %/hdmplan,\
	$(GUEST_SRC:tests/qemu/%.c=$(gcc)/%))
kernels := $(patsubst %,$(BUILD)/qemu/kernel/%/release,6.1 6.12 7.3)
$(kernels): $(BUILD)/qemu/kernel/%/release:
	@BUILD='$(BUILD)' MAKE='$(MAKE)' tests/qemu/kernel.sh $* >/dev/null

# Kernels that watch themselves.
debug_kernels := 6.12-kasan 7.3-kasan 6.12-kcsan 7.3-kcsan
# All tests of CXL memory, but that which ends its guest.
hdm_tests := $(filter-out hdmkexec,$(sort $(patsubst tests/qemu/guest/%.sh,%,$(wildcard \
	tests/qemu/guest/hdm*.sh))))

fuzzed := $(sort $(patsubst fuzz_%.c,%,$(notdir $(FUZZ_SRC))))
# Rooms, parts, fuzz targets and benchmarks of the models.
model_rooms := $(notdir $(patsubst %/,%,$(wildcard tests/models/unit/*/)))
model_parts := $(patsubst tests/models/tool/part_%.sh,%,$(filter tests/models/%,$(parts)))
model_fuzzed := $(patsubst tests/models/fuzz/fuzz_%.c,%,$(filter tests/models/%,$(FUZZ_SRC)))
model_benches := bench-ndp bench-cxl bench-fs bench-query
# TSan takes minutes for rooms fs and ssd, most of whose tests have one thread: check-all has these.
thread_gate := $(filter-out fs ssd,$(thread_rooms))
# Both gates, the longest first, since the last steps run alone.
user_exec := exec exec_made
user_migrate := mem mem_faults mem_forks mem_pool mem_share mem_signal mem_threads mem_trouble
gate_product := pytorch guests-nvme-6.12 guests-cxl-6.12 guests-6.1 guests-7.3 guests-peer-7.3 \
	$(addprefix thread/unit/,$(filter-out $(model_rooms),$(thread_gate))) \
	$(addprefix sane/unit/,$(filter-out $(model_rooms),$(UNIT_ROOMS))) module \
	$(addprefix sane/tool/,$(filter-out $(model_parts),$(hostile))) promela tidy cuda \
	style twin \
	$(addprefix fuzz/,$(filter-out $(model_fuzzed),$(fuzzed))) \
	$(addprefix tool/,$(filter-out $(model_parts),$(friendly))) \
	$(addprefix unit/,$(filter-out $(model_rooms),$(long_rooms))) \
	$(addprefix unit-contained/,exec migrate) unit-file/migrate \
	$(filter-out bench-qemu figures-% $(model_benches),$(benches)) install seeds rooms
gate_models := $(addprefix sane/unit/,$(filter $(model_rooms),$(UNIT_ROOMS))) \
	$(addprefix thread/unit/,$(filter $(model_rooms),$(thread_gate))) \
	$(addprefix sane/tool/,$(filter $(model_parts),$(hostile))) kernels-qemu \
	$(addprefix fuzz/,$(filter $(model_fuzzed),$(fuzzed))) \
	$(addprefix tool/,$(filter $(model_parts),$(friendly))) \
	$(addprefix unit/,$(filter $(model_rooms),$(long_rooms))) \
	$(model_benches) client riscv rooms
more := unit-all unit-seeds kernels-qemu-all tool-all pairs pytorch-all pytorch-10000 \
	pytorch-pypi asan/unit asan/tool sane/tool-all thread/unit-all promela-all module-all \
	cuda-all clang guests-all $(addprefix unit-user/,exec migrate) \
	$(addprefix thread/unit/,fs ssd) $(filter figures-%,$(benches)) \
	guests-long-6.1 guests-long-6.12 guests-long-cxl-6.12 guests-suites-6.12 guests-6.18 \
	guests-7.2 guests-7.3-all guests-pair guests-large $(addprefix guests-,$(debug_kernels)) \
	guests-port-6.12-kasan guests-fuzz-7.3-kasan fuzz analyzer riscv-1000000 \
	plans-100000 arm64-module arm64-unit arm64-suites arm64-guests arm64-odd fs-kills \
	fs-suites serve-long fio deb wheel container bench-qemu
gate_product := $(addprefix check/,$(gate_product))
gate_models := $(addprefix check/,$(gate_models))
gate := $(gate_product) $(filter-out $(gate_product),$(gate_models))
more := $(addprefix check/,$(more))
builds := $(addprefix built/,gcc sane thread)
.PHONY: $(gate) $(more) $(builds) built/asan built/thread-all built/arm64
# When all are run, they begin in their order, after the builds.
first =
$(gate) $(more): | $(first)

built/gcc:
	+$(call step,build: gcc,1800,,$(submake) CC=gcc all unit tool-build reached bench-build \
		rv-build ndp-build guest-build)
built/sane:
	+$(call step,build: clang$(comma) sanitizers,1800,,$(submake) CC=clang SAN=fuzzer unit \
		tool-build reached fuzz-build)
built/asan:
	+$(call step,build: gcc$(comma) sanitizers,1800,,$(submake) CC=gcc \
		SAN=address$(comma)undefined all unit tool-build)
# The programs that the gate runs, and all.
built/thread:
	+$(call step,build: gcc$(comma) threads,1800,,$(submake) CC=gcc SAN=thread \
		$(thread_gate:%=$(tsan)/unit-%))
built/thread-all: | built/thread
	+$(call step,build: gcc$(comma) threads$(comma) all,1800,,$(submake) CC=gcc SAN=thread unit)
built/arm64:
	$(call step,build: arm64,3600,,tests/unit/arm64.sh build)

$(addprefix check/unit/,$(long_rooms)): check/unit/%: built/gcc
	$(call step,unit tests$(comma) long: $*,900,$(gcc)/unit-$*,$(gcc)/unit-$* $(filter \
		$(minutes) $(larger),$(suites_$*)))
# As ordinary users: nobody hears of the kernel's own touches.
check/unit-user/exec check/unit-user/migrate: check/unit-user/%: built/gcc
	$(call step,unit tests$(comma) ordinary users: $*,600,$(gcc)/unit-$* tests/tool/refuse.py,\
		tests/tool/refuse.py EPERM kernel-faults device -- $(gcc)/unit-$* $(user_$*))
# As in a container: touches are heard of by signals.
check/unit-contained/exec check/unit-contained/migrate: check/unit-contained/%: built/gcc
	$(call step,unit tests$(comma) in a container: $*,600,$(gcc)/unit-$* tests/tool/refuse.py,\
		tests/tool/refuse.py EPERM userfaultfd device io_uring -- $(gcc)/unit-$* \
		$(user_$*))
# As before Linux 6.8, which cannot move pages: the device tier is a file.
check/unit-file/migrate: check/unit-file/%: built/gcc
	$(call step,unit tests$(comma) a file: $*,600,$(gcc)/unit-$* tests/tool/refuse.py,\
		tests/tool/refuse.py EINVAL move -- $(gcc)/unit-$* $(user_$*))
$(addprefix check/,$(benches)): check/%: built/gcc
	$(call step,smoke form: $*,600,$(call bench_inputs,$*),$(submake) CC=gcc NO_DEPS=1 \
		SMOKE=1 $*)
# Clients killed, 3,840 of them; daemons, 200; and a hostile client 1,600 times.
check/serve-long: built/gcc
	$(call step,serve: long,3600,,env ANNEX_LONG=40 $(gcc)/unit-serve serve_life \
		serve_gone)
# The source of Debian's fio is fetched once.
check/fio: built/gcc
	$(call step,fio engine,1200,,tests/install/fio.sh $(gcc) $(BUILD)/fio-source)
check/unit-all: built/gcc
	$(call step,unit tests,1800,,tests/unit/run.sh $(gcc))
check/seeds: built/gcc
	$(call step,unit tests: seeds that failed,600,$(UNIT_ROOMS:%=$(gcc)/unit-%) tests/unit,\
		tests/unit/seeds.sh $(gcc))
check/unit-seeds: built/gcc
	$(call step,unit tests: new seeds,3600,,tests/unit/seeds.sh $(gcc) 20)
check/kernels-qemu: built/gcc
	$(call step,near-data kernels: qemu,900,$(gcc)/unit-ndp $(gcc)/ndp,\
		env ANNEX_TEST_QEMU=$(gcc)/ndp $(gcc)/unit-ndp $(qemu_suites))
check/kernels-qemu-all: built/gcc
	$(call step,near-data kernels: qemu$(comma) all,1800,,env ANNEX_TEST_QEMU=$(gcc)/ndp \
		$(gcc)/unit-ndp $(kernel_suites))
check/client: built/gcc
	$(call step,near-data client alone,300,$(gcc)/unit-client $(gcc)/reached/ndp,\
		env ANNEX=$(gcc)/annex $(gcc)/unit-client)
check/riscv: built/gcc
	$(call step,riscv: against qemu,900,$(gcc)/rv $(gcc)/reached/ndp tests/models/rv,\
		tests/models/rv/run.sh $(BUILD) 200000)
check/riscv-1000000: built/gcc
	$(call step,riscv: 1$(comma)000$(comma)000,1800,,tests/models/rv/run.sh $(BUILD) 1000000)
# The simulator beside the slow ones, on random plans: strict ones, and those that reclaim.
check/plans-100000: built/gcc
	$(call step,simulator: 100$(comma)000 plans,7200,,env ANNEX_PLANS=100000 $(gcc)/unit-plan \
		"simulate/as slow as the slow one" "reclaim/as the slow one")
$(addprefix check/tool/,$(friendly)): check/tool/%: built/gcc
	$(call step,tool: $*,900,$(call tool_inputs,$(gcc),$*),tests/tool/run.sh $(gcc)/annex $*)
check/tool-all: built/gcc
	$(call step,tool tests: all,1800,,tests/tool/run.sh $(gcc)/annex)
check/pairs: built/gcc
	$(call step,pairs of writers: a new seed,3600,,tests/tool/pairs.py $(gcc)/annex 40 \
		"$$(date +%s)")
# Mounted file systems: the process killed, and programs of others that test file systems.
check/fs-kills: built/gcc
	$(call step,file system: kills,1800,,tests/models/fs/kills.py $(gcc)/annex 200)
check/fs-suites: built/gcc
	$(call step,file system: suites,3600,,tests/models/fs/suites.sh $(gcc)/annex)
check/pytorch: built/gcc
	$(call step,pytorch,1200,$(gcc)/reached/torch $(gcc)/reached/plan-trace \
		tools/python tests/torch tests/bench/torch* tests/bench/figures.py include \
		docs/train-larger.md docs/without-root.md docs/cannot.md,\
		env PYTHON=$(python) tests/torch/run.sh $(gcc)/annex)
check/pytorch-all: built/gcc
	$(call step,pytorch: all,3600,,env ALL=1 PYTHON=$(python) tests/torch/run.sh $(gcc)/annex)
check/pytorch-10000: built/gcc
	$(call step,pytorch: 10$(comma)000 programs,14400,,env ANNEX_LIBRARY=$(gcc)/libannex.so \
		$(python) tests/torch/fuzz.py tools/python --programs 10000 --new-seeds)
# PyPI's PyTorch, some GB that are fetched once, and what is used with it.
check/pytorch-pypi: built/gcc
	$(call step,pytorch: of PyPI,7200,,tests/torch/pypi.sh $(gcc)/annex $(BUILD)/pypi)
# For root: chroots of two releases, in which packages are built twice.
check/deb:
	$(call step,packages,7200,,tests/install/deb.sh $(BUILD)/deb-test bookworm trixie)
# The same of the Python package. Sid's glibc and Python are as new as those of any distribution.
check/wheel: built/gcc
	$(call step,wheel,3600,,tests/install/wheel.sh $(gcc) $(BUILD)/wheel-test bookworm trixie \
		sid)
# The image of tools/container, by buildah in a chroot.
check/container:
	$(call step,container,3600,,tests/install/container.sh $(BUILD)/container-test)
check/install: built/gcc
	$(call step,install,300,,tests/install/run.sh $(BUILD))

$(addprefix check/sane/unit/,$(UNIT_ROOMS)): check/sane/unit/%: built/sane
	$(call step,unit tests$(comma) sanitizers: $*,1200,$(sane)/unit-$*,$(sane)/unit-$* \
		$(filter-out $(minutes),$(suites_$*)))
$(addprefix check/sane/tool/,$(hostile)): check/sane/tool/%: built/sane
	$(call step,tool$(comma) sanitizers: $*,900,$(call tool_inputs,$(sane),$*),\
		tests/tool/run.sh $(sane)/annex $*)
check/sane/tool-all: built/sane
	$(call step,tool tests: sanitizers$(comma) all,1800,,tests/tool/run.sh $(sane)/annex)
$(addprefix check/fuzz/,$(fuzzed)): check/fuzz/%: built/sane
	$(call step,fuzz: $*,600,$(sane)/fuzz_$* tests/fuzz/run.sh \
		$(foreach dir,tests/fuzz tests/models/fuzz,$(wildcard $(dir)/seeds/$* \
		$(dir)/corpus/$*.tar.xz)),\
		tests/fuzz/run.sh $(sane) $(BUILD)/fuzz '' $*)
FUZZ_TIME ?= 100
check/fuzz: built/sane
	$(call step,fuzz: all$(comma) $(FUZZ_TIME) s each,$$(($(FUZZ_TIME) * 11 + 300)),,\
		tests/fuzz/run.sh $(sane) $(BUILD)/fuzz $(FUZZ_TIME))
check/asan/unit: built/asan
	$(call step,unit tests: gcc sanitizers,1200,,tests/unit/run.sh $(asan))
check/asan/tool: built/asan
	$(call step,tool tests: gcc sanitizers,1200,,tests/tool/run.sh $(asan)/annex)
$(addprefix check/thread/unit/,$(thread_gate)): built/thread
$(addprefix check/thread/unit/,fs ssd): built/thread-all
$(addprefix check/thread/unit/,$(thread_rooms)): check/thread/unit/%:
	$(call step,unit tests$(comma) threads: $*,1200,$(tsan)/unit-$*,$(fixed) $(tsan)/unit-$* \
		$(filter-out $(not_threads),$(suites_$*)))
check/thread/unit-all: built/thread-all
	$(call step,unit tests: threads$(comma) all,3600,,$(fixed) tests/unit/run.sh $(tsan) \
		$(filter-out forks,$(suites)))
check/clang:
	+$(call step,build: clang,1800,,$(submake) CC=clang all unit)

check/module:
	$(call step,module: 6.12$(comma) 7.3,1200,Kbuild Makefile dkms.conf kernel include/uapi \
		tests/module,tests/module/run.sh 6.12 7.3)
check/guests-nvme-6.12: check/guests-nvme-%: built/gcc | $(BUILD)/qemu/kernel/%/release
	$(call step,guests: NVMe$(comma) $*,2400,$(call guest_inputs,$*),env HALF=nvme KERNEL=$* \
		tests/qemu/run.sh)
check/guests-cxl-6.12: check/guests-cxl-%: built/gcc | $(BUILD)/qemu/kernel/%/release
	$(call step,guests: CXL$(comma) $*,2400,$(call guest_inputs,$*),env HALF=cxl KERNEL=$* \
		tests/qemu/run.sh)
# What differs most between kernels, on the oldest and the newest; check-all has the rest.
differs_most := boot bind view hdm ngblocks
differs := $(differs_most) hdmnvme hostile hdmroom nghold ngunplug
check/guests-6.1 check/guests-7.3: check/guests-%: built/gcc | $(BUILD)/qemu/kernel/%/release
	$(call step,guests: $*,1800,$(call guest_inputs,$*),\
		tests/qemu/run.sh -k $* -i 1 -n 1 -c 2 $(differs_most))
# The kernel moves a program's pages in its own way.
check/guests-suites-6.12: built/gcc
	$(call step,unit tests: guest of 6.12,3600,,tests/qemu/run.sh -k 6.12 -i 0 -n 1 \
		-a SUITES=$(subst $(space),$(comma),$(addprefix migrate/,mem mem_pool mem_share \
		mem_trouble) $(addprefix exec/,exec exec_made mem_ahead)) suites)
# A kernel between them.
check/guests-6.18: built/gcc
	$(call step,guests: 6.18,3600,,env KERNEL=6.18 NVME=1 tests/qemu/run.sh)
# Only this kernel has peer-to-peer DMA, on processors that it knows.
check/guests-peer-7.3: built/gcc | $(BUILD)/qemu/kernel/7.3/release
	$(call step,guests: peer-to-peer DMA,600,$(call guest_inputs,7.3),\
		env CPU=max$(comma)family=23 tests/qemu/run.sh -k 7.3 -i 1 -n 2 peer)
# And with what differs between emulators.
check/guests-7.2: built/gcc
	$(call step,guests: 7.2 on QEMU 11.1,3600,,env QEMU=11.1 CXL_SHAPE=tree \
		CPU=max$(comma)hypervisor=off tests/qemu/run.sh -k 7.2 -i 1 -n 1 -c 4 $(differs) \
		place ng hdmpoison hdmregs hdmtool reset unplug unplugged)
check/guests-7.3-all: built/gcc
	$(call step,guests: 7.3$(comma) all machines,5400,,env ALL=1 KERNEL=7.3 tests/qemu/run.sh)
check/guests-all: built/gcc
	$(call step,guests: all machines,9000,,env ALL=1 tests/qemu/run.sh)
# Owners killed hundreds of times and calls fuzzed, with everything that finds a wrong store.
watched := env LONG=1 APPEND="kfence.sample_interval=1 slub_debug=FZPU"
check/guests-long-6.1: built/gcc
	$(call step,guests$(comma) long: 6.1,7200,,$(watched) ALL=1 KERNEL=6.1 tests/qemu/run.sh)
check/guests-long-6.12: built/gcc
	$(call step,guests$(comma) long: 6.12,7200,,$(watched) KERNEL=6.12 IOMMU=1 NVME=4 \
		tests/qemu/run.sh)
check/guests-long-cxl-6.12: built/gcc
	$(call step,guests$(comma) long: 6.12$(comma) CXL memory,5400,,$(watched) \
		tests/qemu/run.sh -k 6.12 -i 1 -n 1 -c 2 $(hdm_tests))
check/guests-6.12-kasan check/guests-7.3-kasan: check/guests-%: built/gcc
	$(call step,guests: $*,14400,,env KERNEL=$* NVME=1 tests/qemu/run.sh)
# A host bridge with one root port, which has no decoders: resets and removal below it.
check/guests-port-6.12-kasan: built/gcc
	$(call step,guests: 6.12-kasan$(comma) one root port,1200,,\
		tests/qemu/run.sh -k 6.12-kasan -i 0 -n 1 -c 1 hdmpower)
# What has threads, or interrupts them.
check/guests-6.12-kcsan check/guests-7.3-kcsan: check/guests-%: built/gcc
	$(call step,guests: $*,7200,,tests/qemu/run.sh -k $* -i 1 -n 1 -c 2 boot module owners \
		fuzz hdm hdmapart hdmcalls hdmfuzz hdmlife hdmmigrate hdmnvme hdmpoison \
		hdmunplug kill life reset rings unplugged view)
# Ten minutes of random calls, and as long as it takes to take the device away five times.
check/guests-fuzz-7.3-kasan: built/gcc
	$(call step,guests$(comma) long: 7.3-kasan$(comma) random calls,5400,,env LONG=1 \
		tests/qemu/run.sh -k 7.3-kasan -i 1 -n 1 -c 2 fuzz hdmfuzz)
# Two machines, one of which uses the other's disk.
check/guests-pair: built/gcc
	$(call step,guests: two machines,3600,,tests/qemu/pair.sh /usr/bin/python3)
# A range of 64 GiB, in 4 GiB of memory.
check/guests-large: built/gcc
	$(call step,guests: 64 GiB,900,,env MEM=4G CXL_BYTES=64G COUNTED=1 \
		tests/qemu/run.sh -c 1 -a preempt=full hdmlarge)
# aarch64, emulated, with a kernel of its own where a suite needs io_uring or userfaultfd.
kernel_on_arm64 := cache_threads cxlssd_range device emu_far emu_fault emu_file emu_io emu_locked \
	emu_ng emu_sleep exec mem_pool rings serve
# The emulator has no caches to be flushed, and not the time that these take.
never_on_arm64 := $(minutes) $(larger) gpu_% m2func_serve mem mem_faults mem_share mem_signal \
	mem_threads mem_trouble ndp_fair ndp_flush
check/arm64-module:
	$(call step,module: arm64,1800,,tests/module/run.sh arm64)
check/arm64-unit: built/arm64
	$(call step,unit tests: arm64,7200,,tests/unit/arm64.sh $(filter-out $(kernel_on_arm64) \
		$(never_on_arm64),$(suites)))
check/arm64-suites: built/arm64
	$(call step,unit tests: arm64$(comma) guest,3600,,tests/qemu/run.sh -k arm64 -i 0 -n 1 \
		-a SUITES=$(subst $(space),$(comma),$(foreach room,$(UNIT_ROOMS),$(addprefix \
		$(room)/,$(filter $(kernel_on_arm64),$(suites_$(room)))))) suites)
check/arm64-guests: built/arm64
	$(call step,guests: arm64,7200,,tests/qemu/run.sh -k arm64 -i 0$(comma)1 -n 1 boot bind \
		hostile view place ioctl reset owners kill unplug unplugged unit)
check/arm64-odd: built/arm64
	$(call step,guests: arm64$(comma) other IOMMUs,600,,tests/qemu/run.sh -k arm64 \
		-i lazy$(comma)noremap -n 1 view owners)

check/promela:
	$(call step,promela,2400,tests/promela,tests/promela/run.sh $(BUILD)/model)
check/promela-all:
	$(call step,promela: all,3600,,env ALL=1 tests/promela/run.sh $(BUILD)/model)
check/module-all:
	$(call step,module: all kernels$(comma) and with DKMS,2400,,env ALL=1 tests/module/run.sh)
check/cuda:
	$(call step,cuda dialect,600,tests/cuda lib/gpu include tools/gpu,\
		tests/cuda/run.sh $(BUILD)/cuda)
check/cuda-all:
	$(call step,cuda dialect: all,1200,,env ALL=1 tests/cuda/run.sh $(BUILD)/cuda)
check/twin:
	$(call step,gpu: host twin,600,tests/gpu tests/unit/gpu tests/unit/random.h \
		$(addprefix lib/,core nvme gpu migrate plan) $(wildcard lib/hdm/*.h) include \
		tools/gpu tools/common tools/python tests/torch tests/bench/torch_models.py,\
		env PYTHON=$(python) tests/gpu/run.sh --twin)
check/style:
	$(call step,style,900,,tests/lint/run.sh)
check/rooms: built/gcc
	$(call step,rooms,60,$(gcc)/libannex.a lib tests/lint,tests/lint/rooms.py $(gcc))
check/tidy:
	$(call step,clang-tidy,1800,,tests/lint/tidy.sh $(BUILD)/tidy)
check/analyzer:
	$(call step,clang-tidy and its analyzer,5400,,tests/lint/tidy.sh $(BUILD)/tidy analyzer)

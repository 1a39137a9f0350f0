# SPDX-License-Identifier: MIT
# Annex: one entry to build, test and install.
#
#   make demo    what a newcomer wants to see    make check   everything that is tested
#   make         the library and the tool        make help    all targets and settings

VERSION := $(file <VERSION)
SOVERSION := 0

BUILD ?= build
FLAVOUR ?= release
SAN ?=
V ?=
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
COMPDIR ?= $(DATADIR)/bash-completion/completions
# DKMS, udev and systemd look in few places; what is installed for oneself alone stays in its own.
system := $(filter /usr /usr/local,$(PREFIX))
DKMSDIR ?= $(if $(system),/usr,$(PREFIX))/src
UDEVDIR ?= $(if $(system),/usr,$(PREFIX))/lib/udev/rules.d
UNITDIR ?= $(if $(system),/usr,$(PREFIX))/lib/systemd/system
KDIR ?= /lib/modules/$(shell uname -r)/build
INSTALL ?= install
PKG_CONFIG ?= pkg-config
# CROSS_COMPILE=aarch64-linux-gnu- builds for that machine, as the kernel's own makefile has it.
CROSS_COMPILE ?=
ifeq ($(origin CC),default)
CC := $(CROSS_COMPILE)gcc
endif
ifneq ($(CROSS_COMPILE),)
AR := $(CROSS_COMPILE)ar
LD := $(CROSS_COMPILE)ld
endif
OBJCOPY ?= $(CROSS_COMPILE)objcopy
machine := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
# For near-data kernels, which are assembled for the device.
RISCV ?= riscv64-linux-gnu-
# CUDA=1 builds what only a CUDA compiler can; code for CUDA_ARCH and, by the driver, newer ones.
CUDA ?=
NVCC ?= $(firstword $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc) nvcc)
CUDA_ARCH ?= sm_80

ifeq ($(FLAVOUR),release)
# Sanitizers find the same at -O1, whose code is made in two thirds of the time. Debug information
# of lines alone takes a quarter of the time off the compiler; FLAVOUR=debug has all of it.
CFLAGS ?= $(if $(SAN),-O1,-O2) -g1
else ifeq ($(FLAVOUR),debug)
CFLAGS ?= -O0 -g3
else
$(error FLAVOUR is release or debug, not "$(FLAVOUR)")
endif

# Every kind of build has its own folder, so that none of them disturbs another. SAN=fuzzer is what
# the fuzz targets are linked with.
comma := ,
empty :=
space := $(empty) $(empty)
clang := $(findstring clang,$(notdir $(CC)))
variant := $(if $(CROSS_COMPILE),$(machine)) $(filter-out release,$(FLAVOUR)) $(clang) \
	 $(if $(SAN),san-$(subst $(comma),-,$(SAN)))
OUT := $(BUILD)$(if $(strip $(variant)),/$(subst $(space),-,$(strip $(variant))))

ifneq ($(SAN),)
sanitizers := $(patsubst fuzzer,fuzzer-no-link$(comma)address$(comma)undefined,$(SAN))
san_flags := -fsanitize=$(sanitizers) -fno-sanitize-recover=all -fno-omit-frame-pointer
# gcc warns that ThreadSanitizer does not see fences; the tests run under it all the same. What may
# be uninitialized it tells from -O2 on only: the ordinary build is asked.
san_flags += $(if $(clang),,-Wno-maybe-uninitialized $(if $(findstring thread,$(SAN)),-Wno-tsan))
endif

WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
	-Wpointer-arith
ALL_CFLAGS = -std=gnu11 $(WARN) -pthread -Iinclude -I. -Ilib $(CFLAGS) $(san_flags) $(CPPFLAGS)
# Library objects serve both libraries. Calls inside the library bind to the library.
LIB_CFLAGS := -fPIC -fno-semantic-interposition
pkg_libs = $(shell $(PKG_CONFIG) --libs $(1) 2>/dev/null || echo $(2))
URING_LIBS := $(call pkg_libs,liburing,-luring)
JANSSON_LIBS := $(call pkg_libs,jansson,-ljansson)
NUMA_LIBS := $(call pkg_libs,numa,-lnuma)
# What the library needs.
LIB_LIBS := $(URING_LIBS) $(JANSSON_LIBS) $(NUMA_LIBS)
# Of the tool only: libpci is GPL, the library is not.
PCI_LIBS := $(call pkg_libs,libpci,-lpci)
# And what only the tool needs.
CSV_LIBS := -lcsv
# annex fs mount is left out where there is no libfuse of 3.12 at least, as for other machines.
FUSE := $(shell printf '\043include <fuse3/fuse_lowlevel.h>\n%s\n' \
	'_Static_assert(FUSE_VERSION >= 312, "");' | $(CC) $(CPPFLAGS) -fsyntax-only \
	-DFUSE_USE_VERSION=312 -D_FILE_OFFSET_BITS=64 -x c - 2>/dev/null && echo 1)
FUSE_LIBS := $(if $(FUSE),$(call pkg_libs,fuse3,-lfuse3))
CUNIT_LIBS := $(call pkg_libs,cunit,-lcunit)

LIB_SRC := $(sort $(wildcard lib/*/*.c lib/*/*/*.c lib/*/*/*/*.c))
CUDA_SRC := $(sort $(wildcard lib/gpu/cuda/*.cu))
TOOL_SRC := $(sort $(wildcard tools/*.c tools/*/*.c tools/models/*/*.c))
TOOL_SRC := $(filter-out tools/fio/% $(if $(FUSE),,$(addprefix tools/models/fs/,server.c \
	ops_%.c)),$(TOOL_SRC))
# Unit tests: a program a room, which links no more than its tests reach. Files of tests/unit itself
# are for several of them.
unit_dirs := tests/unit tests/models/unit
UNIT_ROOMS := $(sort $(notdir $(patsubst %/,%,$(wildcard $(unit_dirs:%=%/*/))))) kernel
RIG_SRC := $(filter-out %/main.c,$(sort $(wildcard $(unit_dirs:%=%/*.c))))
UNIT_SRC := $(sort $(wildcard $(unit_dirs:%=%/*.c) $(unit_dirs:%=%/*/*.c) tests/models/ndp/*.c))
SHIM_SRC := $(sort $(wildcard tests/kernel/*.c))
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c tests/models/fuzz/fuzz_*.c))
RVFUZZ_SRC := $(sort $(wildcard tests/models/rv/*.c))
GUEST_SRC := $(sort $(wildcard tests/qemu/guest/*.c))
BENCH_SRC := $(sort $(wildcard tests/bench/*.c tests/models/bench/*.c))
# A program for each table; they share figures and the running of other programs.
PLAN_SRC := $(filter tests/bench/plan%,$(BENCH_SRC)) tests/bench/figure.c tests/bench/spawn.c
NDP_BENCH_SRC := $(filter tests/models/bench/ndp%,$(BENCH_SRC)) tests/bench/figure.c
MIGRATE_SRC := $(filter tests/bench/migrate%,$(BENCH_SRC)) tests/bench/figure.c tests/bench/spawn.c
FS_SRC := $(filter tests/models/bench/fs%,$(BENCH_SRC)) tests/bench/figure.c
WARPS_SRC := tests/models/bench/warps.c tests/bench/figure.c
STORAGE_SRC := $(filter-out $(addprefix tests/,models/% bench/plan% bench/migrate%),$(BENCH_SRC))
BENCH_BIN := $(addprefix $(OUT)/bench/,storage plan ndp migrate fs warps)
# Measured beside annex fs mount, where there is libfuse.
PASS_BIN := $(if $(FUSE),$(OUT)/fs/passthrough)
HEADERS := $(sort $(wildcard $(addprefix include/annex/,*.h *.hpp detail/*.h models/*.h)))
MODULE_SRC := Kbuild kernel/Kconfig $(sort $(wildcard kernel/*.[ch] kernel/*/*.[ch])) \
	$(wildcard include/uapi/*.h)
# Handlers of instructions; those whose loops are worth it once more for wider vectors of the host.
RV_SRC := $(filter lib/models/ndp/harts/%,$(LIB_SRC))
# Two of the sanitizer builds go without: SAN=address,undefined has them.
HOT := $(if $(filter fuzzer thread,$(SAN)),,$(filter x86_64,$(machine)))
HOT_SRC := $(if $(HOT),$(shell grep -l RV_HOT $(RV_SRC)))
HOT_OBJ := $(HOT_SRC:%.c=$(OUT)/%.avx2.o)
LIB_OBJ := $(LIB_SRC:%.c=$(OUT)/%.o) $(HOT_OBJ)
# libannex-models is what stands in for hardware; nothing in libannex knows it.
MODELS_OBJ := $(filter $(OUT)/lib/models/%,$(LIB_OBJ))
PRODUCT_OBJ := $(filter-out $(MODELS_OBJ),$(LIB_OBJ))
CUDA_OBJ := $(CUDA_SRC:%.cu=$(OUT)/%.o)
# The tool's own kernels, and what a program with kernels is linked with.
TOOL_CUDA := $(if $(CUDA),$(patsubst %.cu,$(OUT)/%.o,$(sort $(wildcard tools/*/*.cu))))
CUDA_LIBS := $(if $(CUDA),-L$(dir $(NVCC))../lib64 -lcudart_static -ldl -lrt -lstdc++)
TOOL_OBJ := $(TOOL_SRC:%.c=$(OUT)/%.o)
# annex, and annex-models, which has all of its commands and those of the models.
ANNEX_OBJ := $(filter-out $(OUT)/tools/models/%,$(TOOL_OBJ))
ANNEX_MODELS_OBJ := $(filter-out $(OUT)/tools/package.o,$(TOOL_OBJ))
MODELS_COMMANDS := cxl fs ndp query
MODELS_BIN := annex-models $(MODELS_COMMANDS:%=annex-%)
# The tool without its main(): what tests link against.
TOOL_PARTS := $(filter-out $(OUT)/tools/main.o,$(ANNEX_MODELS_OBJ))
UNIT_OBJ := $(UNIT_SRC:%.c=$(OUT)/%.o)
UNIT_BIN := $(UNIT_ROOMS:%=$(OUT)/unit-%)
unit_objects = $(OUT)/tests/unit/main.o \
	$(patsubst %.c,$(OUT)/%.o,$(sort $(wildcard $(unit_dirs:%=%/$(1)/*.c))))
# The tool as guests have it: main(), and commands of their own.
GUEST_TOOL := $(OUT)/guest/annex
# What of the tool is tested by itself.
unit_with_tools := $(patsubst %,$(OUT)/tools/%.o,pci/ask pci/health pci/smart common/sysfs \
	$(addprefix common/,claim cleanup error input pool progress))
SHIM_OBJ := $(SHIM_SRC:%.c=$(OUT)/%.o)
# What of the module reads registers and tables, for tests outside of a kernel.
SHIM_OF_CXL := $(patsubst %,$(OUT)/shim/%.o,decoder filter mbox media regs window)
SHIM_OF_NVME := $(patsubst %,$(OUT)/shim/%.o,admin area cmb ctrl event hmb shadow)
SHIM_MODULE := $(SHIM_OF_CXL) $(SHIM_OF_NVME)
unit_with_kernel := $(SHIM_OBJ) $(SHIM_MODULE)
# The archive gives it to nobody: it registers its kind of range itself.
unit_with_ssd := $(OUT)/lib/models/ssd/cxlssd.o
unit_with_ndp := $(patsubst %.c,$(OUT)/%.o,$(sort $(wildcard tests/models/ndp/*.c)))
# Rooms of lib that the tests of a room reach: to build them takes these rooms only.
unit_lib_core := core
unit_lib_tools := core
unit_lib_plan := core flash plan
unit_lib_cache := core nvme cache
unit_lib_gpu := core nvme gpu
unit_lib_serve := core nvme cache gpu serve
unit_lib_hdm := core nvme cache hdm
unit_lib_nvme := core nvme hdm ndp
unit_lib_migrate := core nvme hdm flash plan migrate
unit_lib_exec := core nvme hdm gpu flash plan migrate
unit_lib_client := core hdm ndp
unit_lib_harts := core ndp models/ndp/harts
unit_lib_ndp := core hdm ndp models/ndp
unit_lib_fs := core flash models/ssd models/fs
unit_lib_ssd := core nvme hdm flash plan migrate models/host models/ssd
# Calls that tests take the place of.
unit_wraps_migrate := annex_host_now ioctl
unit_wraps_nvme := annex_emu_direct_find fcntl fdatasync io_uring_queue_init_params preadv2
unit_wraps_ssd := ssd_file_write ssd_file_sync
unit_wraps_fs := $(unit_wraps_ssd)
FUZZ_OBJ := $(FUZZ_SRC:%.c=$(OUT)/%.o)
BENCH_OBJ := $(BENCH_SRC:%.c=$(OUT)/%.o)
RVFUZZ_OBJ := $(RVFUZZ_SRC:%.c=$(OUT)/%.o)
GUEST_OBJ := $(GUEST_SRC:%.c=$(OUT)/%.o)
GUEST_BIN := $(GUEST_SRC:tests/qemu/%.c=$(OUT)/%)
FUZZ_BIN := $(patsubst %.c,$(OUT)/%,$(notdir $(FUZZ_SRC)))
CUDA_SONAME := libannex-cuda.so.$(SOVERSION)
LIBRARIES := libannex libannex-models

say = @printf '  %-7s %s\n' '$(1)' '$(patsubst $(OUT)/%,%,$@)'
Q := $(if $(V),,@)
ifneq ($(V),)
say = @:
endif

all: $(foreach l,$(LIBRARIES),$(OUT)/$l.a $(OUT)/$l.so) $(OUT)/annex.pc $(OUT)/annex-models.pc \
	$(OUT)/annex $(MODELS_BIN:%=$(OUT)/%) \
	$(if $(CUDA),$(OUT)/libannex-cuda.a $(OUT)/$(CUDA_SONAME))
unit: $(UNIT_BIN) $(OUT)/unit-client
tool-build: $(OUT)/annex $(MODELS_BIN:%=$(OUT)/%) $(OUT)/annex-wrong
bench-build: $(BENCH_BIN) $(PASS_BIN) $(OUT)/train
fuzz-build: $(FUZZ_BIN)
guest-build: $(GUEST_BIN) $(GUEST_TOOL) $(OUT)/unit-nvme $(OUT)/unit-cache
rv-build: $(OUT)/rv/rvfuzz

# The libraries have the names that the public headers declare. The file changes with the names; two
# makes at once do not disturb each other.
$(LIBRARIES:%=$(OUT)/%.map): $(OUT)/%.map: $(HEADERS) lib/public.sh lib/models/needs.txt
	$(Q)mkdir -p $(@D) && CC='$(CC) $(CPPFLAGS)' lib/public.sh --map $* > $@.$$$$ && \
		if cmp -s $@.$$$$ $@; then rm $@.$$$$; else mv $@.$$$$ $@; fi
$(OUT)/libannex.a $(OUT)/libannex.so: $(PRODUCT_OBJ)
$(OUT)/libannex-models.a $(OUT)/libannex-models.so: $(MODELS_OBJ)
$(OUT)/libannex-models.so: $(OUT)/libannex.so
# In the static library the others are made local to its one object. Tests of what is inside link
# with whole.a.
$(LIBRARIES:%=$(OUT)/%.a): $(OUT)/%.a: $(OUT)/%.map
	$(call say,AR)
	$(Q)$(LD) -r -o $(OUT)/$*.o $(filter %.o,$^)
	$(Q)sed -n 's/^\t\(annex_.*\);$$/\1/p' $< > $(OUT)/$*.public
	$(Q)$(OBJCOPY) --keep-global-symbols=$(OUT)/$*.public $(OUT)/$*.o
	$(Q)rm -f $@ && $(AR) rcs $@ $(OUT)/$*.o
$(LIBRARIES:%=$(OUT)/%.so): $(OUT)/%.so: $(OUT)/%.map
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$*.so.$(SOVERSION) \
		-Wl,--version-script=$< $(if $(SAN),,-Wl$(comma)-z$(comma)defs) \
		-o $@.$(VERSION) $(filter %.o,$^) $(filter %.so,$^) $(LIB_LIBS) -lm
	$(Q)ln -sf $*.so.$(VERSION) $@.$(SOVERSION) && ln -sf $*.so.$(SOVERSION) $@
# Beside it, for programs that have a GPU's threads use devices: libannex-cuda.a, libannex, cudart.
$(OUT)/libannex-cuda.a: $(CUDA_OBJ)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $(CUDA_OBJ)
# The same for programs that load it, such as Python's: it has CUDA's runtime in it.
$(OUT)/$(CUDA_SONAME): $(CUDA_OBJ) $(OUT)/libannex.so
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(CUDA_SONAME) \
		-Wl,--exclude-libs,ALL $(if $(SAN),,-Wl$(comma)-z$(comma)defs) \
		-o $@ $(CUDA_OBJ) $(OUT)/libannex.so $(CUDA_LIBS) -lm
	$(Q)ln -sf $(CUDA_SONAME) $(OUT)/libannex-cuda.so
NVCC_FLAGS = -std=c++17 -O2 -arch=$(CUDA_ARCH) -Werror all-warnings -Xcompiler -Wall,-fPIC -Iinclude
$(CUDA_OBJ) $(TOOL_CUDA): $(OUT)/%.o: %.cu
	$(call say,NVCC)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) $(NVCC_FLAGS) -MMD -MP -c -o $@ $<
$(OUT)/whole.a: $(LIB_OBJ)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $(LIB_OBJ)
cuda_parts := $(TOOL_CUDA) $(if $(CUDA),$(OUT)/libannex-cuda.a)
TOOL_LIBS = $(LIB_LIBS) $(PCI_LIBS) $(CSV_LIBS) $(FUSE_LIBS) $(CUDA_LIBS) -lm
$(OUT)/annex: $(ANNEX_OBJ) $(cuda_parts) $(OUT)/libannex.a
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(filter-out $(FUSE_LIBS),$(TOOL_LIBS))
$(OUT)/annex-models: $(ANNEX_MODELS_OBJ) $(cuda_parts) $(OUT)/libannex-models.a $(OUT)/libannex.a
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(TOOL_LIBS)
$(MODELS_COMMANDS:%=$(OUT)/annex-%): $(OUT)/annex-models
	$(Q)ln -sf annex-models $@
# The tool with a call made wrong: its selftest has to notice.
$(OUT)/annex-wrong: $(OUT)/tests/tool/wrong.o $(OUT)/annex
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< $(ANNEX_OBJ) $(cuda_parts) $(OUT)/libannex.a \
		$(TOOL_LIBS) -Wl,--wrap=annex_hdm_find
$(OUT)/parts.a: $(TOOL_PARTS)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $(TOOL_PARTS)
$(OUT)/rigs.a: $(RIG_SRC:%.c=$(OUT)/%.o)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(foreach room,$(UNIT_ROOMS),$(eval $(OUT)/unit-$(room): $(call unit_objects,$(room)) \
	$(unit_with_$(room))))
unit_archives := $(patsubst %,$(OUT)/tests/lib-%.a,$(UNIT_ROOMS) client)
$(foreach room,$(UNIT_ROOMS) client,$(eval $(OUT)/tests/lib-$(room).a: $(filter \
	$(unit_lib_$(room):%=$(OUT)/lib/%/%),$(LIB_OBJ))))
$(unit_archives):
	$(call say,AR)
	$(Q)mkdir -p $(@D) && rm -f $@ && $(AR) rcsT $@ $^
$(UNIT_BIN): $(OUT)/unit-%: $(OUT)/rigs.a $(OUT)/tests/lib-%.a
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIB_LIBS) \
		$(CUNIT_LIBS) -lm $(unit_wraps_$*:%=-Wl$(comma)--wrap=%)
# The tests of near-data kernels with a client alone: the device is another process.
CLIENT_OBJ := $(patsubst %.c,$(OUT)/%.o,tests/models/client/served.c tests/unit/main.c \
	$(filter-out %_device.c,$(wildcard tests/models/unit/ndp/kernels_*.c)) \
	$(wildcard tests/models/ndp/*.c))
$(OUT)/unit-client: $(CLIENT_OBJ) $(OUT)/rigs.a $(OUT)/tests/lib-client.a
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(NUMA_LIBS) $(CUNIT_LIBS) -lm
$(OUT)/rv/rvfuzz: $(RVFUZZ_OBJ) $(OUT)/whole.a
	$(call say,LD)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIB_LIBS) -lm
$(OUT)/bench/storage: $(STORAGE_SRC:%.c=$(OUT)/%.o)
$(OUT)/bench/plan: $(PLAN_SRC:%.c=$(OUT)/%.o)
$(OUT)/bench/ndp: $(NDP_BENCH_SRC:%.c=$(OUT)/%.o)
$(OUT)/bench/migrate: $(MIGRATE_SRC:%.c=$(OUT)/%.o)
$(OUT)/bench/fs: $(FS_SRC:%.c=$(OUT)/%.o)
$(OUT)/bench/warps: $(WARPS_SRC:%.c=$(OUT)/%.o)
$(PASS_BIN): $(OUT)/tests/models/fs/passthrough.o
	$(call say,LD)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(FUSE_LIBS)
# An example that is measured, and run in guests.
$(OUT)/train: $(OUT)/docs/examples/train.o $(OUT)/libannex.a
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIB_LIBS) -lm
# This one looks inside, at how kernels are run.
$(OUT)/bench/ndp: $(OUT)/tests/models/ndp/way.o
$(BENCH_BIN): $(OUT)/whole.a
	$(call say,LD)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIB_LIBS) -lm
$(OUT)/fuzz_cxl: $(patsubst %,$(OUT)/tests/kernel/%.o,hostile rig shim) $(SHIM_OF_CXL)
$(foreach f,$(FUZZ_SRC),$(eval $(OUT)/$(basename $(notdir $(f))): $(f:%.c=$(OUT)/%.o)))
$(FUZZ_BIN): $(OUT)/parts.a $(OUT)/whole.a
	$(call say,LD)
	$(Q)$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $(filter %.o,$^) \
		$(filter %.a,$^) $(LIB_LIBS) $(PCI_LIBS) $(CSV_LIBS) $(FUSE_LIBS) -lm

# A test program in a guest.
$(GUEST_BIN): $(OUT)/guest/%: $(OUT)/tests/qemu/guest/%.o $(OUT)/whole.a
	$(call say,LD)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIB_LIBS) -lm
$(GUEST_TOOL): $(OUT)/tools/main.o $(OUT)/tests/qemu/commands.o $(OUT)/parts.a $(OUT)/whole.a
	$(call say,LD)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIB_LIBS) $(PCI_LIBS) -lm

$(LIB_OBJ): private object_flags := $(LIB_CFLAGS)
# One instruction of the harts is a loop over 64 of them. Nobody sees the host's flags, and a
# product and a sum are two roundings unless they are one instruction of the harts. clang warns of
# loops that could be vectors and are not.
RV_CFLAGS := $(LIB_CFLAGS) $(if $(SAN),,-O3) -ffp-contract=off -fno-math-errno \
	-fno-trapping-math -Wno-pass-failed $(if $(HOT),-DRV_HOT_COPIES)
$(filter $(OUT)/lib/models/ndp/harts/%,$(LIB_OBJ)): private object_flags := $(RV_CFLAGS)
# It cannot work on shadow stacks: a program with it is not marked for them.
$(OUT)/lib/models/host/fiber.o: private object_flags := $(LIB_CFLAGS) -fcf-protection=none
$(HOT_OBJ): private object_flags := $(RV_CFLAGS) -mavx2 -mfma -mf16c -DRV_AVX2
# Near-data kernels are part of the library, each as an ELF file. They say how many registers they
# use, which is checked.
NDP_KERNELS := $(patsubst lib/ndp/kernels/%.S,$(OUT)/kernels/%.elf,\
	$(sort $(wildcard lib/ndp/kernels/*.S)))
NDP_INC := $(wildcard lib/ndp/kernels/*.inc)
NDP_AS := $(RISCV)as -march=rv64gcv_zba_zbb_zfh -I lib/ndp/kernels
$(OUT)/kernels/%.elf: lib/ndp/kernels/%.S $(NDP_INC) lib/ndp/kernels/check.sh
	$(call say,RISCV)
	$(Q)mkdir -p $(@D)
	$(Q)$(NDP_AS) -o $(@:.elf=.o) $<
	$(Q)$(RISCV)ld --no-relax -n -z noseparate-code -Ttext=0x1000 -e ndp_body0 -o $@ \
		$(@:.elf=.o)
	$(Q)lib/ndp/kernels/check.sh $(RISCV)objdump $(RISCV)nm $@
# Each as a program too, for an emulator that it is compared with.
NDP_PROGRAMS := $(NDP_KERNELS:$(OUT)/kernels/%.elf=$(OUT)/ndp/%)
$(OUT)/ndp/harness.o: tests/models/ndp/harness.S
	$(call say,RISCV)
	$(Q)mkdir -p $(@D)
	$(Q)$(NDP_AS) -o $@ $<
$(OUT)/ndp/%: lib/ndp/kernels/%.S $(NDP_INC) tests/models/ndp/ecall.inc $(OUT)/ndp/harness.o
	$(call say,RISCV)
	$(Q)$(NDP_AS) -o $@.o tests/models/ndp/ecall.inc $<
	$(Q)$(RISCV)ld --no-relax -e _start -o $@ $(OUT)/ndp/harness.o $@.o
ndp-build: $(NDP_PROGRAMS)
$(OUT)/lib/ndp/kernels/image.o: $(NDP_KERNELS)
$(OUT)/lib/ndp/kernels/image.o: private object_flags := $(LIB_CFLAGS) -Wa,-I,$(OUT)/kernels
# Sums over arrays are worth vector instructions, which gcc 12 uses from -O3; both sides get them.
$(OUT)/tests/bench/array.o: private object_flags := -O3
# The host's side of annex query, which is measured beside the device's.
$(OUT)/tools/models/query/host.o: private object_flags := -O3
$(OUT)/docs/examples/train.o: private object_flags := -O3
$(addprefix $(OUT)/tools/,main.o pci/checks_pci.o): VERSION
$(addprefix $(OUT)/tools/,main.o pci/checks_pci.o): private object_flags := \
	-DANNEX_VERSION='"$(VERSION)"'
define compile
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(object_flags) -MMD -MP -c -o $@ $<
endef
$(OUT)/%.avx2.o: %.c $(OUT)/flags
	$(compile)
$(OUT)/%.o: %.c $(OUT)/flags
	$(compile)

# The module's sources with one header in the place of the kernel's.
SHIM_CXL := $(patsubst kernel/cxl/%,$(OUT)/shim/%,$(wildcard kernel/cxl/*.[ch]))
SHIM_NVME := $(patsubst kernel/nvme/%,$(OUT)/shim/%,$(wildcard kernel/nvme/*.[ch]))
SHIM_BOTH := $(patsubst kernel/%,$(OUT)/shim/%,$(wildcard kernel/*.h))
SHIM_COPIES := $(SHIM_CXL) $(SHIM_NVME) $(SHIM_BOTH)
define shim_copy =
	@mkdir -p $(@D)
	@{ echo '#line 1 "$<"'; sed -e 's,<linux/nvme.h>,"tests/kernel/nvme.h",' \
		-e 's,<linux/.*>,"tests/kernel/shim.h",' \
		-e 's,"trace.h"\|"compat.h","tests/kernel/shim.h",' $<; } > $@
endef
$(SHIM_CXL): $(OUT)/shim/%: kernel/cxl/% Makefile
	$(shim_copy)
$(SHIM_NVME): $(OUT)/shim/%: kernel/nvme/% Makefile
	$(shim_copy)
$(SHIM_BOTH): $(OUT)/shim/%: kernel/% Makefile
	$(shim_copy)
$(SHIM_MODULE) $(SHIM_OBJ): $(SHIM_COPIES)
$(SHIM_MODULE) $(SHIM_OBJ): private object_flags := -I$(OUT)/shim -Wno-pointer-arith \
	-Wno-sign-compare -Wno-shadow -Wno-unused-parameter -Wno-address-of-packed-member
$(SHIM_MODULE): %.o: %.c $(OUT)/flags
	$(compile)

# annex.ko for the kernel whose headers KDIR has. Each kernel has a folder of its own, with a copy
# of the sources, since kbuild puts objects beside them. W=1 and C=2 go through to kbuild.
module_dir = $(BUILD)/module/$(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
	$(KDIR)/include/generated/utsrelease.h 2>/dev/null)
# A kernel for guests may have a make of its own beside its headers (tests/qemu/kernel.sh).
module_make = $(or $(wildcard $(dir $(KDIR))make),$(MAKE))
module:
	@[ -e $(KDIR)/include/generated/utsrelease.h ] || { echo "no kernel headers in $(KDIR):" \
		"annex doctor says where they come from; or KDIR=DIR" >&2; exit 1; }
	$(Q)dir='$(module_dir)'; for file in $(MODULE_SRC); do \
		cmp -s $$file $$dir/$$file || install -D -m 644 $$file $$dir/$$file || exit; done
	$(Q)+$(module_make) $(if $(V),,-s) -C $(KDIR) M=$(abspath $(module_dir)) modules
	@echo '  KO      $(module_dir)/annex.ko'

# Made anew each time: it depends on where things are installed, and nothing depends on it.
pc = sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' \
	-e 's|@PRIVATE_LIBS@|$(LIB_LIBS) -lm|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|'
$(OUT)/annex.pc $(OUT)/annex-models.pc: $(OUT)/%.pc: lib/%.pc.in FORCE
	@mkdir -p $(@D)
	@$(pc) $< > $@.$$$$ && mv $@.$$$$ $@

# Objects depend on how they were made: other flags make them again.
flags = $(CC) $(ALL_CFLAGS) $(LDFLAGS) $(LIB_CFLAGS) $(RV_CFLAGS)
$(OUT)/flags: FORCE
	@mkdir -p $(@D); echo '$(flags)' | cmp -s - $@ || echo '$(flags)' > $@

# One step more than there are processors runs at a time, since each waits now and then; unless told
# otherwise.
at_once = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell echo $$(($$(nproc) + 1))))
include tests/check.mk

# What must be there to build and to test. These targets install it, so the rest runs in a make of
# its own, which sees it.
deps:
	@tests/deps.sh check
demo:
	@tests/deps.sh demo
	@+$(MAKE) --no-print-directory all
	@tests/demo.sh $(OUT)
# A network trained by a plan in a quarter of its memory, beside plain memory.
train-demo:
	@tests/deps.sh demo
	@+$(MAKE) --no-print-directory $(OUT)/train
	@tests/train_demo.sh $(OUT)
check: steps = $(gate)
check-product: steps = $(gate_product)
check-models: steps = $(gate_models)
check check-product check-models:
	@tests/deps.sh check && BUILD='$(BUILD)' tests/deps.sh qemu
	@rm -f $(BUILD)/check/*.end
	@+$(MAKE) --no-print-directory -k $(at_once) first='$(builds)' $(steps); \
		BUILD='$(BUILD)' tests/check.sh end
# The seconds of each step, of its last run.
check-times:
	@BUILD='$(BUILD)' tests/check.sh times
# Beside check: every machine and sanitizer, random tests with new seeds, and what takes hours.
check-all:
	@tests/deps.sh fs && BUILD='$(BUILD)' tests/deps.sh debug && \
		BUILD='$(BUILD)' tests/deps.sh arm64
	@rm -f $(BUILD)/check/*.end
	@+$(MAKE) --no-print-directory -k $(at_once) first='$(builds) built/asan' $(gate) $(more); \
		BUILD='$(BUILD)' tests/check.sh end
# Instructions of the near-data processor, one by one, against qemu's.
check-riscv:
	@tests/deps.sh check
	@+$(MAKE) --no-print-directory all rv-build
	$(Q)tests/models/rv/run.sh $(OUT) $(or $(COUNT),1000000) $(or $(SEED),1)
# The module as Debian's kernels see it, without running it.
check-module:
	@BUILD='$(BUILD)' tests/deps.sh module
	@+ALL=1 BUILD='$(BUILD)' MAKE='$(MAKE)' tests/module/run.sh
# Tests of the module in guests, and a guest to try it in; KERNEL, NVME, CXL and IOMMU say which.
check-qemu:
	@BUILD='$(BUILD)' tests/deps.sh qemu
	@+BUILD='$(BUILD)' MAKE='$(MAKE)' tests/qemu/run.sh
# The same on kernels that watch themselves, each of which is built once.
check-debug-kernels:
	@BUILD='$(BUILD)' tests/deps.sh debug
	@+$(MAKE) --no-print-directory -k $(addprefix check/guests-,$(debug_kernels))
lab:
	@BUILD='$(BUILD)' tests/deps.sh qemu
	@+BUILD='$(BUILD)' MAKE='$(MAKE)' tests/qemu/lab.sh
include tests/bench.mk
lint: check/style check/tidy
# Longer than in check; FUZZ_TIME is in seconds for each target.
fuzz:
	@+$(MAKE) --no-print-directory check/fuzz FUZZ_TIME='$(or $(FUZZ_TIME),600)'
format:
	$(Q)clang-format -i $$(git ls-files -co --exclude-standard '*.c' '*.h')

include tools/install.mk

# An engine for fio, which exports no headers: FIO is its source, of the version that will load it.
fio-engine: $(OUT)/libannex.so
	$(Q)[ -n '$(FIO)' ] || { echo "fio-engine: FIO= names fio's source" >&2; exit 1; }
	$(Q)[ -e '$(FIO)/config-host.h' ] || (cd '$(FIO)' && ./configure >/dev/null)
	$(Q)mkdir -p $(OUT)/fio
	$(CC) -std=gnu11 -O2 -g -Wall -Werror -D_GNU_SOURCE -include '$(FIO)/config-host.h' \
		-isystem '$(FIO)' -Iinclude -shared -fPIC -o $(OUT)/fio/annex.so \
		tools/fio/engine.c -L$(OUT) -lannex -Wl,-rpath,$(LIBDIR) \
		-Wl,-rpath,$(abspath $(OUT))

dist deb wheel:
	$(Q)tools/deb/build.sh $(or $($@_is),$@) $(BUILD)/$@ $(filter %.so,$^)
wheel: $(OUT)/libannex.so
dist_is := tarball
deb_is := packages

clean:
	rm -rf $(BUILD)

help:
	@sed -n 's/^#h *//p' $(firstword $(MAKEFILE_LIST))
#h demo               install what is missing, build, search two graphs from storage
#h train-demo         train a network by a plan, with a quarter of its memory: STEPS=8
#h check              install what is missing, build, run every test and check
#h check-product check-models  the halves of check: the product, and the models beside it
#h check-times        how long each step of the check took
#h check-qemu         tests in guests: KERNEL=6.1,6.12,7.3 QEMU=11.1 IOMMU=0,1 NVME=1,4 ALL=1
#h check-riscv        the RISC-V core against qemu-riscv64: COUNT=1000000 SEED=1
#h check-all          beside check: every machine, sanitizer and seed; hours
#h check/NAME         one step of either, as tests/check.mk names them
#h check-debug-kernels tests in guests on kernels with KASAN, lockdep, kmemleak, KCSAN
#h check-module       annex.ko for Debian's kernels: builds, sparse, checkpatch, DKMS
#h module             annex.ko for KDIR=/lib/modules/RELEASE/build
#h lab                a shell in a guest: NVME=1 CXL=0 IOMMU=0 KERNEL=6.12 SHARE=DIR
#h deps               install what check needs from Debian (NO_DEPS=1: never install)
#h all                libannex.a, libannex.so and annex in build/
#h unit               the unit tests, build/unit-ROOM [SUITE]...
#h bench              measure against fio, io_uring, arrays and mmap: table and build/bench/*.json
#h bench-plan         measure migration plans against G10's and the ideal, likewise
#h bench-ndp          measure near-data kernels and calls, likewise
#h bench-migrate      measure tensors that move between tiers, likewise
#h bench-torch        ways to train in PyTorch in little memory: THREADS=2 ROUNDS=1 TRAIN= WAY=
#h bench-rows         rows of a large file in Python, beside numpy.memmap: ROUNDS=3 PYTHON=
#h bench-share        a served device beside the same opened directly: ROUNDS=5 FILE=
#h bench-cxl          compare annex cxl simulate with the figures of CXL-GPU and SkyByte
#h bench-fs           compare the file system's designs, and annex fs mount with others: ROUNDS=7
#h figures-g10        write docs/models/figures-g10.md, G10's figures beside ours: TRACES=DIR
#h figures-teraio     write docs/models/figures-teraio.md, from generated traces
#h figures-bam figures-cxl figures-bytefs  write docs/models/figures-*.md, beside the papers'
#h bench-query        measure annex query beside DuckDB and Polars: SCALE=1 DEVICE=local
#h bench-qemu         measure in guests: the module against fio, reads into CXL memory: ROUNDS=5
#h man                the manual, from --help and the headers: HELP2MAN=, KERNEL_DOC=FILE
#h lint               style, kernel-doc, clang-format, clang-tidy, sparse, shellcheck, codespell
#h fuzz               the fuzz targets, FUZZ_TIME=600 seconds each
#h format             run clang-format on every source
#h install-module     annex.ko's source for DKMS, and its udev rule; part of install
#h install uninstall  PREFIX=/usr/local DESTDIR= LIBDIR= MANDIR= ...
#h dist deb wheel     the source tarball; Debian packages, which need dpkg-dev, debhelper and more;
#h                    the Python package with libannex, by PYTHON's pip
#h fio-engine         build/fio/annex.so, any device for fio: FIO=SOURCE, its source
#h clean              remove build/
#h
#h BUILD=DIR  CC=gcc|clang  FLAVOUR=release|debug  SAN=address,undefined | thread
#h CROSS_COMPILE=aarch64-linux-gnu- (in build/aarch64), with CPPFLAGS=--sysroot=DIR
#h CUDA=1 (libannex-cuda and annex --gpu too, by NVCC=nvcc for CUDA_ARCH=sm_80)
#h V=1 (show commands)

.PHONY: all man unit bench-build fuzz-build guest-build rv-build module deps demo train-demo check \
	check-product check-models check-times check-all check-module check-qemu check-riscv \
	check-debug-kernels lab bench bench-plan bench-ndp bench-migrate \
	bench-rows bench-torch bench-share figures-bam figures-g10 figures-teraio ndp-build \
	bench-cxl figures-cxl bench-fs figures-bytefs bench-query bench-qemu lint fuzz format \
	install install-module uninstall dist deb wheel fio-engine clean help FORCE
.DELETE_ON_ERROR:
-include $(patsubst %.o,%.d,$(LIB_OBJ) $(CUDA_OBJ) $(TOOL_CUDA) $(TOOL_OBJ) $(UNIT_OBJ) \
	$(FUZZ_OBJ) $(BENCH_OBJ) $(GUEST_OBJ) $(RVFUZZ_OBJ) $(SHIM_OBJ) $(SHIM_MODULE) \
	$(CLIENT_OBJ))

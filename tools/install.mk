# SPDX-License-Identifier: MIT
# The manual, install and uninstall; included by the Makefile.

# Section 1 is made of what --help of each command says. Sections 3 and 7 are made of the headers: 3
# of what the kernel's own script, where it is, makes of the comments on functions; 7 of each
# header's first comment.
KERNEL_DOC ?= $(firstword $(wildcard $(KDIR)/scripts/kernel-doc \
	/usr/lib/linux-kbuild-*/scripts/kernel-doc \
	$(BUILD)/qemu/kernel/*/usr/lib/linux-kbuild-*/scripts/kernel-doc))
public := $(wildcard include/annex/*.h include/annex/models/*.h)
page = $(BUILD)/man/annex_$(basename $(notdir $(1))).7
HELP2MAN ?= $(shell command -v help2man)
man: $(BUILD)/man1/made $(BUILD)/man/made
$(BUILD)/man1/made: $(OUT)/annex $(OUT)/annex-models docs/man/section1.sh VERSION
	$(call say,MAN)
	$(Q)[ -n "$(HELP2MAN)" ] || { echo "no help2man: apt-get install help2man" >&2; exit 1; }
	$(Q)rm -rf $(@D) && mkdir -p $(@D)
	$(Q)docs/man/section1.sh $(OUT)/annex $(@D) $(VERSION)
	$(Q)touch $@

$(BUILD)/man/made: $(public) docs/man/section3.awk VERSION $(foreach h,$(public),$(call page,$(h)))
	$(call say,MAN)
	$(Q)[ -n "$(KERNEL_DOC)" ] || { echo "no kernel-doc, which is in any kernel's headers:" \
		"apt-get install $$(tests/deps.sh kernel-doc), or KERNEL_DOC=FILE" >&2; exit 1; }
	$(Q)rm -f $(@D)/*.3
	$(Q)for header in $(public); do \
		$(KERNEL_DOC) -man $$header 2>$(@D)/log | awk -v dir=$(@D) \
			-v about=annex_$$(basename $$header .h) -v header=$${header#include/} \
			-v version=$(VERSION) -f docs/man/section3.awk || exit; \
	done
	$(Q)touch $@

define page_rule
$(call page,$(1)): $(1) docs/man/section7.awk VERSION
	@mkdir -p $$(@D)
	$(Q)awk -v header=$(1:include/%=%) -v name=$$(basename $$(notdir $$@)) \
		-v version=$(VERSION) -f docs/man/section7.awk $$< >$$@
endef
$(foreach h,$(public),$(eval $(call page_rule,$(h))))

MAN7 := $(foreach h,$(public),$(call page,$(h)))
install: all install-module $(MAN7) $(if $(HELP2MAN),$(BUILD)/man1/made) \
		$(if $(KERNEL_DOC),$(BUILD)/man/made)
	$(INSTALL) -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(COMPDIR) \
		$(addprefix $(DESTDIR)$(MANDIR)/man,1 3 7)
	$(INSTALL) -m 755 $(OUT)/annex $(OUT)/annex-models $(DESTDIR)$(BINDIR)
	$(foreach c,$(MODELS_COMMANDS),ln -sf annex-models $(DESTDIR)$(BINDIR)/annex-$(c) &&) :
	$(INSTALL) -m 644 $(LIBRARIES:%=$(OUT)/%.a) $(if $(CUDA),$(OUT)/libannex-cuda.a) \
		$(DESTDIR)$(LIBDIR)
	$(INSTALL) -m 755 $(LIBRARIES:%=$(OUT)/%.so.$(VERSION)) \
		$(if $(CUDA),$(OUT)/$(CUDA_SONAME)) $(DESTDIR)$(LIBDIR)
	$(foreach l,$(LIBRARIES:%=$(DESTDIR)$(LIBDIR)/%.so), \
		ln -sf $(notdir $l).$(VERSION) $l.$(SOVERSION) && \
		ln -sf $(notdir $l).$(SOVERSION) $l &&) :
	$(INSTALL) -d $(addprefix $(DESTDIR)$(INCLUDEDIR)/annex/,detail models)
	$(foreach h,$(HEADERS),$(INSTALL) -m 644 $h $(DESTDIR)$(INCLUDEDIR)/$(h:include/%=%) &&) :
	$(foreach p,annex annex-models,$(pc) lib/$(p).pc.in \
		> $(DESTDIR)$(LIBDIR)/pkgconfig/$(p).pc &&) :
	$(INSTALL) -m 644 tools/completion.bash $(DESTDIR)$(COMPDIR)/annex
	$(INSTALL) -d $(DESTDIR)$(UNITDIR) $(if $(system),$(DESTDIR)/etc/annex)
	sed 's|/usr/bin/annex|$(BINDIR)/annex|' tools/systemd/annex-serve@.service \
		>$(DESTDIR)$(UNITDIR)/annex-serve@.service
	$(INSTALL) -m 644 tools/systemd/annex-serve@.socket $(DESTDIR)$(UNITDIR)
	$(INSTALL) -m 644 tools/udev/60-annex-ng.rules $(DESTDIR)$(UDEVDIR)
	$(INSTALL) -m 644 $(MAN7) $(DESTDIR)$(MANDIR)/man7
	$(if $(HELP2MAN),$(INSTALL) -m 644 $(BUILD)/man1/*.1 $(DESTDIR)$(MANDIR)/man1,@echo \
		"section 1 of the manual is left out: make man says what it needs")
	$(if $(KERNEL_DOC),$(INSTALL) -m 644 $(BUILD)/man/*.3 $(DESTDIR)$(MANDIR)/man3,@echo \
		"section 3 of the manual is left out: make man says what it needs")
	$(if $(DESTDIR),,ldconfig 2>/dev/null || :)

# What annex.ko needs: its sources, for DKMS to build, and who may open what it offers.
install-module:
	$(foreach f,dkms.conf $(MODULE_SRC), \
		$(INSTALL) -D -m 644 $(f) $(DESTDIR)$(DKMSDIR)/annex-$(VERSION)/$(f) &&) :
	sed -i 's/#MODULE_VERSION#/$(VERSION)/' $(DESTDIR)$(DKMSDIR)/annex-$(VERSION)/dkms.conf
	$(INSTALL) -d $(DESTDIR)$(UDEVDIR)
	$(INSTALL) -m 644 kernel/60-annex.rules $(DESTDIR)$(UDEVDIR)
	$(if $(DESTDIR),,$(if $(system),getent group annex >/dev/null || groupadd --system annex))

# Folders of install. uninstall removes them and those above where nothing else is in them, up to
# the tree or to folders that a system has anyway.
made_dirs = $(sort $(BINDIR) $(COMPDIR) $(LIBDIR)/pkgconfig $(UDEVDIR) \
	$(addprefix $(INCLUDEDIR)/annex/,detail models) $(UNITDIR) $(DKMSDIR) \
	$(addprefix $(MANDIR)/,man1 man3 man7) \
	$(if $(system),/etc/annex))
system_dirs = /etc /usr/lib /usr/src $(BINDIR) $(LIBDIR) $(LIBDIR)/pkgconfig $(INCLUDEDIR) \
	$(DATADIR) $(MANDIR)
kept_dirs = $(or $(patsubst %/,%,$(DESTDIR)),$(if $(system),$(system_dirs),\
	$(patsubst %/,%,$(dir $(PREFIX)))))

uninstall:
	rm -f $(addprefix $(DESTDIR)$(BINDIR)/,annex $(MODELS_BIN)) $(DESTDIR)$(COMPDIR)/annex
	rm -f $(foreach l,$(LIBRARIES),$(addprefix $(DESTDIR)$(LIBDIR)/$l,.a .so .so.$(SOVERSION) \
		.so.$(VERSION))) $(addprefix $(DESTDIR)$(LIBDIR)/,libannex-cuda.a $(CUDA_SONAME))
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/pkgconfig/,annex.pc annex-models.pc)
	rm -f $(HEADERS:include/%=$(DESTDIR)$(INCLUDEDIR)/%) $(addprefix $(DESTDIR)$(MANDIR)/,\
		man1/annex.1 man1/annex-*.1 man3/annex_*.3 man3/ANNEX_*.3 \
		$(MAN7:$(BUILD)/man/%=man7/%))
	rm -f $(addprefix $(DESTDIR)$(UDEVDIR)/60-annex,.rules -ng.rules) \
		$(DESTDIR)$(UNITDIR)/annex-serve@.service $(DESTDIR)$(UNITDIR)/annex-serve@.socket
	rm -rf $(DESTDIR)$(DKMSDIR)/annex-$(VERSION)
	$(Q)for dir in $(addprefix $(DESTDIR),$(made_dirs)); do \
		while case "$$dir" in \
			''|$(subst $(space),|,$(strip $(kept_dirs)))) false;; esac && \
			{ rmdir "$$dir" 2>/dev/null || [ ! -e "$$dir" ]; }; do dir=$${dir%/*}; \
		done; done
	$(if $(DESTDIR),,ldconfig 2>/dev/null || :)

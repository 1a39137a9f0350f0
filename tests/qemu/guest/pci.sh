# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Data goes through queues that user space fills itself to a controller and comes back as it was.
# machines: iommu
# limit: 180
. /test/lib.sh

with_module
head -c 4194304 /dev/urandom >data
claim "annex copy writes to it" annex copy data "$uri" --overwrite
claim "vectors are made" vectors
claim "their sum is written to it through a cache, and verified" sum "$uri"
claim "a pattern through 64 queue pairs" \
	annex verify "$uri" --bytes 8M --queues 64 --threads 64 --depth 8 --overwrite
claim "it is there for one" annex verify "$uri" --bytes 8M --threads 1 --read-only
claim "another is told apart" eval '! annex verify "$uri" --bytes 8M --seed 2 --read-only'
claim "a pattern in the largest commands" \
	annex verify "$uri" --bytes 8M --size 512K --depth 4 --overwrite
claim "a pattern of others" life fill "$uri"
start life load "$uri" 2000 term
claim "an owner reads" hears 20 loaded
claim "its health is told beside the owner" eval 'annex health "$uri" >health && cat health'
claim "with what the host has read" grep -q "read commands *[1-9]" health
claim "without a warning" grep -q "critical warnings *none" health
claim "the controller warns" host qom-set path=/machine/peripheral/nvme0 \
	property=smart_critical_warning value=12
claim "the warnings are told" \
	eval 'annex health "$uri" --json | tr -d "\n" | grep -q "less reliable.*read only"'
claim "no more" host qom-set path=/machine/peripheral/nvme0 property=smart_critical_warning value=0
claim "the owner is told to end" kill -TERM $pid
claim "it does, after a call that succeeds" hears 20 verified
claim "it ends well" ended 0
claim "it unloads" rmmod annex
claim "a controller that is not bound is told" refused "not bound to annex" annex health "$uri"

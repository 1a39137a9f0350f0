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
claim "it unloads" rmmod annex

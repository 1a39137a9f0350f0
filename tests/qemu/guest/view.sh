# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# The owner sees its own part of the controller, through resets too, and nothing else.
. /test/lib.sh

with_module
claim "all that can be seen is as it should be" view "$address"
claim "data goes to the controller and comes back as it was" place "$uri" any any
claim "it unloads" rmmod annex

// SPDX-License-Identifier: MIT
/*
 * The URIs of near-data devices.
 */
#include "core/scheme.h"
#include "m2.h"

/* Each kind of device. */
static const struct {
	struct annex_scheme scheme;
	int (*open)(const char *uri, const struct annex_m2_opts *opts, struct annex_m2 **out);
} kinds[] = {
	{{"ndp", "one that another process serves, as ndp:/run/annex-ndp.sock", ANNEX_TRAIT_PATH},
	 m2_open_remote},
	{{"pci", "the range's own, as pci:0000:0d:00.0?m2func=2M", ANNEX_TRAIT_PCI}, m2_open_pci},
};

const struct annex_scheme *annex_m2_scheme_at(unsigned int i)
{
	return i < sizeof(kinds) / sizeof(kinds[0]) ? &kinds[i].scheme : NULL;
}

int annex_m2_open(const char *uri, const struct annex_m2_opts *opts, struct annex_m2 **out)
{
	int kind = scheme_find(uri, annex_m2_scheme_at);

	return kind < 0 ? scheme_unknown(uri, annex_m2_scheme_at)
			: kinds[kind].open(uri, opts, out);
}

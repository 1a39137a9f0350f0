// SPDX-License-Identifier: MIT
/* The public headers as a C++ program sees them; C names must stay C names. */
#include <annex/array.h>
#include <annex/cache.h>
#include <annex/cuda.h>
#include <annex/device.h>
#include <annex/hdm.h>
#include <annex/log.h>
#include <annex/provider.h>
#include <annex/queue.h>
#include <annex/uri.h>

int main()
{
	annex_dev *dev;

	return annex_dev_open("mem:1M", nullptr, &dev) ||
	       annex_qp_wait(annex_dev_qp(dev), 0, nullptr, annex_now());
}

// SPDX-License-Identifier: MIT
/* Small objects, more of them than 47 MiB have room for, and a word at the end. */
#include <iostream>

int main()
{
	char *last = nullptr;
	long n = 0;

	for (; n < 500000; n++) {
		char *p = new char[100];
		*reinterpret_cast<char **>(p) = last;
		last = p;
	}
	std::cout << n << " objects\n";
	return 0;
}

// SPDX-License-Identifier: MIT
/* heap [N]: so many objects of 100 bytes, and a word at the end. */
#include <cstdlib>
#include <iostream>

int main(int argc, char **argv)
{
	long most = argc > 1 ? std::atol(argv[1]) : 100000;
	char *last = nullptr;
	long n = 0;

	for (; n < most; n++) {
		char *p = new char[100];
		*reinterpret_cast<char **>(p) = last;
		last = p;
	}
	std::cout << n << " objects\n";
	return 0;
}

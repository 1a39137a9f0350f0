// SPDX-License-Identifier: MIT
/*
 * The commands of annex that tests in guests run. What these do not reach is not linked, so that a
 * change of it boots no guest.
 */
#include "tools/common/commands.h"

const struct cli_command tool_commands[] = {
	{"vadd", cmd_vadd, "add two vectors on storage into a third"},
	{"copy", cmd_copy, "write a file's image to devices, striped or replicated"},
	{"verify", cmd_verify, "write patterns to a device and check that they come back"},
	{"ndp", cmd_ndp, "run programs on a near-data processor in software"},
	{"serve", cmd_serve, "share parts of one device between processes without rights on it"},
	{"part", cmd_part, "add, change and remove parts of a served device"},
	{"bench", cmd_bench, "measure how fast devices, memory ranges and GPU threads are"},
	{"list", cmd_list, "show NVMe controllers and CXL memory devices, and their users"},
	{"bind", cmd_bind, "bind NVMe controllers and CXL memory to the kernel module annex"},
	{"unbind", cmd_unbind, "return them to the kernel's own drivers"},
	{"health", cmd_health, "show how an NVMe controller says that it is"},
	{"poison", cmd_poison, "show and clear the poison list of a CXL memory device"},
	{"doctor", cmd_doctor, "report missing requirements of each kind of device"},
	{NULL, NULL, NULL}};

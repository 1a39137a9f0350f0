// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/common/commands.h"

const struct cli_command tool_commands[] = {
	{"graph", cmd_graph, "make graphs, import them, and search them on storage"},
	{"scan", cmd_scan, "sum columns where another column passes a filter"},
	{"query", cmd_query, "answer TPC-H and SSB queries, filters evaluated near the data"},
	{"trace", cmd_trace, "show and make traces of training iterations"},
	{"plan", cmd_plan, "plan when each tensor leaves the GPU and when it returns"},
	{"simulate", cmd_simulate, "simulate how fast a plan or a policy runs, and what bounds it"},
	{"vadd", cmd_vadd, "add two vectors on storage into a third"},
	{"copy", cmd_copy, "write a file's image to devices, striped or replicated"},
	{"verify", cmd_verify, "write patterns to a device and check that they come back"},
	{"ndp", cmd_ndp, "run programs on a near-data processor in software"},
	{"cxl", cmd_cxl, "run programs on simulated memory of CXL-SSDs"},
	{"fs", cmd_fs, "file systems on CXL-SSDs"},
	{"serve", cmd_serve, "share parts of one device between processes without rights on it"},
	{"part", cmd_part, "add, change and remove parts of a served device"},
	{"bench", cmd_bench, "measure how fast devices, memory ranges and GPU threads are"},
	{"list", cmd_list, "show NVMe controllers and CXL memory devices, and their users"},
	{"bind", cmd_bind, "bind NVMe controllers and CXL memory to the kernel module annex"},
	{"unbind", cmd_unbind, "return them to the kernel's own drivers"},
	{"health", cmd_health, "show how an NVMe controller says that it is"},
	{"poison", cmd_poison, "show and clear the poison list of a CXL memory device"},
	{"doctor", cmd_doctor, "report missing requirements of each kind of device"},
	{"selftest", cmd_selftest, "check storage with random work, compared with plain arrays"},
	{NULL, NULL, NULL}};

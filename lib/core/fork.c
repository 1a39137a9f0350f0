// SPDX-License-Identifier: MIT
#include <errno.h>
#include <pthread.h>
#include "fork.h"
#include "log.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock;
static struct fork_watch *list;

static void before(void)
{
	pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
	for (struct fork_watch *w = list; w; w = w->next) {
		w->child = true;
		if (w->in_child)
			w->in_child(w);
	}
	pthread_mutex_unlock(&lock);
}

static void fork_init(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_atfork(before, in_parent, in_child);
}

void fork_watch(struct fork_watch *w)
{
	pthread_once(&once, fork_init);
	pthread_mutex_lock(&lock);
	w->next = list;
	list = w;
	pthread_mutex_unlock(&lock);
}

void fork_forget(struct fork_watch *w)
{
	pthread_once(&once, fork_init);
	pthread_mutex_lock(&lock);
	for (struct fork_watch **at = &list; *at; at = &(*at)->next) {
		if (*at == w) {
			*at = w->next;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
}

int fork_refuse(const char *name)
{
	return annex_fail(-ECHILD, "%s: opened before fork(): open it in the child", name);
}

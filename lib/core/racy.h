/* SPDX-License-Identifier: MIT */
/*
 * Stretches that copy memory that others may be changing, as a device does: a line that is
 * changed while its write is in flight is dirty again afterwards. ANNEX_RACY hides only a function
 * itself from the race detector; the stretch hides its callees, memcpy() too. A suppression by
 * name would not do: the detector forgets the stack of an older access, and then reports it.
 */
#ifndef ANNEX_CORE_RACY_H
#define ANNEX_CORE_RACY_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ANNEX_RACES_WATCHED 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define ANNEX_RACES_WATCHED 1
#endif

#ifdef ANNEX_RACES_WATCHED
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#define annex_racy_begin() AnnotateIgnoreReadsBegin(__FILE__, __LINE__)
#define annex_racy_end() AnnotateIgnoreReadsEnd(__FILE__, __LINE__)
#define annex_racy_writes_begin() AnnotateIgnoreWritesBegin(__FILE__, __LINE__)
#define annex_racy_writes_end() AnnotateIgnoreWritesEnd(__FILE__, __LINE__)
#else
#define annex_racy_begin() ((void)0)
#define annex_racy_end() ((void)0)
#define annex_racy_writes_begin() ((void)0)
#define annex_racy_writes_end() ((void)0)
#endif

#endif

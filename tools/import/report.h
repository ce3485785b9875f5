/*-------------------------------------------------------------------------
 *
 * report.h
 *		Reports of an import, for people and for their files.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_IMPORT_REPORT_H
#define TWT_IMPORT_REPORT_H

#include "libpq-fe.h"

#include "tools/import/tally.h"

/* Prints a line about one task: a word, its id, status and type, and the reason if not NULL. */
extern void report_task(const char *word, const PGresult *page, int row, const char *reason);

/* Prints the counts by status and type. */
extern void report_tallies(const Tallies *tallies);

/*
 * Prints the counts and hashes by status.  counts has how many tasks of each status
 * the source has now.  Returns whether everything agrees.
 */
extern bool report_proofs(const Tallies *tallies, const PGresult *counts) MUSTCHECK;

#endif							/* TWT_IMPORT_REPORT_H */

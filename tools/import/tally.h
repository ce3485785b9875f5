/*-------------------------------------------------------------------------
 *
 * tally.h
 *		Counts of an import: by status and type as they were read, and by the status
 *		that tasks get.
 *
 *		from: course.c			to: report.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_IMPORT_TALLY_H
#define TWT_IMPORT_TALLY_H

/* Tasks of one status and type of the source, in one reading of it. */
typedef struct Tally
{
	char	   *status;
	char	   *type;
	int64		tasks;
	int64		added;			/* or fit, if nothing is stored */
	int64		present;
	int64		gone;			/* see import_tasks() */
	int64		refused;
	int64		clamped;		/* fit, with a priority that is not ours */
} Tally;

#define HASH_BYTES 32

/* Tasks of one status of the target, compared. */
typedef struct Proof
{
	char	   *status;
	int64		same;
	int64		moved;			/* went on since they were imported */
	int64		gone;			/* see import_tasks() */
	int64		missing;
	int64		differs;

	/* Sums, modulo 2, of the hashes of tasks that neither moved nor are gone. */
	unsigned char source[HASH_BYTES];
	unsigned char target[HASH_BYTES];
} Proof;

typedef struct Tallies Tallies;

extern Tallies *tallies_new(void);
extern void tallies_free(Tallies *tallies);

/* Made by the first call for a status and type. */
extern Tally *tallies_of(Tallies *tallies, const char *status, const char *type);
extern Proof *tallies_proof(Tallies *tallies, const char *status);

/* Sorted, up to *n (palloc'd array; the elements stay ours). */
extern Tally **tallies_all(const Tallies *tallies, int *n);
extern Proof **tallies_proofs(const Tallies *tallies, int *n);

/* The sum over all types, of one status or, if it is NULL, of all. */
extern Tally tallies_sum(const Tallies *tallies, const char *status);

#endif							/* TWT_IMPORT_TALLY_H */

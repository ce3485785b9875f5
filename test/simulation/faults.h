/*-------------------------------------------------------------------------
 *
 * faults.h
 *		What fails in a run, and what people do meanwhile.
 *
 * Each run has its own mix: chance says for each kind how often it comes, and half of
 * the kinds do not come at all.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_FAULTS_H
#define SIM_FAULTS_H

/* At the begin: whether transactions of users lock rows. */
extern void faults_choose_locks(void);

/* Begins with faults and tasks, for so long.  is_light: only what a sidecar heals at once. */
extern void faults_begin(int64 us, bool is_light);

/* Adds n tasks, fewer than ACTS_AT_ONCE, each of them an act. */
extern void faults_add_tasks(int n);

/* The same for a flood of mostly urgent tasks of one type and bucket; n may be 0 or less. */
extern void faults_add_to_flood(int n, int type, int bucket);

/* Ends all that still lasts: the server is up, the network whole, no machine frozen. */
extern void faults_end(void);

/* Whether faults still come. */
extern bool faults_last(void);

/* How long a machine stays down after a kill or a drain. */
extern int64 faults_down_us(void);

#endif							/* SIM_FAULTS_H */

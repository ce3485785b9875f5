/*-------------------------------------------------------------------------
 *
 * news.h
 *		One notification in flight for each bucket.
 *
 *		from: commit.c			to: sql/queue/late_commits.sql
 *
 * PostgreSQL lets transactions that notify commit one after the other: each
 * holds a lock of the whole database while it waits for the disk.  So a
 * transaction that commits while another one's notification for the same bucket
 * is on its way sends none, and the sidecar looks at the table once more after
 * news.
 *
 * A transaction that left its notification out may commit after the sidecar's
 * look.  So it counts as late from before it decides until its tasks are
 * visible.  late_commits() names the buckets with late transactions.  A sidecar
 * asks that first and looks then, again and again until none is late:
 *
 *	 1. The transaction counts as late, then finds a notification on its way, of a
 *		transaction whose tasks are not visible yet.
 *	 2. No session reads that notification before those tasks are visible, so the
 *		sidecar asks after 1.
 *	 3. If the transaction is no longer late, the look after that sees its tasks.
 *
 * The locks below end with the transaction, after its tasks are visible, also in
 * a crash.  A transaction that notifies and then fails leaves the tasks of others
 * to the next news or the sweep.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_NEWS_H
#define TWT_NEWS_H

/*
 * Whether the transaction, about to commit, has to notify the bucket's sidecars
 * of tasks that they find in the table.  False: a notification is on its way,
 * and each sidecar that heard of late_commits() looks once more after it.
 */
extern bool news_must_tell(const char *bucket);

#endif							/* TWT_NEWS_H */

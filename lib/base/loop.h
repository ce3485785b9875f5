/*-------------------------------------------------------------------------
 *
 * loop.h
 *		The event loop: descriptors, timers, signals, end-of-turn work.
 *
 * One thread, one loop; nothing that the loop calls may block.  Other code knows
 * only this header, so that a test can replace the loop and the clock.
 *
 * A turn waits until something happens, calls back for descriptors, signals
 * and timers, then calls the functions of loop_on_turn(), then frees what was
 * given to loop_defer_free().  A callback may free any object, its own
 * included.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LOOP_H
#define TWT_LOOP_H

typedef struct Loop Loop;
typedef struct LoopIo LoopIo;
typedef struct LoopTimer LoopTimer;

#define LOOP_READ 1
#define LOOP_WRITE 2

/* ready: LOOP_READ and/or LOOP_WRITE */
typedef void (*LoopIoFn) (void *arg, int ready);
typedef void (*LoopFn) (void *arg);

/* NULL, with errno, when the machine has no descriptors left for it. */
extern Loop *loop_new(void);

/* All I/O and timers must have been freed. */
extern void loop_free(Loop *loop);

/* Runs until loop_stop(), which may also have been called before. */
extern void loop_run(Loop *loop);
extern void loop_stop(Loop *loop);

/*
 * Monotonic time in microseconds; moves also while the machine sleeps.  Threads
 * beside the loop ask with NULL.
 */
extern int64 loop_now_us(Loop *loop);

/*
 * Watches fd, which stays the caller's and must be non-blocking.  Nothing is
 * reported before loop_io_want() names what to wait for (0 pauses).  An older
 * LoopIo of that number pauses: its file must have been closed.
 */
extern LoopIo *loop_io_new(Loop *loop, int fd, LoopIoFn fn, void *arg);
extern void loop_io_want(LoopIo *io, int want);
extern void loop_io_free(LoopIo *io);

/*
 * A timer fires once after each loop_timer_start(); starting a running timer
 * moves it.  delay_us below 0 counts as 0.
 */
extern LoopTimer *loop_timer_new(Loop *loop, LoopFn fn, void *arg);
extern void loop_timer_start(LoopTimer *timer, int64 delay_us);
extern void loop_timer_stop(LoopTimer *timer);
extern bool loop_timer_active(const LoopTimer *timer);
extern void loop_timer_free(LoopTimer *timer);

/*
 * Calls fn in the loop after signo has arrived, however often it did.  The calling
 * thread blocks signo from now on, also after loop_free(); other threads must
 * block it too.
 */
extern void loop_on_signal(Loop *loop, int signo, LoopFn fn, void *arg);

/*
 * Calls fn at the end of every turn in which something happened, in order of
 * registration.  It serves work that a whole turn collects, such as one
 * statement for all tasks that ended in the turn.
 */
extern void loop_on_turn(Loop *loop, LoopFn fn, void *arg);

/* Undoes loop_on_turn() of the same fn and arg; allowed at any moment. */
extern void loop_off_turn(Loop *loop, LoopFn fn, void *arg);

/*
 * Makes sure that the functions of loop_on_turn() run after this call, even if
 * nothing else happens.  The call costs nothing if they would run anyway.
 */
extern void loop_want_turn(Loop *loop);

/*
 * Frees pointer with pfree() at the end of the turn, since callbacks may still
 * use it.
 */
extern void loop_defer_free(Loop *loop, void *pointer);

#endif							/* TWT_LOOP_H */

/*-------------------------------------------------------------------------
 *
 * kernel.h
 *		System calls and the start of a program, without a C library.
 *
 * A static C library needs more time to start than all the rest of twtasks-run
 * (docs/decisions/house.md).  On processors other than x86-64 the library starts
 * the program, and the calls are its own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_KERNEL_H
#define TWT_KERNEL_H

#include <errno.h>
#include <sys/syscall.h>

/* The program.  argv and environment end with a NULL. */
extern void run_main(char **argv, char **environment) __attribute__((noreturn));

/*
 * vfork(): until the child executes or exits, it runs in our memory and we wait.
 * Returns a negative errno on failure.
 */
extern long kernel_vfork(void) __attribute__((returns_twice));

/* Returns the result, or a negative errno. */
#define KERNEL(number, a, b, c, d, e) \
	kernel_call(number, (const long[]) {(long) (a), (long) (b), (long) (c), (long) (d), (long) (e)})

#if defined(__x86_64__)

static inline long
kernel_call(long number, const long *arguments)
{
	register long r10 __asm__("r10") = arguments[3];
	register long r8 __asm__("r8") = arguments[4];
	long		result;

	__asm__ volatile ("syscall"
					  :"=a" (result)
					  :"a"(number), "D"(arguments[0]), "S"(arguments[1]), "d"(arguments[2]), "r"(r10), "r"(r8)
					  :"rcx", "r11", "memory");

	return result;
}

/* The child returns first and overwrites the return address on the stack. */
#define KERNEL_START \
	__asm__(".text\n" \
			".globl _start\n" \
			"_start:\n" \
			"	xor %ebp, %ebp\n" \
			"	mov (%rsp), %rax\n" \
			"	lea 8(%rsp), %rdi\n" \
			"	lea 16(%rsp,%rax,8), %rsi\n" \
			"	and $-16, %rsp\n" \
			"	call run_main\n" \
			".globl kernel_vfork\n" \
			"kernel_vfork:\n" \
			"	pop %rdx\n" \
			"	mov $58, %eax\n" \
			"	syscall\n" \
			"	push %rdx\n" \
			"	ret\n")

#else

#include <unistd.h>

#define kernel_vfork() kernel_result(vfork())

static inline long
kernel_result(long result)
{
	return result == -1 ? -errno : result;
}

static inline long
kernel_call(long number, const long *a)
{
	return kernel_result(syscall(number, a[0], a[1], a[2], a[3], a[4]));
}

#define KERNEL_START \
	int \
	main(int argc, char **argv, char **environment) \
	{ \
		run_main(argv, environment); \
	}

#endif

#endif							/* TWT_KERNEL_H */

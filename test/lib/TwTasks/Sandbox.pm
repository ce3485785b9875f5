# Sandbox.pm -- system calls that the kernel refuses from now on, to this process and to
# all that it starts, as an older kernel or a sandbox does.

package TwTasks::Sandbox;

use strict;
use warnings FATAL => 'all';

use constant {
	PR_SET_NO_NEW_PRIVS => 38,
	PR_SET_SECCOMP => 22,
	SECCOMP_MODE_FILTER => 2,
	ALLOW => 0x7fff0000,
	FAIL => 0x00050000
};

# Instructions of a filter: struct sock_filter
use constant { LOAD => 0x20, JUMP_IF_EQUAL => 0x15, RETURN => 0x06 };
use constant { NUMBER => 0, FIRST_ARGUMENT => 16 };

# The number of a system call; undef: nothing here knows it.
sub number
{
	my ($name) = @_;

	return eval { require 'syscall.ph' } ? eval { __PACKAGE__->can("SYS_$name")->() } : undef;
}

sub filter
{
	my (@instructions) = @_;
	my $code = join '', map { pack 'S C C L', @$_ } @instructions;
	my $program = pack 'S x![P] P', scalar @instructions, $code;

	die "could not give up privileges: $!" if syscall(number('prctl'), PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0;
	die "could not set the filter: $!" if syscall(number('prctl'), PR_SET_SECCOMP, SECCOMP_MODE_FILTER, $program) != 0;
	return;
}

# These calls fail with that number of an error.  A later filter is asked first.
sub refuse
{
	my ($error, @names) = @_;

	filter(
		[ LOAD, 0, 0, NUMBER ],
		map({ ([ JUMP_IF_EQUAL, 0, 1, number($_) ], [ RETURN, 0, 0, FAIL | $error ]) } @names),
		[ RETURN, 0, 0, ALLOW ]);
	return;
}

# This call fails with that error if its first argument is that value.
sub refuse_argument
{
	my ($error, $name, $value) = @_;

	filter(
		[ LOAD, 0, 0, NUMBER ], [ JUMP_IF_EQUAL, 0, 3, number($name) ],
		[ LOAD, 0, 0, FIRST_ARGUMENT ], [ JUMP_IF_EQUAL, 0, 1, $value ],
		[ RETURN, 0, 0, FAIL | $error ], [ RETURN, 0, 0, ALLOW ]);
	return;
}

1;

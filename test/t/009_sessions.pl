# 009_sessions.pl -- a session of the tests takes no answer for one when the server says
# beside it that it crashes or ends.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Session;

my $node = TwTasks::Cluster->create('main');
my $session = $node->session;

sub warn_with
{
	my ($state) = @_;

	return "DO \$\$ BEGIN RAISE WARNING 'a warning' USING ERRCODE = '$state'; END \$\$; SELECT 'an answer'";
}

like($session->query(warn_with('01000')), qr/^an answer$/m, 'a query may have a warning beside its answer');
foreach my $state (qw(57P01 57P02 57P03))
{
	my $text = eval { $session->query(warn_with($state)) };

	is($text, undef, "a query fails at a warning with $state");
	like($@, qr/^WARNING:  $state: a warning\n(?:.*\n)?an answer$/m, 'the failure says all of it');
	is($node->value_or_undef(warn_with($state)), undef, 'nor is it an answer where the server may be away');
}
is(eval { $session->query('SELECT 1 / 0') }, undef, 'a query fails at an error');
is($session->query('SELECT 1'), 1, 'the session goes on');
ok(TwTasks::Session::has_ended("1\nended"), 'what a producer has stored is stored');
ok(!TwTasks::Session::has_ended("WARNING:  01000: canceling wait for synchronous replication\nended"), 'beside a warning it is not known');

$node->value('SELECT pg_terminate_backend(' . $session->backend_pid . ')');
is(eval { $session->query('SELECT 1') }, undef, 'a query fails when its session has ended');
done_testing();

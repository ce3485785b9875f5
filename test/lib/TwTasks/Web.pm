# Web.pm -- twtasks-web beside a server of the tests: started, stopped, reloaded
# and read as the sidecars are.

package TwTasks::Web;

use strict;
use warnings FATAL => 'all';

use TwTasks::Sidecar;

our @ISA = ('TwTasks::Sidecar');

sub program
{
	return $ENV{TWTASKS_WEB}
	  || die "TWTASKS_WEB must name the program twtasks-web\n";
}

sub config_for
{
	my ($node, $name, %config) = @_;

	return { postgres => $node->connstr('postgres') . ' user=web', %config };
}

# Starts the process (again) and waits until it serves.
sub run
{
	my ($self) = @_;

	$self->launch;
	$self->wait_for_log(qr/listening on/, "start of twtasks-web");
	return $self;
}

1;

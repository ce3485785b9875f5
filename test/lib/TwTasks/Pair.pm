# Pair.pm -- a server and its synchronous standby, which take turns.
#
# Commits wait for the standby, also while there is none.  Clients name both servers and
# find the one that takes writes.  Each server keeps its port.

package TwTasks::Pair;

use strict;
use warnings FATAL => 'all';

use File::Path qw(rmtree);
use PostgreSQL::Test::Utils;
use TwTasks::Cluster;
use TwTasks::Disk;
use TwTasks::Wait;

my %conf = (
	synchronous_standby_names => q{'*'},
	shared_buffers => '32MB',
	max_wal_size => '1GB',
	wal_keep_size => '1GB');

# Options as for TwTasks::Cluster->create().
sub create
{
	my ($class, %options) = @_;
	my $node = TwTasks::Cluster->create('main', %options, init => { allows_streaming => 'logical' });
	my $self = bless { primary => $node, standby => TwTasks::Cluster->new('other') }, $class;

	$self->{standby}{_twt_disk} = TwTasks::Disk->new if $node->disk;
	$node->append_conf('postgresql.conf', join '', map { "$_ = $conf{$_}\n" } sort keys %conf);
	$node->stop;
	$node->start;
	$self->attach;
	return $self;
}

sub primary { return $_[0]{primary} }
sub standby { return $_[0]{standby} }
sub nodes   { return @{ $_[0] }{qw(primary standby)} }

# Makes the standby from nothing, and waits until commits wait for it alone.
sub attach
{
	my ($self) = @_;
	my ($primary, $standby) = $self->nodes;
	my ($host, $port) = ($standby->host, $standby->port);

	rmtree($standby->data_dir);
	PostgreSQL::Test::Utils::system_or_bail('pg_basebackup', '-D', $standby->data_dir, '-d', $primary->connstr,
		'--checkpoint', 'fast', '--no-sync');
	$standby->append_conf('postgresql.conf', "port = $port\nunix_socket_directories = '$host'");
	$standby->enable_streaming($primary);
	$standby->start;
	wait_for(sub { ($primary->value_or_undef(q(SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync')) // 0) > 0 },
		'the standby');
	return;
}

# The primary crashes, and its standby takes over.  "between" comes before that.
sub switch
{
	my ($self, $between) = @_;
	my ($primary, $standby) = $self->nodes;

	$primary->stop('immediate');
	$between->() if $between;
	$standby->promote;
	@$self{qw(primary standby)} = ($standby, $primary);
	wait_for(sub { ($standby->value_or_undef('SELECT pg_is_in_recovery()') // '') eq 'f' }, 'the promotion');
	return;
}

1;

# Sidecar.pm -- sidecars of a server of the tests.
#
# All that were started are killed when the test ends, however it ends.

package TwTasks::Sidecar;

use strict;
use warnings FATAL => 'all';

use File::Basename;
use File::Copy;
use JSON::PP;
use POSIX qw(WNOHANG);
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Wait;

my @started;
my $number = 0;
my $program = $ENV{TWTASKSD}
  || die "TWTASKSD must name the program twtasksd\n";

# The program of today, unless a test gave the sidecar another one.
sub program
{
	my ($self) = @_;

	return ref $self && $self->{program} || $program;
}

# The path of a program that comes with twtasksd, such as "http".
sub beside
{
	my ($name) = @_;
	my ($directory) = $program =~ m{^(.*)/};

	return (grep { -x } map { "$_/twtasks-$name" } $directory, "$directory/../workers/$name")[0];
}

# Makes a copy of twtasksd, whose other programs the caller replaces.
sub copy_alone
{
	my ($directory) = @_;

	copy($program, "$directory/twtasksd") && chmod(oct 755, "$directory/twtasksd") &&
	  symlink(beside('run'), "$directory/twtasks-run") || die "could not copy: $!";
	return;
}

# YAML is a superset of JSON.
sub write_config
{
	my ($path, $config) = @_;

	open my $file, '>', $path or die "could not write \"$path\": $!";
	print $file ref $config
	  ? JSON::PP->new->canonical->pretty->encode($config)
	  : $config;
	close $file;
	chmod oct 600, $path;
	return $path;
}

# A configuration for this server and a sidecar of that name.  Workers have
# many tasks in flight, unless a test says otherwise: so more can go wrong.
sub config_for
{
	my ($node, $name, %config) = @_;

	$config{handlers} =
	  [ map { $_->{worker} ? { prefetch => 64, %$_ } : $_ } @{ $config{handlers} } ]
	  if $config{handlers};
	return {
		postgres => $node->connstr('postgres') . ' user=sidecar',
		node => $name,
		%config
	};
}

# A sidecar of that name, started.
sub start
{
	my ($class, @rest) = @_;

	return $class->prepare(@rest)->run;
}

# The same, not started yet.  After the name comes the configuration; with
# "env", a hash, more is put into its environment; "program" is another program.
sub prepare
{
	my ($class, $node, $name, %config) = @_;
	my $env = delete $config{env} || {};
	my $other = delete $config{program};
	my $directory = PostgreSQL::Test::Utils::tempdir();
	my $self = bless {
		node => $node,
		name => $name,
		env => $env,
		program => $other,
		config_path => "$directory/twtasks.yaml",
		log_offset => 0,
		log_path => "$PostgreSQL::Test::Utils::log_path/"
		  . basename($0, '.pl') . '.'
		  . ++$number
		  . ".$name.log"
	}, $class;

	$node->configure_buckets(@{ $config{buckets} || [] }) if $node;
	$self->{config} = $class->can('config_for')->($node, $name, %config);
	push @started, $self;
	return $self;
}

# Starts the process (again) and waits until it has an incarnation.
sub run
{
	my ($self) = @_;

	$self->launch;
	$self->{incarnation} =
	  $self->wait_for_log(qr/started as incarnation (\d+)/,
		"start of sidecar $self->{name}");
	return $self;
}

sub launch
{
	my ($self) = @_;

	write_config($self->{config_path}, $self->{config});
	PostgreSQL::Test::Utils::append_to_file($self->{log_path}, '');
	$self->{log_offset} = -s $self->{log_path};
	delete $self->{status};
	$self->{pid} = fork // die "could not fork: $!";
	return $self if $self->{pid};

	delete $ENV{PGAPPNAME};
	%ENV = (%ENV, %{ $self->{env} });
	open STDIN, '<', '/dev/null'         or POSIX::_exit(126);
	open STDERR, '>>', $self->{log_path} or POSIX::_exit(126);
	exec { $self->program } $self->program, '--config', $self->{config_path}
	  or POSIX::_exit(127);
}

# The log of the process that was started last, or the rest of it.
sub log
{
	my ($self, $offset) = @_;

	return PostgreSQL::Test::Utils::slurp_file($self->{log_path},
		$offset // $self->{log_offset});
}

# Where the log ends now, for those who want to see only what comes then.
sub log_position
{
	return -s $_[0]->{log_path};
}

# Waits for a line; returns what is in the first parentheses, or true.  While the process
# lives, the last line may be there in part: see TwTasks::Ledger.
sub wait_for_log
{
	my ($self, $regexp, $what, $offset) = @_;
	my $found;

	$what //= "$regexp";
	wait_for(
		sub {
			my $has_exited = $self->has_exited;
			my $log = $self->log($offset);
			my $lines = $has_exited ? $log : substr $log, 0, 1 + rindex $log, "\n";

			return $found = $1 // 1 if $lines =~ $regexp;
			die "sidecar $self->{name} has exited; wanted: $what\n" if $has_exited;
			return 0;
		},
		$what);
	return $found;
}

sub pid
{
	return $_[0]->{pid};
}

# Returns the incarnation of its last start.
sub incarnation
{
	return $_[0]->{incarnation};
}

sub signal
{
	my ($self, $signal) = @_;

	return kill $signal => $self->{pid};
}

# Stops the process where it is, and waits until it stands.
sub freeze
{
	my ($self) = @_;

	kill STOP => $self->{pid};
	wait_for(
		sub { process_state($self->{pid}) =~ /^[Tt]/ },
		"sidecar $self->{name} to stand still");
	return;
}

sub has_exited
{
	my ($self) = @_;

	return 1 unless $self->{pid};
	return 1 if defined $self->{status};
	return 0 unless waitpid($self->{pid}, WNOHANG) == $self->{pid};
	$self->{status} = $?;
	return 1;
}

# Waits for the end of the process; returns its wait status.
sub wait_for_exit
{
	my ($self, $seconds) = @_;

	wait_for(sub { $self->has_exited },
		"end of sidecar $self->{name}", $seconds);
	return $self->{status};
}

# As by a crash.
sub kill9
{
	my ($self) = @_;

	$self->signal('KILL') unless $self->has_exited;
	return $self->wait_for_exit;
}

# The same, under the name that it has for other servers of the tests.
sub crash
{
	my ($self) = @_;

	$self->kill9;
	return 1;
}

# In order; returns the wait status.
sub stop
{
	my ($self) = @_;

	$self->signal('TERM') unless $self->has_exited;
	return $self->wait_for_exit;
}

# Another configuration, read by SIGHUP.
sub reload
{
	my ($self, $config) = @_;

	write_config($self->{config_path}, $config);
	$self->signal('HUP');
	return;
}

# Changes by a statement what the database tells all sidecars, "policies" or
# "limits", and waits until these have read it.  Their log level is debug.
sub configure
{
	my ($what, $sql, @sidecars) = @_;
	my @positions = map { $_->log_position } @sidecars;

	$sidecars[0]{node}->value($sql);
	$_->wait_for_log(qr/: read \d+ $what/, "the new $what", shift @positions)
	  foreach @sidecars;
	return;
}

# Waits until a commit from now on wakes this sidecar's node, so that nothing
# but a trigger can bring a new task soon.
sub wait_until_idle
{
	my ($self) = @_;

	wait_for(
		sub {
			$self->{node}->value(
				"SELECT count(*) > 0 FROM pg_stat_activity
				WHERE application_name = 'twtasksd queue'
				  AND ((query LIKE 'CALL %' AND state = 'active')
					   OR (query ~ '^LISTEN |late_commits' AND state = 'idle'))") eq 't'
			  && $self->{node}->value(
				"SELECT count(*) = 0 FROM pg_stat_activity
				WHERE application_name IN ('twtasksd control', 'twtasksd grab',
										   'twtasksd finish', 'twtasksd duties')
				  AND state <> 'idle'") eq 't';
		},
		"sidecar $self->{name} to wait for triggers");
	return;
}

# ---- processes ----

sub children_of
{
	my ($pid) = @_;

	return split ' ', eval { PostgreSQL::Test::Utils::slurp_file("/proc/$pid/task/$pid/children") } // '';
}

# The processes of handlers; each has a twtasks-run as its parent.
sub programs
{
	my ($self) = @_;

	return map { children_of($_) } children_of($self->pid);
}

# The processes of handlers, and their parents.
sub processes
{
	my ($self) = @_;

	return map { ($_, children_of($_)) } children_of($self->pid);
}

# The letter of /proc/PID/stat; '' when there is no such process, 'Z' counts
# as none.
sub process_state
{
	my ($pid) = @_;
	my $text =
	  eval { PostgreSQL::Test::Utils::slurp_file("/proc/$pid/stat") } // '';

	return $text =~ /\) ([^Z])/ ? $1 : '';
}

sub is_running
{
	return process_state($_[0]) ne '';
}

# A number of /proc/PID/status, in kB where it is a size.
sub memory
{
	my ($self, $name) = @_;
	my $text =
	  PostgreSQL::Test::Utils::slurp_file("/proc/$self->{pid}/status");

	return $text =~ /^$name:\s+(\d+)/m ? $1 : die "no $name in status\n";
}

# How many descriptors it has open.
sub descriptors
{
	my ($self) = @_;

	return scalar(() = glob "/proc/$self->{pid}/fd/*");
}

# Seconds of processor time so far.
sub processor_time
{
	my ($self) = @_;
	my $text = PostgreSQL::Test::Utils::slurp_file("/proc/$self->{pid}/stat");
	my @fields = split / /, $text =~ s/^.*\) //sr;

	return ($fields[11] + $fields[12]) / POSIX::sysconf(&POSIX::_SC_CLK_TCK);
}

# ---- the end ----

push @TwTasks::Wait::on_failure, sub {
	foreach my $self (@started)
	{
		my @lines = split /\n/, $self->log(0);

		splice @lines, 0, -15;
		diag("log of sidecar $self->{name}:\n  " . join("\n  ", @lines));
	}
};

sub kill_all
{
	foreach my $self (@started)
	{
		next if $self->has_exited;
		kill KILL => $self->{pid};
		kill CONT => $self->{pid};
		waitpid $self->{pid}, 0;
		$self->{status} = $?;
	}
	return;
}

END
{
	my $status = $?;

	kill_all();
	$? = $status;
}

1;

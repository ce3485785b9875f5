# Move.pm -- moves the tasks of a database to another one by share/move/move-out.sql.

package TwTasks::Move;

use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use PostgreSQL::Test::Utils;
use TwTasks::Session;

my $script = abs_path(dirname(__FILE__) . '/../../../share/move/move-out.sql');

# Between databases of this cluster.
sub new
{
	my ($class, $node) = @_;

	return bless { node => $node, directory => PostgreSQL::Test::Utils::tempdir() }, $class;
}

sub file { return "$_[0]{directory}/$_[1]"; }

sub connection
{
	my ($self, $user, $database) = @_;

	return $self->{node}->connstr($database) . " user=$user";
}

# Writes the tasks of a database to a file; returns the error, or ''.
sub out
{
	my ($self, $user, $database, $file) = @_;
	my ($to, $errors) = map { $self->file($_) } $file, 'errors';

	my $failed = system("psql -X -d '" . $self->connection($user, $database) . "' -f '$script' >'$to' 2>'$errors'");
	return $failed ? slurp_file($errors) : '';
}

# Loads such a file; returns the error, or '', and what was said.
sub in
{
	my ($self, $user, $database, $file) = @_;
	my ($out, $errors) = run_command([ 'psql', '-X', '-d', $self->connection($user, $database), '-f', $self->file($file) ]);

	return ($errors =~ /(ERROR:.*)/s ? $1 : '', $out);
}

# All rows of these tables.
sub rows_of
{
	my ($self, $database, @tables) = @_;
	my $session = TwTasks::Session->new($self->{node}->connstr($database));

	return { map { $_ => $session->query("SELECT to_jsonb(x) FROM $_ x ORDER BY to_jsonb(x)::text") } @tables };
}

# The tables of extensions that a database has, which move.
sub tables_in
{
	my ($self, $database, @extensions) = @_;
	my $names = join ', ', map { "'$_'" } @extensions;

	return split /\n/, TwTasks::Session->new($self->{node}->connstr($database))->query(
		"SELECT c.oid::regclass FROM pg_extension e, unnest(e.extconfig) u(oid) JOIN pg_class c ON c.oid = u.oid
		WHERE e.extname IN ($names) AND c.relkind IN ('r', 'p') AND c.relname <> 'adoption' ORDER BY 1");
}

1;

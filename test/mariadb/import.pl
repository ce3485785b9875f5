# import.pl -- the commands of docs/migrating-mariadb.md copy tables of TwTasks from
# a real MariaDB, byte for byte; what is cut or missing on the way is refused.

use strict;
use warnings FATAL => 'all';

use IPC::Run;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Original;
use TwTasks::Session;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $original = TwTasks::Original->create($node, 2000);
my $home = PostgreSQL::Test::Utils::tempdir();
my ($page, $out, $err) = ($ENV{TWT_PAGE}, '', '');
my ($shell) = $page =~ /```sh\n(.*?)```/s;
my ($load) = $page =~ /```sql\n(.*?)```/s;

# The schema that TwTasks makes in MariaDB.
my $schema = <<'SQL';
	CREATE DATABASE payments DEFAULT CHARACTER SET utf8mb4;
	USE payments;
	CREATE TABLE tw_task (
		id BINARY(16) NOT NULL PRIMARY KEY,
		status ENUM ('NEW', 'WAITING', 'SUBMITTED', 'PROCESSING', 'DONE', 'ERROR', 'FAILED', 'CANCELLED') NOT NULL,
		next_event_time DATETIME(6) NOT NULL, state_time DATETIME(3) NOT NULL, version BIGINT NOT NULL, priority INT NOT NULL DEFAULT 5,
		processing_start_time DATETIME(3), processing_tries_count BIGINT NOT NULL, time_created DATETIME(3) NOT NULL,
		time_updated DATETIME(3) NOT NULL, type VARCHAR(250) CHARACTER SET latin1 NOT NULL, sub_type VARCHAR(250) CHARACTER SET latin1,
		processing_client_id VARCHAR(250) CHARACTER SET latin1, data LONGTEXT NOT NULL);
	CREATE TABLE tw_task_data (
		task_id BINARY(16) NOT NULL PRIMARY KEY, data_format INT NOT NULL, data LONGBLOB NOT NULL,
		task_context_format SMALLINT, task_context BLOB);
	CREATE TABLE unique_tw_task_key (
		task_id BINARY(16) NOT NULL PRIMARY KEY, key_hash INT NOT NULL, `key` VARCHAR(150) CHARACTER SET latin1 NOT NULL,
		UNIQUE KEY (key_hash, `key`));
SQL

# A server of MariaDB of its own, on a socket alone.
my @server = ('--no-defaults', "--datadir=$home/data", "--socket=$home/socket", '--skip-networking', "--pid-file=$home/pid",
	'--max-allowed-packet=4M', '--sql-mode=STRICT_ALL_TABLES');

IPC::Run::run([ 'mariadb-install-db', '--no-defaults', "--datadir=$home/data", '--auth-root-authentication-method=normal', '--skip-test-db' ],
	'>', \$out, '2>&1') || die "mariadb-install-db: $out\n";
my $log = '';
my $maria = IPC::Run::start([ 'mariadbd', @server ], '>', \$log, '2>&1');

$ENV{HOME} = $home;
PostgreSQL::Test::Utils::append_to_file("$home/.my.cnf", "[client]\nuser=root\nsocket=$home/socket\ndefault-character-set=utf8mb4\n");

# Runs statements in MariaDB.
sub maria
{
	my ($sql) = @_;
	my ($said, $error) = ('', '');

	IPC::Run::run([ 'mariadb', '--batch', '--skip-column-names', '--max-allowed-packet=1G' ], '<', \$sql, '>', \$said, '2>', \$error)
	  || die "mariadb: $error\n";
	return $said;
}

wait_ok(sub { $maria->pump_nb; eval { maria('SELECT 1') } }, 'MariaDB runs');

# Reads the tables by the commands of the page, into the directory that it returns.
my $reads = 0;

sub read_tables
{
	my $directory = "$home/read" . $reads++;

	mkdir $directory;
	IPC::Run::run([ 'sh', '-ec', $shell ], init => sub { chdir $directory }, '>', \$out, '2>', \$err) || die "the page reads: $err\n";
	PostgreSQL::Test::Utils::append_to_file("$directory/load.sql", $load);
	return $directory;
}

# Loads the files of a directory as the page says.  Returns whether that succeeded.
sub load_tables
{
	my ($directory) = @_;

	return IPC::Run::run([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('copy'), '-f', 'load.sql' ],
		init => sub { chdir $directory }, '>', \$out, '2>', \$err);
}

sub edit
{
	my ($file, $change) = @_;
	my @lines = split /^/, PostgreSQL::Test::Utils::slurp_file($file);

	$change->(\@lines);
	unlink $file;
	PostgreSQL::Test::Utils::append_to_file($file, join '', @lines);
	return;
}

# ---- the same tasks in MariaDB ----

maria($schema);
$original->value(q{SET timezone = 'UTC'; SET datestyle = 'ISO'});
my $bytes = sub { "coalesce('x''' || encode($_[0], 'hex') || '''', 'NULL')" };
my $text = sub { "coalesce('CONVERT(x''' || encode(convert_to($_[0], 'UTF8'), 'hex') || ''' USING utf8mb4)', 'NULL')" };
my $time = sub { "coalesce('''' || ($_[0])::timestamp || '''', 'NULL')" };
my $id = sub { "'x''' || replace($_[0]::text, '-', '') || ''''" };
my %columns = (
	tw_task => [ $id->('id'), "quote_literal(status)", map({ $time->($_) } qw(next_event_time state_time)), qw(version priority),
		$time->('processing_start_time'), 'processing_tries_count', map({ $time->($_) } qw(time_created time_updated)),
		map({ $text->($_) } qw(type sub_type processing_client_id data)) ],
	tw_task_data => [ $id->('task_id'), 'data_format', $bytes->('data'), q{coalesce(task_context_format::text, 'NULL')}, $bytes->('task_context') ],
	unique_tw_task_key => [ $id->('task_id'), 'key_hash', $text->('key') ]);

foreach my $table (sort keys %columns)
{
	my $rows = $original->value("SELECT concat('INSERT INTO $table VALUES (', concat_ws(', ', " . join(', ', @{ $columns{$table} }) . "), ');') FROM $table");

	maria("USE payments; SET NAMES utf8mb4; BEGIN;\n$rows\nCOMMIT;");
}

# ---- what is refused ----

my $directory = read_tables();

$node->value('CREATE DATABASE copy');
my $copy = TwTasks::Session->new($node->connstr('copy'));
my $none = q{SELECT coalesce(to_regclass('tw_task')::text, 'none')};
my %broken = (
	'a row that is missing' => [ 'unique_tw_task_key.tsv', sub { pop @{ $_[0] } }, qr/the files do not have all rows/ ],
	'a row that is cut' => [ 'tw_task.tsv', sub { $_[0]->[-1] =~ s/\t\d+\n$/\n/ }, qr/missing data for column/ ],
	'data with another byte' => [ 'tw_task_data.tsv', sub { $_[0]->[5] =~ s/^(\S+\t\d+\t)/${1}00/ }, qr/violates check constraint/ ],
	'data that is missing' => [ 'tw_task_data.tsv', sub { $_[0]->[5] =~ s/^(\S+\t\d+\t)\w*/${1}NULL/ }, qr/violates check constraint/ ]);

foreach my $name (sort keys %broken)
{
	my ($file, $change, $message) = @{ $broken{$name} };
	my $broken = read_tables();

	edit("$broken/$file", $change);
	ok(!load_tables($broken), "$name is refused");
	like($err, $message, 'and the message says so');
	is($copy->query($none), 'none', 'nothing is left of the copy');
}
maria(q{INSERT INTO payments.tw_task_data VALUES (x'00000000000000000000000000000001', 0, REPEAT('x', 3000000), NULL, NULL)});
ok(!load_tables(read_tables()), 'data that the server cannot send is refused');
like($err, qr/violates check constraint/, 'by its hash');
maria(q{DELETE FROM payments.tw_task_data WHERE task_id = x'00000000000000000000000000000001'});

# ---- the copy ----

ok(load_tables($directory), 'the copy is loaded') or diag($err);
foreach my $table (sort keys %columns)
{
	my $rows = "SELECT sha256(convert_to(string_agg(t::text, E'\\n' ORDER BY t::text), 'UTF8')), count(*) FROM $table t";

	is($copy->query("SET timezone = 'UTC'; $rows"), $original->value($rows), "table $table is the same as in PostgreSQL");
}
$maria->kill_kill(grace => 0);
eval { $maria->finish };

# ---- the import ----

my @from_copy = ('--from', $node->connstr('copy'));

$original->ends(0, \@from_copy, 'the copy is imported');
($out) = $original->ends(0, [], 'the tables in PostgreSQL, with the same tasks, are equal to that import');
unlike($out, qr/^\w+ +\d+ +[1-9]\d* +\d+ +\d+  TYPE/m, 'and add nothing');

done_testing();

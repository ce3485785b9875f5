# 071_command_line.pl -- what the options of twtasksd promise.

use strict;
use warnings FATAL => 'all';

use File::Copy;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $program = TwTasks::Sidecar::program();
my $directory = PostgreSQL::Test::Utils::tempdir();

sub config
{
	my ($name, $text) = @_;

	return TwTasks::Sidecar::write_config("$directory/$name.yaml", $text);
}

my $right = config('right', <<'YAML');
postgres: "host=/nowhere dbname=app user=u password=s3cret"
environment: production
handlers:
  - types: [TASK]
    command: [/bin/true]
YAML
my $wrong = config('wrong', <<'YAML');
handlers:
  - types: [TASK]
    command: [/bin/true]
    timeout: 5
YAML

command_like([ $program, '--version' ], qr/^twtasksd \d+\.\d+/, '--version');
command_like([ $program, '--help' ],
	qr/Usage:.*--check-config.*Signals:.*TERM/s, '--help');
command_checks_all([$program], 2, [qr/^$/], [qr/Usage:/],
	'without arguments: usage, and exit status 2');
command_checks_all([ $program, '--nonsense' ],
	2, [qr/^$/], [qr/nonsense/], 'an unrecognized option');
command_checks_all([ $program, '--config', $right, 'more' ],
	2, [qr/^$/], [qr/Usage:/], 'an argument too many');

my ($linked) = PostgreSQL::Test::Utils::run_command([ 'ldd', $program ]);
like($linked, qr/libpq/, 'the sidecar links the client of PostgreSQL');
unlike($linked, qr/rdkafka|libcurl|microhttpd/, 'clients of other systems are in programs beside it');

command_checks_all(
	[ $program, '--config', $right, '--check-config' ],
	0, [qr/right\.yaml: the configuration is right/],
	[qr/^$/], '--check-config of a right one');
my $unnamed = config('unnamed', <<'YAML');
handlers:
  - types: [TASK]
    command: [/bin/true]
YAML
command_checks_all(
	[ $program, '--config', $unnamed, '--check-config' ],
	0,
	[qr/unnamed\.yaml: the configuration is right/],
	[qr/^\S+unnamed\.yaml: warning: no environment: .*\n$/],
	'--check-config asks for an environment');
my $absent = config('absent', <<'YAML');
environment: production
handlers:
  - types: [TASK]
    command: [/nonexistent/handler]
YAML
command_checks_all(
	[ $program, '--config', $absent, '--check-config' ],
	0,
	[qr/absent\.yaml: the configuration is right/],
	[qr/^\S+absent\.yaml: warning: handlers\[0\]: no program "\/nonexistent\/handler" that may be executed$/m],
	'--check-config looks for the programs');

my $stray = config('stray', <<'YAML');
environment: production
handlers:
  - types: [TASK]
    command: [/bin/true]
    prefetch: 3
YAML
command_checks_all(
	[ $program, '--config', $stray, '--check-config' ],
	0,
	[qr/stray\.yaml: the configuration is right/],
	[qr/WARN  config: \S+stray\.yaml:5:5: handlers\[0\]\.prefetch: it has no effect on a handler of this kind\n$/],
	'--check-config names an option of another kind');

# As in an image that has the sidecar and nothing else of it.
mkdir "$directory/alone" or die "could not make a directory: $!";
copy($program, "$directory/alone/twtasksd") or die "could not copy: $!";
chmod oct 755, "$directory/alone/twtasksd";
command_checks_all(
	[ "$directory/alone/twtasksd", '--config', $right, '--check-config' ],
	0,
	[qr/right\.yaml: the configuration is right/],
	[qr/^\S+right\.yaml: warning: handlers\[0\]: no program "\S+\/alone\/twtasks-run" that may be executed$/m],
	'--check-config looks for the supervisor of the programs');
foreach my $mode ([], ['--check-config'], ['--print-config'])
{
	command_checks_all(
		[ $program, '--config', $wrong, @$mode ],
		3,
		[qr/^$/],
		[qr/wrong\.yaml:4:\d+: handlers\[0\]\.timeout: /],
		"a wrong one is refused, with file, line and key: @$mode");
}
command_checks_all(
	[ $program, '--config', "$directory/missing.yaml", '--check-config' ],
	3, [qr/^$/],
	[qr/missing\.yaml.*No such file/],
	'a missing one');
chmod oct 666, $right;
command_checks_all([ $program, '--config', $right, '--check-config' ],
	3, [qr/^$/], [qr/right\.yaml/], 'one that anybody may write');
chmod oct 600, $right;

# Without standard files: nothing that it opens takes their place.
my $pid = fork // die "could not fork: $!";

exec '/bin/sh', '-c', 'exec "$@" <&- >&- 2>&-', 'sh', $program, '--config', $right
  unless $pid;
wait_ok(
	sub {
		grep { (readlink // '') =~ /eventpoll/ } glob "/proc/$pid/fd/*";
	},
	'a sidecar that starts without standard files runs');
is(readlink "/proc/$pid/fd/$_", '/dev/null', "descriptor $_ leads nowhere")
  foreach 0 .. 2;
kill KILL => $pid;
waitpid $pid, 0;

# A printed configuration reads back, and prints the same again.
my ($printed, $error) =
  run_command([ $program, '--config', $right, '--print-config' ]);

like($printed, qr/^drain: 30s$/m, '--print-config fills in the defaults');
unlike($printed, qr/s3cret/, '--print-config does not show a password');
my $again = config('again', "$printed\n");

my ($reprinted) =
  run_command([ $program, '--config', $again, '--print-config' ]);

is($reprinted, $printed, 'a printed configuration can be read again');

done_testing();
